package mcmc

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

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
