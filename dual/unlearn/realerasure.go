package unlearn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// RealErasure is [Erasure] for reals: reverse-KL unlearning for a Gaussian diffusion or a flow
// (Khalafi, Ribeiro and Ding 2026). It is a denoiser whose prediction of the clean state is
//
//	x̂_λ = (x̂ − Σ_i λ_i x̂_i)/(1−s),  s = Σλ_i < 1,
//
// where x̂ is the prediction for the original distribution q, and x̂_i are the predictions for the
// unwanted distributions q_i. A DDPM step with x̂_λ is the normalised product of powers of the
// steps with x̂ and x̂_i. Predictions of noise, scores and velocities combine by the same formula.
//
// A RealErasure also measures how far the DDPM diffusion with x̂_λ is from the DDPM diffusion with
// x̂_i, by the path divergence (Lemma 3)
//
//	½·Σ_k (SNR_{k−1} − SNR_k)·E‖x̂_λ − x̂_i‖²,  SNR = ᾱ/(1−ᾱ),
//
// where ᾱ is the signal level, and step k lowers the noise from level k to level k−1. For the last
// step the factor is SNR_1. With exact denoisers, the divergence at λ = 0 tends to KL(q‖q_i) as the
// steps become finer; with coarse steps it is larger. For λ ≠ 0 the path divergence is not a lower
// bound on KL(p‖q_i), where p is the distribution of the samples (see [Erasure]).
// denoise.RealLikelihood estimates the densities of final samples.
//
// A RealErasure is a [dual.Target] of reals. Like an Erasure, it needs a [dual.Resampler] around
// its diffusion, and a [dual.Inference] with [dual.Ascent] and a Config.Max below 1.
//
// A RealErasure must be used by one diffusion, whose process is diffusion.Gaussian. Lemma 3
// concerns Eta = 1; other values give the same divergence at λ = 0. For a flow, use Eta = 0 with
// noise.Straight, and wrap its networks in denoise.Velocity or energy.NoisePredictor. The effect of
// projectors, guidance and particles is not measured. A RealErasure keeps a record for every sample
// and is not safe for concurrent use.
type RealErasure struct {
	base          energy.Denoiser[float32]
	away          []energy.Denoiser[float32]
	sites         int
	lambda, bound []float64

	records []realRecord
	slot    map[int]int // index in records for each sample index
	tables  [][]float32
}

// realRecord is the path divergence of one sample up to its last prediction.
type realRecord struct {
	snr  float64   // signal-to-noise ratio at the last prediction
	last []float64 // for each distribution: ½‖x̂_λ − x̂_i‖² at the last prediction
	sum  []float64
}

// NewRealErasure returns an erasure whose multipliers λ are 0. The denoiser q is for the original
// distribution. For each unwanted distribution q_i, away[i] is its denoiser, and the bound is
// KL(p‖q_i) ≥ b[i], in nats.
//
// NewRealErasure returns an error if a denoiser is nil or has more than one level, or if shapes
// differ. It also returns an error if the number of bounds is wrong or a bound is not finite.
func NewRealErasure(q energy.Denoiser[float32], away []energy.Denoiser[float32], b []float64) (*RealErasure, error) {
	if check.Nil(q) || len(away) == 0 || len(b) != len(away) {
		return nil, fmt.Errorf("unlearn: NewRealErasure: q set = %t, %d distributions, %d bounds, want q and as many bounds as distributions, ≥ 1", !check.Nil(q), len(away), len(b))
	}
	e := &RealErasure{base: q, away: slices.Clone(away), lambda: make([]float64, len(b)), bound: slices.Clone(b), slot: map[int]int{}, tables: make([][]float32, len(b))}
	levels := 0
	if e.sites, levels = q.Shape(); e.sites < 1 || levels != 1 {
		return nil, fmt.Errorf("unlearn: NewRealErasure: q has %d sites and %d levels, want ≥ 1 and 1", e.sites, levels)
	}
	for i, a := range away {
		if check.Nil(a) {
			return nil, fmt.Errorf("unlearn: NewRealErasure: away[%d] is nil", i)
		}
		if s, l := a.Shape(); s != e.sites || l != 1 {
			return nil, fmt.Errorf("unlearn: NewRealErasure: away[%d] has %d sites and %d levels, want %d and 1", i, s, l, e.sites)
		}
		if !check.Finite(b[i]) {
			return nil, fmt.Errorf("unlearn: NewRealErasure: b[%d] = %v, want a finite number", i, b[i])
		}
	}
	return e, nil
}

// Shape returns the numbers of sites and levels of the denoisers.
func (e *RealErasure) Shape() (sites, levels int) { return e.sites, 1 }

// Sites returns the number of sites of a state.
func (e *RealErasure) Sites() int { return e.sites }

// Len returns the number of distributions q_i (see [RealErasure]).
func (e *RealErasure) Len() int { return len(e.lambda) }

// Beta returns the temperature of the target, which is 1.
func (e *RealErasure) Beta() float64 { return 1 }

// Rows returns a description of the bounds on KL(p‖q_i), in nats.
func (e *RealErasure) Rows() []dual.Row { return divergences(e.bound) }

// SetLambda sets the multipliers and discards all measurements. It returns an error and changes
// nothing if a multiplier is negative or the sum of the multipliers is not below 1. It panics
// unless there is one multiplier per distribution.
func (e *RealErasure) SetLambda(lambda []float64) error {
	check.Len("unlearn", "lambda", len(lambda), len(e.lambda))
	if err := expert(lambda); err != nil {
		return err
	}
	copy(e.lambda, lambda)
	e.records = e.records[:0]
	clear(e.slot)
	return nil
}

// Denoise stores in v the predictions x̂_λ, which combine the predictions for q and the q_i (see
// [RealErasure]). It implements energy.Denoiser. It returns the errors of the denoisers. It also
// returns an error if q.Sample is nil, or if the signal level of a sample does not rise from call
// to call.
func (e *RealErasure) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if q.Sample == nil && len(q.Alpha) > 0 {
		return fmt.Errorf("unlearn: RealErasure: Noised.Sample = nil, want the number of every state: what was erased is counted by sample")
	}
	if err := predictions(ctx, v, e.tables, e.base, e.away, q); err != nil {
		return err
	}
	c := rest(e.lambda)
	for at, x := range v {
		sum := float64(x)
		for i, l := range e.lambda {
			sum -= float64(l * float64(e.tables[i][at]))
		}
		v[at] = float32(sum / c)
	}
	for s, sample := range q.Sample {
		r, err := e.record(sample, q.Alpha[s]/(1-q.Alpha[s]))
		if err != nil {
			return err
		}
		for i, table := range e.tables {
			r.last[i] = 0
			for at := s * e.sites; at < (s+1)*e.sites; at++ {
				d := float64(v[at]) - float64(table[at])
				r.last[i] += float64(float64(d*d) / 2)
			}
		}
	}
	return nil
}

// record returns the record of a sample, after adding the step that ends at the signal-to-noise
// ratio snr. It creates the record of a new sample.
func (e *RealErasure) record(sample int, snr float64) (*realRecord, error) {
	k, known := e.slot[sample]
	if !known {
		k = len(e.records)
		e.slot[sample] = k
		n := len(e.away)
		e.records = append(e.records, realRecord{last: make([]float64, n), sum: make([]float64, n)})
	}
	r := &e.records[k]
	if !(snr > r.snr || !known && snr >= 0) || math.IsInf(snr, 1) {
		return nil, fmt.Errorf("unlearn: RealErasure: sample %d: signal-to-noise ratio %v after %v, want finite and rising: sample by diffusion.Gaussian, without remasking or particles", sample, snr, r.snr)
	}
	if known {
		for i, d := range r.last {
			r.sum[i] += float64((snr - r.snr) * d)
		}
	}
	r.snr = snr
	return r, nil
}

// Violation stores in g the violations of each of the most recent samples. A violation is b_i
// minus the path divergence (see [RealErasure]). The slice x must hold these samples in the
// order in which the diffusion began them. Violation panics if fewer samples have been drawn
// since SetLambda, or if the lengths do not match.
func (e *RealErasure) Violation(g []float64, x []float32) {
	n, states := len(e.lambda), len(x)/e.sites
	check.Len("unlearn", "g", len(g), states*n)
	if len(e.records) < states {
		panic(fmt.Sprintf("unlearn: RealErasure: %d samples since SetLambda, want ≥ %d", len(e.records), states))
	}
	for s, r := range e.records[len(e.records)-states:] {
		for i, b := range e.bound {
			g[s*n+i] = b - (r.sum[i] + float64(r.snr*r.last[i]))
		}
	}
}
