package auto

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// lags are the numbers of steps over which changes are looked at; between them ρ_t
// is taken as a straight line.
var lags = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

const longest = 64 // of lags

// record gathers the features of the states that trials come through.
type record struct {
	features
	chains int
	ring   []float64 // chains × (longest+1) × features: the last states of this visit
	seen   int       // states of this visit
	limit  int       // lags beyond it are not looked at in this visit

	// Of all states, by feature: their number, mean and sum of squares about it.
	n          float64
	mean, sq   []float64
	noEnergies bool // an energy was not known
}

// trial is what is known of how a candidate moves.
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
	r.mean, r.sq = make([]float64, r.len()), make([]float64, r.len())
	return r
}

// begin begins a visit of so many steps.
func (r *record) begin(steps int) { r.seen, r.limit = 0, max(1, steps/2) }

// add adds the states x of energies e, to which the candidate has come.
func (r *record) add(t *trial, e func(s int) float64, x []int32) {
	f := r.len()
	slot := r.seen % (longest + 1)
	for s := range r.chains {
		row := r.row(s, slot)
		r.store(row, e(s), x[s*r.sites:(s+1)*r.sites])
		if !finite(row[0]) {
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

// time returns τ of a candidate.
func (r *record) time(t *trial) float64 {
	worst, sum, n := 0.0, 0.0, 0.0
	for i := range r.len() {
		variance := r.sq[i] / r.n
		if !(variance > 0) || i == 0 && r.noEnergies {
			continue
		}
		tau := r.one(t, i, variance)
		if i <= r.counts {
			worst = max(worst, tau)
			continue
		}
		sum, n = sum+tau, n+1
	}
	if n > 0 {
		worst = max(worst, sum/n)
	}
	if worst == 0 {
		return 1 // nothing varies
	}
	return worst
}

const (
	negligible = 0.05 // ρ_t below which the sum ends
	leastTime  = 0.1  // of draws that are better than independent ones
	farthest   = 64   // longest lags that the tail may reach
)

// one returns τ of one feature.
func (r *record) one(t *trial, feature int, variance float64) float64 {
	sum, from, last := 0.0, 0, 1.0
	var at, rho [len(lags)]float64
	n := 0
	for k, lag := range lags {
		if t.pairs[k] == 0 {
			break
		}
		v := 1 - t.jumps[k*r.len()+feature]/t.pairs[k]/(2*variance)
		v = min(v, 1)
		// Σ of the straight line over from+1 … lag.
		width := float64(lag - from)
		sum += float64(width*last) + float64((v-last)*(width+1)/2)
		at[n], rho[n] = float64(lag), v
		n++
		from, last = lag, v
		if v < negligible {
			return max(leastTime, 1+2*sum)
		}
	}
	return max(leastTime, 1+2*(sum+tail(at[:n], rho[:n])))
}

// tail returns Σ of ρ_t beyond the last lag, as the exponential through it and the
// lag of half as many steps.
func tail(at, rho []float64) float64 {
	n := len(at)
	if n == 0 {
		return farthest
	}
	end := at[n-1]
	most := end * farthest
	half, before := 0.0, 1.0
	for k := range n - 1 {
		if at[k] <= end/2 {
			half, before = at[k], rho[k]
		}
	}
	slope := simd.Log(before) - simd.Log(rho[n-1])
	length := most
	if slope > 0 {
		length = min(most, (end-half)/slope)
	}
	return rho[n-1] * length
}

func (r *record) append(b []byte) []byte {
	flag := 0
	if r.noEnergies {
		flag = 1
	}
	b = wire.AppendInts(b, r.seen, r.limit, flag)
	b = wire.AppendFloat64s(b, []float64{r.n})
	b = wire.AppendFloat64s(wire.AppendFloat64s(b, r.mean), r.sq)
	return wire.AppendFloat64s(b, r.ring)
}

func (r *record) restore(b []byte) ([]byte, error) {
	var head [3]uint64
	var n [1]float64
	b, err := wire.ReadUint64s(b, head[:])
	if err != nil {
		return nil, err
	}
	if head[0] > most || head[1] > most || head[2] > 1 {
		return nil, fmt.Errorf("auto: the checkpoint has seen %d states with lags ≤ %d, want ≤ %d", head[0], head[1], most)
	}
	r.seen, r.limit, r.noEnergies = int(head[0]), int(head[1]), head[2] == 1
	if b, err = wire.ReadFloat64s(b, n[:]); err != nil {
		return nil, err
	}
	r.n = n[0]
	for _, v := range [][]float64{r.mean, r.sq, r.ring} {
		if b, err = wire.ReadFloat64s(b, v); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// most bounds numbers of steps.
const most = 1 << 30
