package unlearn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// tokenPath is what one sample has been through when its tokens are revealed one
// by one: log q(x) and log q_i(x) of the tokens so far, by the chain rule, and the
// sum of the logarithms of the combined rows' totals. With p the product of
// experts q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)}, the sample came up with the probability
// p(x)·Z/∏ totals, so the totals are its weight.
type tokenPath struct {
	x       []int32   // as last seen
	rows    []float64 // sites × (1 + laws) × levels: log-probabilities then
	totals  []float64 // sites: log totals then
	logp    []float64 // q, then the laws
	weight  float64
	several bool // tokens have been revealed together
}

// Terminal makes e measure what is sampled instead of the path to it. The
// function it returns fills x with draws from
//
//	p_λ ∝ q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)},
//
// the optimum that the site-wise combination of predictions misses: it lets
// sample draw particles times as many states, with one token revealed at a time
// (ErasureConfig.OneByOne), weighs every one by how far the combination was off
// on its way, and chooses by these weights (systematic resampling: a state may
// come up twice). Exact denoisers make that exact in the limit of many particles;
// the error is O(1/(states·particles)).
//
// From then on [Erasure.Violation] is b_i − log p_λ(x)/q_i(x), whose mean is the
// dual gradient b_i − KL(p_λ‖q_i) and certifies the bound from the right side,
// and [Erasure.Beta] is 1 − s, so that [dual.Auto] finds λ:
//
//	p, err := dual.NewResampler(sites, 256, e.Terminal(d.Sample, 4, src))
//	inf, err := dual.NewInference(e, p, dual.Config{Max: 0.9})
//
// It keeps sites·levels·(1 + laws) numbers per particle. The function's errors
// are those of sample, an erasure that is not OneByOne or has fewer particles
// than one, tokens revealed together, and weights that are all zero.
func (e *Erasure) Terminal(sample func(ctx context.Context, x []int32) error, particles int, src rand.Source) func(ctx context.Context, x []int32) error {
	e.terminal = true
	return func(ctx context.Context, x []int32) error {
		if !e.one || particles < 1 {
			return fmt.Errorf("unlearn: Terminal: OneByOne = %t, particles = %d, want true and ≥ 1", e.one, particles)
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
			if r.several {
				return fmt.Errorf("unlearn: Terminal: sample %d had several tokens revealed in a step, want one (diffusion.Masked{FirstHitting: true})", s)
			}
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

// Effective returns the effective number of particles (Σw)²/Σw² of the last draw
// of [Erasure.Terminal], 0 before: below a hundred or so its figures mean little.
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

// reveal books the tokens that x has and the path has not.
func (e *Erasure) reveal(r *tokenPath, x []int32) {
	if r.x == nil {
		return
	}
	count := 0
	laws := 1 + len(e.away)
	for site, v := range x {
		if r.x[site] != e.mask || v == e.mask {
			continue
		}
		count++
		for i := range laws {
			r.logp[i] += r.rows[(site*laws+i)*e.levels+int(v)]
		}
		r.weight += r.totals[site]
	}
	r.several = r.several || count > 1
	copy(r.x, x)
}

// follow notes the rows of a masked site: log-weights base of q, as they came,
// those of the laws in e.tables from at on, and the total of their combination,
// which is Σ_k exp(log q(k)/(1−s) − …) for normalised rows.
func (e *Erasure) follow(r *tokenPath, site, at int, base []float32, rest float64) {
	laws := 1 + len(e.away)
	rows := r.rows[site*laws*e.levels : (site+1)*laws*e.levels]
	for i := range laws {
		from := base
		if i > 0 {
			from = e.tables[i-1][at : at+e.levels]
		}
		row := rows[i*e.levels : (i+1)*e.levels]
		for k, v := range from {
			row[k] = float64(v)
		}
		row[e.mask] = math.Inf(-1)
		copy(e.q, row)
		logZ := tilt.Normalize(e.q)
		for k := range row {
			row[k] -= logZ
		}
	}
	for k := range e.q {
		e.q[k] = math.Inf(-1)
		if v := rows[k]; !math.IsInf(v, -1) {
			for i, l := range e.lambda {
				if l > 0 {
					v -= float64(l * rows[(i+1)*e.levels+k])
				}
			}
			e.q[k] = v / rest
		}
	}
	r.totals[site] = tilt.Normalize(e.q)
}

// terminals stores b_i − log p_λ(x)/q_i(x) of a record in g.
func (e *Erasure) terminals(g []float64, r *tokenPath) {
	rest := e.rest()
	logp := r.logp[0]
	for i, l := range e.lambda {
		if l > 0 {
			logp -= float64(l * r.logp[1+i])
		}
	}
	logp = logp/rest - e.logZ
	for i, b := range e.bound {
		g[i] = b - (logp - r.logp[1+i])
	}
}

// rest returns 1 − s.
func (e *Erasure) rest() float64 {
	c := 1.0
	for _, l := range e.lambda {
		c -= l
	}
	return c
}
