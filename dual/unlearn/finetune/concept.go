package finetune

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Concept is a property of samples that the network should generate less often.
type Concept[S energy.Site] struct {
	Name string // name in errors and reports; "" means the index of the concept

	// Has returns the share r(x) ∈ [0, 1] of the concept in a clean state x, usually 1 if x has the
	// concept and 0 otherwise. Has must not keep x. It may be nil if Tokens are given; r(x) is then
	// 1 if x contains one of the tokens, and 0 otherwise. If both are given, they must agree.
	Has func(x []S) float64

	// Tokens declares that x has the concept if and only if x contains one of these tokens. The
	// remaining share is then estimated by [unlearn.Avoiding] from the probabilities of the tokens,
	// with much less noise than from counts.
	Tokens []int32

	// Bound is the largest allowed mean of Has over the samples of the network, in (0, 1).
	Bound float64
}

// name returns the name of concept j.
func (c *Concept[S]) name(j int) string {
	if c.Name == "" {
		return fmt.Sprintf("concepts[%d]", j)
	}
	return c.Name
}

// part returns the share r(x) of the concept in x.
func (c *Concept[S]) part(x []S) float64 {
	if c.Has != nil {
		return c.Has(x)
	}
	return c.contains(x)
}

// contains returns 1 if x contains one of the Tokens, and 0 otherwise.
func (c *Concept[S]) contains(x []S) float64 {
	for _, l := range x {
		for _, t := range c.Tokens {
			if l == S(t) {
				return 1
			}
		}
	}
	return 0
}

// parts returns the share r of the concept in every row of the data. It returns an error if the
// concept is not valid, or occurs in no row or in every row. j is the index of the concept.
func (c *Concept[S]) parts(j int, data []S, sites int) ([]float64, error) {
	if !(c.Bound > 0 && c.Bound < 1) {
		return nil, fmt.Errorf("finetune: New: Bound of %s = %v, want in (0, 1)", c.name(j), c.Bound)
	}
	if c.Has == nil && len(c.Tokens) == 0 {
		return nil, fmt.Errorf("finetune: New: %s has neither Has nor Tokens, want one", c.name(j))
	}
	r, sum := make([]float64, len(data)/sites), 0.0
	for k := range r {
		x := data[k*sites : (k+1)*sites]
		r[k] = c.part(x)
		if !(r[k] >= 0 && r[k] <= 1) {
			return nil, fmt.Errorf("finetune: New: Has of %s = %v for row %d of the data, want in [0, 1]", c.name(j), r[k], k)
		}
		if v := c.contains(x); len(c.Tokens) > 0 && r[k] != v {
			return nil, fmt.Errorf("finetune: New: Has of %s = %v and Tokens = %v for row %d of the data, want equal values: set only one of Has and Tokens", c.name(j), r[k], v, k)
		}
		sum += r[k]
	}
	if sum == 0 {
		return nil, fmt.Errorf("finetune: New: no row of the data has %s: there is nothing to draw less often; add rows that have it", c.name(j))
	}
	if sum == float64(len(r)) {
		return nil, fmt.Errorf("finetune: New: every row of the data has %s: nothing would be left; add rows that do not", c.name(j))
	}
	return r, nil
}

// estimate stores in r, for each draw of the network, an unbiased estimate of the share of concept
// j. first is the index of the first draw. x is scratch for as many states as r has entries.
func (t *Tuner[S]) estimate(ctx context.Context, j int, r []float64, x []S, first int) error {
	c, model := &t.concepts[j], t.cfg.Model
	avoiding, err := c.avoiding(j, model)
	if err != nil {
		return err
	}
	if avoiding != nil {
		// the model is on tokens, as avoiding has checked
		model, _ = any(avoiding).(energy.Denoiser[S])
	}
	x = x[:len(r)*t.sites]
	if err := t.sample(ctx, model, first, x); err != nil {
		return fmt.Errorf("finetune: what is left of %s: %w", c.name(j), err)
	}
	if avoiding != nil {
		for s := range r {
			if v := c.part(x[s*t.sites : (s+1)*t.sites]); v != 0 {
				return fmt.Errorf("finetune: Has of %s = %v for a sample without any of its Tokens, want 0: set only one of Has and Tokens", c.name(j), v)
			}
		}
		tokens, _ := any(x).([]int32)
		avoiding.LogSurvival(r, tokens)
		for s, v := range r {
			r[s] = -math.Expm1(v)
		}
		return nil
	}
	for s := range r {
		r[s] = c.part(x[s*t.sites : (s+1)*t.sites])
		if !(r[s] >= 0 && r[s] <= 1) {
			return fmt.Errorf("finetune: Has of %s = %v for a sample, want in [0, 1]", c.name(j), r[s])
		}
	}
	return nil
}

// sample fills x with draws from the model m, numbered first, first+1, …, and checks them.
func (t *Tuner[S]) sample(ctx context.Context, m energy.Denoiser[S], first int, x []S) error {
	for i := range x {
		x[i] = t.never
	}
	if err := t.cfg.Sample(ctx, m, first, x); err != nil {
		return err
	}
	_, levels := m.Shape()
	for i, v := range x {
		switch any(x).(type) {
		case []float32:
			if !check.Finite(float64(v)) {
				return fmt.Errorf("Config.Sample: draw %d has %v at site %d, want finite numbers", first+i/t.sites, v, i%t.sites)
			}
		default:
			if v < 0 || int(v) >= levels {
				return fmt.Errorf("Config.Sample: draw %d has the token %v at site %d, want 0 … %d at every site", first+i/t.sites, v, i%t.sites, levels-1)
			}
		}
	}
	return nil
}

// repeats returns an error unless Config.Sample makes the same draw again for a number, and other
// draws for other numbers.
func (t *Tuner[S]) repeats(ctx context.Context) error {
	all := t.x[:probed*t.sites]
	if err := t.sample(ctx, t.cfg.Model, 0, all); err != nil {
		return fmt.Errorf("finetune: %w", err)
	}
	half := len(all) / 2
	first, second := slices.Clone(all[:half]), slices.Clone(all[half:])
	again := all[:half]
	if err := t.sample(ctx, t.cfg.Model, probed/2, again); err != nil {
		return fmt.Errorf("finetune: %w", err)
	}
	switch {
	case slices.Equal(again, second):
		return nil
	case slices.Equal(again, first):
		return fmt.Errorf("finetune: Config.Sample: draw %d is draw 0 if first = %d, want draws that depend on their numbers: use first, as in diffusion.Config.First", probed/2, probed/2)
	}
	return fmt.Errorf("finetune: Config.Sample: draw %d is not the same if first = 0 and if first = %d, want draws that depend only on the model and their numbers", probed/2, probed/2)
}

// probed is the number of draws that test Config.Sample.
const probed = 16

// avoiding returns a denoiser that measures a concept defined by Tokens. It returns nil for other
// concepts. j is the index of the concept.
func (c *Concept[S]) avoiding(j int, model energy.Denoiser[S]) (*unlearn.Avoiding, error) {
	if len(c.Tokens) == 0 {
		return nil, nil
	}
	tokens, ok := any(model).(energy.Denoiser[int32])
	if !ok {
		return nil, fmt.Errorf("finetune: %s has Tokens, and the data are reals: use Has", c.name(j))
	}
	m, ok := energy.As[energy.Masking](model)
	if !ok || check.Nil(m) {
		return nil, fmt.Errorf("finetune: Config.Model does not know its mask, which the tokens of %s need: use Has, or a Model with a method MaskLevel", c.name(j))
	}
	a, err := unlearn.NewAvoiding(tokens, m.MaskLevel(), c.Tokens...)
	if err != nil {
		return nil, fmt.Errorf("finetune: tokens of %s: %w", c.name(j), err)
	}
	return a, nil
}
