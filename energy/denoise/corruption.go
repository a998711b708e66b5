package denoise

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Corruption is a kind of noise on tokens: [Absorbing] or [Noisy]. It selects the noise that an
// exact denoiser removes from samples of its model.
type Corruption uint8

const (
	// Absorbing leaves a token intact with probability α, where α is the signal level of the
	// diffusion at that time. Otherwise it replaces the token by the mask. For a model with K
	// levels the mask is level K, so the denoiser has K+1 levels. The denoiser never predicts the
	// mask, and its predictions do not depend on time.
	Absorbing Corruption = iota

	// Noisy leaves a token intact with probability α, where α is the signal level of the diffusion
	// at that time. Otherwise it draws the token uniformly from the levels of the model.
	Noisy
)

// String returns "Absorbing" or "Noisy".
func (c Corruption) String() string {
	return check.Name("Corruption", c, "Absorbing", "Noisy")
}

// MarshalText returns the result of String as bytes. It implements encoding.TextMarshaler.
func (c Corruption) MarshalText() ([]byte, error) {
	return check.MarshalName("corruption", c, Noisy)
}

// UnmarshalText sets c to the corruption with the given name, as String returns it. It implements
// encoding.TextUnmarshaler.
func (c *Corruption) UnmarshalText(name []byte) error {
	return check.UnmarshalName("corruption", c, Noisy, name)
}

// levels returns the number of levels of a denoiser for a model of k tokens.
func (c Corruption) levels(k int) int {
	if c == Absorbing {
		return k + 1
	}
	return k
}

// mask returns the mask level of a denoiser for a model of k tokens, or −1 if the denoiser has no
// mask.
func (c Corruption) mask(k int) int32 {
	if c == Absorbing {
		return int32(k)
	}
	return -1
}

func (c Corruption) check(caller string) error {
	if c > Noisy {
		return fmt.Errorf("denoise: %s: Corruption = %d, want Absorbing or Noisy", caller, uint8(c))
	}
	return nil
}

// likelihoods stores in dst, sites × k, the likelihood q(x_t,i | x_0,i = l) for every site i and
// token l of state s in q.
func (c Corruption) likelihoods(dst []float64, q energy.Noised[int32], s, sites, k int) {
	alpha := q.Alpha[s]
	for i := range sites {
		row := dst[i*k : (i+1)*k]
		at := q.X[s*sites+i]
		clean := q.Clean != nil && q.Clean[s*sites+i]
		fill := 0.0
		switch {
		case c == Absorbing && int(at) == k:
			fill = 1
		case c == Noisy && !clean:
			fill = (1 - alpha) / float64(k)
		}
		for l := range row {
			row[l] = fill
		}
		if int(at) < k {
			row[at] = 1
			if c == Noisy && !clean {
				row[at] = alpha + fill
			}
		}
	}
}

// logRows stores in v the logarithms of p. Rows of k numbers become rows of the denoiser's levels.
// The mask, if any, gets −Inf.
func (c Corruption) logRows(v []float32, p []float64, k int) {
	levels := c.levels(k)
	for len(p) > 0 {
		for l, w := range p[:k] {
			v[l] = float32(simd.Log(w))
		}
		if levels > k {
			v[k] = float32(math.Inf(-1))
		}
		p, v = p[k:], v[levels:]
	}
}

// bayes is a model that computes exact posteriors of tokens.
type bayes interface {
	// posterior stores the posterior of every site in p (sites × k), up to a factor per row,
	// given the likelihoods like (sites × k). b is scratch.
	posterior(p, like, b []float64)
}

// denoise implements Denoise for a model d with exact posteriors. extra is the number of float64
// values of scratch that d needs. It panics if the lengths do not match.
func (c Corruption) denoise(ctx context.Context, v []float32, q energy.Noised[int32], sites, k, extra int, d bayes) error {
	n := q.States(sites)
	size := sites * c.levels(k)
	check.Len("denoise", "v", len(v), n*size)
	b := scratch.Float64s.Get(2*sites*k + extra)
	defer scratch.Float64s.Put(b)
	p, like, rest := (*b)[:sites*k], (*b)[sites*k:2*sites*k], (*b)[2*sites*k:]
	for s := range n {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		c.likelihoods(like, q, s, sites, k)
		d.posterior(p, like, rest)
		c.logRows(v[s*size:(s+1)*size], p, k)
	}
	return nil
}

// normalise divides w by its sum and returns the sum. If the sum is 0, w is unchanged.
func normalise(w []float64) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	if sum > 0 {
		for i := range w {
			w[i] /= sum
		}
	}
	return sum
}
