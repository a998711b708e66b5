package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Source is the text of a Go program that the playground shows, built up piece by piece. It does
// not use text/template, which would double the size of the WebAssembly file, because the linker
// keeps every method that a template could call.
type Source struct {
	imports []string // of this library if they do not begin with a dot
	body    strings.Builder
	rest    string // functions after main
}

// Add appends lines to the function main, formatted with args, at the same indentation. A line
// that says "check" becomes a check of the variable err.
func (p *Source) Add(lines string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(strings.Trim(lines, "\n")+"\n", args...)) {
		if text := strings.TrimLeft(line, "\t"); text == "check\n" {
			indent := line[:len(line)-len(text)]
			line = indent + "if err != nil {\n" + indent + "\tlog.Fatal(err)\n" + indent + "}\n"
		}
		p.body.WriteString(line)
	}
}

// Use adds imports of packages. A path that begins with a dot, such as ".fmt", is that of a
// package of the standard library; any other path is relative to the module of this library.
func (p *Source) Use(paths ...string) { p.imports = append(p.imports, paths...) }

// Append adds the contents of a Go file after main, without its package clause and imports.
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

// HandleProgram registers the call "tab/program". It answers with the text of a Go program that
// does what the tab shows for the same arguments.
func HandleProgram[A any](e *Engine, tab string, write func(A, context.Context) (*Source, error)) {
	Handle(e, tab+"/program", func(ctx context.Context, a A) (string, error) {
		p, err := write(a, ctx)
		if err != nil {
			return "", err
		}
		return p.String(), nil
	})
}
