// Package command is the frame of every example program: options from the command
// line, a run that an interrupt stops, and a report printed as text or as one
// JSON object and nothing else.
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
)

// Main parses the command line, runs the program and prints its report on
// standard output: as JSON on one line if asJSON says so, else by its String
// method. It exits with status 1 after printing an error under the name of the
// program, and with 0 otherwise, also when help was asked for.
func Main[O any, R fmt.Stringer](name string, parse func(args []string) (O, error),
	run func(ctx context.Context, o O) (R, error), asJSON func(o O) bool) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := execute(ctx, os.Stdout, os.Args[1:], parse, run, asJSON)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func execute[O any, R fmt.Stringer](ctx context.Context, w io.Writer, args []string, parse func(args []string) (O, error),
	run func(ctx context.Context, o O) (R, error), asJSON func(o O) bool) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	r, err := run(ctx, o)
	if err != nil {
		return err
	}
	if asJSON(o) {
		return json.NewEncoder(w).Encode(r)
	}
	_, err = io.WriteString(w, r.String())
	return err
}
