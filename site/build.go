package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/gibbsite-go/gibbsite/site/engine/repeat"
)

var (
	// pages holds the templates of the pages.
	//
	//go:embed pages
	pages embed.FS

	// web holds the playground's scripts and style sheet.
	//
	//go:embed web
	web embed.FS

	// guides holds the guides in Markdown.
	//
	//go:embed guides
	guides embed.FS

	templates = template.Must(template.ParseFS(pages, "pages/*.html"))
)

// page is one HTML page of the site, written through the template frame.html.
type page struct {
	File        string // path relative to the site's root folder
	Title       string
	Description string
	Script      string // file name of the page's JavaScript module; "" for none
	Body        template.HTML
}

// Root returns the relative path from the page to the site's root folder.
func (p page) Root() string { return strings.Repeat("../", strings.Count(p.File, "/")) }

// Nav returns the navigation menu, which is the same on every page.
func (page) Nav() []struct{ Name, File string } {
	return []struct{ Name, File string }{
		{"Playground", "playground.html"}, {"Guides", "guides/index.html"}, {"Gallery", "gallery/index.html"}, {"Packages", "packages.html"}, {"Speed", "speed.html"},
	}
}

// Modules returns the file names of the scripts to preload: all those in the folder web except
// worker.js.
func (page) Modules() ([]string, error) {
	all, err := fs.Glob(web, "web/*.js")
	var names []string
	for _, name := range all {
		if name = path.Base(name); name != "worker.js" {
			names = append(names, name)
		}
	}
	return names, err
}

func (p page) write(dir string) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "frame.html", p); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	return write(dir, p.File, b.Bytes())
}

// fill executes a template from the folder pages and returns the HTML.
func fill(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := templates.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

func write(dir, file string, b []byte) error {
	name := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

// build writes the whole site to dir. The working directory must be the folder of this module.
func build(ctx context.Context, dir string) error {
	for _, step := range []func(context.Context, string) error{buildWeb, buildPrograms, buildBits, buildLanding, buildSpeed, buildGuides, buildPackages, buildGallery} {
		if err := step(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// buildWeb copies the scripts and the style sheet and writes the playground's page.
func buildWeb(_ context.Context, dir string) error {
	err := fs.WalkDir(web, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		return write(dir, path.Base(name), b)
	})
	if err != nil {
		return err
	}
	body, err := fill("playground.html", nil)
	if err != nil {
		return err
	}
	return page{
		File: "playground.html", Title: "Playground", Script: "playground.js", Body: body,
		Description: "Lattices, strings, JSON and QUBOs, sampled in your browser by the Go library itself.",
	}.write(dir)
}

// tabs lists the playground's tabs. Each is a WebAssembly program in a folder of wasm.
var tabs = []string{"lattice", "strings", "json", "minimise", "bits"}

// buildPrograms compiles the tabs to WebAssembly and compresses the files, so that any server
// can serve them unchanged.
func buildPrograms(ctx context.Context, dir string) error {
	tmp, err := os.MkdirTemp("", "gibbsite-wasm")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", tmp + string(filepath.Separator)}
	for _, name := range tabs {
		args = append(args, "./wasm/"+name)
	}
	if _, err := run(ctx, "", []string{"GOOS=js", "GOARCH=wasm"}, args...); err != nil {
		return err
	}
	for _, name := range tabs {
		b, err := os.ReadFile(filepath.Join(tmp, name))
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
		if err := write(dir, name+".wasm.gz", packed.Bytes()); err != nil {
			return err
		}
	}
	root, err := run(ctx, "", nil, "env", "GOROOT")
	if err != nil {
		return err
	}
	loader, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")) // belongs to the compiler
	if err != nil {
		return err
	}
	return write(dir, "wasm_exec.js", loader)
}

// shipped lists the seeds whose digests, computed natively, are published with the site.
var shipped = []uint64{1, 2}

// buildBits runs every case of the bits tab natively, for the shipped seeds, and writes the
// digests. The playground repeats these runs and compares.
func buildBits(ctx context.Context, dir string) error {
	all := map[uint64]map[string]string{}
	for _, seed := range shipped {
		all[seed] = map[string]string{}
		for _, name := range repeat.Cases() {
			r, err := repeat.Run(ctx, repeat.Case{Name: name, Seed: seed})
			if err != nil {
				return err
			}
			all[seed][name] = r.Digest
		}
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return write(dir, "bits.json", b)
}

// run runs the go command and returns its standard output. An error includes the standard error.
func run(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
