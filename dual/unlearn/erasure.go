package unlearn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Erasure is reverse-KL unlearning in the form of a masked diffusion (Khalafi,
// Ribeiro and Ding 2026): a denoiser that combines the predictions of q and of
// the distributions q_i to move away from, site by site,
//
//	log p̂_λ = (log q̂ − Σ_i λ_i log q̂_i)/(1−s) + const,  s = Σλ_i < 1,
//
// and that measures how far its own path is from theirs, the path divergence
//
//	Σ_t E KL(p_λ(x_s|x_t) ‖ q_i(x_s|x_t)) = Σ_t E Σ_{i masked} (α_s−α_t)/(1−α_t)·KL(p̂_λ ‖ q̂_i),
//
// an upper bound on the divergence KL(p‖q_i) of what is sampled. With exact
// denoisers and tokens revealed one by one the bound is attained at λ = 0.
//
// It is a [dual.Target] with the violations b_i − path divergence per sample: with a
// [dual.Resampler] around the diffusion, [dual.Inference] is the paper's dual ascent
// (use [dual.Ascent], the paper's η is 0.02, and Config.Max below 1). That is a
// heuristic beyond λ = 0: being above the divergence, the path's never certifies
// KL ≥ b_i, its mean is not the dual gradient, and the site-wise combination is not
// the optimum. [Erasure.Terminal] corrects all three where tokens come one by one;
// a space that can be enumerated, or whose log Z is known, is [Experts]'s.
//
// An Erasure belongs to one diffusion, which must ask for every step: it is not
// TimeFree. It keeps figures per sample and is not safe for concurrent use.
type Erasure struct {
	base          energy.Denoiser[int32]
	away          []energy.Denoiser[int32]
	mask          int32
	one           bool
	sites, levels int
	lambda, bound []float64

	records []pathRecord
	slot    map[int]int // by number of the sample
	tables  [][]float32
	p, q    []float64

	terminal        bool // see Terminal
	logZ, effective float64
}

// pathRecord is the path divergence of one sample so far.
type pathRecord struct {
	sample  int
	alpha   float64   // at the last prediction
	pending []float64 // Σ over masked sites of the divergences then
	sum     []float64
	path    tokenPath // if terminal
}

// ErasureConfig says how an erasure measures.
type ErasureConfig struct {
	Mask int32 // the level that stands for a masked token

	// OneByOne says that every step reveals one masked token, each with the
	// same probability (diffusion.Masked{FirstHitting: true}): the step's
	// divergence then is the mean over masked sites.
	OneByOne bool
}

// NewErasure returns the erasure at λ = 0 for the bounds b, one per
// distribution. It returns an error for a nil denoiser, shapes that differ, a
// mask that is no level, or bounds that do not fit.
func NewErasure(q energy.Denoiser[int32], away []energy.Denoiser[int32], b []float64, cfg ErasureConfig) (*Erasure, error) {
	if q == nil || len(away) == 0 || len(b) != len(away) {
		return nil, fmt.Errorf("unlearn: NewErasure: q set = %t, %d distributions, %d bounds, want q and as many bounds as distributions, ≥ 1", q != nil, len(away), len(b))
	}
	e := &Erasure{base: q, away: slices.Clone(away), mask: cfg.Mask, one: cfg.OneByOne, lambda: make([]float64, len(b)), bound: slices.Clone(b), slot: map[int]int{}, tables: make([][]float32, len(b))}
	e.sites, e.levels = q.Shape()
	if e.sites < 1 || cfg.Mask < 0 || int(cfg.Mask) >= e.levels || e.levels < 2 {
		return nil, fmt.Errorf("unlearn: NewErasure: Mask = %d of %d levels and %d sites, want a level, ≥ 2 levels and ≥ 1 site", cfg.Mask, e.levels, e.sites)
	}
	for i, a := range away {
		if a == nil {
			return nil, fmt.Errorf("unlearn: NewErasure: away[%d] is nil", i)
		}
		if s, l := a.Shape(); s != e.sites || l != e.levels {
			return nil, fmt.Errorf("unlearn: NewErasure: away[%d] has %d sites and %d levels, want %d and %d", i, s, l, e.sites, e.levels)
		}
		if !check.Finite(b[i]) {
			return nil, fmt.Errorf("unlearn: NewErasure: b[%d] = %v, want a finite number", i, b[i])
		}
	}
	e.p, e.q = make([]float64, e.levels), make([]float64, e.levels)
	return e, nil
}

// Shape returns the shape of the denoisers.
func (e *Erasure) Shape() (sites, levels int) { return e.sites, e.levels }

// Sites returns the number of tokens.
func (e *Erasure) Sites() int { return e.sites }

// Len returns the number of distributions to move away from.
func (e *Erasure) Len() int { return len(e.lambda) }

// Beta returns 1, after [Erasure.Terminal] 1 − s: the dual's Hessian then is
// −Cov(g)/(1−s).
func (e *Erasure) Beta() float64 {
	if e.terminal {
		return e.rest()
	}
	return 1
}

// SetLambda sets the multipliers and forgets what was measured. It returns an
// error, and changes nothing, unless they are ≥ 0 and sum to less than 1. It
// panics unless there is one per distribution.
func (e *Erasure) SetLambda(lambda []float64) error {
	check.Len("unlearn", "lambda", len(lambda), len(e.lambda))
	s := 0.0
	for i, v := range lambda {
		if !(v >= 0) {
			return fmt.Errorf("unlearn: SetLambda: lambda[%d] = %v, want ≥ 0", i, v)
		}
		s += v
	}
	if !(s < 1) {
		return fmt.Errorf("unlearn: SetLambda: lambda = %v sums to %v, want < 1", lambda, s)
	}
	copy(e.lambda, lambda)
	e.forget()
	return nil
}

// forget drops what was measured.
func (e *Erasure) forget() {
	e.records = e.records[:0]
	clear(e.slot)
}

// Denoise implements energy.Denoiser. The error says that a distribution to
// move away from has no weight where q has some.
func (e *Erasure) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := e.base.Denoise(ctx, v, q); err != nil {
		return err
	}
	for i, a := range e.away {
		e.tables[i] = slices.Grow(e.tables[i][:0], len(v))[:len(v)]
		if err := a.Denoise(ctx, e.tables[i], q); err != nil {
			return err
		}
	}
	for s, sample := range q.Sample {
		r := e.record(sample, q.Alpha[s])
		if e.terminal {
			e.reveal(&r.path, q.X[s*e.sites:(s+1)*e.sites])
			copy(r.path.x, q.X[s*e.sites:(s+1)*e.sites])
		}
		masked := 0
		for site := range e.sites {
			if q.X[s*e.sites+site] == e.mask {
				masked++
			}
		}
		for site := range e.sites {
			if q.X[s*e.sites+site] != e.mask {
				continue
			}
			at := (s*e.sites + site) * e.levels
			if e.terminal {
				e.follow(&r.path, site, at, v[at:at+e.levels], e.rest())
			}
			if err := e.combine(v[at:at+e.levels], at, r, masked); err != nil {
				return fmt.Errorf("unlearn: Erasure: sample %d, site %d: %w", sample, site, err)
			}
		}
	}
	return nil
}

// record brings the record of a sample up to the step that led to alpha.
func (e *Erasure) record(sample int, alpha float64) *pathRecord {
	k, known := e.slot[sample]
	if !known {
		k = len(e.records)
		e.slot[sample] = k
		n := len(e.away)
		e.records = append(e.records, pathRecord{sample: sample, pending: make([]float64, n), sum: make([]float64, n)})
		if e.terminal {
			e.records[k].path = tokenPath{
				x: slices.Repeat([]int32{e.mask}, e.sites), rows: make([]float64, e.sites*(1+n)*e.levels),
				totals: make([]float64, e.sites), logp: make([]float64, 1+n),
			}
		}
	}
	r := &e.records[k]
	if known {
		r.settle(alpha)
	}
	r.alpha = alpha
	return r
}

// settle adds what the step from r.alpha to the level alpha revealed.
func (r *pathRecord) settle(alpha float64) {
	reveal := (alpha - r.alpha) / (1 - r.alpha)
	for i, k := range r.pending {
		if k != 0 { // all is revealed where α = 1
			r.sum[i] += float64(reveal * k)
		}
		r.pending[i] = 0
	}
}

// combine replaces a row of log-weights of q by those of p_λ and books its
// divergences.
func (e *Erasure) combine(row []float32, at int, r *pathRecord, masked int) error {
	c := e.rest()
	for k, w := range row {
		if int32(k) == e.mask || math.IsInf(float64(w), -1) {
			e.p[k] = math.Inf(-1)
			continue
		}
		sum := float64(w)
		for i, l := range e.lambda {
			a := float64(e.tables[i][at+k])
			if math.IsInf(a, -1) {
				return fmt.Errorf("distribution %d gives level %d no weight where q gives %v", i, k, w)
			}
			sum -= float64(l * a)
		}
		e.p[k] = sum / c
		row[k] = float32(e.p[k])
	}
	top := slices.Max(e.p)
	if !check.Finite(top) {
		return fmt.Errorf("q gives every level weight zero")
	}
	tilt.Normalize(e.p)
	for i := range e.away {
		for k := range e.q {
			e.q[k] = float64(e.tables[i][at+k])
		}
		e.q[e.mask] = math.Inf(-1)
		tilt.Normalize(e.q)
		if k := KL(e.p, e.q); e.one {
			r.sum[i] += k / float64(masked)
		} else {
			r.pending[i] += k
		}
	}
	return nil
}

// Violation stores b_i − path divergence, after [Erasure.Terminal] b_i −
// log p_λ(x)/q_i(x), for the samples drawn last, as many as
// x has states, in the order in which they were begun. It panics if fewer
// have been drawn since SetLambda, or lengths do not fit.
func (e *Erasure) Violation(g []float64, x []int32) {
	n, states := len(e.lambda), len(x)/e.sites
	check.Len("unlearn", "g", len(g), states*n)
	if len(e.records) < states {
		panic(fmt.Sprintf("unlearn: Erasure: %d samples since SetLambda, want ≥ %d", len(e.records), states))
	}
	for s := range e.records[len(e.records)-states:] {
		r := &e.records[len(e.records)-states+s]
		if e.terminal {
			e.terminals(g[s*n:(s+1)*n], &r.path)
			continue
		}
		r.settle(1) // every run ends at α = 1
		for i, b := range e.bound {
			g[s*n+i] = b - r.sum[i]
		}
	}
}
