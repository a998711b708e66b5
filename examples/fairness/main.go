// Fairness samples rosters of nurses under two rules. First, every roster gives every shift
// exactly as many available nurses as it needs; the chains never violate this rule. Second, on
// average over rosters, no nurse has more than a fair share of shifts and of nights. Multipliers
// enforce the second rule and are adjusted until a certificate shows that it holds.
//
//	go -C examples run ./fairness
//	go -C examples run ./fairness -csv shifts.csv -slack 0.1 -out out
//
// The table has the header shift,night,need and a column per nurse. A nurse's cell states how
// unwelcome the shift is, or is empty if the nurse cannot come.
package main

import (
	"flag"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output
	checkpoint.Flags

	csv                  string
	slack, tired, tol    float64
	chains, steps, draws int
	rounds               int
	seed                 uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("fairness", flag.ContinueOnError)
	f.StringVar(&o.csv, "csv", "", "read shifts from this `file`; the default is a week that the program makes")
	f.Float64Var(&o.slack, "slack", 0.15, "how far above an equal share a nurse's mean may be, as a fraction of that share")
	f.Float64Var(&o.tired, "tired", 1, "energy of two shifts of a nurse in a row")
	f.IntVar(&o.chains, "chains", 32, "number of chains")
	f.IntVar(&o.steps, "steps", 600, "dual steps of the first round")
	f.IntVar(&o.draws, "draws", 600, "draws per chain that judge the multipliers of the first round")
	f.Float64Var(&o.tol, "tol", 0.05, "how far above its limit a mean may be, or a hundredth of the limit if that is more, two standard errors included")
	f.IntVar(&o.rounds, "rounds", 4, "most rounds, each with two to eight times the steps and draws of the one before, until that holds")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Output.Define(f, "")
	o.Flags.Define(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.chains < 2 || o.steps < 1 || o.draws < 2:
		return o, fmt.Errorf("-chains = %d, -steps = %d, -draws = %d, want ≥ 2, ≥ 1 and ≥ 2", o.chains, o.steps, o.draws)
	case o.rounds < 1 || o.rounds > mostRounds:
		return o, fmt.Errorf("-rounds = %d, want 1 … %d", o.rounds, mostRounds)
	case !(o.tol > 0) || math.IsInf(o.tol, 1):
		return o, fmt.Errorf("-tol = %v, want > 0 and finite", o.tol)
	case !(o.slack >= 0) || math.IsInf(o.slack, 1):
		return o, fmt.Errorf("-slack = %v, want ≥ 0 and finite", o.slack)
	case !(math.Abs(o.tired) <= mostCost):
		return o, fmt.Errorf("-tired = %v, want a number of at most %v", o.tired, mostCost)
	}
	return o, nil
}

// mostRounds is the maximum of -rounds. Steps and draws grow in each round.
const mostRounds = 16

func main() {
	command.Main("fairness", parse, run)
}
