// Fairness samples rosters of nurses: every roster gives every shift exactly the
// nurses it needs, all of whom can come, and on average no nurse has more than a
// fair share of shifts and of nights. The first is a language that chains never
// leave, the second is met by multipliers.
//
//	go -C examples run ./fairness
//	go -C examples run ./fairness -csv shifts.csv -slack 0.1 -out out
//
// The table has the header shift,night,need and a column per nurse: how
// unwelcome the shift is, or nothing if the nurse cannot come.
package main

import (
	"flag"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options are the command line.
type options struct {
	csv, out             string
	slack, tired         float64
	chains, steps, draws int
	seed                 uint64
	json                 bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("fairness", flag.ContinueOnError)
	f.StringVar(&o.csv, "csv", "", "read shifts from this `file`; the default is a week that the program makes")
	f.Float64Var(&o.slack, "slack", 0.15, "how far above an equal share a nurse's mean may be, as a part of it")
	f.Float64Var(&o.tired, "tired", 1, "energy of two shifts of a nurse in a row")
	f.IntVar(&o.chains, "chains", 32, "number of chains")
	f.IntVar(&o.steps, "steps", 600, "dual steps")
	f.IntVar(&o.draws, "draws", 600, "draws per chain that judge the multipliers")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	f.BoolVar(&o.json, "json", false, "print one JSON object and nothing else on standard output")
	f.StringVar(&o.out, "out", "", "write a picture of multipliers and means to this `folder`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.chains < 2 || o.steps < 1 || o.draws < 2:
		return o, fmt.Errorf("-chains = %d, -steps = %d, -draws = %d, want ≥ 2, ≥ 1 and ≥ 2", o.chains, o.steps, o.draws)
	case !(o.slack >= 0) || math.IsInf(o.slack, 1):
		return o, fmt.Errorf("-slack = %v, want ≥ 0 and finite", o.slack)
	case !(math.Abs(o.tired) <= mostCost):
		return o, fmt.Errorf("-tired = %v, want a number of at most %v", o.tired, mostCost)
	}
	return o, nil
}

func main() {
	command.Main("fairness", parse, run, func(o options) bool { return o.json })
}
