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
	// its first-order table. Use it for models whose table is only approximate.
	// It costs as much as a sweep of conditionals per step if the model is not
	// energy.Local. The kernel leaves π invariant with or without it.
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
	t := newExactTable
	if !l.Exact {
		t = newCompactTable
	}
	p := newGWG(m, chains, 1, t(m))
	p.balance = l.Balance
	return newHastings(m, chains, p, 0, nil), nil
}
