package host_test

import (
	"path/filepath"
	"strings"
	"testing"

	"mikan/podman/host"
)

func TestNew_refuses_what_cannot_be_kept_apart(t *testing.T) {
	dir := t.TempDir()
	files, home := filepath.Join(dir, "files"), filepath.Join(dir, "home")
	put(t, filepath.Join(files, "sub/f"), "")
	put(t, filepath.Join(dir, "plain"), "")
	link(t, files, filepath.Join(dir, "link"))
	for name, tt := range map[string]struct {
		cfg  host.Config
		want string
	}{
		"relative files":     {host.Config{Files: "files", Home: home}, "absolute"},
		"no files":           {host.Config{Files: filepath.Join(dir, "none"), Home: home}, "no such file"},
		"files are a file":   {host.Config{Files: filepath.Join(dir, "plain"), Home: home}, "not a directory"},
		"home inside files":  {host.Config{Files: files, Home: filepath.Join(files, "home")}, "apart"},
		"home is files":      {host.Config{Files: files, Home: filepath.Join(dir, "link")}, "apart"},
		"state inside files": {host.Config{Files: files, Home: home, Hidden: []string{filepath.Join(files, "state")}}, "no office may see"},
		"state by a link":    {host.Config{Files: files, Home: home, Hidden: []string{filepath.Join(dir, "link/state")}}, "no office may see"},
		"state is shared":    {host.Config{Files: files, Home: home, ReadOnly: []string{dir}, Hidden: []string{filepath.Join(dir, "s")}}, "no office may see"},
		"deep in files":      {host.Config{Files: files, Home: home, ReadOnly: []string{filepath.Join(files, "sub/f")}}, "directly in"},
		"relative shared":    {host.Config{Files: files, Home: home, Writable: []string{"shared"}}, "absolute"},
		"listed twice":       {host.Config{Files: files, Home: home, Writable: []string{files + "/"}}, "twice"},
	} {
		tt.cfg.Confine = host.None
		if _, err := host.New(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

func TestNew_names_paths_without_links(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode, func(dir string, cfg *host.Config) {
			link(t, "files", filepath.Join(dir, "alias"))
			cfg.Files = filepath.Join(dir, "alias")
		})
		if _, out, _ := o.run(t, "pwd -P"); out != o.files+"\n" || o.Dir() != o.files {
			t.Errorf("working directory %q, Dir %q, want %q", out, o.Dir(), o.files)
		}
	})
}

func TestNew_chooses_the_mode(t *testing.T) {
	mode, why := host.Confinement(t.Context())
	if o := newOffice(t, host.Auto); o.Mode() != mode {
		t.Errorf("mode %v, but %v: %s", o.Mode(), mode, why)
	}
	t.Setenv("PATH", t.TempDir())
	if mode, why := host.Confinement(t.Context()); mode != host.None || !strings.Contains(why, "install") {
		t.Errorf("without bwrap: %v, %s", mode, why)
	}
	if o := newOffice(t, host.Auto); o.Mode() != host.None {
		t.Errorf("mode %v without bwrap", o.Mode())
	}
	dir := t.TempDir()
	if _, err := host.New(host.Config{Files: dir, Home: t.TempDir(), Confine: host.Bubblewrap}); err == nil || !strings.Contains(err.Error(), "install") {
		t.Errorf("error %v", err)
	}
}
