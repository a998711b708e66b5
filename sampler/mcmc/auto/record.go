package auto

import (
	"math"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// lags are the numbers of steps over which changes are recorded; between them ρ_t is
// interpolated linearly.
var lags = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

const longest = 64 // of lags

// record collects the features of the states in trials.
type record struct {
	features
	chains int
	ring   []float64 // chains × (longest+1) × features: the last states of this visit
	seen   int       // states of this visit
	limit  int       // the largest lag of this visit

	// For each feature: the number of states, their mean and the sum of squares about the mean.
	n          float64
	mean, sq   []float64
	noEnergies bool // an energy was unknown

	variance []float64 // by feature, of the last weigh
}

// trial holds the results of a candidate.
type trial struct {
	tuned int       // steps that tuned it
	steps int       // of its trials
	cost  float64   // of these
	time  float64   // τ, as last judged
	pairs []float64 // by lag: pairs of states
	jumps []float64 // by lag and feature: Σ of squared changes
}

func newRecord(sites, levels, chains int) *record {
	r := &record{features: newFeatures(sites, levels), chains: chains}
	r.ring = make([]float64, chains*(longest+1)*r.len())
	r.mean, r.sq, r.variance = make([]float64, r.len()), make([]float64, r.len()), make([]float64, r.len())
	return r
}

// sums returns zeroed sums for a trial.
func (r *record) sums() (pairs, jumps []float64) {
	return make([]float64, len(lags)), make([]float64, len(lags)*r.len())
}

// begin begins a visit of the given number of steps.
func (r *record) begin(steps int) { r.seen, r.limit = 0, max(1, steps/2) }

// add adds the states x with energies e, after a step of the candidate.
func (r *record) add(t *trial, e func(s int) float64, x []int32) {
	f := r.len()
	slot := r.seen % (longest + 1)
	for s := range r.chains {
		row := r.row(s, slot)
		r.store(row, e(s), x[s*r.sites:(s+1)*r.sites])
		if !check.Finite(row[0]) {
			row[0], r.noEnergies = 0, true
		}
		r.n++
		for i, v := range row {
			d := v - r.mean[i]
			r.mean[i] += d / r.n
			r.sq[i] += float64(d * (v - r.mean[i]))
		}
	}
	for k, lag := range lags {
		if lag > r.seen || lag > r.limit {
			break
		}
		before := (r.seen - lag) % (longest + 1)
		for s := range r.chains {
			now, then := r.row(s, slot), r.row(s, before)
			sums := t.jumps[k*f : (k+1)*f]
			for i, v := range now {
				d := v - then[i]
				sums[i] += float64(d * d)
			}
		}
		t.pairs[k] += float64(r.chains)
	}
	r.seen++
}

func (r *record) row(s, slot int) []float64 {
	at := (s*(longest+1) + slot) * r.len()
	return r.ring[at : at+r.len()]
}

// time returns τ of a candidate: the largest of the τ of the energy, of each level and of the
// projections together.
func (r *record) time(t *trial) float64 {
	worst := 0.0
	var rho [len(lags)]float64
	for i := range r.counts + 1 {
		if r.correlations(rho[:], t, i, i+1) {
			worst = max(worst, integrate(rho[:t.lags()], t.pairs))
		}
	}
	if r.correlations(rho[:], t, r.counts+1, r.len()) {
		worst = max(worst, integrate(rho[:t.lags()], t.pairs))
	}
	if worst == 0 {
		return 1 // nothing varies
	}
	return worst
}

// weigh computes the variances σ² for the correlations of these candidates. σ² is the variance of
// all states of all rounds, but at most half, and at least a quarter, of the mean square of the
// changes over long lags of the candidate that moves farthest, because V_t = 2σ²(1−ρ_t) ≤ 4σ². A
// rarely visited mode then shows in the candidates that jump there and back. Chance effects common
// to all candidates, such as how many chains began in which mode, are the same for all.
func (r *record) weigh(of []*trial) {
	for i := range r.variance {
		farthest := 0.0
		for _, t := range of {
			n, sum, pairs := t.lags(), 0.0, 0.0
			for k := range n {
				if 2*lags[k] >= lags[n-1] {
					sum += t.jumps[k*r.len()+i]
					pairs += t.pairs[k]
				}
			}
			if n > 0 {
				farthest = max(farthest, sum/pairs/2)
			}
		}
		r.variance[i] = max(min(r.sq[i]/r.n, farthest), farthest/2)
	}
}

// lags returns the number of lags for which there are pairs.
func (t *trial) lags() (n int) {
	for n < len(lags) && t.pairs[n] > 0 {
		n++
	}
	return n
}

// correlations stores the mean ρ at each lag over those of the features from … to−1 that vary; it
// returns false if none varies.
func (r *record) correlations(rho []float64, t *trial, from, to int) bool {
	clear(rho)
	vary := 0.0
	for i := from; i < to; i++ {
		variance := r.variance[i]
		if !(variance > 0) || i == 0 && r.noEnergies {
			continue
		}
		vary++
		for k := range t.lags() {
			rho[k] += 1 - t.jumps[k*r.len()+i]/t.pairs[k]/(2*variance)
		}
	}
	for k := range rho {
		rho[k] = min(rho[k]/max(vary, 1), 1)
	}
	return vary > 0
}

const (
	negligible = 0.15 // ρ_t below which the sum ends: a σ² that is a little off leaves so much,
	noise      = 2    // or this over the root of the number of pairs
	leastTime  = 0.1  // of draws that are better than independent ones
	farthest   = 256  // longest lags that the tail may reach: that of what hardly moves at all
	slowing    = 2    // and times what an exponential from the start would reach
)

// integrate returns τ for the correlations rho at the first lags, given the number of pairs for
// each lag. For an exponential, the part of the sum beyond its end is the share ρ_t of the whole:
// without this part, slow candidates, whose sums end at larger ρ_t, would look better than they
// are.
func integrate(rho, pairs []float64) float64 {
	sum, from, last := 0.0, 0, 1.0
	for k, v := range rho {
		// Σ of the straight line over from+1 … lag.
		width := float64(lags[k] - from)
		sum += float64(width*last) + float64((v-last)*(width+1)/2)
		from, last = lags[k], v
		if v < max(negligible, noise/math.Sqrt(pairs[k])) {
			return max(leastTime, 1+2*sum/(1-min(max(v, 0), negligible)))
		}
	}
	return max(leastTime, 1+2*(sum+tail(rho)))
}

// tail returns Σ of ρ_t beyond the last lag, estimated by the exponential through that lag and the
// longest lag of at most half as many steps.
func tail(rho []float64) float64 {
	n := len(rho)
	if n == 0 {
		return farthest
	}
	end := float64(lags[n-1])
	half, before := 0.0, 1.0
	for k := range n - 1 {
		if 2*lags[k] <= lags[n-1] {
			half, before = float64(lags[k]), rho[k]
		}
	}
	length := farthest * end
	if rho[n-1] < 1 {
		length = min(length, slowing*end/-simd.Log(rho[n-1]))
	}
	if slope := simd.Log(before) - simd.Log(rho[n-1]); slope > 0 {
		length = min(length, (end-half)/slope)
	}
	return rho[n-1] * length
}

// fields reads or writes the record.
func (r *record) fields(f *wire.Fields) {
	f.Int("auto: states seen", &r.seen, 0, most)
	f.Int("auto: largest lag", &r.limit, 0, most)
	f.Bool("auto: an unknown energy", &r.noEnergies)
	f.Float64(&r.n)
	f.Float64s(r.mean)
	f.Float64s(r.sq)
	f.Float64s(r.ring)
}

// features computes the numbers by which states are compared: the energy, the number of
// sites at each level, and projections.
type features struct {
	sites, levels int
	counts        int // of levels, from the last on; or 1: the sum of the levels
	count         []int32
}

const (
	projections = 8
	mostCounts  = 4
)

func newFeatures(sites, levels int) features {
	f := features{sites: sites, levels: levels, counts: max(levels-1, 1), count: make([]int32, levels)}
	if f.counts > mostCounts {
		f.counts = 1
	}
	return f
}

// len returns the number of features.
func (f *features) len() int { return 1 + f.counts + projections }

// store stores the features of the state x of energy e.
func (f *features) store(dst []float64, e float64, x []int32) {
	dst[0] = e
	clear(f.count)
	var sum [projections]int64
	packed, held := uint64(0), 0
	for i, l := range x {
		f.count[l]++
		packed += spread[byte(signs(uint64(i)*uint64(f.levels)+uint64(l)))]
		if held++; held == 255 || i == len(x)-1 {
			for p := range sum {
				sum[p] += int64(packed >> (8 * p) & 255)
			}
			packed, held = 0, 0
		}
	}
	if f.counts < f.levels-1 {
		total := int64(0)
		for l, n := range f.count {
			total += int64(l) * int64(n)
		}
		dst[1] = float64(total)
	} else {
		for l := range f.counts {
			dst[1+l] = float64(f.count[f.levels-1-l])
		}
	}
	for p, n := range sum {
		dst[1+f.counts+p] = float64(n)
	}
}

// signs returns random bits for v = i·levels+l, level l of site i: the finalizer of
// SplitMix64 (Steele, Lea and Flood 2014).
func signs(v uint64) uint64 {
	v = (v + 1) * 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// spread has bit p of a byte as the lowest bit of byte p.
var spread = func() (t [256]uint64) {
	for b := range t {
		for v := uint8(b); v != 0; v &= v - 1 {
			t[b] |= 1 << (8 * bits.TrailingZeros8(v))
		}
	}
	return t
}()
