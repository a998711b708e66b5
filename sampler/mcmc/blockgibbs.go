package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BlockGibbs redraws several sites at once from their exact joint conditional distribution. It has
// two forms.
//
// If Blocks is nil, the model must be energy.Bipartite, such as a restricted Boltzmann machine. A
// step first draws all hidden units, h ~ p(h|x), and then all visible sites, x ~ p(x|h). This is
// reversible and leaves p(x) ∝ e^{−E(x)} invariant. Probabilities are rounded to float32 and to
// multiples of 2⁻³¹.
//
// If Blocks is set, any model will do. A step visits the blocks in order, and draws the levels of
// each from p(x_block | rest), in float64. This takes levels^s evaluations for a block of s sites.
// Blocks may overlap; sites that are in no block never move.
//
// Within restricts the second form to a language (a set of allowed states). The chain samples p
// restricted to the language. It reaches all allowed states only if changes of single blocks
// connect them. If the language fixes a count, blocks must have at least two sites, overlap, and
// link all sites.
type BlockGibbs struct {
	Blocks [][]int // one list of sites per block, in the order of visits

	// Within is the language (package constraint) of the allowed states; nil means that all states
	// are allowed. Within requires Blocks.
	Within constraint.Automaton
}

// maxMembers is the maximum number of joint levels of an enumerated block. Larger blocks are too
// expensive to enumerate.
const maxMembers = 1 << 16

// Name returns "block-gibbs"; it implements [sampler.Named].
func (BlockGibbs) Name() string { return "block-gibbs" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (g BlockGibbs) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: BlockGibbs", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if len(g.Blocks) == 0 && g.Within != nil {
		return nil, fmt.Errorf("mcmc: BlockGibbs: Within = %s needs Blocks, because layers are drawn unit by unit without it: set Blocks, or use Gibbs", automata.Name(g.Within))
	}
	if len(g.Blocks) == 0 {
		units := func(m energy.Model) (sampler.Kernel, error) {
			b, ok := energy.As[energy.Bipartite](m)
			if !ok {
				return nil, fmt.Errorf("mcmc: BlockGibbs: model = %T without Blocks, want an energy.Bipartite one: set Blocks, or use Gibbs", m)
			}
			return newBipartite(b, sites, chains), nil
		}
		return follow(m, false, units, func() (sampler.Kernel, error) { return units(m) })
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
	within, err := newSupport(ctx, "BlockGibbs", g.Within, sites, levels)
	if err != nil {
		return nil, err
	}
	return padded.New(blockGibbs{
		inLanguage: inLanguage{sweep.NewEnergies(m, chains, len(g.Blocks)), within}, blocks: g.Blocks,
		x: padded.Make[int32](most * sites), d: padded.Make[float64](most), w: padded.Make[float64](most),
	}), nil
}

// blockGibbs is the kernel that enumerates the joint levels of blocks.
type blockGibbs struct {
	inLanguage
	blocks [][]int
	x      []int32 // whole states, one for every joint level of a block
	d, w   []float64
}

var (
	_ sampler.Costed  = (*blockGibbs)(nil)
	_ sampler.Starter = (*blockGibbs)(nil)
)

// Step visits all blocks once. It calls ctl.Stop between blocks and, within a large block, between
// batches of energies. It implements [sampler.Transition].
func (k *blockGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.Make(ctl, k, info, x, r)
}

// Walk makes n updates of chain s, each of which redraws one block. It implements [sweep.Walker].
func (k *blockGibbs) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	pending := &k.At.Info[s]
	pending.Accept = 1
	for made < n && pending.Err == nil && k.redraw(s, k.At.Update+made, x, &r[s]) {
		made++
	}
	return made
}

// redraw draws the joint level of block b of chain s. It returns false if it was stopped.
func (k *blockGibbs) redraw(s, b int, x []int32, r *sampler.Stream) bool {
	d, whole := k.weigh(x, k.blocks[b])
	if !whole {
		return false
	}
	pending, c := &k.At.Info[s], sweep.HeatBath(k.w, d, r.Float64())
	if c < 0 {
		pending.Err = fmt.Errorf("block %d: %w", b, sampler.ErrNaN)
		return true
	}
	for _, i := range k.blocks[b] {
		if l := k.x[c*k.Sites+i]; l != x[i] {
			x[i] = l
			pending.Moved++
		}
	}
	k.E[s] = d[c]
	return true
}

// weigh returns the energies of all joint levels of a block, +Inf for those outside the language.
// It checks for a stop between batches and returns whole = false if it was stopped.
func (k *blockGibbs) weigh(x []int32, block []int) (d []float64, whole bool) {
	if k.At.Part == 0 {
		k.members(x, block)
	}
	n := 1
	for range block {
		n *= k.Levels
	}
	for k.At.Part < n {
		if k.At.Stopped {
			return nil, false
		}
		lo, hi := k.At.Part, min(k.At.Part+max(1, sweep.PollWork/k.Sites), n)
		d = k.d[lo:hi]
		k.Model.Energy(d, k.x[lo*k.Sites:hi*k.Sites])
		for c := range d {
			if !k.within.holds(k.x[(lo+c)*k.Sites : (lo+c+1)*k.Sites]) {
				d[c] = math.Inf(1)
			}
		}
		k.At.Part = hi
		k.At.Done(sweep.Times(hi-lo, k.Sites))
	}
	k.At.Part = 0
	return k.d[:n], true
}

// members writes to k.x all states that equal x outside the block. The level of the block's first
// site varies fastest.
func (k *blockGibbs) members(x []int32, block []int) {
	n := 1
	copy(k.x, x)
	for _, i := range block {
		k.x[i] = 0
	}
	for _, i := range block {
		for l := 1; l < k.Levels; l++ {
			for j := range n {
				to := k.x[(l*n+j)*k.Sites : (l*n+j+1)*k.Sites]
				copy(to, k.x[j*k.Sites:(j+1)*k.Sites])
				to[i] = int32(l)
			}
		}
		n *= k.Levels
	}
}

func (k *blockGibbs) Cost(info []sampler.Info) float64 {
	m, sum := k.Price.Of(k.Model), 0.0
	for _, block := range k.blocks {
		members := 1
		for range block {
			members *= k.Levels
		}
		sum += float64(float64(members) * (m.Energy + sweep.LevelCost + float64(k.Sites)))
	}
	return float64(len(info)) * sum
}
