// Fit learns energies from samples and measures the error. It has four modes. By default it
// learns the couplings of an Ising model from the model's own samples. With -csv it learns the
// couplings between the answers of a survey. With -rbm it learns a restricted Boltzmann machine,
// and with -deep a network of images.
//
//	go -C examples run ./fit
//	go -C examples run ./fit -csv answers.csv -given smokes=1 -out out
//	go -C examples run ./fit -rbm
//	go -C examples run ./fit -deep
//	go -C examples run ./fit -deep -conv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	lattice, csv, given, images string
	sigma, seconds, l1          float64
	n, steps, stages            int
	seed                        uint64
	rbm, deep, conv, mmd        bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("fit", flag.ContinueOnError)
	f.StringVar(&o.lattice, "lattice", "25,25", "learn the couplings of a periodic lattice with these `sides` from samples")
	f.Float64Var(&o.sigma, "sigma", 0.25, "σ in the energy term xᵀJx, where J is σ times the adjacency matrix, so that every bond counts twice")
	f.IntVar(&o.n, "n", 2000, "number of training samples from the lattice or the machine")
	f.Float64Var(&o.seconds, "seconds", 60, "training time in seconds")
	f.IntVar(&o.steps, "steps", 0, "maximum number of training steps of -rbm or -deep, which -seconds may end earlier; 0 means 4000 or 1500")
	f.IntVar(&o.stages, "stages", 0, "stages of the annealed importance sampling that estimates the log-likelihood; 0 means 2000 with -deep and 500 otherwise")
	f.Float64Var(&o.l1, "l1", 0, "ℓ1 penalty; 0 means 0.02 on a lattice and none otherwise")
	f.StringVar(&o.csv, "csv", "", "learn couplings between the 0/1 columns of this CSV `file`, whose first line has names")
	f.StringVar(&o.given, "given", "", "print probabilities given these `answers`, such as smokes=1,age=0")
	f.BoolVar(&o.rbm, "rbm", false, "learn a machine of 100 visible and 16 hidden units from samples of one")
	f.BoolVar(&o.mmd, "mmd", false, "with -rbm, measure how far each kernel is from the machine after 1, 10, 100 and 1000 steps")
	f.BoolVar(&o.deep, "deep", false, "learn a network from 4×4 bars and stripes, or from -images")
	f.BoolVar(&o.conv, "conv", false, "with -deep, learn a convolutional energy instead of a residual network")
	f.StringVar(&o.images, "images", "", ".npy `file` of binary images (rows × pixels) for -deep")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Define(f, "couplings.csv of a lattice or a table")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	modes := 0
	for _, on := range []bool{o.csv != "", o.rbm, o.deep} {
		if on {
			modes++
		}
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case modes > 1:
		return o, fmt.Errorf("%d of -csv, -rbm and -deep are given, want at most one", modes)
	case o.given != "" && o.csv == "":
		return o, fmt.Errorf("-given = %q needs -csv", o.given)
	case o.mmd && !o.rbm:
		return o, fmt.Errorf("-mmd needs -rbm")
	case o.conv && !o.deep:
		return o, errors.New("-conv needs -deep")
	case o.images != "" && !o.deep:
		return o, fmt.Errorf("-images = %q needs -deep", o.images)
	case o.n < 2 || o.n > 1<<20:
		return o, fmt.Errorf("-n = %d, want 2 to %d", o.n, 1<<20)
	case o.steps != 0 && !o.rbm && !o.deep:
		return o, fmt.Errorf("-steps = %d needs -rbm or -deep", o.steps)
	case o.steps < 0:
		return o, fmt.Errorf("-steps = %d, want ≥ 0", o.steps)
	case o.stages != 0 && modes == 0:
		return o, fmt.Errorf("-stages = %d needs -csv, -rbm or -deep", o.stages)
	case o.stages < 0:
		return o, fmt.Errorf("-stages = %d, want ≥ 0", o.stages)
	case !(o.seconds > 0) || math.IsInf(o.seconds, 1):
		return o, fmt.Errorf("-seconds = %v, want > 0 and finite", o.seconds)
	case !(o.l1 >= 0) || math.IsInf(o.l1, 1):
		return o, fmt.Errorf("-l1 = %v, want ≥ 0 and finite", o.l1)
	case math.IsNaN(o.sigma) || math.IsInf(o.sigma, 0):
		return o, fmt.Errorf("-sigma = %v, want a finite number", o.sigma)
	}
	return o, nil
}

func run(ctx context.Context, o options) (*report, error) {
	switch {
	case o.csv != "":
		return survey(ctx, o)
	case o.rbm:
		return machine(ctx, o)
	case o.deep:
		return deep(ctx, o)
	}
	return lattice(ctx, o)
}

func main() {
	command.Main("fit", parse, run)
}
