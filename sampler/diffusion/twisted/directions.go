package twisted

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// directions is what asking along the rows of U and along probes has in common,
// whether by differences or by products.
type directions struct {
	*rows
	meta   any
	probes int
	pool   *pool.Pool

	x, v  []float32
	q     energy.Noised[float32]
	probe []float64 // one per particle and probe, orthogonal to U, of norm 1

	// The step under way.
	all   []*particle
	slope float64 // (1−ᾱ)/√ᾱ
}

func newDirections(r *rows, c Config, p *pool.Pool) *directions {
	d := &directions{rows: r, meta: c.Meta, probes: c.Probes, pool: p}
	if r.n == r.q {
		d.probes = 0
	}
	return d
}

// reserve makes room for so many particles of so many states.
func (d *directions) reserve(particles, per int) {
	total := per * particles
	if len(d.x) >= total*d.n {
		return
	}
	d.x, d.v = make([]float32, total*d.n), make([]float32, total*d.n)
	d.probe = make([]float64, particles*d.probes*d.n)
	d.q.Time, d.q.Alpha, d.q.Sample = make([]float64, total), make([]float64, total), make([]int, total)
	d.q.Src = make([]rand.Source, total)
}

// batch begins a step of particles of so many states, which are stored in its X.
func (d *directions) batch(all []*particle, t, alpha float64, per int) energy.Noised[float32] {
	d.all, d.slope = all, (1-alpha)/math.Sqrt(alpha)
	for i, p := range all {
		for k := i * per; k < (i+1)*per; k++ {
			d.q.Time[k], d.q.Alpha[k], d.q.Sample[k], d.q.Src[k] = t, alpha, p.number, p.stream
		}
	}
	total := per * len(all)
	return energy.Noised[float32]{
		X: d.x[:total*d.n], Time: d.q.Time[:total], Alpha: d.q.Alpha[:total], Sample: d.q.Sample[:total], Src: d.q.Src[:total], Meta: d.meta,
	}
}

// aim draws a direction orthogonal to U, of norm 1.
func (d *directions) aim(u []float64, src rand.Source) {
	bits := uint64(0)
	for j := range u {
		if j%64 == 0 {
			bits = src.Uint64()
		}
		u[j] = 1 - 2*float64(bits&1)
		bits >>= 1
	}
	d.clear(u)
	norm := math.Sqrt(span.Dot(u, u))
	for j := range u {
		if norm > 0 {
			u[j] /= norm
		}
	}
}

// direction returns row k of U, or a probe of particle i.
func (d *directions) direction(i, k int) []float64 {
	if k < d.rows.q {
		return d.basis[k*d.n : (k+1)*d.n]
	}
	k += i*d.probes - d.rows.q
	return d.probe[k*d.n : (k+1)*d.n]
}

// means stores the prediction of a particle.
func (d *directions) means(p *particle, v []float32) error {
	for j, x := range v {
		if p.mean[j] = float64(x); !check.Finite(p.mean[j]) {
			return fmt.Errorf("the prediction for entry %d is %v, want finite", j, x)
		}
	}
	return nil
}

// share is what uᵀCu of one probe u adds to the trace: it is uniform enough for the
// mean over the probes, times the dimension.
func (d *directions) share(v float64) float64 {
	return v * float64(d.n-d.rows.q) / float64(d.probes)
}
