// Pages counts what a reader of the documentation meets: exported names and
// lines of go doc per package, and the exported structs (configurations and
// errors aside) that no Example is tied to. It fails where a page is too wide or
// a struct has no example.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	maxNames   = 45
	maxSampler = 25
	maxLines   = 90
)

func main() {
	log.SetFlags(0)
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "./...").Output()
	if err != nil {
		log.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	bad := false
	for dir := range strings.Lines(string(out)) {
		rel, err := filepath.Rel(here, strings.TrimSpace(dir))
		if err != nil {
			log.Fatal(err)
		}
		if rel = filepath.ToSlash(rel); strings.HasPrefix(rel, "internal/") {
			continue
		}
		p := read(rel)
		doc, err := exec.Command("go", "doc", "./"+rel).Output()
		if err != nil {
			log.Fatalf("go doc ./%s: %v", rel, err)
		}
		lines, most := bytes.Count(doc, []byte("\n")), maxNames
		if rel == "sampler" {
			most = maxSampler
		}
		fmt.Printf("%-26s %3d names %4d lines of go doc %4d structs\n", rel, p.names, lines, len(p.structs))
		if p.names > most || lines > maxLines {
			fmt.Printf("\ttoo wide: want ≤ %d names and ≤ %d lines\n", most, maxLines)
			bad = true
		}
		for _, s := range p.structs {
			if !p.examples[s] {
				fmt.Printf("\tno example: %s\n", s)
				bad = true
			}
		}
	}
	if bad {
		os.Exit(1)
	}
}

// page is what one package shows.
type page struct {
	names    int
	structs  []string
	examples map[string]bool
}

func read(dir string) page {
	p := page{examples: map[string]bool{}}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			log.Fatal(err)
		}
		test := strings.HasSuffix(name, "_test.go")
		for _, d := range f.Decls {
			if test {
				p.example(d)
			} else {
				p.count(d)
			}
		}
	}
	return p
}

// example notes which type an Example function is tied to.
func (p *page) example(d ast.Decl) {
	if f, ok := d.(*ast.FuncDecl); ok {
		if tied, ok := strings.CutPrefix(f.Name.Name, "Example"); ok {
			tied, _, _ = strings.Cut(tied, "_")
			p.examples[tied] = true
		}
	}
}

// count adds the exported names of a declaration.
func (p *page) count(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			p.names++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				p.typ(s)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						p.names++
					}
				}
			}
		}
	}
}

func (p *page) typ(s *ast.TypeSpec) {
	name := s.Name.Name
	if !s.Name.IsExported() {
		return
	}
	p.names++
	_, isStruct := s.Type.(*ast.StructType)
	if isStruct && !strings.HasSuffix(name, "Config") && !strings.HasSuffix(name, "Error") {
		p.structs = append(p.structs, name)
	}
}
