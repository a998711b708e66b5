package momentum

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// rows is the conditional distribution of ordinal sites given the momentum: a row of weights per
// site.
type rows struct {
	sites, levels int
	values        []float32
	table         energy.Differentiable
	relaxation    float64
	g             padded.Pair[float32] // energy differences, chains × sites × levels
	cost          []float64
	w             []float32 // weights of one chain, sites × levels
	sum           []float64
}

// leastWeight is the smallest weight of a level whose probability is not zero, so that the
// reverse of a steep move can be proposed. It is below the resolution of a draw.
const leastWeight = 0x1p-60

func newRows(m energy.Model, values []float32, chains int, relaxation float64) *rows {
	sites, levels := m.Shape()
	return padded.New(rows{
		sites: sites, levels: levels, values: values, table: energy.Differences(m), relaxation: relaxation,
		g: padded.NewPair[float32](chains, sites*levels), cost: padded.Make[float64](sites),
		w: padded.Make[float32](sites * levels), sum: padded.Make[float64](sites),
	})
}

func (p *rows) load(lo, hi int, e []float64, y []int32) {
	from, to := lo*p.sites, hi*p.sites
	p.table.Gradient(e[lo:hi], p.g.Next[from*p.levels:to*p.levels], y[from:to])
}

func (p *rows) weigh(s int, loaded bool, x []int32, drift []float64) {
	g := p.g.Chain(s, loaded)
	for i, at := range x {
		own := float64(p.values[at])
		row, w := g[i*p.levels:(i+1)*p.levels], p.w[i*p.levels:(i+1)*p.levels]
		for l, v := range p.values {
			d := float64(v) - own
			w[l] = float32(float64(drift[i]*d) - float64(row[l]) - float64(p.cost[i]*float64(d*d)))
		}
	}
	simd.Weights(p.w, p.sum, p.w, p.levels, leastWeight)
	for i := range p.sum {
		if math.IsNaN(p.sum[i]) {
			continue
		}
		// Sum in the order in which [rows.pick] and [rows.chance] add weights.
		p.sum[i] = 0
		for _, w := range p.row(i) {
			p.sum[i] += float64(w)
		}
	}
}

func (p *rows) row(i int) []float32 { return p.w[i*p.levels : (i+1)*p.levels] }

func (p *rows) draw(y, x []int32, r *sampler.Stream) (moved int, logq float64) {
	for i, at := range x {
		reflect := p.relaxation > 0 && r.Float64() < p.relaxation
		l := p.pick(i, at, reflect, r.Float64())
		if l < 0 {
			return 0, math.NaN()
		}
		if l != at {
			moved++
		}
		y[i] = l
	}
	return moved, p.logProb(y, x)
}

// pick returns the level of site i that the uniform number u selects, or −1 if the weights are not
// defined. The argument level is the current level. If reflect is true, the draw is by reflection,
// see [DHAMS.Relaxation].
func (p *rows) pick(i int, level int32, reflect bool, u float64) int32 {
	row, sum := p.row(i), p.sum[i]
	if !(sum > 0) {
		return -1
	}
	t := float64(u * sum)
	if reflect {
		below := 0.0
		for _, w := range row[:level] {
			below += float64(w)
		}
		t = sum - below - float64((1-u)*float64(row[level]))
	}
	last := int32(-1)
	for l, w := range row {
		if w == 0 {
			continue
		}
		last = int32(l)
		if t -= float64(w); t < 0 {
			break
		}
	}
	return last
}

// chance returns the probability that site i moves from its current level, at, to level l.
func (p *rows) chance(i int, at, l int32) float64 {
	row, sum := p.row(i), p.sum[i]
	q := float64(row[l]) / sum
	if p.relaxation == 0 {
		return q
	}
	// Compare the interval of 1−w, for w in the interval of level at, with the interval of level
	// l.
	var cumulated float64
	var from, to [2]float64
	for m, w := range row[:max(at, l)+1] {
		if int32(m) == at {
			from[0], to[0] = sum-cumulated-float64(w), sum-cumulated
		}
		if int32(m) == l {
			from[1], to[1] = cumulated, cumulated+float64(w)
		}
		cumulated += float64(w)
	}
	shared := max(0, min(to[0], to[1])-max(from[0], from[1]))
	return float64((1-p.relaxation)*q) + float64(p.relaxation*min(1, shared/float64(row[at])))
}

func (p *rows) logProb(y, x []int32) float64 {
	logq := 0.0
	for i, l := range y {
		if !(p.sum[i] > 0) {
			return math.NaN()
		}
		logq += simd.Log(p.chance(i, x[i], l))
	}
	return logq
}

// slope stores in g the difference quotients of −E between the two levels adjacent to the current
// ones.
func (p *rows) slope(g []float64, s int, loaded bool, x []int32) {
	d := p.g.Chain(s, loaded)
	for i, at := range x {
		low, high := max(at-1, 0), min(int(at)+1, p.levels-1)
		row := d[i*p.levels : (i+1)*p.levels]
		g[i] = 0
		if int(low) < high {
			g[i] = bounded((float64(row[low]) - float64(row[high])) / (float64(p.values[high]) - float64(p.values[low])))
		}
	}
}

func (p *rows) displace(d []float64, y, x []int32) {
	for i, l := range y {
		d[i] = float64(p.values[l]) - float64(p.values[x[i]])
	}
}

func (p *rows) accept(lo, hi int) { p.g.Accept(lo, hi) }

func (p *rows) costs(f frame) {
	for i := range p.cost {
		p.cost[i] = f.cost(i)
	}
}

func (p *rows) fields(f *wire.Fields) { f.Float32s(p.g.Now) }
