package ninep_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/ninep"
)

// socketPaths are a short and a long name for a socket.
func socketPaths(t *testing.T) map[string]string {
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep", 20), strings.Repeat("deeper", 20))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "9p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	return map[string]string{"short": filepath.Join(short, "s"), "long": filepath.Join(deep, "socket")}
}

func TestSocket_serves_the_user_whom_the_kernel_names(t *testing.T) {
	for name, path := range socketPaths(t) {
		t.Run(name, func(t *testing.T) {
			old := syscall.Umask(0o777)
			l, err := ninep.ListenUnix(path, 0o660)
			syscall.Umask(old)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|0o660 {
				t.Errorf("the socket is %v, %v", info.Mode(), err)
			}
			tree, _ := newTree()
			at := claimer{tree, newClaims()}
			ctx, cancel := context.WithCancel(context.Background())
			served := make(chan error)
			go func() { served <- (&ninep.Server{Tree: at, Log: quiet}).Serve(ctx, l) }()

			c, err := ninep.Dial(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			who := <-at.who
			if who.UID != uint32(os.Getuid()) || who.GID != uint32(os.Getgid()) || who.PID != os.Getpid() || who.Name == "" {
				t.Errorf("the peer is %+v", who)
			}
			if _, err := c.Stat(t.Context(), "letters"); err != nil {
				t.Error(err)
			}
			cancel() // hangs up
			if err := <-served; err != nil {
				t.Errorf("served: %v", err)
			}
			if _, err := c.Stat(t.Context(), "letters"); err == nil {
				t.Error("still connected")
			}
			c.Close()
			if _, err := os.Stat(path); err == nil {
				t.Error("the socket is still there")
			}
		})
	}
}

func TestListenUnix_replaces_a_socket_only_if_nobody_answers(t *testing.T) {
	for name, path := range socketPaths(t) {
		t.Run(name, func(t *testing.T) {
			l, err := ninep.ListenUnix(path, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := ninep.ListenUnix(path, 0o600); err == nil {
				second.Close()
				t.Error("two servers listen at one path")
			}
			// As after a crash: the listener is gone, its socket is not.
			if err := os.Rename(path, path+"x"); err != nil {
				t.Fatal(err)
			}
			l.Close()
			if err := os.Rename(path+"x", path); err != nil {
				t.Fatal(err)
			}
			l, err = ninep.ListenUnix(path, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestListenUnix_leaves_alone_what_is_no_socket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ninep.ListenUnix(path, 0o600); err == nil {
		l.Close()
		t.Error("listening")
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func TestDialUnix_names_the_path_that_it_could_not_reach(t *testing.T) {
	for name, path := range socketPaths(t) {
		_, err := ninep.DialUnix(t.Context(), path)
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "/proc/") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestServe_refuses_a_peer_that_the_kernel_does_not_name(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := newTree()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- (&ninep.Server{Tree: tree, Log: quiet}).Serve(ctx, l) }()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ninep.Connect(t.Context(), nc, "9P2000"); err == nil {
		t.Error("connected")
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServe_refuses_a_user_who_has_too_many_connections(t *testing.T) {
	path := socketPaths(t)["short"]
	l, err := ninep.ListenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := newTree()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- (&ninep.Server{Tree: tree, Log: quiet, MaxConns: 2}).Serve(ctx, l) }()
	defer func() { cancel(); <-served }()

	var open []*fs.Client
	for range 2 {
		c, err := ninep.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for range 50 { // whoever is refused leaves nothing behind
		_, err := ninep.Dial(t.Context(), path)
		if !errors.Is(err, fs.Again) || !strings.Contains(err.Error(), "2 connections") {
			t.Fatalf("error %v", err)
		}
	}
	var silent []net.Conn
	for range 50 {
		nc, err := ninep.DialUnix(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, nc)
	}
	for _, nc := range silent { // says nothing, and is hung up on
		nc.SetDeadline(time.Now().Add(10 * time.Second))
		if n, err := nc.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("read %d, %v", n, err)
		}
		nc.Close()
	}
	if _, err := open[1].Stat(t.Context(), "letters"); err != nil {
		t.Error(err)
	}
	for _, c := range open {
		c.Close()
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		c, err := ninep.Dial(t.Context(), path)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("there is no room again: %v", err)
		}
	}
}
