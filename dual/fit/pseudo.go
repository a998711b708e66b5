package fit

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

type conditionals struct {
	stateless
	p             energy.Parametric
	closed        Conditioned // closed form of the gradient; nil if the model has none
	sites, levels int
}

func (*conditionals) UnmarshalBinary(b []byte) error { return wire.ReadEnd(b) }

// Gradient adds to g the gradient of the mean loss of the rows. It implements [Phase].
func (c *conditionals) Gradient(ctx context.Context, g []float64, rows []int32, _ int, _ uint64) error {
	n := len(rows) / c.sites
	sum := make([]float64, len(g))
	if c.closed != nil {
		c.closed.PseudoGradient(sum, rows)
	} else if err := c.neighbours(ctx, sum, rows); err != nil {
		return err
	}
	for k, v := range sum {
		g[k] += v / float64(n)
	}
	return nil
}

// neighbours adds to g the pseudo-likelihood gradient of every row, for models without a closed
// form. For each site of a row, it adds the gradient ∂E/∂θ of the row, and subtracts the mean of
// this gradient over the states that differ only at the site, weighted by their conditional
// probabilities.
func (c *conditionals) neighbours(ctx context.Context, g []float64, rows []int32) error {
	x := make([]int32, c.levels*c.sites)
	e, w := make([]float64, c.levels), make([]float64, c.levels)
	for r := 0; r*c.sites < len(rows); r++ {
		if poll.Err(ctx) != nil {
			return ctx.Err()
		}
		row := rows[r*c.sites : (r+1)*c.sites]
		for l := range c.levels {
			copy(x[l*c.sites:], row)
		}
		for i, at := range row {
			for l := range c.levels {
				x[l*c.sites+i] = int32(l)
			}
			c.p.Energy(e, x)
			if math.IsNaN(e[at]) || math.IsInf(e[at], 0) {
				return fmt.Errorf("fit: Pseudo: energy of row %d of the batch = %v, want a finite number", r, e[at])
			}
			sum := 0.0
			least := e[at]
			for _, v := range e {
				least = min(least, v)
			}
			for l, v := range e {
				w[l] = simd.Exp(least - v)
				sum += w[l]
			}
			for l := range w {
				w[l] /= -sum
			}
			w[at]++
			c.p.ParamGradient(g, x, w)
			for l := range c.levels {
				x[l*c.sites+i] = at
			}
		}
	}
	return nil
}

// Pseudo is the objective that replaces log p(x) by the pseudo-likelihood (Besag 1975)
//
//	Σ_i log p(x_i | the other sites).
//
// The pseudo-likelihood is concave if the log-likelihood is, and needs no chains. As the data grow,
// its optimum tends to the optimum of the likelihood. The estimate has a larger variance than
// maximum likelihood.
//
// For [Conditioned] models, such as Ising models, the gradient has a closed form. For other models,
// each row needs the gradients of sites·(levels−1) + 1 states.
type Pseudo struct{}

// Name returns the name by which checkpoints identify the objective.
func (Pseudo) Name() string { return "pseudo" }

// Bind returns the [Phase] that computes gradients for the model p and its data; it implements
// [Objective].
func (Pseudo) Bind(_ context.Context, p energy.Parametric, _ []int32, _ dual.Primal[int32]) (Phase, error) {
	if err := check.Given("fit: Pseudo", "p", p); err != nil {
		return nil, err
	}
	sites, levels := p.Shape()
	c, _ := energy.As[Conditioned](p)
	return &conditionals{p: p, closed: c, sites: sites, levels: levels}, nil
}
