package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/generator"
)

// sweeper redraws all sites of the chains of a block once a step, in an order, by an engine.
type sweeper struct {
	packed
	engine
	proposes int // sites that are proposed and accepted; 0: sites are drawn
}

// engine redraws sites.
type engine interface {
	holder

	// share makes what so many workers write.
	share(workers int)

	// updates returns the number of updates of a sweep of a group.
	updates() int

	// redraw makes the updates of a group from number from on, as many as fit between two
	// questions whether to stop, and returns the next one and the work done. x are the rows
	// of the group and r its first stream.
	redraw(group, from int, x []int32, r *sampler.Stream) (next, work int)

	// flush takes note of what redraws have changed: in packed.since, and in Moved and, as
	// a sum, Accept of packed.at.told.
	flush(group int)
}

// init says that the sweeps are those of an engine.
func (k *sweeper) init(e engine) { k.engine, k.holder = e, e }

// Reset implements [sampler.Transition].
func (k *sweeper) Reset(ctl sampler.Control, x []int32) error {
	k.engine.share(ctl.Workers)
	return k.packed.Reset(ctl, x)
}

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *sweeper) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.engine.share(ctl.Workers)
	k.hidden = ctl.Unread
	k.at.begin(ctl.Stop)
	n := k.engine.updates()
	for ; k.at.chain < len(k.held); k.at.next() {
		g := k.at.chain
		k.hold(g, x)
		first := g * k.width
		rows, stream := k.rows(g, x), &r[first]
		for k.at.update < n && !k.at.stopped {
			next, work := k.engine.redraw(g, k.at.update, rows, stream)
			k.at.update = next
			k.at.done(work)
		}
		k.engine.flush(g)
		k.shown(g, x)
		if k.at.update < n {
			return 0
		}
		k.report(first)
	}
	k.at.finish(info)
	return 1
}

// report says what became of the chains of a group. Energies that nobody reads are not known.
func (k *sweeper) report(first int) {
	told := k.at.told[first : first+k.width]
	if k.hidden {
		for i := range told {
			told[i].Energy = math.NaN()
		}
	} else {
		for i, e := range k.energies(first, first+k.width) {
			told[i].Energy = e
		}
	}
	for i := range told {
		if k.proposes > 0 {
			told[i].Accept /= float64(k.proposes)
		} else {
			told[i].Accept = 1
		}
	}
}

// AppendBinary implements [sampler.Transition].
func (k *sweeper) AppendBinary(b []byte) ([]byte, error) { return k.at.append(k.appendCounts(b)), nil }

// UnmarshalBinary implements [sampler.Transition].
func (k *sweeper) UnmarshalBinary(b []byte) error {
	b, err := k.restoreCounts(b)
	if err != nil {
		return err
	}
	return k.at.restore(b, k.engine.updates())
}

// reserve reserves groups of a stream for sites that are bits.
func reserve(r *sampler.Stream, groups uint64) spins.Source {
	g, seed, chain, group := r.Reserve(groups)
	return spins.Source{ARS: g == generator.ARS4x32, Seed: seed, Chain: chain, Group: group}
}
