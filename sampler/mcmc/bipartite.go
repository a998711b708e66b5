package mcmc

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// bipartite is the Gibbs kernel of models with hidden units.
type bipartite struct {
	model         energy.Bipartite
	sites, hidden int
	e, next       []float64  // energies of the current states and of the states evaluated last
	f             []float32  // log-odds of the units of one layer, all chains
	t             []int32    // thresholds of the random words below which a unit is 1, all chains
	h             []int32    // states of the hidden units
	y             []int32    // states of the visible units
	between       [2][]int32 // intermediate states of loadUntil; nil until needed
	zero          []int32
	bits          []uint32
	failed        []bool // per chain: a log-odds is NaN
	at            sweep.Cursor
	price         cost.Memo

	// cached and odds are nil unless the model evaluates changes. odds holds the log-odds of the
	// hidden units at the current states, which the model returns together with the energies.
	cached *changes
	odds   []float32
}

var _ sampler.Costed = (*bipartite)(nil)

var (
	noCost = []float32{0}
	// factor that turns the energy difference of a flip from 0 to 1 into log-odds
	fromUp = float32(-1)
)

func newBipartite(m energy.Bipartite, sites, chains int) *bipartite {
	hidden := m.Hidden()
	n := chains * max(sites, hidden)
	k := padded.New(bipartite{
		model: m, sites: sites, hidden: hidden,
		e: padded.Make[float64](chains), next: padded.Make[float64](chains), f: padded.Make[float32](n), t: padded.Make[int32](n),
		h: padded.Make[int32](chains * hidden), y: padded.Make[int32](chains * sites),
		zero: padded.Make[int32](n), bits: padded.Make[uint32](max(sites, hidden)), failed: padded.Make[bool](chains),
		at: sweep.NewCursor(chains),
	})
	if i, ok := energy.As[energy.IncrementalBipartite](m); ok {
		k.cached = newChanges(i.HiddenFieldFrom, i.CacheLen(), chains)
		k.odds = make([]float32, chains*hidden)
	}
	return k
}

// work returns the number of elementary operations of one layer of one chain. About sixteen
// products count as one operation.
func (k *bipartite) work() int {
	return max(k.sites, sweep.Times(k.sites, max(1, k.hidden/16)))
}

// Reset computes the energies of the states x; it implements [sampler.Transition].
func (k *bipartite) Reset(ctl sampler.Control, x []int32) error {
	return k.at.Renew(ctl.Stop, 1, k.work(), func(_, lo, hi int) (bool, error) {
		k.load(lo, hi, k.e, x, nil)
		return true, sweep.CheckStart(k.e, lo, hi)
	})
}

// load stores in e the energies of the states y of the chains lo … hi−1. If x is not nil, x holds
// the previous states of these chains, and a model that evaluates changes starts from them.
func (k *bipartite) load(lo, hi int, e []float64, y, x []int32) {
	from, to := lo*k.sites, hi*k.sites
	if k.cached == nil {
		k.model.Energy(e[lo:hi], y[from:to])
		return
	}
	if x != nil {
		x = x[from:to]
	}
	k.cached.field(lo, hi, e[lo:hi], k.odds[lo*k.hidden:hi*k.hidden], y[from:to], x)
	k.cached.accept(lo, hi)
}

// loadPiece is the maximum number of weights of changed units that loadUntil adds between two
// checks for a stop.
const loadPiece = 1 << 22

// loadUntil is load for the states k.y of the chains lo … hi−1, with previous states x. It
// returns false if it was stopped. It evaluates a long chain through intermediate states, which
// equal y up to some site and x from that site on.
func (k *bipartite) loadUntil(lo, hi int, x []int32) bool {
	n := 1 + k.sites*k.hidden/loadPiece
	if hi-lo > 1 || n == 1 || k.at.Part == 0 && (k.cached == nil || !k.cached.known[lo]) {
		k.load(lo, hi, k.next, k.y, x)
		return true
	}
	from, to := lo*k.sites, hi*k.sites
	if k.between[0] == nil {
		k.between = [2][]int32{make([]int32, len(x)), make([]int32, len(x))}
	}
	for {
		last := k.at.Part == n-1
		for end, z := range k.between { // states before and after this piece
			cut := from + (k.at.Part+end)*(k.sites/n)
			copy(z[from:cut], k.y[from:cut])
			copy(z[cut:to], x[cut:to])
		}
		if last {
			k.load(lo, hi, k.next, k.y, k.between[0])
			return true
		}
		k.load(lo, hi, k.next, k.between[1], k.between[0])
		k.at.Part++
		if k.at.Done(sweep.Times(k.sites/n, k.hidden)) {
			return false
		}
	}
}

// hiddenField returns the log-odds of the hidden units at the states x of the chains lo … hi−1.
func (k *bipartite) hiddenField(lo, hi int, x []int32) []float32 {
	if k.cached == nil || slices.Contains(k.cached.known[lo:hi], false) {
		f := k.f[:(hi-lo)*k.hidden]
		k.model.HiddenField(f, x[lo*k.sites:hi*k.sites])
		return f
	}
	return k.odds[lo*k.hidden : hi*k.hidden]
}

// Step makes one step by calling [bipartite.Stage] for each stage. Between stages it calls
// ctl.Stop. It implements [sampler.Transition].
func (k *bipartite) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return sweep.Step(&k.at, ctl, k, info, x, r, 5, k.work())
}

// Stage makes one of the five stages of a step for the chains lo … hi−1. The stages draw the hidden
// units, compute the fields of the visible units, draw the visible units, evaluate the new states,
// and move the chains to them. It implements [sweep.Staged].
func (k *bipartite) Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	r = r[lo:hi]
	switch stage {
	case 0:
		clear(k.failed[lo:hi])
		k.draw(lo, k.h[lo*k.hidden:hi*k.hidden], k.hiddenField(lo, hi, x), k.hidden, r)
	case 1:
		k.model.VisibleField(k.f[:(hi-lo)*k.sites], k.h[lo*k.hidden:hi*k.hidden])
	case 2:
		k.draw(lo, k.y[lo*k.sites:hi*k.sites], k.f[:(hi-lo)*k.sites], k.sites, r)
	case 3:
		return k.loadUntil(lo, hi, x)
	default:
		for s := lo; s < hi; s++ {
			k.settle(s, x[s*k.sites:(s+1)*k.sites], k.y[s*k.sites:])
		}
	}
	return true
}

// settle moves chain s from x to y. If y could not be evaluated, it reports the error and leaves x
// unchanged.
func (k *bipartite) settle(s int, x, y []int32) {
	pending := &k.at.Info[s]
	k.e[s] = k.next[s]
	*pending = sampler.Info{Energy: k.e[s], Accept: 1, Err: unadjusted(k.e[s])}
	if k.failed[s] {
		pending.Err = fmt.Errorf("log-odds: %w", sampler.ErrNaN)
	}
	if pending.Err != nil {
		return
	}
	moved, new := int32(0), y[:len(x)]
	for i, v := range new {
		moved += v ^ x[i] // 0 or 1, without a branch that could be mispredicted
	}
	pending.Moved = int(moved)
	copy(x, new)
}

// draw draws the n units of a layer from their log-odds f and stores them in y, for one chain per
// stream. The argument first is the index of the first chain.
func (k *bipartite) draw(first int, y []int32, f []float32, n int, r []sampler.Stream) {
	t := k.t[:len(y)]
	simd.FlipThresholds(t, f, k.zero[:len(y)], fromUp, noCost)
	for s := range r {
		lo, hi := s*n, (s+1)*n
		r[s].Uint32s(k.bits[:n])
		if _, logq := simd.Flip(y[lo:hi], k.zero[lo:hi], t[lo:hi], k.bits[:n]); math.IsNaN(logq) {
			k.failed[first+s] = true
		}
	}
	// A threshold never makes a unit 1 with certainty, as a fixed unit with log-odds +Inf must
	// be.
	if simd.Peak(f) <= math.MaxFloat32 {
		return
	}
	for i, v := range f {
		if v > math.MaxFloat32 {
			y[i] = 1
		}
	}
}

func (k *bipartite) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

func (k *bipartite) UnmarshalBinary(b []byte) error {
	if k.cached != nil {
		k.cached.forget()
	}
	return wire.ReadFields(b, k.fields)
}

func (k *bipartite) fields(f *wire.Fields) {
	f.Float64s(k.e)
	k.at.Fields(f, 0)
}

func (k *bipartite) Cost(info []sampler.Info) float64 {
	m := k.price.Of(k.model)
	return float64(len(info)) * (sweep.WholeCost + m.Field + float64(drawCost*float64(k.sites+k.hidden)))
}
