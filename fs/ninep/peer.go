package ninep

import (
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"

	"mikan/fs"
)

// peer is who is at the other end of a Unix socket, as the kernel saw it when
// the peer connected.
func peer(nc net.Conn, names *names) (*fs.Identity, error) {
	cred, groups, err := credentials(nc)
	if err != nil {
		return nil, fmt.Errorf("ask who the peer is: %w", err)
	}
	who := &fs.Identity{
		Name:   names.user(cred.Uid),
		UID:    cred.Uid,
		GID:    cred.Gid,
		Groups: groups,
		PID:    int(cred.Pid),
	}
	if sid, err := unix.Getsid(who.PID); err == nil && who.PID != 0 {
		who.Terminal = sid
	}
	return who, nil
}

// credentials are those that the peer had when it connected; its supplementary
// groups may be other than those that the group file gives its user.
func credentials(nc net.Conn) (cred *unix.Ucred, groups []uint32, err error) {
	uc, ok := nc.(*net.UnixConn)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a Unix socket", nc)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	cerr := raw.Control(func(fd uintptr) {
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			groups, err = peerGroups(fd)
		}
	})
	return cred, groups, errors.Join(cerr, err)
}

// peerGroups asks with ever more room, up to as many groups as a process can
// have.
func peerGroups(fd uintptr) ([]uint32, error) {
	const most = 1 << 16 // NGROUPS_MAX
	for room := 64; ; room *= 4 {
		list := make([]uint32, room)
		size := uint32(room * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return list[:size/4], nil
		case errno != unix.ERANGE || room > most:
			return nil, errno
		}
	}
}
