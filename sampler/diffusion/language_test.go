package diffusion

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// language is a set of allowed sequences that draws by enumeration, with
// package math.
type language struct {
	sites, levels int
	allowed       []bool       // by exact.Index
	resets        atomic.Int64 // of samples that move at the same time
	copies        atomic.Int64
}

// newLanguage allows those of the sequences that ok accepts.
func newLanguage(sites, levels int, ok func(x []int32) bool) *language {
	c := &language{sites: sites, levels: levels, allowed: make([]bool, exact.Size(sites, levels))}
	for k, x := range exact.States(sites, levels) {
		c.allowed[k] = ok(x)
	}
	return c
}

func (c *language) Bind(_ context.Context, sites, levels, samples int) (Projection, error) {
	if sites != c.sites || levels != c.levels {
		return nil, fmt.Errorf("a language of %d × %d, want %d × %d", c.sites, c.levels, sites, levels)
	}
	return c, nil
}

func (c *language) Reset(int)     { c.resets.Add(1) }
func (c *language) Copy(int, int) { c.copies.Add(1) }

// weights returns the weight of every allowed sequence.
func (c *language) weights(v []float32) ([]float64, float64) {
	w := make([]float64, len(c.allowed))
	x := make([]int32, c.sites)
	sum := 0.0
	for k, ok := range c.allowed {
		if !ok {
			continue
		}
		exact.State(x, k, c.levels)
		s := 0.0
		for i, l := range x {
			s += float64(v[i*c.levels+int(l)])
		}
		w[k] = math.Exp(s)
		sum += w[k]
	}
	return w, sum
}

func (c *language) LogZ(_ context.Context, v []float32) (float64, error) {
	if _, sum := c.weights(v); sum > 0 {
		return math.Log(sum), nil
	}
	return 0, fmt.Errorf("language: %w", constraint.ErrInfeasible)
}

func (c *language) Draw(_ context.Context, x0 []int32, v []float32, src rand.Source) (float64, error) {
	w, sum := c.weights(v)
	if !(sum > 0) {
		return 0, fmt.Errorf("language: %w", constraint.ErrInfeasible)
	}
	u := rand.New(src).Float64() * sum
	for k, p := range w {
		if u -= p; u < 0 && p > 0 {
			exact.State(x0, k, c.levels)
			break
		}
	}
	return math.Log(sum), nil
}

// Project moves v to the best allowed sequence, made strictly likeliest.
func (c *language) Project(_ context.Context, _ int, v []float32, _, _ float64, _ rand.Source) (float64, error) {
	w, sum := c.weights(v)
	if !(sum > 0) {
		return 0, fmt.Errorf("language: %w", constraint.ErrInfeasible)
	}
	best := 0
	for k := range w {
		if w[k] > w[best] {
			best = k
		}
	}
	x := make([]int32, c.sites)
	exact.State(x, best, c.levels)
	for i, l := range x {
		row := v[i*c.levels : (i+1)*c.levels]
		top := row[0]
		for _, a := range row {
			top = max(top, a)
		}
		row[l] = top + 0.1
	}
	return 0.25, nil
}

// restrict returns the law p conditioned on the language, and its probability.
func (c *language) restrict(p []float64) ([]float64, float64) {
	q := make([]float64, len(p))
	sum := 0.0
	for k, ok := range c.allowed {
		if ok {
			q[k] = p[k]
			sum += p[k]
		}
	}
	for k := range q {
		q[k] /= sum
	}
	return q, sum
}

// onlyProjects hides that a language can draw.
type onlyProjects struct{ *language }

func (c onlyProjects) Bind(ctx context.Context, sites, levels, samples int) (Projection, error) {
	p, err := c.language.Bind(ctx, sites, levels, samples)
	return struct {
		Projection
		Warm
	}{p, c.language}, err
}

// evenSum allows sequences whose levels add up to an even number.
func evenSum(sites, levels int) *language {
	return newLanguage(sites, levels, func(x []int32) bool {
		sum := int32(0)
		for _, l := range x {
			sum += l
		}
		return sum%2 == 0
	})
}
