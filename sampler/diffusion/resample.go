package diffusion

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// renewGroup resamples the particles of a sample if few carry the weight. It
// returns an error if none has any.
func (p *Particles) renewGroup(g int) error {
	w := p.logW[g*p.n : (g+1)*p.n]
	top := slices.Max(w)
	if math.IsInf(top, -1) {
		return constraint.ErrInfeasible
	}
	sum, squares := 0.0, 0.0
	for _, l := range w {
		v := simd.Exp(l - top)
		sum += v
		squares += float64(v * v)
	}
	if float64(sum*sum) >= float64(float64(p.threshold*float64(p.n))*squares) {
		return nil
	}
	p.systematic(g, top, sum)
	p.spread(g)
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	clear(w)
	return nil
}

// systematic decides how many copies of each particle to make: those of
// particle j are the points (u+k)/n, k = 0 … n−1, that fall into its share of
// the cumulative weights. Every particle gets its expected number rounded up or
// down.
func (p *Particles) systematic(g int, top, sum float64) {
	w, count := p.logW[g*p.n:(g+1)*p.n], p.count[g*p.n:(g+1)*p.n]
	clear(count)
	next := float64(p.choice[g].Float64() * sum)
	step, k, reached, last := sum, 0, 0.0, -1
	for j, l := range w {
		v := simd.Exp(l - top)
		if v <= 0 {
			continue
		}
		last = j
		reached += float64(v * float64(p.n))
		for k < p.n && next+float64(float64(k)*step) < reached {
			count[j]++
			k++
		}
	}
	count[last] += p.n - k // points lost to rounding at the very end
}

// spread copies particles into the places of those that have no copies left.
func (p *Particles) spread(g int) {
	first := g * p.n
	free := first
	for j := first; j < first+p.n; j++ {
		for ; p.count[j] > 1; p.count[j]-- {
			for p.count[free] != 0 {
				free++
			}
			p.copySlot(free, j)
			p.count[free] = 1
		}
	}
}

// copySlot makes slot dst a copy of slot src in all but its stream.
func (p *Particles) copySlot(dst, src int) {
	d := p.d
	copy(d.state(dst), d.state(src))
	copy(d.prediction(dst), d.prediction(src))
	d.time[dst], d.known[dst], d.fresh[dst] = d.time[src], d.known[src], d.fresh[src]
	p.logZ[dst], p.logRho[dst] = p.logZ[src], p.logRho[src]
	if d.warm != nil {
		d.warm.Copy(dst, src)
	}
}

// pick closes the estimate of a sample and returns one of its particles, drawn
// by weight.
func (p *Particles) pick(g int) int {
	w := p.logW[g*p.n : (g+1)*p.n]
	top := slices.Max(w)
	sum := 0.0
	for _, l := range w {
		sum += simd.Exp(l - top)
	}
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	goal := float64(p.choice[g].Float64() * sum)
	reached, last := 0.0, -1
	for j, l := range w {
		if v := simd.Exp(l - top); v > 0 {
			last = j
			if reached += v; reached > goal {
				break
			}
		}
	}
	return g*p.n + last
}

// logAdd returns log(e^a + e^b).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + simd.Log1p(simd.Exp(b-a))
}
