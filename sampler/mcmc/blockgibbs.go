package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BlockGibbs redraws many sites at once from their exact joint conditional.
//
// With Blocks nil it serves an energy.Bipartite model, such as a restricted
// Boltzmann machine: a step draws all hidden units given the visible sites,
// h ~ p(h|x), then all visible sites given those, x ~ p(x|h). The marginal chain
// on x leaves p(x) ∝ e^{−E(x)} invariant and is reversible. Probabilities are
// rounded to float32 and multiples of 2⁻³¹.
//
// With Blocks it enumerates the joint levels of one block of sites after the
// other and draws them from p(x_block | rest) in float64, by exact energies.
// Blocks may overlap; sites in no block never move. A block costs levels^size
// energies.
//
// With Within besides, joint levels that lead out of that language have weight
// zero, and the chain leaves π restricted to it invariant. It reaches all of the
// language only if changes of single blocks connect it: under a fixed count, for
// instance, if overlapping blocks of two or more sites link all sites.
type BlockGibbs struct {
	Blocks [][]int // sites of each block, visited in order

	// Within is the language of the whole state; nil means all states. It needs
	// Blocks.
	Within constraint.Automaton
}

// maxMembers bounds the joint levels of an enumerated block; beyond it another
// kernel is the better choice.
const maxMembers = 1 << 16

// Name implements [sampler.Named].
func (BlockGibbs) Name() string { return "block-gibbs" }

// Kernel implements [sampler.Method].
func (g BlockGibbs) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: BlockGibbs", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if g.Blocks == nil && g.Within != nil {
		return nil, fmt.Errorf("mcmc: BlockGibbs: Within = %v needs Blocks: layers are drawn unit by unit", g.Within)
	}
	if g.Blocks == nil {
		b, ok := energy.As[energy.Bipartite](m)
		if !ok {
			return nil, fmt.Errorf("mcmc: BlockGibbs without Blocks needs an energy.Bipartite model, %T is not", m)
		}
		return newBipartite(b, sites, chains), nil
	}
	most := 0
	for b, block := range g.Blocks {
		members := 1
		seen := make(map[int]bool, len(block))
		for _, i := range block {
			switch {
			case i < 0 || i >= sites:
				return nil, fmt.Errorf("mcmc: BlockGibbs: Blocks[%d] has site %d, want 0 … %d", b, i, sites-1)
			case seen[i]:
				return nil, fmt.Errorf("mcmc: BlockGibbs: Blocks[%d] has site %d twice", b, i)
			}
			seen[i] = true
			if members *= levels; members > maxMembers {
				return nil, fmt.Errorf("mcmc: BlockGibbs: Blocks[%d] has %d sites of %d levels, want levels^sites ≤ %d", b, len(block), levels, maxMembers)
			}
		}
		most = max(most, members)
	}
	within, err := newSupport("BlockGibbs", g.Within, sites, levels)
	if err != nil {
		return nil, err
	}
	return &blockGibbs{
		model: m, within: within, blocks: g.Blocks, sites: sites, levels: levels,
		e: make([]float64, chains), x: make([]int32, most*sites),
		d: make([]float64, most), w: make([]float64, most),
	}, nil
}

// blockGibbs is the kernel of enumerated blocks.
type blockGibbs struct {
	model         energy.Model
	within        *support
	blocks        [][]int
	sites, levels int
	e             []float64
	x             []int32 // members of a block: whole states
	d, w          []float64
}

func (k *blockGibbs) Reset(x []int32) error {
	if err := k.within.check(x); err != nil {
		return err
	}
	k.model.Energy(k.e, x)
	return sampler.CheckStart(k.e)
}

// Start implements [sampler.Starter].
func (k *blockGibbs) Start(x []int32, r *sampler.Stream) error { return k.within.start(k.model, x, r) }

func (k *blockGibbs) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	for s := range info {
		info[s] = sampler.Info{Energy: k.e[s], Accept: 1}
		for b := range k.blocks {
			k.redraw(&info[s], b, x[s*k.sites:(s+1)*k.sites], &r[s])
			if info[s].Err != nil {
				break
			}
		}
		k.e[s] = info[s].Energy
	}
}

// redraw draws the levels of block b.
func (k *blockGibbs) redraw(info *sampler.Info, b int, x []int32, r *sampler.Stream) {
	d := k.weigh(x, k.blocks[b])
	c := heatBath(k.w, d, r.Float64())
	if c < 0 {
		info.Err = fmt.Errorf("block %d: %w", b, sampler.ErrNaN)
		return
	}
	for _, i := range k.blocks[b] {
		if l := k.x[c*k.sites+i]; l != x[i] {
			x[i] = l
			info.Moved++
		}
	}
	info.Energy = d[c]
}

// weigh returns the energies of the members of a block, +Inf for those outside
// the language.
func (k *blockGibbs) weigh(x []int32, block []int) []float64 {
	members := k.members(x, block)
	d := k.d[:members]
	k.model.Energy(d, k.x[:members*k.sites])
	for c := range d {
		if !k.within.holds(k.x[c*k.sites : (c+1)*k.sites]) {
			d[c] = math.Inf(1)
		}
	}
	return d
}

// members writes to k.x the states that equal x outside the block, the first
// site of the block running fastest, and returns their number.
func (k *blockGibbs) members(x []int32, block []int) int {
	n := 1
	copy(k.x, x)
	for _, i := range block {
		k.x[i] = 0
	}
	for _, i := range block {
		for l := 1; l < k.levels; l++ {
			for j := range n {
				to := k.x[(l*n+j)*k.sites : (l*n+j+1)*k.sites]
				copy(to, k.x[j*k.sites:(j+1)*k.sites])
				to[i] = int32(l)
			}
		}
		n *= k.levels
	}
	return n
}

func (k *blockGibbs) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFloat64s(b, k.e), nil }

func (k *blockGibbs) UnmarshalBinary(b []byte) error {
	b, err := wire.ReadFloat64s(b, k.e)
	if err != nil {
		return err
	}
	return wire.ReadEnd(b)
}

// bipartite is the kernel of models with hidden units.
type bipartite struct {
	model         energy.Bipartite
	sites, hidden int
	e             []float64
	f             []float32 // log-odds of one layer, all chains
	t             []int32   // thresholds of the same
	h             []int32   // hidden states
	y             []int32   // visible states
	zero          []int32
	bits          []uint32
	failed        []bool // per chain: a log-odds is NaN

	// Of models that evaluate changes: the log-odds of the hidden units at the
	// current states come with the energies, one step earlier.
	cached *changes
	odds   []float32
}

var (
	noCost = []float32{0}
	fromUp = float32(-1) // turns the energy difference of a flip from 0 into log-odds
)

func newBipartite(m energy.Bipartite, sites, chains int) *bipartite {
	hidden := m.Hidden()
	n := chains * max(sites, hidden)
	k := &bipartite{
		model: m, sites: sites, hidden: hidden,
		e: make([]float64, chains), f: make([]float32, n), t: make([]int32, n),
		h: make([]int32, chains*hidden), y: make([]int32, chains*sites),
		zero: make([]int32, n), bits: make([]uint32, max(sites, hidden)), failed: make([]bool, chains),
	}
	if i, ok := energy.As[energy.IncrementalBipartite](m); ok {
		k.cached = newChanges(i.HiddenFieldFrom, i.CacheLen(), chains)
		k.odds = make([]float32, chains*hidden)
	}
	return k
}

func (k *bipartite) Reset(x []int32) error {
	k.load(x, nil)
	return sampler.CheckStart(k.e)
}

// load evaluates the states y, which become the current ones after x.
func (k *bipartite) load(y, x []int32) {
	if k.cached == nil {
		k.model.Energy(k.e, y)
		return
	}
	k.cached.field(k.e, k.odds, y, x)
	k.cached.acceptAll()
}

// hiddenField stores the log-odds of the hidden units at x in k.f.
func (k *bipartite) hiddenField(x []int32) {
	f := k.f[:len(k.h)]
	if k.cached == nil || !k.cached.known {
		k.model.HiddenField(f, x)
		return
	}
	copy(f, k.odds)
}

func (k *bipartite) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	clear(k.failed)
	k.hiddenField(x)
	k.draw(k.h, k.hidden, r)
	k.model.VisibleField(k.f[:len(x)], k.h)
	k.draw(k.y, k.sites, r)
	k.load(k.y, x)
	for s := range info {
		info[s] = sampler.Info{Energy: k.e[s], Accept: 1, Err: unadjusted(k.e[s])}
		if k.failed[s] {
			info[s].Err = fmt.Errorf("log-odds: %w", sampler.ErrNaN)
		}
		if info[s].Err != nil {
			continue
		}
		lo, hi := s*k.sites, (s+1)*k.sites
		moved, old := int32(0), x[lo:hi]
		for i, v := range k.y[lo:hi] {
			moved += v ^ old[i] // 0 or 1: no branch to mispredict
		}
		info[s].Moved = int(moved)
		copy(old, k.y[lo:hi])
	}
}

// draw draws the n units of a layer of every chain from the log-odds in k.f.
func (k *bipartite) draw(y []int32, n int, r []sampler.Stream) {
	f, t := k.f[:len(y)], k.t[:len(y)]
	simd.FlipThresholds(t, f, k.zero[:len(y)], fromUp, noCost)
	for s := range r {
		lo, hi := s*n, (s+1)*n
		r[s].Uint32s(k.bits[:n])
		if _, logq := simd.Flip(y[lo:hi], k.zero[lo:hi], t[lo:hi], k.bits[:n]); math.IsNaN(logq) {
			k.failed[s] = true
		}
	}
	// Thresholds stop short of certainty, which is what a fixed site needs.
	for i, v := range f {
		if v > math.MaxFloat32 {
			y[i] = 1
		}
	}
}

func (k *bipartite) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFloat64s(b, k.e), nil }

func (k *bipartite) UnmarshalBinary(b []byte) error {
	if k.cached != nil {
		k.cached.forget()
	}
	b, err := wire.ReadFloat64s(b, k.e)
	if err != nil {
		return err
	}
	return wire.ReadEnd(b)
}
