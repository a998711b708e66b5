package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Source is the text of a program. It is written without text/template, which would double the
// size of the WebAssembly file: a linker keeps every method that a template could call.
type Source struct {
	imports []string // of this library if they do not begin with a dot
	body    strings.Builder
	rest    string // functions after main
}

// Add appends lines of main, in which every err is checked, at the same indentation, where
// a line says "check".
func (p *Source) Add(lines string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(strings.Trim(lines, "\n")+"\n", args...)) {
		if text := strings.TrimLeft(line, "\t"); text == "check\n" {
			indent := line[:len(line)-len(text)]
			line = indent + "if err != nil {\n" + indent + "\tlog.Fatal(err)\n" + indent + "}\n"
		}
		p.body.WriteString(line)
	}
}

// Use imports packages: of this library if they do not begin with a dot.
func (p *Source) Use(paths ...string) { p.imports = append(p.imports, paths...) }

// Append adds a file of Go after main, without its package clause and imports.
func (p *Source) Append(file string) { p.rest += body(file) }

func body(source string) string {
	if _, after, ok := strings.Cut(source, "\n)\n"); ok && strings.Contains(source, "\nimport (") {
		return after
	}
	_, after, _ := strings.Cut(source, "\n\n")
	return "\n" + after
}

func (p *Source) String() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	p.Use(".context", ".fmt", ".log")
	slices.Sort(p.imports)
	p.imports = slices.Compact(p.imports)
	own := false
	for _, path := range p.imports {
		if standard, ok := strings.CutPrefix(path, "."); ok {
			fmt.Fprintf(&b, "\t%q\n", standard)
			continue
		}
		if !own {
			own = true
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\t%q\n", "github.com/gibbsite-go/gibbsite/"+path)
	}
	b.WriteString(")\n\nfunc main() {\n\tctx := context.Background()\n" + p.body.String() + "}\n" + p.rest)
	return b.String()
}

// HandleProgram answers the call "tab/program" with the text of the Go program that does what
// the tab shows, whose own call has the same arguments.
func HandleProgram[A any](e *Engine, tab string, write func(A, context.Context) (*Source, error)) {
	Handle(e, tab+"/program", func(ctx context.Context, a A) (string, error) {
		p, err := write(a, ctx)
		if err != nil {
			return "", err
		}
		return p.String(), nil
	})
}
