package denoise

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Autoregressive is the exact denoiser of stationary Gaussian series of
// independent autoregressive channels, length × channels, row-major:
//
//	x_t − m = Σ_k φ_k·(x_{t−k} − m) + noise,  Var x_t = Variance.
//
// The inverse covariance of a channel has as many bands as it has coefficients,
// so that a prediction costs length·order² where that of [NewGaussian] costs
// length²; the means are the same. It is immutable and safe for concurrent use.
// Entries marked clean condition the others exactly.
type Autoregressive struct {
	length int
	parts  []band
}

// NewAutoregressive returns the denoiser of series of the given length. The
// error says that there is no channel, that the length is below 1 or not above the
// number of coefficients, that a number is not finite, that a variance is
// negative, or that coefficients are not stationary.
func NewAutoregressive(length int, channels ...Channel) (*Autoregressive, error) {
	if length < 1 || len(channels) == 0 {
		return nil, fmt.Errorf("denoise: NewAutoregressive: length = %d with %d channels, want both ≥ 1", length, len(channels))
	}
	if err := check.Entries("denoise: NewAutoregressive", "length", length); err != nil {
		return nil, err
	}
	a := &Autoregressive{length: length}
	for c, ch := range channels {
		if err := ch.check(length); err != nil {
			return nil, fmt.Errorf("denoise: NewAutoregressive: channel %d: %w", c, err)
		}
		b, err := ch.band(length)
		if err != nil {
			return nil, fmt.Errorf("denoise: NewAutoregressive: channel %d: %w", c, err)
		}
		a.parts = append(a.parts, b)
	}
	return a, nil
}

// Shape returns length × channels and 1.
func (a *Autoregressive) Shape() (sites, levels int) { return a.length * len(a.parts), 1 }

// Denoise implements [energy.Denoiser].
func (a *Autoregressive) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	sites, _ := a.Shape()
	states := q.States(sites)
	check.Len("denoise", "v", len(v), len(q.X))
	for s := range states {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		var clean []bool
		if q.Clean != nil {
			clean = q.Clean[s*sites : (s+1)*sites]
		}
		for c := range a.parts {
			a.channel(c, v[s*sites:(s+1)*sites], q.X[s*sites:(s+1)*sites], clean, q.Alpha[s])
		}
	}
	return nil
}

// channel predicts one channel: the solution d of
// (C⁻¹ + ᾱ/(1−ᾱ)·I)·d = √ᾱ/(1−ᾱ)·(x − √ᾱ·m) is x̂_0 − m.
func (a *Autoregressive) channel(c int, v, x []float32, clean []bool, alpha float64) {
	b, n := &a.parts[c], len(a.parts)
	if alpha >= 1 {
		for t := range a.length {
			v[t*n+c] = x[t*n+c]
		}
		return
	}
	buf := scratch.Float64s.Get(a.length * (b.order + 2))
	defer scratch.Float64s.Put(buf)
	m, d := (*buf)[:len(b.inv)], (*buf)[len(b.inv):]
	copy(m, b.inv)
	signal, noise := math.Sqrt(alpha), 1-alpha
	for t := range d {
		m[t*(b.order+1)] += alpha / noise
		d[t] = float64(signal/noise) * (float64(x[t*n+c]) - float64(signal*b.mean))
	}
	known := func(t int) bool { return clean != nil && clean[t*n+c] }
	for t := range d {
		if known(t) {
			b.fix(m, d, t, float64(x[t*n+c])-b.mean)
		}
	}
	b.solve(m, d)
	for t, e := range d {
		if v[t*n+c] = float32(b.mean + e); known(t) {
			v[t*n+c] = x[t*n+c]
		}
	}
}

// Covariance stores P·v in dst, with P the covariance of x_0 given x_t, which
// does not depend on x_t:
//
//	P = (C⁻¹ + ᾱ/(1−ᾱ)·I)⁻¹.
//
// It is the metric in which a projection of the posterior mean onto linear
// equations is the conditional mean. Slices have length × channels entries; dst
// may be v. alpha = ᾱ in [0, 1].
func (a *Autoregressive) Covariance(dst, v []float64, alpha float64) {
	sites, _ := a.Shape()
	check.Len("denoise", "dst", len(dst), sites)
	check.Len("denoise", "v", len(v), sites)
	if alpha >= 1 {
		clear(dst)
		return
	}
	for c := range a.parts {
		b, n := &a.parts[c], len(a.parts)
		buf := scratch.Float64s.Get(a.length * (b.order + 2))
		m, d := (*buf)[:len(b.inv)], (*buf)[len(b.inv):]
		copy(m, b.inv)
		for t := range d {
			m[t*(b.order+1)] += alpha / (1 - alpha)
			d[t] = v[t*n+c]
		}
		b.solve(m, d)
		for t, e := range d {
			dst[t*n+c] = e
		}
		scratch.Float64s.Put(buf)
	}
}
