package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// world is what the measurements share.
type world struct {
	mikan string // the binary
	dir   string // for files, on a real disk if the working directory is
	smoke bool   // only see that everything runs
	rows  []row
}

// measurements are the table's rows, in order.
var measurements = []struct {
	name string
	run  func(context.Context, *world) error
}{
	{"ninep", ninepRows},
	{"blocked", blockedRow},
	{"fuse", fuseRow},
	{"feed", feedRow},
	{"hook", hookRow},
	{"prompt", promptRows},
	{"bash", bashRow},
	{"start", startRow},
	{"memory", memoryRows},
	{"version", versionRow},
	{"history", historyRows},
	{"descriptors", descriptorRow},
}

func main() {
	if job := jobs[os.Getenv(jobVar)]; job != nil {
		if err := job(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	log.SetOutput(io.Discard) // go9p's loop logs each hang-up
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	w := &world{}
	flag.StringVar(&w.mikan, "mikan", "../bin/mikan", "the binary to measure")
	flag.BoolVar(&w.smoke, "smoke", false, "measure next to nothing, to see that it runs")
	only := flag.String("run", "", "the one measurement to make")
	flag.Parse()
	var err error
	if w.mikan, err = filepath.Abs(w.mikan); err != nil {
		return err
	}
	if w.dir, err = os.MkdirTemp(os.Getenv("MIKAN_BENCH_DIR"), "mikan-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(w.dir)
	began := time.Now()
	for _, m := range measurements {
		if *only != "" && m.name != *only {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", m.name)
		if err := m.run(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	w.print()
	fmt.Fprintf(os.Stderr, "bench: %.0f s\n", time.Since(began).Seconds())
	return nil
}

// print prints the table.
func (w *world) print() {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "path\tmikan\tpeer\t\tratio\tbudget\tverdict")
	misses := 0
	for _, r := range w.rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.path, r.ours, r.peer, r.who, r.ratio, r.budget, r.verdict)
		if r.verdict == miss {
			misses++
		}
	}
	t.Flush()
	fmt.Printf("%d rows, %d over budget\n", len(w.rows), misses)
}
