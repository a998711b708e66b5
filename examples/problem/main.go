// Problem solves an optimisation problem read from a file: it finds states of lowest energy,
// counts feasible states or draws samples. It reads the formats of read.NewProgram: LP, MPS,
// QPLIB, MQLib, DIMACS clauses, dimod's models, lists of coefficients and graphs.
//
//	go -C examples run ./problem -file knapsack.lp -n 5
//	go -C examples run ./problem -file model.cqm -sample -n 1000 -beta 2 -json
//	go -C examples run ./problem -file formula.cnf -count
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/problem"
)

// options holds the command-line options.
type options struct {
	command.Output

	file, format, write string
	n                   int
	sample, count       bool
	config              problem.Config
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("problem", flag.ContinueOnError)
	f.StringVar(&o.file, "file", "", "read the problem from this `file`")
	f.StringVar(&o.format, "format", "", "`format` of the file: "+strings.Join(read.Formats(), ", ")+"; detected by name and contents if not given")
	f.StringVar(&o.write, "write", "", "only convert: write the problem to this `file`, in the format that its name implies")
	f.IntVar(&o.n, "n", 1, "number of rows: states of lowest energy or, with -sample, draws")
	f.BoolVar(&o.sample, "sample", false, "draw states instead of minimising")
	f.BoolVar(&o.count, "count", false, "count the feasible states instead")
	f.Float64Var(&o.config.Beta, "beta", 1, "inverse temperature of -sample, > 0")
	f.Float64Var(&o.config.Penalty, "penalty", 0, "cost of a violation where no exact method applies; 0 allows none")
	f.IntVar(&o.config.Steps, "steps", 0, "steps of annealing, or between draws of a chain; 0 means the default")
	f.IntVar(&o.config.Search, "search", 0, "maximum number of evaluations of the search; 0 means 2^26, −1 no search")
	f.IntVar(&o.config.Workers, "workers", 0, "number of goroutines; 0 means one per processor")
	f.Uint64Var(&o.config.Seed, "seed", 1, "random seed")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.file == "":
		return o, errors.New("no -file; see -help")
	case o.n < 1:
		return o, fmt.Errorf("-n = %d, want ≥ 1", o.n)
	case !(o.config.Beta > 0):
		return o, fmt.Errorf("-beta = %v, want > 0", o.config.Beta)
	case o.sample && o.count:
		return o, errors.New("-sample and -count exclude each other")
	}
	return o, nil
}

// load reads the file in the format of -format, or in the detected format if it is "".
func load(o options) (p *read.Program, err error) {
	f, err := os.Open(o.file)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReader(f)
	format := o.format
	if format == "" {
		head, _ := b.Peek(16) // of a shorter file what there is
		if format = read.FormatOf(o.file, head); format == "" {
			return nil, errors.Join(fmt.Errorf("%s: neither the name nor the beginning of the file identifies its format; state it by -format, one of %s", o.file, strings.Join(read.Formats(), ", ")), f.Close())
		}
	}
	if p, err = read.NewProgram(b, format); err != nil {
		err = fmt.Errorf("%s: %w", o.file, err)
	}
	return p, errors.Join(err, f.Close())
}

// report is the program's output.
type report struct {
	File      string             `json:"file"`
	Variables int                `json:"variables"`
	Count     *float64           `json:"count,omitempty"`
	Written   string             `json:"written,omitempty"`
	Set       *problem.SampleSet `json:"-"`
}

// MarshalJSON writes the report and the fields of the sample set as one object.
func (r *report) MarshalJSON() ([]byte, error) {
	type plain report
	head, err := json.Marshal((*plain)(r))
	if err != nil || r.Set == nil {
		return head, err
	}
	set, err := json.Marshal(r.Set)
	return append(append(head[:len(head)-1], ','), set[1:]...), err
}

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d variables\n", r.File, r.Variables)
	switch {
	case r.Count != nil:
		fmt.Fprintf(&b, "%.17g feasible states\n", *r.Count)
	case r.Written != "":
		fmt.Fprintf(&b, "written to %s\n", r.Written)
	default:
		certain := map[bool]string{true: "exact", false: "not certain"}[r.Set.Exact]
		fmt.Fprintf(&b, "by %s, %s\n", r.Set.Method, certain)
		for _, row := range r.Set.Rows {
			fmt.Fprintln(&b, row)
		}
	}
	return b.String()
}

// Warnings returns the warnings of the sample set.
func (r *report) Warnings() []string {
	if r.Set == nil {
		return nil
	}
	return r.Set.Warnings
}

func run(ctx context.Context, o options) (*report, error) {
	program, err := load(o)
	if err != nil {
		return nil, err
	}
	r := &report{File: o.file, Variables: len(program.Variables)}
	if o.write != "" {
		format := read.FormatOf(o.write, nil)
		if format == "" {
			return nil, fmt.Errorf("-write = %s: the name implies no format, want one of %s", o.write, strings.Join(read.Formats(), ", "))
		}
		r.Written = o.write
		return r, checkpoint.Write(o.write, func(w io.Writer) error { return program.Write(w, format) })
	}
	p, err := problem.Read(program)
	if err != nil {
		return nil, err
	}
	switch {
	case o.count:
		n, err := p.Count(ctx, o.config)
		r.Count = &n
		return r, err
	case o.sample:
		r.Set, err = p.Sample(ctx, o.n, o.config)
	default:
		o.config.Rows = o.n
		r.Set, err = p.Minimise(ctx, o.config)
	}
	return r, err
}

func main() {
	command.Main("problem", parse, run)
}
