// Package command is the frame of every example program: options from the command
// line, a run that an interrupt stops, and a report printed as text or as one
// JSON object and nothing else, with a page and pictures where asked for.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/gibbsite-go/gibbsite/examples/internal/page"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// Illustrated is a report with pictures.
type Illustrated interface{ Figures() []*picture.Figure }

// Cautious is a report that warns of what a reader must know before trusting it.
type Cautious interface{ Warnings() []string }

// Main parses the command line, runs the program and prints its report on
// standard output: as JSON on one line with -json, else by its String method;
// with -out it writes a page, too (see [Output]). It exits with status 1 after
// printing an error under the name of the program, and with 0 otherwise, also
// when help was asked for.
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
	if err != nil {
		return err
	}
	out := o.output()
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

// describe makes the page of a report.
func describe(name string, args []string, out Output, r fmt.Stringer) *page.Page {
	p := &page.Page{Title: name, Command: repeat(name, args), Text: r.String(), Settings: out.settings()}
	if i, ok := r.(Illustrated); ok {
		p.Figures = i.Figures()
	}
	if c, ok := r.(Cautious); ok {
		p.Warnings = c.Warnings()
	}
	return p
}
