// Infill completes records with blanks: dates, licence plates and bank account numbers. The
// blanks must fit a pattern and a check digit. A masked diffusion model fills them, and a
// constraint makes every record valid. Checks that share no code with the constraint count the
// invalid records.
//
//	go -C examples run ./infill
//	go -C examples run ./infill -format iban -record DE__37040044053201300_
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	format, record string
	digitSum       int
	n              int
	seed           uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("infill", flag.ContinueOnError)
	f.StringVar(&o.format, "format", "", "`format` of -record: date, plate (Singapore) or iban (DE, GB, NL, NO); without -record, show samples of this format only")
	f.StringVar(&o.record, "record", "", "`record` to complete, with _ for every blank, instead of the program's own")
	f.IntVar(&o.digitSum, "digitsum", -1, "also require that the digits of the record add up to this `number`")
	f.IntVar(&o.n, "n", 1000, "completions per record")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.n < 1:
		return o, fmt.Errorf("-n = %d, want ≥ 1", o.n)
	case o.digitSum < -1:
		return o, fmt.Errorf("-digitsum = %d, want ≥ 0", o.digitSum)
	case o.record != "" && o.format == "":
		return o, fmt.Errorf("-record %q needs -format", o.record)
	case o.format != "" && builders[o.format] == nil:
		return o, fmt.Errorf("-format: no format %q; there are date, plate, iban", o.format)
	}
	return o, nil
}

// shown lists the records that a run without -record completes.
var shown = []struct{ format, record string }{
	{"date", "20__-02-_9"}, // leap years, and all years for the 9th and the 19th
	{"date", "____-1_-31"},
	{"plate", "S__9683X"},
	{"plate", "SG_____R"},
	{"iban", "DE__37040044053201300_"},
	{"iban", "GB__WEST1234569876543_"},
	{"iban", "NL__ABNA041716____"},
	{"iban", "NO_____________"},
}

func run(ctx context.Context, o options) (*report, error) {
	r := &report{N: o.n, Seed: o.seed, Exact: exact}
	for _, s := range shown {
		switch {
		case o.record != "":
			s.format, s.record = o.format, o.record
		case o.format != "" && o.format != s.format:
			continue
		}
		f, err := complete(ctx, s.format, s.record, o)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", s.format, s.record, err)
		}
		r.Records = append(r.Records, *f)
		if o.record != "" {
			break
		}
	}
	if o.Dir != "" {
		f, err := r.draw()
		if err != nil {
			return nil, err
		}
		r.Add(f)
	}
	return r, nil
}

func main() {
	command.Main("infill", parse, run)
}
