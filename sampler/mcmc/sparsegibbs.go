package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// sparseGibbs is the kernel of [Gibbs] for energy.Matching models with few
// neighbours: a sweep redraws the colours of the graph in turn. Sites of one
// colour do not wait for each other, and nothing is cached, so that a change
// costs no more than none.
type sparseGibbs struct {
	model energy.Model
	*matching
	*placed
	start  []float64 // energies at the last Reset
	since  []tally   // changes since then
	at     cursor    // its updates are sites
	pieces *pieces
	in     []int           // stretch of each piece
	told   [][]sparseDrawn // of each worker
	x      []placedLevel   // the state that moves
	price  cost.Memo
}

var (
	_ sampler.Costed      = (*sparseGibbs)(nil)
	_ sampler.Lazy[int32] = (*sparseGibbs)(nil)
)

// sparseDrawn is what a worker has changed.
type sparseDrawn struct {
	tally
	moved int
}

// newSparseGibbs returns nil if another kernel does better.
func newSparseGibbs(m energy.Model, chains int) sampler.Kernel {
	from := newMatching(m)
	if from == nil {
		return nil
	}
	k := apart.New(sparseGibbs{
		model: m, matching: from, placed: newPlaced(from.place, chains),
		start: apart.Make[float64](chains), since: apart.Make[tally](chains), at: newCursor(chains),
	})
	for s := range k.since {
		k.since[s] = newTally(k.levels)
	}
	var ends, colours []int
	for _, s := range k.stretches {
		ends, colours = append(ends, s.first+s.sites), append(colours, s.colour)
	}
	k.pieces = newPieces(ends, colours, func(worker, piece, from, to int, words []uint32) {
		t, s := &k.told[worker][0], &k.stretches[k.in[piece]]
		t.moved += k.draw(&t.tally, s, from-s.first, to-s.first, k.x, words)
	})
	of := 0
	for _, p := range k.pieces.all {
		for p.first >= ends[of] {
			of++
		}
		k.in = append(k.in, of)
	}
	k.share(1)
	return k
}

// share makes what so many workers write.
func (k *sparseGibbs) share(n int) {
	if n = k.pieces.share(n); n == len(k.told) {
		return
	}
	k.told = make([][]sparseDrawn, n)
	for w := range k.told {
		k.told[w] = apart.Make[sparseDrawn](1)
		k.told[w][0].tally = newTally(k.levels)
	}
}

// Reset implements [sampler.Transition].
func (k *sparseGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.share(ctl.Workers)
	k.lose()
	for s := range k.since {
		k.since[s].equal = 0
		clear(k.since[s].count)
	}
	return k.at.renew(ctl.Stop, 1, k.sites, func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.start[lo:hi], x[lo*k.sites:hi*k.sites])
		return true, checkStart(k.start, lo, hi)
	})
}

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *sparseGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.share(ctl.Workers)
	k.placed.hidden = ctl.Unread
	k.at.begin(ctl.Stop)
	k.hold(x)
	for ; k.at.chain < len(info); k.at.next() {
		s := k.at.chain
		told := &k.at.told[s]
		k.x = k.chain(s)
		k.pieces.sweep(&k.at, &r[s], ignored)
		for w := range k.told {
			t := &k.told[w][0]
			told.Moved += t.moved
			t.moved = 0
			k.since[s].add(&t.tally)
		}
		if k.at.update < k.sites {
			k.shown(x)
			return 0
		}
		told.Energy, told.Accept = k.energy(s), 1
	}
	k.at.finish(info)
	k.shown(x)
	return 1
}

func ignored(int) {}

// energy returns the running energy of a chain: integers times parameters, so
// that rounding does not gather.
func (k *sparseGibbs) energy(s int) float64 {
	sum := float64(k.coupling * float64(k.since[s].equal))
	for l, n := range k.since[s].count {
		sum += float64(k.field[l] * float64(n))
	}
	return k.start[s] - sum
}

func (k *sparseGibbs) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(b, k.start)
	for _, t := range k.since {
		b = wire.AppendInts(b, t.equal)
		for _, n := range t.count {
			b = wire.AppendInts(b, int(n))
		}
	}
	return k.at.append(b), nil
}

func (k *sparseGibbs) UnmarshalBinary(b []byte) error {
	k.lose()
	b, err := wire.ReadFloat64s(b, k.start)
	if err != nil {
		return err
	}
	words := make([]uint64, 1+k.levels)
	for s := range k.since {
		if b, err = wire.ReadUint64s(b, words); err != nil {
			return err
		}
		t := &k.since[s]
		t.equal = int(words[0])
		for l := range t.count {
			t.count[l] = int64(words[1+l])
		}
	}
	return k.at.restore(b, k.sites)
}
