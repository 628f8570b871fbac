package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Document is a Markdown file that begins with a frontmatter.
type Document struct {
	Name   string            // the file's name without .md
	Fields map[string]string // of the frontmatter
	Body   string            // what comes after it, without blanks around it
}

const (
	maxDocuments = 128       // files of one directory
	maxEntries   = 1024      // of it that are looked at
	maxDocument  = 256 << 10 // bytes of one
)

// Documents reads the files *.md of a directory below root, which the agent may
// write, ordered by name. Other files, directories and links are passed over, and
// so is a directory that is not there. A file that is no good is left out, with a
// note for the operator.
func Documents(root, dir string) (docs []Document, notes []string) {
	note := func(err error) {
		if s := missingIsFine(err); s != "" {
			notes = append(notes, dir+": "+s)
		}
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		note(err)
		return nil, notes
	}
	defer r.Close()
	names, more, err := documentNames(r, dir)
	if err != nil {
		note(err)
		return nil, notes
	}
	if more {
		note(errors.New("too many files; some are left out"))
	}
	for _, name := range names {
		d, err := readDocument(r, dir, name)
		if err != nil {
			note(err)
			continue
		}
		docs = append(docs, d)
	}
	return docs, notes
}

// documentNames returns the first of the regular files *.md, sorted, and whether
// there are more, or may be.
func documentNames(root *os.Root, dir string) (names []string, more bool, err error) {
	info, err := root.Lstat(dir)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return nil, false, fmt.Errorf("not a directory (%s)", kind(info.Mode()))
	}
	f, err := root.Open(dir + "/.")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".md") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	n := min(len(names), maxDocuments)
	return names[:n], n < len(names) || len(entries) == maxEntries, nil
}

func readDocument(root *os.Root, dir, name string) (Document, error) {
	data, more, err := readRegular(root, dir+"/"+name, maxDocument)
	switch {
	case err != nil:
		return Document{}, err
	case more:
		return Document{}, fmt.Errorf("%s: the file is larger than %s", name, size(maxDocument))
	}
	fields, err := frontmatter(data)
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return Document{Name: strings.TrimSuffix(name, ".md"), Fields: fields, Body: body(data)}, nil
}

// body is what comes after the frontmatter that data begins with.
func body(data []byte) string {
	_, rest, _ := strings.Cut(strings.ToValidUTF8(string(data), "\uFFFD"), "\n")
	for line := range strings.Lines(rest) {
		rest = rest[len(line):]
		if strings.TrimRight(line, " \t\r\n") == "---" {
			break
		}
	}
	return strings.TrimSpace(rest)
}
