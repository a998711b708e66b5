package main

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

const (
	repository = "https://github.com/gibbsite-go/gibbsite/blob/main/"
	reference  = "https://pkg.go.dev/github.com/gibbsite-go/gibbsite"
)

var (
	markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	quoted   = regexp.MustCompile(`<code>([a-z0-9/]+)</code>`)
	relative = regexp.MustCompile(`(href|src)="([^":#][^":]*)"`)
)

// render converts Markdown to HTML. Code blocks and tables can be scrolled by keyboard, and
// package names link to their documentation.
func render(source []byte, packages map[string]string) (string, error) {
	var b bytes.Buffer
	if err := markdown.Convert(source, &b); err != nil {
		return "", err
	}
	html := strings.NewReplacer(
		"<pre>", `<pre tabindex="0">`,
		`<pre><code class="language-text">`, `<pre class="output" tabindex="0"><code>`,
		"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>", "<th></th>", "<td></td>",
	).Replace(b.String())
	return quoted.ReplaceAllStringFunc(html, func(code string) string {
		name := quoted.FindStringSubmatch(code)[1]
		if _, ok := packages[name]; !ok {
			return code
		}
		return fmt.Sprintf(`<a href="%s/%s">%s</a>`, reference, name, code)
	}), nil
}

// described returns the public packages of the library by path below its root, with the first
// sentence of their documentation.
func described(ctx context.Context) (map[string]string, error) {
	out, err := run(ctx, "..", nil, "list", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Doc}}", "./...")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		name, ok := strings.CutPrefix(f[0], "github.com/gibbsite-go/gibbsite/")
		if ok && f[1] != "main" && !strings.HasPrefix(name, "internal/") {
			all[name] = f[2]
		}
	}
	return all, nil
}

// buildLanding writes the landing page: README.md from its first section heading on.
func buildLanding(ctx context.Context, dir string) error {
	packages, err := described(ctx)
	if err != nil {
		return err
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		return err
	}
	_, rest, ok := strings.Cut(string(readme), "\n## ")
	if !ok {
		return fmt.Errorf("README.md has no section")
	}
	html, err := render([]byte("## "+rest), packages)
	if err != nil {
		return err
	}
	html = relative.ReplaceAllString(html, `$1="`+repository+`$2"`)
	picture, err := os.ReadFile("../.github/ising.svg")
	if err != nil {
		return err
	}
	if err := write(dir, "ising.svg", picture); err != nil {
		return err
	}
	body, err := fill("landing.html", template.HTML(html))
	if err != nil {
		return err
	}
	return page{
		File: "index.html", Title: "Samples that obey your rules", Body: body,
		Description: "A pure-Go library that draws samples from discrete distributions under constraints.",
	}.write(dir)
}

// buildPackages writes the list of packages.
func buildPackages(ctx context.Context, dir string) error {
	packages, err := described(ctx)
	if err != nil {
		return err
	}
	body, err := fill("packages.html", struct {
		Reference string
		Packages  map[string]string
	}{reference, packages})
	if err != nil {
		return err
	}
	return page{File: "packages.html", Title: "Packages", Body: body, Description: "The packages of gibbsite, with links to their documentation."}.write(dir)
}

// guide is an entry in the list of guides.
type guide struct{ Name, Title, Lead string }

// order lists the guides in the order in which their page shows them.
var order = []string{"diagnostics", "testdata", "minimise", "averages", "language-models", "series", "unlearning", "machines"}

// buildGuides writes the guides and the page that lists them.
func buildGuides(ctx context.Context, dir string) error {
	packages, err := described(ctx)
	if err != nil {
		return err
	}
	var list []guide
	for _, name := range order {
		source, err := guides.ReadFile(path.Join("guides", name+".md"))
		if err != nil {
			return err
		}
		first, rest, _ := strings.Cut(string(source), "\n\n")
		lead, _, _ := strings.Cut(rest, "\n\n")
		g := guide{name, strings.TrimPrefix(first, "# "), strings.ReplaceAll(lead, "\n", " ")}
		list = append(list, g)
		html, err := render(source, packages)
		if err != nil {
			return fmt.Errorf("guides/%s.md: %w", name, err)
		}
		p := page{File: "guides/" + name + ".html", Title: g.Title, Description: g.Lead, Body: template.HTML(html)}
		if err := p.write(dir); err != nil {
			return err
		}
	}
	body, err := fill("guides.html", list)
	if err != nil {
		return err
	}
	return page{File: "guides/index.html", Title: "Guides", Body: body, Description: "Ten minutes each: a task, a program that runs, and what it prints."}.write(dir)
}
