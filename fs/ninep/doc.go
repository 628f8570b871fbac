// Package ninep carries a tree of package fs over 9P2000, the file protocol of
// Plan 9 (intro(5) and the pages after it): a server loop and a client.
//
// # Server
//
// A [Server] serves the tree that an [fs.Attacher] gives out. [Server.Serve]
// takes connections from a Unix socket and asks the kernel who the peer is;
// [Server.ServeConn] serves one connection for an identity that the caller
// already knows, which is how an extension gets a connection with a rights
// list. The user name in a Tattach is ignored.
//
// The messages are those of github.com/knusbaum/go9p/proto, and a session
// implements its go9p.Srv and go9p.Conn; the loop is our own. Its rules:
//
//   - One goroutine reads. Messages about metadata are answered by it, in
//     the order of their arrival.
//   - Reads and writes wait in two queues for each fid, so that a read that
//     blocks holds up neither another fid nor a write on the same one.
//   - A Tflush cancels, and is answered after the request has ended.
//   - Everything is bounded: connections of a user, requests in progress, fids,
//     replies that the client does not fetch. Beyond the bounds a request gets an
//     error, and a client that reads nothing for a while is hung up on.
//   - A hang-up cancels what is in progress, waits for it, and clunks all fids.
//
// # Client
//
// [Dial] and [DialUnix] give an [*fs.Client], the comfortable one; [Connect]
// gives the [Conn] below it, an [fs.Attacher] whose fids stand on the other
// side, for those who want to serve a remote tree again.
//
// # Errors
//
// 9P carries an error as text. A client that offered a dialect ("9P2000.L" or
// "9P2000.u", as Linux does) gets the exact string of [fs.Kind.String], which
// its kernel turns into an errno; any other gets the whole sentence, followed
// by ": " and that string, from which our client recovers the kind.
package ninep
