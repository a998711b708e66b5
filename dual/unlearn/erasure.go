package unlearn

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Erasure implements reverse-KL unlearning for a masked diffusion (Khalafi, Ribeiro and
// Ding 2026): a denoiser that combines the predictions of q and of the distributions q_i
// to move away from, site by site,
//
//	log p̂_λ = (log q̂ − Σ_i λ_i log q̂_i)/(1−s) + const,  s = Σλ_i < 1,
//
// It also measures how far its own path is from theirs, by the path divergence
//
//	Σ_t E KL(p_λ(x_s|x_t) ‖ q_i(x_s|x_t)) = Σ_t E Σ_{i masked} (α_s−α_t)/(1−α_t)·KL(p̂_λ ‖ q̂_i),
//
// an upper bound on the divergence KL(p‖q_i) of the samples' distribution p. With exact
// denoisers and tokens revealed one by one, the bound is attained at λ = 0.
//
// It is a [dual.Target] whose violations are b_i − path divergence, for each sample. With a
// [dual.Resampler] around the diffusion, [dual.Inference] is the paper's dual ascent (use
// [dual.Ascent] and a Config.Max below 1; the paper's η is 0.02). For λ ≠ 0 this is a
// heuristic: the path divergence exceeds the divergence and so never certifies KL ≥ b_i,
// its mean is not the dual gradient, and the site-wise combination is not the optimum.
// [Erasure.Terminal] corrects all three if tokens are revealed one by one. For a space that
// can be enumerated, or whose log Z is known, use [Experts].
//
// An Erasure must be used by one diffusion, whose process is diffusion.Masked, with or
// without FirstHitting; the diffusion tells it how tokens are revealed
// (energy.Noised.Reveals). With a projector, guidance, particles or another process it
// returns an error, since the divergence measured would not be that of the path. The
// diffusion must call it in every step: an Erasure is not TimeFree. It keeps figures for
// every sample and is not safe for concurrent use.
type Erasure struct {
	base          energy.Denoiser[int32]
	away          []energy.Denoiser[int32]
	mask          int32
	sites, levels int
	lambda, bound []float64

	records []pathRecord
	slot    map[int]int // by number of the sample
	tables  [][]float32
	p, q    []float64

	terminal        bool // see Terminal
	logZ, effective float64
}

// ErasureConfig holds the settings of an [Erasure].
type ErasureConfig struct {
	Mask int32 // the level that stands for a masked token
}

// NewErasure returns the erasure at λ = 0 for the bounds b, one per distribution. It
// returns an error if a denoiser is nil, shapes differ, the mask is not a level or differs
// from that of a denoiser that knows its own ([energy.Masking]), or the number or values of
// the bounds are invalid.
func NewErasure(q energy.Denoiser[int32], away []energy.Denoiser[int32], b []float64, cfg ErasureConfig) (*Erasure, error) {
	if check.Nil(q) || len(away) == 0 || len(b) != len(away) {
		return nil, fmt.Errorf("unlearn: NewErasure: q set = %t, %d distributions, %d bounds, want q and as many bounds as distributions, ≥ 1", !check.Nil(q), len(away), len(b))
	}
	e := &Erasure{base: q, away: slices.Clone(away), mask: cfg.Mask, lambda: make([]float64, len(b)), bound: slices.Clone(b), slot: map[int]int{}, tables: make([][]float32, len(b))}
	e.sites, e.levels = q.Shape()
	if e.sites < 1 || cfg.Mask < 0 || int(cfg.Mask) >= e.levels || e.levels < 2 {
		return nil, fmt.Errorf("unlearn: NewErasure: Mask = %d of %d levels and %d sites, want a level, ≥ 2 levels and ≥ 1 site", cfg.Mask, e.levels, e.sites)
	}
	if err := e.masked("q", q); err != nil {
		return nil, err
	}
	for i, a := range away {
		if check.Nil(a) {
			return nil, fmt.Errorf("unlearn: NewErasure: away[%d] is nil", i)
		}
		if s, l := a.Shape(); s != e.sites || l != e.levels {
			return nil, fmt.Errorf("unlearn: NewErasure: away[%d] has %d sites and %d levels, want %d and %d", i, s, l, e.sites, e.levels)
		}
		if err := e.masked(fmt.Sprintf("away[%d]", i), a); err != nil {
			return nil, err
		}
		if !check.Finite(b[i]) {
			return nil, fmt.Errorf("unlearn: NewErasure: b[%d] = %v, want a finite number", i, b[i])
		}
	}
	e.p, e.q = make([]float64, e.levels), make([]float64, e.levels)
	return e, nil
}

// masked returns an error if a denoiser knows that its tokens are not masked by e's level.
func (e *Erasure) masked(name string, d energy.Denoiser[int32]) error {
	m, ok := energy.As[energy.Masking](d)
	if !ok || check.Nil(m) || m.MaskLevel() == e.mask {
		return nil
	}
	if l := m.MaskLevel(); l >= 0 {
		return fmt.Errorf("unlearn: NewErasure: %s predicts tokens masked by level %d, want Mask = %d", name, l, e.mask)
	}
	return fmt.Errorf("unlearn: NewErasure: %s predicts tokens that were replaced by others, want one of masked tokens (Mask = %d)", name, e.mask)
}

// MaskLevel implements [energy.Masking]; diffusions reject any other corruption.
func (e *Erasure) MaskLevel() int32 { return e.mask }

// Shape returns the shape of the denoisers.
func (e *Erasure) Shape() (sites, levels int) { return e.sites, e.levels }

// Sites returns the number of tokens.
func (e *Erasure) Sites() int { return e.sites }

// Len returns the number of distributions to move away from.
func (e *Erasure) Len() int { return len(e.lambda) }

// Beta returns 1 or, after [Erasure.Terminal], 1 − s: the dual's Hessian is then
// −Cov(g)/(1−s).
func (e *Erasure) Beta() float64 {
	if e.terminal {
		return e.rest()
	}
	return 1
}

// SetLambda sets the multipliers and discards all measurements. If a multiplier is negative
// or their sum is not less than 1, it returns an error and changes nothing. It panics
// unless there is one multiplier per distribution.
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

// rest returns 1 − s.
func (e *Erasure) rest() float64 {
	c := 1.0
	for _, l := range e.lambda {
		c -= l
	}
	return c
}

// forget drops what was measured.
func (e *Erasure) forget() {
	e.records = e.records[:0]
	clear(e.slot)
}
