package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

const (
	// pairSites bounds the graphs whose blocks are redrawn two by two: a sweep of a larger
	// one takes longer than stop may wait.
	pairSites = 1 << 15

	// pairAbove is the changes of a visit, of 32 chains together, above which two blocks
	// are redrawn sooner side by side than one by one with sums that are kept
	// (BenchmarkRowLeap).
	pairAbove = 0.16

	// pairCalm is after how many steps of fewer changes a leap ends.
	pairCalm = 16
)

// Company implements the method that [sampler.Transition] speaks of.
func (k *rowGibbs) Company(blocks int) int {
	if blocks < 2 || k.sites > pairSites || !simd.PairOfRows() {
		return 0
	}
	return 2
}

// Leap implements the method that [sampler.Transition] speaks of.
func (k *rowGibbs) Leap(stop func() bool, n int, kernels []sampler.Kernel, x [][]int32, r [][]sampler.Stream, moved []int) (steps int) {
	var all [2]*rowGibbs
	if len(kernels) != len(all) {
		return 0
	}
	busy := false
	for b, other := range kernels {
		o, ok := other.(*rowGibbs)
		if !ok || !o.at.fresh() {
			return 0
		}
		all[b] = o
		busy = busy || o.moved < 0 || o.changes(o.moved) > pairAbove
	}
	if !busy {
		return 0
	}
	if with := all[1].states.RowGraph; k.pair == nil || k.pair.with != with {
		if !k.states.Equal(with) { // a method that chooses kernels has chosen others
			return 0
		}
		k.pair = apart.New(rowPair{states: k.states.NewPair(), with: with})
	}
	for b, o := range all {
		if !o.held {
			o.hold(x[b])
		}
	}
	p := k.pair
	p.states.Take(all[0].states, all[1].states)
	k.at.begin(stop)
	for calm := 0; steps < n && calm < pairCalm && !k.at.stopped; steps++ {
		for b := range all {
			p.from[b] = reserve(&r[b][0], k.states.SweepGroups())
		}
		p.states.Sweep(&p.told, p.from)
		calm++
		for b, o := range all {
			some := o.count(&p.told[b])
			if moved[b] += some; o.changes(some) > pairAbove {
				calm = 0
			}
		}
		k.at.done(len(all) * (siteWork*k.sites + k.states.Near()))
	}
	p.states.Give(all[0].states, all[1].states)
	for _, o := range all {
		o.held, o.stale, o.moved = true, true, -1
	}
	return steps
}
