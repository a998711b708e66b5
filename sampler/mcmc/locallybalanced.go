package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Balance is a balancing function g, one with g(t) = t·g(1/t), of the
// probability ratio t = p(y)/p(x) of a move (Zanella 2020). A proposal that
// weighs moves by g(t) is nearly reversible by itself, so that most proposals
// are accepted.
type Balance int

const (
	// Sqrt is √t, the usual choice: that of GWG and of the Langevin proposal.
	Sqrt Balance = iota

	// Barker is t/(1+t): all good moves weigh about the same, so that one very
	// good move does not drown the others.
	Barker

	// Min is min(1, t): as Barker, with a kink.
	Min

	// Max is max(1, t): moves that lose probability weigh as much as neutral
	// ones; the proposal goes far and is rejected more often.
	Max
)

func (b Balance) String() string {
	switch b {
	case Sqrt:
		return "sqrt"
	case Barker:
		return "barker"
	case Min:
		return "min"
	case Max:
		return "max"
	}
	return fmt.Sprintf("Balance(%d)", int(b))
}

func (b Balance) check(method string) error {
	if b < Sqrt || b > Max {
		return fmt.Errorf("mcmc: %s: Balance = %v, want Sqrt, Barker, Min or Max", method, b)
	}
	return nil
}

// logs stores in w the logarithm of g(e^(−d)) for every difference d of g; −Inf
// for a level that is known to have probability zero, also where g(0) = 1.
func (b Balance) logs(w, g []float32) {
	if b == Sqrt {
		for i, d := range g {
			w[i] = -half * d
		}
		return
	}
	for i, d := range g {
		w[i] = float32(b.log(float64(d)))
	}
}

// log is logs of one difference.
func (b Balance) log(d float64) float64 {
	switch {
	case b == Sqrt:
		return -half * d
	case math.IsInf(d, 1):
		return math.Inf(-1)
	case b == Barker:
		return -simd.Softplus(d)
	case b == Min:
		return min(0, -d)
	}
	return max(0, -d)
}

// LocallyBalanced changes one site per step: it draws the change (i, l),
// l ≠ x_i, from
//
//	q(i,l|x) ∝ g( exp(E(x) − E(x with x_i=l)) )
//
// and accepts with the Hastings ratio of the reverse change (Zanella 2020).
// Energy and weights of the current states are cached: a step costs one
// evaluation of the model and one table of differences.
//
// With Balance Sqrt and first-order differences it is [GWG].
type LocallyBalanced struct {
	Balance Balance // g; the zero value is Sqrt

	// Exact takes the differences from the model's single-site energies
	// (energy.Local, else energy.Conditional, else by evaluation) and not from
	// its first-order table. It matters for models whose table is only
	// approximate, and costs as much as a sweep of conditionals per step where
	// the model is not energy.Local. Either way the kernel leaves π invariant.
	Exact bool
}

// Name implements [sampler.Named].
func (LocallyBalanced) Name() string { return "locally-balanced" }

// Kernel implements [sampler.Method].
func (l LocallyBalanced) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if _, _, err := check.Shape("mcmc: LocallyBalanced", m, chains, sampler.BlockSize); err != nil {
		return nil, err
	}
	if err := l.Balance.check("LocallyBalanced"); err != nil {
		return nil, err
	}
	k := newGWG(m, chains, 1)
	k.balance = l.Balance
	if l.Exact {
		k.table = exactTable(m)
	}
	return k, nil
}

// exactTable returns a function like energy.Differentiable's Gradient that does
// not use a first-order table. It belongs to one goroutine.
func exactTable(m energy.Model) func(e []float64, g []float32, x []int32) {
	sites, levels := m.Shape()
	d := make([]float64, sites*levels)
	var rows func(x []int32)
	if local, ok := energy.As[energy.Local](m); ok {
		rows = func(x []int32) { local.Locals(d, x) }
	} else {
		c := energy.Conditionals(m)
		rows = func(x []int32) {
			for i := range x {
				c.Conditional(d[i*levels:(i+1)*levels], i, x)
			}
		}
	}
	return func(e []float64, g []float32, x []int32) {
		m.Energy(e, x)
		for s := range e {
			state := x[s*sites : (s+1)*sites]
			rows(state)
			for i, at := range state {
				row := d[i*levels : (i+1)*levels]
				own := row[at]
				for _, v := range row {
					g[0] = float32(v - own)
					g = g[1:]
				}
			}
		}
	}
}
