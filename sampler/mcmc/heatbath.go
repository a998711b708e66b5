package mcmc

import (
	"encoding/binary"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torusGibbs is the chromatic kernel of [Gibbs] for energy.Toroidal models: a
// sweep redraws first one colour of the chequerboard, then the other, many sites
// at a time. The conditional of a site takes five values, held as multiples of
// 2⁻³¹ by rounding to nearest.
type torusGibbs struct {
	model energy.Model
	sites int
	cols  int
	d     [5]float64
	table [8]int32 // 2³¹·p(x_i = 1 | k neighbours in state 1)
	bits  []uint32
	start []float64  // energies at the last Reset
	moved []movement // since then
	at    cursor     // its updates are colours
}

const colours = 2 // of a chequerboard

// movement is what the energy depends on: changes of Σ x_i x_j over the bonds
// and of Σ x_i.
type movement struct{ bonds, up int64 }

// newTorusGibbs returns nil if the model is not toroidal or its sides are not
// even and at least 4, as two colours demand.
func newTorusGibbs(m energy.Model, chains int) *torusGibbs {
	t, ok := energy.As[energy.Toroidal](m)
	if !ok {
		return nil
	}
	sites, _ := m.Shape()
	cols, d, ok := t.Torus()
	if !ok || cols%2 != 0 || cols < 4 || sites/cols%2 != 0 || sites/cols < 4 {
		return nil
	}
	k := &torusGibbs{
		model: m, sites: sites, cols: cols, d: d, bits: make([]uint32, sites/2),
		start: make([]float64, chains), moved: make([]movement, chains),
		at: newCursor(chains),
	}
	const one = 1 << 31
	for n, diff := range d {
		p := math.RoundToEven(simd.Sigmoid(-diff) * one)
		k.table[n] = int32(min(p, one-1))
	}
	return k
}

func (k *torusGibbs) Reset(x []int32) error {
	k.at.clear()
	_, err := k.ResetUntil(nil, x)
	return err
}

// ResetUntil is Reset until stop says so.
func (k *torusGibbs) ResetUntil(stop func() bool, x []int32) (done bool, err error) {
	clear(k.moved)
	return k.at.renew(stop, k.sites, func(lo, hi int) (bool, error) {
		k.model.Energy(k.start[lo:hi], x[lo*k.sites:hi*k.sites])
		return true, checkStart(k.start, lo, hi)
	})
}

func (k *torusGibbs) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	k.StepUntil(nil, info, x, r)
}

// StepUntil is Step until stop says so, which is asked between half sweeps.
func (k *torusGibbs) StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) (done bool) {
	k.at.begin(stop)
	for ; k.at.chain < len(info); k.at.next() {
		s := k.at.chain
		told := &k.at.told[s]
		for k.at.update < colours {
			if k.at.stopped {
				return false
			}
			r[s].Uint32s(k.bits)
			c := simd.HeatBath(x[s*k.sites:(s+1)*k.sites], k.cols, k.at.update, &k.table, k.bits)
			told.Moved += c.Moved
			k.moved[s].bonds += int64(c.Pairs)
			k.moved[s].up += int64(c.Up)
			k.at.update++
			k.at.done(k.sites / 2)
		}
		told.Energy, told.Accept = k.energy(s), 1
	}
	k.at.finish(info)
	return true
}

// energy returns the running energy of a chain: d[k] = d[0] + k(d[1]−d[0]) says
// that a pair of ones counts d[1]−d[0] and a one d[0].
func (k *torusGibbs) energy(s int) float64 {
	m := k.moved[s]
	e := float64((k.d[1] - k.d[0]) * float64(m.bonds))
	return k.start[s] + (e + float64(k.d[0]*float64(m.up)))
}

func (k *torusGibbs) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(b, k.start)
	for _, m := range k.moved {
		b = binary.LittleEndian.AppendUint64(b, uint64(m.bonds))
		b = binary.LittleEndian.AppendUint64(b, uint64(m.up))
	}
	return k.at.append(b), nil
}

func (k *torusGibbs) UnmarshalBinary(b []byte) error {
	b, err := wire.ReadFloat64s(b, k.start)
	if err != nil {
		return err
	}
	if len(b) < 16*len(k.moved) {
		return wire.ErrShort
	}
	for s := range k.moved {
		k.moved[s].bonds = int64(binary.LittleEndian.Uint64(b[16*s:]))
		k.moved[s].up = int64(binary.LittleEndian.Uint64(b[16*s+8:]))
	}
	return k.at.restore(b[16*len(k.moved):], colours)
}

// heatBath returns the level that the uniform number u picks from
// p_l ∝ exp(−d_l), or −1 if no d_l is finite or one is NaN or −Inf. w is
// scratch.
func heatBath(w, d []float64, u float64) int {
	if len(d) == 2 {
		// p_1 = σ(d_0 − d_1); the difference is NaN for two infinities.
		diff := d[0] - d[1]
		if math.IsNaN(diff) || math.IsInf(d[0], -1) || math.IsInf(d[1], -1) {
			return -1
		}
		if u < simd.Sigmoid(diff) {
			return 1
		}
		return 0
	}
	low := math.Inf(1)
	for _, v := range d {
		if math.IsNaN(v) {
			return -1
		}
		low = min(low, v)
	}
	if math.IsInf(low, 0) {
		return -1
	}
	total := 0.0
	for l, v := range d {
		w[l] = simd.Exp(low - v)
		total += w[l]
	}
	u *= total
	last := -1
	for l := range d {
		if w[l] == 0 {
			continue
		}
		last = l
		if u -= w[l]; u < 0 {
			return l
		}
	}
	return last // rounding left a crumb
}
