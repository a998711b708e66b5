package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"
	"path"
	"regexp"
	"strconv"
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
	broken   = regexp.MustCompile(`>[a-z]+(/[a-z]+)+<`) // a path as text, which may wrap behind a slash
	third    = regexp.MustCompile(`(<td>.*</td>\n<td>.*</td>\n)(<td>.*</td>)\n</tr>`)
	anchor   = regexp.MustCompile(`<a [^>]*>(<code>[a-z]*</code>)</a>`)
	program  = regexp.MustCompile(`<code>(([a-z]+)[^<]*)</code>`)
)

// render converts Markdown to HTML. Code blocks and tables can be scrolled by keyboard, and
// package names link to their documentation.
func render(source []byte, packages map[string]string) (string, error) {
	var b bytes.Buffer
	if err := markdown.Convert(source, &b); err != nil {
		return "", err
	}
	html := strings.NewReplacer(
		`<pre><code class="language-text">`, `<pre class="output" tabindex="0"><code>`,
		"<pre>", `<pre tabindex="0">`,
		"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>", "<th></th>", "<td></td>",
	).Replace(b.String())
	return quoted.ReplaceAllStringFunc(html, func(code string) string {
		name := quoted.FindStringSubmatch(code)[1]
		if _, ok := packages[name]; !ok {
			return code
		}
		return fmt.Sprintf(`<a href="%s/%s"><code>%s</code></a>`, reference, name, strings.ReplaceAll(name, "/", "/<wbr>"))
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
			all[name] = sentence(f[2])
		}
	}
	return all, nil
}

// sentence returns the first sentence of a package's documentation as a line of a list: without
// the package's name and the marks of links.
func sentence(doc string) string {
	doc = strings.NewReplacer("[]", "[]", "[", "", "]", "").Replace(doc)
	if f := strings.SplitN(doc, " ", 3); len(f) == 3 && f[0] == "Package" {
		doc = strings.ToUpper(f[2][:1]) + f[2][1:]
	}
	if before, ok := strings.CutSuffix(doc, ":"); ok {
		doc = before + "."
	}
	return doc
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
	html = linkExamples(html)
	times, err := timesAsFast()
	if err != nil {
		return err
	}
	html = strings.Replace(html, `<h2 id="in-the-clone">`, times+`<h2 id="in-the-clone">`, 1)
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

// linkExamples links the examples in the third column of a table to their pages in the gallery.
func linkExamples(html string) string {
	shown := map[string]bool{}
	for _, e := range gallery {
		shown[e.Name] = true
	}
	return third.ReplaceAllStringFunc(html, func(row string) string {
		m := third.FindStringSubmatch(row)
		cell := anchor.ReplaceAllString(m[2], "$1")
		cell = program.ReplaceAllStringFunc(cell, func(code string) string {
			name := program.FindStringSubmatch(code)[2]
			to := "gallery/" + name + "/index.html"
			if !shown[name] {
				to = repository + "examples/" + name
			}
			return fmt.Sprintf(`<a href="%s">%s</a>`, to, code)
		})
		return m[1] + cell + "\n</tr>"
	})
}

// ratio is the column of docs/PERFORMANCE.md that compares a kernel with PyTorch's.
var ratio = regexp.MustCompile("(?m)^\\| [^|]* \\| [^|]* \\| [0-9.]+ \\| ([0-9.]+) \\| `")

// timesAsFast returns a paragraph with the range of the factors in docs/PERFORMANCE.md.
func timesAsFast() (string, error) {
	source, err := os.ReadFile("../docs/PERFORMANCE.md")
	if err != nil {
		return "", err
	}
	low, high := math.Inf(1), 0.0
	for _, m := range ratio.FindAllStringSubmatch(string(source), -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return "", err
		}
		low, high = min(low, v), max(high, v)
	}
	if high == 0 {
		return "", errors.New("docs/PERFORMANCE.md compares nothing with PyTorch")
	}
	return fmt.Sprintf("<p>On one core, gibbsite's kernels and methods are between %.3g and %.3g times as fast as the same in PyTorch: see <a href=\"speed.html\">every measurement</a>.</p>\n", low, high), nil
}

// buildSpeed writes the measurements of docs/PERFORMANCE.md.
func buildSpeed(ctx context.Context, dir string) error {
	source, err := os.ReadFile("../docs/PERFORMANCE.md")
	if err != nil {
		return err
	}
	html, err := render(source, nil)
	if err != nil {
		return err
	}
	return page{File: "speed.html", Title: "Speed", Body: template.HTML(html), Description: "What a step and a sample cost, and how kernels compare with PyTorch."}.write(dir)
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
	body = template.HTML(broken.ReplaceAllStringFunc(string(body), func(name string) string { return strings.ReplaceAll(name, "/", "/<wbr>") }))
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
