package unlearn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Terminal makes e measure the final samples instead of their paths. The returned function
// fills x with draws from
//
//	p_λ ∝ q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)},
//
// the optimum that the site-wise combination of predictions misses. The function calls
// sample for particles times as many states, with one token revealed at a time
// (diffusion.Masked{FirstHitting: true}), weights every state by the error of the
// combination along its path, and resamples by these weights. Resampling is systematic, so
// a state may occur twice. With exact denoisers the result is exact in the limit of many
// particles; the error is O(1/(states·particles)).
//
// From then on [Erasure.Violation] is b_i − log p_λ(x)/q_i(x), whose mean is the dual
// gradient b_i − KL(p_λ‖q_i) and certifies the bound in the right direction, and
// [Erasure.Beta] is 1 − s, so [dual.Auto] can find λ:
//
//	p, err := dual.NewResampler(sites, 256, e.Terminal(d.Sample, 4, src))
//	inf, err := dual.NewInference(ctx, e, p, dual.Config{Max: new(0.9)})
//
// It keeps sites·levels·(1 + distributions) numbers per particle. The function returns the
// errors of sample, among them one if tokens are revealed in another way, and an error if
// particles is less than 1, if tokens were given (Config.Clamp), or if all weights are
// zero.
func (e *Erasure) Terminal(sample func(ctx context.Context, x []int32) error, particles int, src rand.Source) func(ctx context.Context, x []int32) error {
	e.terminal = true
	return func(ctx context.Context, x []int32) error {
		if particles < 1 {
			return fmt.Errorf("unlearn: Terminal: particles = %d, want ≥ 1", particles)
		}
		e.forget()
		all := make([]int32, len(x)*particles)
		if err := sample(ctx, all); err != nil {
			return err
		}
		n := len(all) / e.sites
		if len(e.records) != n {
			return fmt.Errorf("unlearn: Terminal: %d samples measured, want %d", len(e.records), n)
		}
		w := make([]float64, n)
		for s := range n {
			r := &e.records[s].path
			e.reveal(r, all[s*e.sites:(s+1)*e.sites])
			w[s] = r.weight
		}
		if !check.Finite(slices.Max(w)) {
			return fmt.Errorf("unlearn: Terminal: largest log-weight of %d particles = %v, want a finite number", n, slices.Max(w))
		}
		e.logZ = tilt.Normalize(w) - simd.Log(float64(n))
		squares := 0.0
		for _, v := range w {
			squares += float64(v * v)
		}
		e.effective = 1 / squares
		e.choose(x, all, w, src)
		return nil
	}
}

// Effective returns the effective number of particles (Σw)²/Σw² in the last draw of
// [Erasure.Terminal], or 0 before the first. Below about a hundred, the figures of that
// draw mean little.
func (e *Erasure) Effective() float64 { return e.effective }

// choose fills x with states of all, by their weights, and keeps their records.
func (e *Erasure) choose(x, all []int32, w []float64, src rand.Source) {
	n := len(x) / e.sites
	u := float64(rand.New(src).Float64()) // rounded: a compiler may fuse its last product
	chosen := make([]pathRecord, n)
	k, sum := 0, w[0]
	for s := range n {
		at := (float64(s) + u) / float64(n)
		for sum < at && k+1 < len(w) {
			k++
			sum += w[k]
		}
		copy(x[s*e.sites:(s+1)*e.sites], all[k*e.sites:(k+1)*e.sites])
		chosen[s] = e.records[k]
	}
	e.records = chosen
	clear(e.slot)
}
