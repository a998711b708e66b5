package momentum

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// flips is the conditional distribution of two-level sites given the momentum. Site i flips with
// probability σ(l_i), rounded to a multiple of 2⁻³¹, where l_i = −Δ_i + drift_i·d − cost_i and d
// = 1 − 2x_i. The drift acts as a field −drift_i.
type flips struct {
	sites      int
	field      func(e []float64, h []float32, x []int32)
	relaxation float64
	h          padded.Pair[float32] // fields, chains × sites
	cost       []float32
	slid       []float32 // field minus drift of one chain
	t          []int32   // flip thresholds of one chain
	bits       []uint32
}

func newFlips(m energy.Model, chains int, relaxation float64) *flips {
	sites, _ := m.Shape()
	n := chains * sites
	p := padded.New(flips{
		sites: sites, relaxation: relaxation,
		h: padded.NewPair[float32](chains, sites), cost: padded.Make[float32](sites),
		slid: padded.Make[float32](sites), t: padded.Make[int32](sites), bits: padded.Make[uint32](sites),
	})
	if b, ok := energy.As[energy.Binary](m); ok {
		p.field = b.Field
		return p
	}
	table, differences := make([]float32, 2*n), energy.Differences(m)
	p.field = func(e []float64, h []float32, x []int32) {
		differences.Gradient(e, table[:2*len(x)], x)
		for i := range h { // one of the two entries is 0
			h[i] = table[2*i+1] - table[2*i]
		}
	}
	return p
}

func (p *flips) load(lo, hi int, e []float64, y []int32) {
	from, to := lo*p.sites, hi*p.sites
	p.field(e[lo:hi], p.h.Next[from:to], y[from:to])
}

func (p *flips) weigh(s int, loaded bool, x []int32, drift []float64) {
	for i, h := range p.h.Chain(s, loaded) {
		p.slid[i] = h - float32(drift[i])
	}
	simd.FlipThresholds(p.t, p.slid, x, 1, p.cost)
	if p.relaxation > 0 {
		for i, t := range p.t {
			p.t[i] = p.relax(t)
		}
	}
}

const whole = 1 << 31

// relax returns the flip threshold if the draw is by reflection with probability relaxation. The
// argument t is the threshold of an independent draw.
func (p *flips) relax(t int32) int32 {
	if t <= 0 {
		return t
	}
	other := int64(whole - 128) // largest threshold that FlipThresholds stores
	if t < whole/2 {
		other = min(other, int64(t)*whole/(whole-int64(t)))
	}
	mixed := float64((1-p.relaxation)*float64(t)) + float64(p.relaxation*float64(other))
	return int32(max(mixed, 1))
}

func (p *flips) draw(y, x []int32, r *sampler.Stream) (moved int, logq float64) {
	r.Uint32s(p.bits)
	return simd.Flip(y, x, p.t, p.bits)
}

func (p *flips) logProb(y, x []int32) float64 { return simd.FlipLogProb(x, y, p.t) }

// steepest is the maximum absolute slope in the correction of a momentum. The slopes may be any
// function of the state. Without the bound, they would be infinite next to levels of probability
// zero.
const steepest = 1e4

func bounded(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, -steepest), steepest)
}

func (p *flips) slope(g []float64, s int, loaded bool, _ []int32) {
	for i, h := range p.h.Chain(s, loaded) {
		g[i] = bounded(-float64(h))
	}
}

func (p *flips) displace(d []float64, y, x []int32) {
	for i, l := range y {
		d[i] = float64(l - x[i])
	}
}

func (p *flips) accept(lo, hi int) { p.h.Accept(lo, hi) }

func (p *flips) costs(f frame) {
	for i := range p.cost {
		p.cost[i] = float32(f.cost(i))
	}
}

func (p *flips) fields(f *wire.Fields) { f.Float32s(p.h.Now) }
