package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

const (
	// leapSites bounds the graphs whose steps nobody reads are made many at a time: what
	// is reported of a step costs nothing beside a larger one, which several goroutines
	// may redraw, and states side by side would leave the caches.
	leapSites = 1 << 12

	// besideLanes is how many lanes of a block alone take as long as a site of a
	// register of blocks (BenchmarkWordLeap).
	besideLanes = 11
)

// Company implements [sampler.Companion].
func (k *wordGibbs) Company(blocks int) int {
	if k.sites > leapSites || len(k.workers) > 1 && k.states.End(0) > 1 {
		return 0
	}
	if most := min(blocks, simd.JointBlocks); k.abreast(most) {
		return most
	}
	return 1
}

// abreast reports whether so many blocks are redrawn side by side sooner than one by one.
func (k *wordGibbs) abreast(blocks int) bool {
	width := simd.JointWidth()
	return width > 0 && !k.states.Fixes() && blocks*k.states.Lanes() >= besideLanes*k.sites*((blocks-1)/width+1)
}

// wordBlock is one of the blocks that move together.
type wordBlock struct {
	kernel *wordGibbs
	info   []sampler.Info
	r      *sampler.Stream
	moved  int // sites that changed
}

// leap makes steps that nobody reads, of the block and of those that come along.
func (k *wordGibbs) leap(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (steps int) {
	k.together = append(k.together[:0], wordBlock{kernel: k, info: info, r: &r[0]})
	for _, b := range ctl.Company {
		other, ok := sampler.As[*wordGibbs](b.Kernel)
		if !ok {
			return 0
		}
		k.together = append(k.together, wordBlock{kernel: other, info: b.Info, r: &b.R[0]})
	}
	for _, b := range k.together {
		if !b.kernel.at.fresh() {
			return 0
		}
	}
	k.depart(x)
	for i, b := range ctl.Company {
		k.together[1+i].kernel.depart(b.X)
	}
	k.at.begin(ctl.Stop)
	if n := max(1, ctl.Steps); k.abreast(len(k.together)) {
		steps = k.leapAbreast(n, k.together)
	} else {
		steps = k.leapInTurn(n, k.together)
	}
	for _, b := range k.together {
		b.kernel.arrive()
		report(b.info, b.moved)
	}
	return steps
}

// report stores what some steps of a block have changed, all chains together.
func report(info []sampler.Info, moved int) {
	for s := range info {
		info[s] = sampler.Info{Energy: math.NaN(), Accept: 1}
	}
	info[0].Moved = moved
}

// stride returns how many of n steps of some blocks fit between two questions whether to
// stop.
func (k *wordGibbs) stride(n, blocks int) int {
	return min(n, max(1, pollWork/(blocks*simd.ChainBits*k.sites)))
}

// leapInTurn moves blocks one by one, some steps at a time.
func (k *wordGibbs) leapInTurn(n int, blocks []wordBlock) (steps int) {
	for steps < n && !k.at.stopped {
		some := k.stride(n-steps, len(blocks))
		for i := range blocks {
			b := &blocks[i]
			o := b.kernel
			for range some {
				from := reserve(b.r, o.states.SweepGroups())
				for part := range o.states.Parts() {
					b.moved += o.states.Draw(part, o.chains, from, &o.workers[0][0].scratch)
					from.Group += o.states.Groups(part)
				}
			}
		}
		steps += some
		k.at.done(some * len(blocks) * simd.ChainBits * k.sites)
	}
	return steps
}

// leapAbreast moves blocks side by side.
func (k *wordGibbs) leapAbreast(n int, blocks []wordBlock) (steps int) {
	if k.side == nil {
		k.side = apart.New(beside{states: k.states.NewJoint()})
	}
	j := k.side
	for i, b := range blocks {
		j.chains[i], j.moved[i] = b.kernel.chains, 0
		j.states.Take(i, b.kernel.states)
	}
	for steps < n && !k.at.stopped {
		some := k.stride(n-steps, len(blocks))
		var first spins.Source
		for i, b := range blocks {
			from := reserve(b.r, uint64(some)*k.states.SweepGroups())
			j.streams[i], j.groups[i] = from.Chain, from.Group
			if i == 0 {
				first = from
			}
		}
		j.from.Begin(first.ARS, first.Seed, j.streams[:len(blocks)], j.groups[:len(blocks)], j.chains[:len(blocks)])
		for step := range some {
			j.states.Sweep(&j.from, uint64(step)*k.states.SweepGroups())
		}
		j.from.Moved(j.moved[:len(blocks)])
		steps += some
		k.at.done(some * len(blocks) * simd.ChainBits * k.sites)
	}
	for i := range blocks {
		j.states.Give(i, blocks[i].kernel.states)
		blocks[i].moved = j.moved[i]
	}
	return steps
}

// depart makes what energies depend on known, before a leap; arrive counts it behind one.
func (k *wordGibbs) depart(x []int32) {
	k.hold(0, x)
	k.know()
}

func (k *wordGibbs) arrive() {
	k.count(0)
	k.stale[0] = true
}

// beside are blocks of chains side by side.
type beside struct {
	states          *spins.Joint
	from            simd.Joint
	streams, groups [simd.JointBlocks]uint64
	chains, moved   [simd.JointBlocks]int
}
