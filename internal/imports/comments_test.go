package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

func TestImports_everyPackageHasADoc(t *testing.T) {
	for path, p := range packages(t) {
		if !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", path)
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil, parser.ParseComments)
		if err != nil {
			t.Error(err)
		} else if file.Doc.Text() == "" {
			t.Errorf("%s: doc.go has no package comment", path)
		}
	}
}

func TestImports_everyExportedNameIsDocumented(t *testing.T) {
	for _, p := range packages(t) {
		files := token.NewFileSet()
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, n := range undocumented(file) {
				t.Errorf("%v: %s has no comment", files.Position(n.Pos()), n.Name)
			}
		}
	}
}

// undocumented returns the exported names that a file declares at its top, and
// says nothing about.
func undocumented(file *ast.File) (list []*ast.Ident) {
	add := func(name *ast.Ident, comments ...*ast.CommentGroup) {
		said := slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" })
		if name.IsExported() && !said {
			list = append(list, name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if exportedReceiver(d) {
				add(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name, d.Doc, s.Doc, s.Comment)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return list
}

// exportedReceiver reports whether f is a function, or a method of a type that
// other packages can name.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func TestImports_findsWhatHasNoComment(t *testing.T) {
	const src = `package p

type T struct{}

func (T) M() {}

func (t) Hidden() {}

// F is documented.
func F() {}

// Two constants.
const (
	A = 1
	B = 2
)

var V int
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range undocumented(file) {
		names = append(names, n.Name)
	}
	if want := []string{"T", "M", "V"}; !slices.Equal(names, want) {
		t.Errorf("have %v, want %v", names, want)
	}
}
