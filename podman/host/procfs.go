package host

import (
	"os"
	"path/filepath"
)

// What in /proc is the whole machine's and not of the command's processes. The
// kernel lets whoever has user id 0 write some of it, without any capability,
// and to a root daemon's commands that is what they have. It is what containers
// are denied, too.
var (
	procReadOnly = []string{"sys", "sysrq-trigger", "irq", "bus", "fs"}
	procEmpty    = []string{
		"kcore", "kmsg", "keys", "key-users", "timer_list", "timer_stats", "sched_debug",
		"latency_stats", "slabinfo", "vmallocinfo", "pagetypeinfo", "iomem", "ioports",
		"acpi", "asound", "scsi", "driver", "dynamic_debug",
	}
)

// procArgs give a command a /proc of its own processes in which it can change
// nothing of the machine's.
func procArgs() []string {
	args := []string{"--proc", "/proc"}
	for _, name := range procReadOnly {
		path := filepath.Join("/proc", name)
		if _, err := os.Lstat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	for _, name := range procEmpty {
		path := filepath.Join("/proc", name)
		if fi, err := os.Lstat(path); err == nil {
			args = append(args, cover(path, fi.IsDir())...)
		}
	}
	return args
}
