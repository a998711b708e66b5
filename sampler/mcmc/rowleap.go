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

// Company implements [sampler.Companion].
func (k *rowGibbs) Company(blocks int) int {
	if blocks < 2 || k.sites > pairSites || !simd.PairOfRows() {
		return 0
	}
	return 2
}

// leap makes steps that nobody reads, of the block and of the one that comes along.
func (k *rowGibbs) leap(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (steps int) {
	if len(ctl.Company) != 1 || !ctl.Unread {
		return 0
	}
	with := &ctl.Company[0]
	second, ok := sampler.As[*rowGibbs](with.Kernel)
	if !ok {
		return 0
	}
	all := [2]*rowGibbs{k, second}
	busy := false
	for _, o := range all {
		if !o.at.fresh() {
			return 0
		}
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
	for b, x := range [2][]int32{x, with.X} {
		all[b].hold(0, x)
	}
	streams := [2]*sampler.Stream{&r[0], &with.R[0]}
	var moved [2]int
	p := k.pair
	p.states.Take(all[0].states, all[1].states)
	k.at.begin(ctl.Stop)
	n := max(1, ctl.Steps)
	for calm := 0; steps < n && calm < pairCalm && !k.at.stopped; steps++ {
		for b := range all {
			p.from[b] = reserve(streams[b], k.states.SweepGroups())
		}
		p.states.Sweep(&p.told, p.from)
		calm++
		for b, o := range all {
			some := o.gather(&p.told[b])
			if moved[b] += some; o.changes(some) > pairAbove {
				calm = 0
			}
		}
		k.at.done(len(all) * (siteWork*k.states.Free() + k.states.Near()))
	}
	p.states.Give(all[0].states, all[1].states)
	for _, o := range all {
		o.countOnes()
		o.stale[0], o.moved = true, -1
	}
	report(info, moved[0])
	report(with.Info, moved[1])
	return steps
}
