// Command mistakes checks that the tests detect mistakes. It copies the source tree to a temporary
// folder. There it makes the mistakes of its table, one at a time. For each mistake it runs the
// tests of the package and of internal/conformance, as CI does, and prints which test failed:
//
//	go run ./internal/tools/mistakes [-only regexp] [-list]
//
// It fails if a mistake is not detected, does not compile, or is in text that no longer exists.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "mistakes whose name matches this `regexp`")
	list := flag.Bool("list", false, "list the mistakes and make none")
	flag.Parse()
	some, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal("-only: ", err)
	}
	all, err := withRecipe()
	if err != nil {
		log.Fatal(err)
	}
	var chosen []mistake
	for _, m := range all {
		if some.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-16s %-40s %s\n", m.name, m.edits[0].file, m.why)
		}
		return
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	caught, err := run(ctx, os.Stdout, chosen)
	fmt.Printf("caught %d of %d\n", caught, len(chosen))
	if err != nil {
		cancel()
		log.Fatal(err)
	}
}

// withRecipe returns all mistakes, with the one derived from the recipe last.
func withRecipe() ([]mistake, error) {
	doc, err := os.ReadFile(recipe)
	if err != nil {
		return nil, err
	}
	last, err := glauber(string(doc), "simd.Sigmoid(k.e[s] - k.f[0])", "simd.Sigmoid(2 * (k.e[s] - k.f[0]))")
	return append(slices.Clone(mistakes), last), err
}

// run makes the mistakes in a copy of the tree and returns the number detected. It returns an
// error if some were not.
func run(ctx context.Context, w io.Writer, chosen []mistake) (caught int, err error) {
	dir, err := os.MkdirTemp("", "mistakes")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copyTree(ctx, dir); err != nil {
		return 0, err
	}
	for _, m := range chosen {
		start := time.Now()
		by, e := try(ctx, dir, m)
		if ctx.Err() != nil {
			return caught, ctx.Err()
		}
		switch {
		case e != nil:
			by = e.Error()
			err = errors.Join(err, fmt.Errorf("%s: %w", m.name, e))
		case by == "":
			by = "NOT CAUGHT"
			err = errors.Join(err, fmt.Errorf("%s: not caught: %s", m.name, m.why))
		default:
			by = "caught by " + by
			caught++
		}
		fmt.Fprintf(w, "%-16s %s (%v)\n", m.name, by, time.Since(start).Round(time.Second))
	}
	return caught, err
}

// copyTree copies the files that git tracks or would add.
func copyTree(ctx context.Context, dir string) error {
	out, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--deduplicate", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not committed
		}
		if err != nil {
			return err
		}
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// try makes a mistake in the copy and runs tests until one fails. It returns the name of that
// test and undoes the mistake.
func try(ctx context.Context, dir string, m mistake) (by string, err error) {
	undo, err := apply(dir, m.edits)
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return "", err
	}
	own := "./" + path.Dir(m.edits[0].file)
	if out, err := command(ctx, dir, "build", own); err != nil {
		return "", fmt.Errorf("does not compile: %s", out)
	}
	if slices.ContainsFunc(m.edits, func(e edit) bool { return e.file == registry }) { // as the recipe says
		if out, err := command(ctx, dir, "test", "./internal/conformance", "-run", "GoldenMethods", "-update"); err != nil {
			return "", fmt.Errorf("no golden line: %s", out)
		}
	}
	for _, pkg := range []string{own, "./internal/conformance"} {
		out, err := command(ctx, dir, "test", "-short", "-failfast", "-timeout", "10m", pkg)
		if err == nil {
			continue
		}
		if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") {
			return "", fmt.Errorf("the tests do not compile: %s", out)
		}
		return strings.TrimPrefix(pkg, "./") + " " + failed(out), nil
	}
	return "", nil
}

// command runs the go command in the copy and returns its output.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath") // the build cache serves every copy
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// apply applies edits in dir and returns a function that undoes them.
func apply(dir string, edits []edit) (undo func() error, err error) {
	before := map[string][]byte{} // previous contents by file; nil for a file that did not exist
	undo = func() (err error) {
		for name, text := range before {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if text == nil {
				err = errors.Join(err, os.Remove(at))
			} else {
				err = errors.Join(err, os.WriteFile(at, text, 0o644))
			}
		}
		return err
	}
	for _, e := range edits {
		at := filepath.Join(dir, filepath.FromSlash(e.file))
		text, err := os.ReadFile(at)
		made := errors.Is(err, os.ErrNotExist)
		if err != nil && !(made && e.old == "") {
			return undo, fmt.Errorf("no longer applies: %w", err)
		}
		if n := strings.Count(string(text), e.old); n != 1 && e.old != "" {
			return undo, fmt.Errorf("no longer applies: %s has %q %d times, want once", e.file, e.old, n)
		}
		if !made && e.old == "" {
			return undo, fmt.Errorf("no longer applies: %s exists", e.file)
		}
		if _, ok := before[e.file]; !ok {
			before[e.file] = text
		}
		changed := strings.Replace(string(text), e.old, e.new, 1)
		if err := os.WriteFile(at, []byte(changed), 0o644); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	timeout = regexp.MustCompile(`(?m)^panic: test timed out[^\n]*\n\s*running tests:\n\s*(\S+)`)
)

// failed returns the name of the failed test, the innermost subtest, or else the reason for the
// failure.
func failed(out string) (name string) {
	for _, m := range failure.FindAllStringSubmatch(out, -1) {
		if name == "" || strings.HasPrefix(m[1], name+"/") {
			name = m[1]
		}
	}
	if m := timeout.FindStringSubmatch(out); m != nil {
		return m[1] + ", which ran out of time"
	}
	if name == "" {
		name, _, _ = strings.Cut(out, "\n")
	}
	return name
}

// recipe is the document that describes how to add a kernel.
const recipe = "docs/ADDING.md"

// registry is the file in which kernels are registered; lines is the text before the first
// entry.
const (
	registry = "internal/conformance/method_test.go"
	lines    = "return []methodEntry{\n"
)

// glauber returns the mistake of adding the recipe's kernel with a wrong acceptance probability.
func glauber(doc, right, wrong string) (mistake, error) {
	const file = "sampler/mcmc/glauber.go"
	kernel, err := block(doc, file)
	if err != nil {
		return mistake{}, err
	}
	if n := strings.Count(kernel, right); n != 1 {
		return mistake{}, fmt.Errorf("%s: the kernel has %q %d times, want once", recipe, right, n)
	}
	line, err := block(doc, registry)
	if err != nil {
		return mistake{}, err
	}
	return mistake{
		"glauber", "a kernel added as " + recipe + " says accepts with " + wrong,
		[]edit{{file, "", strings.Replace(kernel, right, wrong, 1)}, {registry, lines, lines + line}},
	}, nil
}

// block returns the code block of a document whose first line is the name of the file.
func block(doc, file string) (string, error) {
	_, code, found := strings.Cut(doc, "```go\n// "+file+"\n")
	if !found {
		return "", fmt.Errorf("%s has no code of %s", recipe, file)
	}
	code, _, _ = strings.Cut(code, "```")
	return code, nil
}
