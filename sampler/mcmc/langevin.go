package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proposal returns the proposal that fits the model.
func (l langevin) proposal(ctx context.Context, method string, m energy.Model, chains int) (proposal, error) {
	sites, levels, err := check.Shape("mcmc: "+method, m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if err := checkStep(method, l.alpha); err != nil {
		return nil, err
	}
	if n := len(l.preconditioner); n != 0 && n != sites {
		return nil, fmt.Errorf("mcmc: %s: len(Preconditioner) = %d, want %d (one per site)", method, n, sites)
	}
	for i, g := range l.preconditioner {
		if !(g > 0) || math.IsInf(float64(g), 1) {
			return nil, fmt.Errorf("mcmc: %s: Preconditioner[%d] = %v, want positive and finite", method, i, g)
		}
	}
	if l.window < 0 {
		return nil, fmt.Errorf("mcmc: %s: Window = %d, want ≥ 0", method, l.window)
	}
	if l.minibatch {
		if _, ok := energy.As[energy.Stochastic](m); !ok {
			return nil, fmt.Errorf("mcmc: %s: Minibatch needs an energy.Stochastic model, %T is not", method, m)
		}
	}
	if l.within != nil {
		return newConfined(ctx, method, m, chains, l)
	}
	if levels == 2 {
		return newFlips(m, chains, l), nil
	}
	return newRows(method, m, chains, l)
}
