// Package host is an office's computer on this very machine: its files are
// directories of the host, its commands are children of the daemon.
//
// A [Computer] is given what the office may see and nothing else: the office's
// files (the working directory), a private home, and further directories or
// files that are read-only or writable. A path means the same inside and
// outside. [Computer.Run] runs a shell command there, [Computer.Open] and
// [Computer.Create] read and write files for the agent's tools.
//
// # Confinement
//
// With [Bubblewrap] every command gets its own user, mount, pid, ipc and host
// name namespaces, made by bwrap(1): the system directories read-only, what the
// office may see, a /tmp of its own, /proc of its own processes, the network,
// and no capability. What is not bound does not exist there, above all the
// daemon's state, its sockets and its mount, and /opt, unless the office is given
// it. What in /etc and /usr/local not everybody may read is left out, sockets too,
// because the command has the daemon's user id; files that it makes belong to the
// daemon's user. Descriptors, not arguments, carry the script.
//
// A daemon that is root gives its commands a user id that owns the machine's
// files. They have no capability, see only what is bound, and can change none of
// the kernel's settings and no device's mode; but what they make in the office's
// files is root's, also with the set-user-id bit, which has no effect for them.
// Keep those directories closed to other users, or run the daemon as a user.
//
// The network is the host's: services that listen on localhost or on an
// abstract Unix socket can be reached from inside.
//
// With [None] the command is an ordinary process of the daemon's user, and the
// office is trusted with all that this user may do. [Confinement] says which of
// the two a machine can have, and why.
//
// # Files
//
// The agent can put anything among its files, at any moment: links that lead
// out, FIFOs, devices. So each name is resolved here, link by link, and must end
// inside what the office may see; then it is opened through an [os.Root], which
// lets no link that was swapped in meanwhile lead out. What is opened is a
// regular file, and opening it never waits.
package host
