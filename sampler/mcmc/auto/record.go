package auto

import (
	"math"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// lags are the numbers of steps t over which changes are recorded. For other t, the correlation
// ρ_t is interpolated linearly.
var lags = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

const longest = 64 // longest lag

// record collects features of the states that chains visit in trials.
type record struct {
	features
	chains int
	ring   []float64 // features of the last states of this visit, chains × (longest+1) × features
	seen   int       // number of states recorded in this visit
	limit  int       // largest lag used in this visit

	// n is the number of recorded states. mean and sq hold, per feature, their mean and the sum
	// of squares about it.
	n          float64
	mean, sq   []float64
	noEnergies bool // an energy was NaN or infinite, so energies are not compared

	variance []float64 // per feature: variance σ² computed by weigh
}

// trial holds the tuning and trial results of a candidate.
type trial struct {
	tuned int       // number of steps that tuned the candidate
	steps int       // number of steps in trials
	cost  float64   // cost of the steps in trials, in nanoseconds per chain
	time  float64   // steps per effective draw, τ, after the last round
	pairs []float64 // per lag: number of pairs of states
	jumps []float64 // per lag and feature: sum of squared changes
}

func newRecord(sites, levels, chains int) *record {
	r := &record{features: newFeatures(sites, levels), chains: chains}
	r.ring = make([]float64, chains*(longest+1)*r.len())
	r.mean, r.sq, r.variance = make([]float64, r.len()), make([]float64, r.len()), make([]float64, r.len())
	return r
}

// sums returns zeroed slices for the pairs and jumps of a trial.
func (r *record) sums() (pairs, jumps []float64) {
	return make([]float64, len(lags)), make([]float64, len(lags)*r.len())
}

// begin starts the record of a visit of the given number of steps.
func (r *record) begin(steps int) { r.seen, r.limit = 0, max(1, steps/2) }

// add records the states x of all chains after a step of the candidate. The function e returns the
// energy of a chain.
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

// time returns τ of a candidate. It is the largest τ among the energy, each level count, and the
// average of the projections.
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

// weigh computes the variance σ² of each feature, by which the given candidates are compared. σ² is
// the variance of all states of all rounds, within limits. Let F be the mean square of the changes
// over long lags of the candidate that moves farthest. σ² is at most F/2 and at least F/4, because
// V_t = 2σ²(1−ρ_t) ≤ 4σ². A rarely visited mode then shows in the candidates that jump into it and
// back. Chance effects, such as how many chains began in which mode, affect all candidates equally.
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

// lags returns the number of lags for which pairs of states were recorded.
func (t *trial) lags() (n int) {
	for n < len(lags) && t.pairs[n] > 0 {
		n++
	}
	return n
}

// correlations stores in rho, for each lag, the mean of ρ over a range of features. Features that
// do not vary are left out. It returns false if no feature varies.
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
	// correlation ρ_t below which the sum ends; a slightly wrong σ² can leave this much
	negligible = 0.15
	// the sum also ends at a ρ_t below noise divided by the root of the number of pairs
	noise     = 2
	leastTime = 0.1 // minimum of τ, for draws that are better than independent ones
	// maximum length of the tail, in longest lags; used for chains that hardly move
	farthest = 256
	slowing  = 2 // maximum length of the tail, relative to that of an exponential fitted from lag 0
)

// integrate returns τ for the correlations rho at the first lags. The slice pairs holds the number
// of pairs per lag. The sum is cut off at some ρ_t. For an exponential, the missing part is the
// fraction ρ_t of the whole sum, and integrate adds it. Slow candidates, whose sums end at a larger
// ρ_t, would otherwise look better than they are.
func integrate(rho, pairs []float64) float64 {
	sum, from, last := 0.0, 0, 1.0
	for k, v := range rho {
		// Sum of the linear interpolation over the steps from+1 … lag.
		width := float64(lags[k] - from)
		sum += float64(width*last) + float64((v-last)*(width+1)/2)
		from, last = lags[k], v
		if v < max(negligible, noise/math.Sqrt(pairs[k])) {
			return max(leastTime, 1+2*sum/(1-min(max(v, 0), negligible)))
		}
	}
	return max(leastTime, 1+2*(sum+tail(rho)))
}

// tail returns the sum of ρ_t beyond the last lag. It extrapolates the exponential through ρ at
// the last lag and at the longest lag of at most half as many steps.
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

// fields reads or writes the record in a checkpoint.
func (r *record) fields(f *wire.Fields) {
	f.Int("auto: states seen", &r.seen, 0, most)
	f.Int("auto: largest lag", &r.limit, 0, most)
	f.Bool("auto: an unknown energy", &r.noEnergies)
	f.Float64(&r.n)
	f.Float64s(r.mean)
	f.Float64s(r.sq)
	f.Float64s(r.ring)
}

// features computes the numbers by which states are compared: the energy, the number of sites at
// each level, and random projections.
type features struct {
	sites, levels int
	// number of level counts, from the last level down; 1 means the sum of the levels
	counts int
	count  []int32
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

// len returns the number of features of a state.
func (f *features) len() int { return 1 + f.counts + projections }

// store stores in dst the features of the state x with energy e.
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

// signs returns random bits for v = i·levels+l, which encodes level l of site i. It is the
// finalizer of SplitMix64 (Steele, Lea and Flood 2014).
func signs(v uint64) uint64 {
	v = (v + 1) * 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// spread maps a byte to eight bytes: bit p of the index is the value of byte p.
var spread = func() (t [256]uint64) {
	for b := range t {
		for v := uint8(b); v != 0; v &= v - 1 {
			t[b] |= 1 << (8 * bits.TrailingZeros8(v))
		}
	}
	return t
}()
