// Package page writes the results of an example as a self-contained HTML file: the summary,
// warnings, plots, settings and the command that repeats the run.
package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// Page is the report of one run.
type Page struct {
	Title    string
	Command  string // command that repeats the run
	Text     string // printed report
	Warnings []string
	Figures  []*picture.Figure
	Settings []Setting
}

// Setting is one option of the program and its value. Given is true if the option was on the
// command line.
type Setting struct {
	Name, Value, Usage string
	Given              bool
}

// source is the template of the page.
//
//go:embed page.html
var source string

var document = template.Must(template.New("page").Parse(source))

// Write creates the folder if necessary, writes every figure as SVG and PNG and the page as
// index.html, and returns the paths. The page is written atomically.
func (p *Page) Write(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range p.Figures {
		saved, err := f.Save(dir)
		paths = append(paths, saved...)
		if err != nil {
			return paths, err
		}
	}
	b, err := p.HTML()
	if err != nil {
		return paths, err
	}
	path := filepath.Join(dir, "index.html")
	if err := checkpoint.Write(path, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		return paths, err
	}
	return append(paths, path), nil
}

// HTML returns the page.
func (p *Page) HTML() ([]byte, error) {
	type drawn struct {
		*picture.Figure
		SVG template.HTML
	}
	var figures []drawn
	for _, f := range p.Figures {
		svg, err := f.Inline()
		if err != nil {
			return nil, err
		}
		figures = append(figures, drawn{f, template.HTML(svg)}) // our own drawing
	}
	var b bytes.Buffer
	err := document.Execute(&b, struct {
		*Page
		Figures []drawn
	}{p, figures})
	return b.Bytes(), err
}
