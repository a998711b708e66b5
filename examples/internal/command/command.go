// Package command is the framework of the example programs. It parses the command line, cancels
// the run on an interrupt, and prints the report as text or as a single JSON object. On request
// it also writes a page with plots.
package command

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/page"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// Illustrated is a report with plots.
type Illustrated interface{ Figures() []*picture.Figure }

// Cautious is a report with warnings, which tell readers what may make the results unreliable.
type Cautious interface{ Warnings() []string }

// Main parses the command line, runs the program and prints its report on standard output: as
// one line of JSON with -json, otherwise by its String method. With -out it also writes a page
// (see [Output]). On an error, it prints the program's name and the error and exits with status
// 1. Otherwise, including when help was requested, the exit status is 0.
func Main[O interface{ output() Output }, R fmt.Stringer](name string, parse func(args []string) (O, error),
	run func(ctx context.Context, o O) (R, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := execute(ctx, os.Stdout, name, os.Args[1:], parse, run)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func execute[O interface{ output() Output }, R fmt.Stringer](ctx context.Context, w io.Writer, name string, args []string,
	parse func(args []string) (O, error), run func(ctx context.Context, o O) (R, error)) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	r, err := run(ctx, o)
	out := o.output()
	if err != nil {
		var m json.Marshaler
		if out.JSON && errors.As(err, &m) { // an error with figures for scripts
			return errors.Join(err, json.NewEncoder(w).Encode(m))
		}
		return err
	}
	var paths []string
	if out.Dir != "" {
		if paths, err = describe(name, args, out, r).Write(out.Dir); err != nil {
			return err
		}
	}
	if out.JSON {
		return json.NewEncoder(w).Encode(r)
	}
	if _, err = io.WriteString(w, r.String()); err != nil {
		return err
	}
	for _, p := range paths {
		if _, err := fmt.Fprintln(w, "wrote", p); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the page of a report.
func describe(name string, args []string, out Output, r fmt.Stringer) *page.Page {
	p := &page.Page{Title: name, Command: repeat(name, args), Text: r.String(), Settings: out.settings()}
	if i, ok := r.(Illustrated); ok {
		p.Figures = i.Figures()
	}
	if c, ok := r.(Cautious); ok {
		p.Warnings = c.Warnings()
		p.Text = without(p.Text, p.Warnings)
	}
	return p
}

// without removes the lines of a printed report that repeat a warning, which stands above it on
// the page.
func without(text string, warnings []string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasSuffix(strings.TrimSpace(line), w) }) {
			b.WriteString(line)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Output holds the options that determine where the report is written. A program embeds it in
// its options.
type Output struct {
	JSON bool
	Dir  string // folder of the page; "" for no page

	flags *flag.FlagSet
}

// Define adds the flags -json and -out to f. The page will list all flags of f as settings. If
// files is not "", it names the files that the program writes to the folder in addition to the
// page, for the help text of -out.
func (o *Output) Define(f *flag.FlagSet, files string) {
	f.BoolVar(&o.JSON, "json", false, "print one JSON object and nothing else on standard output")
	what := "write a page (index.html) and its pictures"
	if files != "" {
		what += " and " + files
	}
	f.StringVar(&o.Dir, "out", "", what+" to this `folder`")
	o.flags = f
}

func (o Output) output() Output { return o }

// Identity returns a text that identifies the run. The text holds the values of all options, except
// options for the output, for checkpoints, or for selecting parts of the run.
func (o Output) Identity() string {
	var b strings.Builder
	o.flags.VisitAll(func(f *flag.Flag) {
		switch f.Name {
		case "json", "out", "dump", "checkpoint", "resume", "method", "run":
			return
		}
		fmt.Fprintf(&b, "-%s=%s ", f.Name, f.Value)
	})
	return b.String()
}

// settings returns all options and their values.
func (o Output) settings() []page.Setting {
	given := make(map[string]bool)
	o.flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var all []page.Setting
	o.flags.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		all = append(all, page.Setting{Name: f.Name, Value: f.Value.String(), Usage: usage, Given: given[f.Name]})
	})
	return all
}

// repeat returns a shell command that repeats the run. The command names a published version if the
// program belongs to one, and otherwise runs in a clone.
func repeat(name string, args []string) string {
	s := "go -C examples run ./" + name
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Sum != "" {
		s = "go run " + b.Main.Path + "/" + name + "@" + b.Main.Version
	}
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("-_./,:=+@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		s += " " + a
	}
	return s
}

// Choose parses the value of -run, a comma-separated list of names, and returns the set of names.
// It returns an error for a name that is not in names.
func Choose(list string, names []string) (map[string]bool, error) {
	chosen := make(map[string]bool)
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("-run: no run %q; there are %s", name, strings.Join(names, ", "))
		}
		chosen[name] = true
	}
	return chosen, nil
}

// Dump writes samples to a file, one per line: the name of the run, a tab and the sample.
func Dump(path string, samples iter.Seq2[string, string]) error {
	return checkpoint.Write(path, func(to io.Writer) error {
		w := bufio.NewWriter(to)
		for run, sample := range samples {
			fmt.Fprintf(w, "%s\t%s\n", run, sample)
		}
		return w.Flush()
	})
}

// Table returns a reader of comma-separated tables. It skips a byte-order mark at the beginning,
// which some programs write before the column names.
func Table(r io.Reader) *csv.Reader {
	const mark = "\ufeff"
	b := bufio.NewReader(r)
	if head, _ := b.Peek(len(mark)); string(head) == mark {
		_, _ = b.Discard(len(mark)) // which Peek has found
	}
	c := csv.NewReader(b)
	c.TrimLeadingSpace = true
	return c
}

// Given reports whether the command line sets the flag of f that has the given name.
func Given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}
