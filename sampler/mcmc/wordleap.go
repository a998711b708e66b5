package mcmc

import (
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

// Company implements the method that [sampler.Transition] speaks of.
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
	return width > 0 && blocks*k.states.Lanes() >= besideLanes*k.sites*((blocks-1)/width+1)
}

// Leap implements the method that [sampler.Transition] speaks of.
func (k *wordGibbs) Leap(stop func() bool, n int, kernels []sampler.Kernel, x [][]int32, r [][]sampler.Stream, moved []int) (steps int) {
	for _, other := range kernels {
		if b, ok := other.(*wordGibbs); !ok || !b.at.fresh() {
			return 0
		}
	}
	for b, other := range kernels {
		other.(*wordGibbs).depart(x[b])
	}
	k.at.begin(stop)
	if k.abreast(len(kernels)) {
		steps = k.leapAbreast(n, kernels, r, moved)
	} else {
		steps = k.leapInTurn(n, kernels, r, moved)
	}
	for _, other := range kernels {
		other.(*wordGibbs).arrive()
	}
	return steps
}

// stride returns how many of n steps of some blocks fit between two questions whether to
// stop.
func (k *wordGibbs) stride(n, blocks int) int {
	return min(n, max(1, pollWork/(blocks*simd.ChainBits*k.sites)))
}

// leapInTurn moves blocks one by one, some steps at a time.
func (k *wordGibbs) leapInTurn(n int, kernels []sampler.Kernel, r [][]sampler.Stream, moved []int) (steps int) {
	for steps < n && !k.at.stopped {
		some := k.stride(n-steps, len(kernels))
		for b, other := range kernels {
			o := other.(*wordGibbs)
			for range some {
				from := reserve(&r[b][0], o.states.SweepGroups())
				for part := range o.states.Parts() {
					moved[b] += o.states.Draw(part, len(o.start), from, &o.workers[0][0].scratch)
					from.Group += o.states.Groups(part)
				}
			}
		}
		steps += some
		k.at.done(some * len(kernels) * simd.ChainBits * k.sites)
	}
	return steps
}

// leapAbreast moves blocks side by side.
func (k *wordGibbs) leapAbreast(n int, kernels []sampler.Kernel, r [][]sampler.Stream, moved []int) (steps int) {
	if k.side == nil {
		k.side = apart.New(beside{states: k.states.NewJoint()})
	}
	j := k.side
	for b, other := range kernels {
		o := other.(*wordGibbs)
		j.chains[b] = len(o.start)
		j.states.Take(b, o.states)
	}
	for steps < n && !k.at.stopped {
		some := k.stride(n-steps, len(kernels))
		var first spins.Source
		for b := range kernels {
			from := reserve(&r[b][0], uint64(some)*k.states.SweepGroups())
			j.streams[b], j.groups[b] = from.Chain, from.Group
			if b == 0 {
				first = from
			}
		}
		j.from.Begin(first.ARS, first.Seed, j.streams[:len(kernels)], j.groups[:len(kernels)], j.chains[:len(kernels)])
		for step := range some {
			j.states.Sweep(&j.from, uint64(step)*k.states.SweepGroups())
		}
		j.from.Moved(moved)
		steps += some
		k.at.done(some * len(kernels) * simd.ChainBits * k.sites)
	}
	for b, other := range kernels {
		j.states.Give(b, other.(*wordGibbs).states)
	}
	return steps
}

// depart and arrive take away and add what the energies depend on, before a leap and
// behind it.
func (k *wordGibbs) depart(x []int32) {
	k.hold(x)
	k.count(-1)
}

func (k *wordGibbs) arrive() {
	k.count(1)
	k.stale = true
}

// count adds sign times the numbers that changes are counted from: every pair of
// neighbours is there twice but for what turns both of its sites, a half each.
func (k *wordGibbs) count(sign int) {
	told := k.workers[0][0].told
	k.states.Count(told, &k.workers[0][0].scratch)
	for s := range k.near {
		twice := 0
		for kind, ones := range k.ones {
			t := &told[kind]
			up := int(t.Up[s])
			ones[s] += sign * up
			twice += int(t.Sum[s]) + k.even.turned[kind]*up
		}
		k.near[s] += sign * (twice / 2)
	}
	clear(told)
}
