package sweep

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// memoGibbs is the Gibbs kernel of two-level models on small sparse graphs with arbitrary
// couplings and fields. It looks up conditional probabilities in a memo and makes the same draws
// as the general kernel.
type memoGibbs struct {
	sitewise // only its energies are used
	memo     *memo
	order    []int32
}

var (
	_ sampler.Costed    = (*memoGibbs)(nil)
	_ sampler.Exchanger = (*memoGibbs)(nil)
)

// Reset forgets the remembered conditional distributions, because the model may have changed. It
// implements [sampler.Transition].
func (k *memoGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.memo.forget()
	return k.Locals.Reset(ctl, x)
}

// Step makes one step of every chain, checking for a stop about every millisecond. It implements
// [sampler.Transition].
func (k *memoGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.Make(ctl, k, info, x, r)
}

// Walk makes n updates of chain s, or fewer if it is stopped or fails, and returns the number made.
// Each update redraws one site. Walk implements [Walker].
func (k *memoGibbs) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	pending := &k.At.Info[s]
	pending.Accept = 1
	for made < n && pending.Err == nil && !k.At.Stopped {
		from := k.At.Update + made
		sites := k.order[from:min(from+min(n-made, chunk), len(k.order))]
		u := k.memo.u[:len(sites)]
		r[s].Float64s(u)
		moved, rise, dead := k.memo.draw(sites, x, u)
		pending.Moved += moved
		k.E[s] += rise
		if dead >= 0 {
			pending.Err = fmt.Errorf("site %d: %w", dead, sampler.ErrNaN)
		}
		made += len(sites)
		k.At.Done(len(sites) * SiteWork)
	}
	return made
}

// memo caches the conditional probabilities of a two-level model on a sparse graph, by the states
// of the neighbours of a site. All chains and sweeps share the memo. An entry is computed when it
// is first needed.
type memo struct {
	conditional energy.Conditional
	start, adj  []int32
	first       []int32   // index of the entry of site i with all neighbours in state 0
	up          []float64 // p(x_i = 1); NaN if it is not defined; unmet if it is not computed yet
	rise        []float64 // E(x_i = 1) − E(x_i = 0)
	d           []float64 // scratch for one conditional
	u           []float64 // scratch: uniform numbers for chunk sites
}

const unmet = -1

// memoEntries is the maximum number of entries of a memo, 1 MB, so that it stays in the
// processor's cache. Tests set it lower to exercise other kernels.
var memoEntries = 1 << 16

// memoPairs is the maximum number of entries for models that fieldGibbs also accepts. With more
// entries, the memos of several blocks and rungs leave the processor's caches, and adding
// couplings is as fast (measured on graphs of 25 to 2,000 sites).
const memoPairs = 1 << 13

// newMemo returns an empty memo. It returns nil unless the model has two levels, is
// energy.Graphical and energy.Conditional, has at most 16 neighbours per site, and needs at most
// memoEntries entries.
func newMemo(m energy.Model) *memo {
	sites, levels := m.Shape()
	g, graphical := energy.As[energy.Graphical](m)
	c, conditional := energy.As[energy.Conditional](m)
	if levels != 2 || !graphical || !conditional {
		return nil
	}
	start, adj := g.Graph()
	k := memo{conditional: c, start: start, adj: adj, first: padded.Make[int32](sites), d: padded.Make[float64](2), u: padded.Make[float64](chunk)}
	entries := 0
	for i := range sites {
		k.first[i] = int32(entries)
		degree := start[i+1] - start[i]
		if degree > 16 {
			return nil
		}
		if entries += 1 << degree; entries > memoEntries {
			return nil
		}
	}
	k.up, k.rise = padded.Make[float64](entries), padded.Make[float64](entries)
	k.forget()
	return padded.New(k)
}

// forget clears all entries, because the model may have changed.
func (m *memo) forget() {
	for at := range m.up {
		m.up[at] = unmet
	}
}

// meet computes the entry with the given index, which belongs to site i at state x, and returns
// p(x_i = 1).
func (m *memo) meet(at, i int, x []int32) (up float64) {
	m.conditional.Conditional(m.d, i, x)
	m.up[at], m.rise[at] = simd.Sigmoid(m.d[0]-m.d[1]), m.d[1]-m.d[0]
	if math.IsInf(m.rise[at], 0) {
		m.rise[at] = 0 // never used with a change ≠ 0, and 0 times this is 0
	}
	if math.IsInf(min(m.d[0], m.d[1]), -1) {
		m.up[at] = math.NaN()
	}
	return m.up[at]
}

// entry returns the index of the entry of site i at state x.
func (m *memo) entry(i int32, x []int32) int {
	near := m.adj[m.start[i]:m.start[i+1]]
	at, bit := m.first[i], 0
	for _, j := range near {
		at += x[j] << (bit & 31)
		bit++
	}
	return int(at)
}

// draw redraws the given sites of state x with the uniform numbers u. It returns the number of
// sites that changed and the change of the energy. It stops at a site whose conditional probability
// is not defined and returns that site as dead; otherwise dead is −1.
func (m *memo) draw(sites []int32, x []int32, u []float64) (moved int, rise float64, dead int) {
	u = u[:len(sites)]
	for n, i := range sites {
		at := m.entry(i, x)
		p := m.up[at]
		if p < 0 {
			p = m.meet(at, int(i), x)
		}
		if p != p {
			return moved, rise, int(i)
		}
		// u < p without a branch, which would often be mispredicted. Both are in [0, 1], and
		// non-negative numbers are ordered like their bits.
		l := int32((math.Float64bits(u[n]) - math.Float64bits(p)) >> 63)
		change := l - x[i]
		x[i] = l
		moved += int(change & 1)
		rise += float64(m.rise[at] * float64(change))
	}
	return moved, rise, -1
}

// Cost estimates the time in nanoseconds of a step, which visits every site and its neighbours. It
// implements [sampler.Costed].
func (k *memoGibbs) Cost(info []sampler.Info) float64 {
	return lookups(k.Price.Of(k.Model), info)
}
