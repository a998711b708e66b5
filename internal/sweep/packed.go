package sweep

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// holder holds the states of the chains of a block in a private format. Chains move in groups; a
// group is one chain or all chains of the block.
type holder interface {
	// pack sets the states of a group to x, which holds only the rows of the group.
	pack(group int, x []int32)

	// unpack sets x, which holds only the rows of the group, to the states of the group.
	unpack(group int, x []int32)

	// count calls packed.is with every count on which energies depend, for the chains of a group.
	count(group int)

	// addEnergies adds to the energies e the effect of changed counts. The slice changes holds one
	// row per count, with the change for each chain.
	addEnergies(e []float64, changes [][]int)

	// alike reports whether another holder has the same format. If so, the two may share their
	// immutable parts from then on.
	alike(with holder) bool

	// swap exchanges the states of the given chains with those of a holder of the same format. If
	// moved is not nil, it adds to moved[s] the number of sites at which the two states of chain
	// s differ.
	swap(with holder, chains []int, moved []int)
}

// packed is the common part of kernels that hold the states in a private format and count the
// numbers on which energies depend. Running energies are integers times parameters, so rounding
// errors do not accumulate.
type packed struct {
	holder
	model         energy.Model
	sites, chains int
	width         int // number of chains in a group
	work          int // elementary operations of packing a state, see Cursor.Renew

	start []float64 // per chain: energy at the last Reset
	zero  [][]int   // per count and chain: value at the last Reset
	since [][]int   // per count and chain: change since the last Reset
	known []bool    // per group: the counts in zero have been computed

	more, some [][]int // scratch for rows of counts
	e          []float64

	held   []bool  // per group: the packed states are valid
	stale  []bool  // per group: x is out of date
	hidden bool    // x need not be updated
	x      []int32 // caller's states in the last step or call of Hold, for holders whose states stay there
	at     Cursor

	form format
}

// format describes how checkpoints store the counts of a packed.
type format struct {
	tag      uint64 // first word of a checkpoint; 0 means none
	foreign  string // kernel named in the error for checkpoints without the tag
	absolute bool   // checkpoints store the counts at the last Reset, and pack recomputes the changes since then
	byNumber bool   // checkpoints hold each count of all chains in turn, instead of all counts of each chain
	kept     int    // number of counts that are stored
}

func newPacked(m energy.Model, sites, chains, width, numbers int, form format) packed {
	groups := chains / width
	counts := func() [][]int {
		rows, all := make([][]int, numbers), padded.Make[int](numbers*chains)
		for i := range rows {
			rows[i] = all[i*chains : (i+1)*chains : (i+1)*chains]
		}
		return rows
	}
	return packed{
		model: m, sites: sites, chains: chains, width: width, work: sites, form: form,
		start: padded.Make[float64](chains), zero: counts(), since: counts(), known: padded.Make[bool](groups),
		more: counts(), some: padded.Make[[]int](numbers), e: padded.Make[float64](chains),
		held: padded.Make[bool](groups), stale: padded.Make[bool](groups), at: NewCursor(chains),
	}
}

// packing returns k; it implements the interface packing.
func (k *packed) packing() *packed { return k }

// packing is a kernel that embeds a packed.
type packing interface{ packing() *packed }

// Reset packs the states of x and computes their energies. It implements [sampler.Transition].
func (k *packed) Reset(ctl sampler.Control, x []int32) error {
	if k.at.renews(ctl.Stop) {
		k.lose()
		for _, row := range k.since {
			clear(row)
		}
		clear(k.known)
	}
	return k.at.Renew(ctl.Stop, 1, k.work, func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.start[lo:hi], x[lo*k.sites:hi*k.sites])
		if err := CheckStart(k.start, lo, hi); err != nil {
			return true, err
		}
		for g := lo / k.width; (g+1)*k.width <= hi; g++ {
			k.hold(g, x)
		}
		return true, nil
	})
}

// lose discards the packed states, so that x holds the only valid states.
func (k *packed) lose() {
	clear(k.held)
	clear(k.stale)
}

// group returns the group to which chain s belongs.
func (k *packed) group(s int) int {
	if k.width == 1 {
		return s
	}
	return 0
}

// rows returns the states of a group as a part of x.
func (k *packed) rows(group int, x []int32) []int32 {
	n := k.width * k.sites
	return x[group*n : (group+1)*n]
}

// hold packs the states of a group from x, unless the packed states are valid.
func (k *packed) hold(group int, x []int32) {
	if !k.held[group] {
		k.held[group], k.stale[group] = true, false
		k.pack(group, k.rows(group, x))
		k.known[group] = k.known[group] || k.form.absolute
	}
}

// Hold packs the states of x into the kernel's own format, unless the kernel already holds them,
// and marks x as out of date. It implements [sampler.Exchanger].
func (k *packed) Hold(x []int32) {
	k.x = x
	for g := range k.held {
		k.hold(g, x)
		k.stale[g] = true
	}
}

// Show unpacks the kernel's current states into those rows of x that are out of date. It implements
// [sampler.Lazy].
func (k *packed) Show(x []int32) {
	for g, stale := range k.stale {
		if stale {
			k.stale[g] = false
			k.unpack(g, k.rows(g, x))
		}
	}
}

// shown stores in x the states of a group or, if storing is deferred, marks x as out of date.
func (k *packed) shown(group int, x []int32) {
	if k.stale[group] = k.hidden; !k.hidden {
		k.unpack(group, k.rows(group, x))
	}
}

// is sets a count of chain s to n.
func (k *packed) is(s, number, n int) {
	if k.known[k.group(s)] {
		k.since[number][s] = n - k.zero[number][s]
	} else {
		k.zero[number][s] = n - k.since[number][s]
	}
}

// energies returns the running energies of the chains lo … hi−1. The slice is valid until the
// next call.
func (k *packed) energies(lo, hi int) []float64 {
	e := k.e[:hi-lo]
	copy(e, k.start[lo:hi])
	since := k.since
	if len(e) < k.chains {
		since = k.some
		for i, row := range k.since {
			since[i] = row[lo:hi]
		}
	}
	k.addEnergies(e, since)
	return e
}

// energy returns the running energy of chain s.
func (k *packed) energy(s int) float64 { return k.energies(s, s+1)[0] }

// know computes the counts at the last Reset of the groups for which they are not known yet.
func (k *packed) know() {
	for g, known := range k.known {
		if !known {
			k.count(g)
			k.known[g] = true
		}
	}
}

// Exchanges reports whether the kernel can exchange states with partner. Both must have the same
// numbers of sites and chains, and the same format of states. Exchanges implements
// [sampler.Exchanger].
func (k *packed) Exchanges(partner sampler.Exchanger, _ float64) bool {
	other, ok := partner.(packing)
	if !ok {
		return false
	}
	o := other.packing()
	return o.chains == k.chains && o.sites == k.sites && o.width == k.width && len(o.since) == len(k.since) && k.alike(o.holder)
}

// Energies computes the energies that the partner's states have at this kernel's temperature. It
// uses the partner's counts of neighbours. It implements [sampler.Exchanger].
func (k *packed) Energies(e []float64, partner sampler.Exchanger) {
	o := partner.(packing).packing()
	if o == k {
		copy(e, k.energies(0, k.chains))
		return
	}
	k.know()
	o.know()
	copy(e, k.start)
	for i, more := range k.more {
		zero, theirs, since := k.zero[i][:len(more)], o.zero[i][:len(more)], o.since[i][:len(more)]
		for s := range more {
			more[s] = theirs[s] + since[s] - zero[s]
		}
	}
	k.addEnergies(e, k.more)
}

// Exchange swaps the states and counts of the given chains with those of partner. It implements
// [sampler.Exchanger].
func (k *packed) Exchange(partner sampler.Exchanger, chains []int, moved []int) {
	o := partner.(packing).packing()
	k.know()
	o.know()
	for i, a := range k.since {
		b, from, to := o.since[i], k.zero[i], o.zero[i]
		for _, s := range chains {
			by := to[s] - from[s]
			a[s], b[s] = b[s]+by, a[s]-by
		}
	}
	for _, s := range chains {
		g := k.group(s)
		k.stale[g], o.stale[g] = true, true
	}
	k.swap(o.holder, chains, moved)
}

// fields reads or writes the energies at the last Reset and the counts.
func (k *packed) fields(f *wire.Fields) {
	if f.Reading() {
		k.lose()
		for g := range k.known {
			k.known[g] = k.form.absolute
		}
	}
	if k.form.tag != 0 {
		f.Tag(k.form.tag, k.form.foreign)
	}
	f.Float64s(k.start)
	counts := k.since
	if k.form.absolute {
		counts = k.zero
	}
	for i := range k.chains * k.form.kept {
		s, number := i/k.form.kept, i%k.form.kept
		if k.form.byNumber {
			s, number = i%k.chains, i/k.chains
		}
		f.Ints(counts[number][s : s+1])
	}
}

// sweeper is a kernel in which a step redraws all sites of a block's chains once, by an engine.
type sweeper struct {
	packed
	engine
	proposes int // number of sites proposed per step; 0 means that sites are drawn
}

// engine redraws sites of states that it holds in a private format.
type engine interface {
	holder

	// share allocates workspaces for the given number of workers.
	share(workers int)

	// updates returns the number of updates in a sweep of a group.
	updates() int

	// redraw makes updates of a group, beginning with a given update, as many as fit between two
	// checks for a stop. It returns the index of the next update and the amount of work done. The
	// slice x holds the states of the group, and r is the first stream of the group.
	redraw(group, from int, x []int32, r *sampler.Stream) (next, work int)

	// flush adds the pending changes of redraws to packed.since, and to Moved and Accept in
	// packed.at.Info. Accept is a sum over updates.
	flush(group int)
}

// init sets the engine that redraws the sites.
func (k *sweeper) init(e engine) { k.engine, k.holder = e, e }

// Reset packs the states of x and computes their energies. It implements [sampler.Transition].
func (k *sweeper) Reset(ctl sampler.Control, x []int32) error {
	k.engine.share(ctl.Workers)
	return k.packed.Reset(ctl, x)
}

// Step makes one step of every chain, checking for a stop about every millisecond. It implements
// [sampler.Transition].
func (k *sweeper) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.engine.share(ctl.Workers)
	k.hidden, k.x = ctl.Unread, x
	k.at.Begin(ctl.Stop)
	n := k.engine.updates()
	for ; k.at.Chain < len(k.held); k.at.Next() {
		g := k.at.Chain
		k.hold(g, x)
		first := g * k.width
		rows, stream := k.rows(g, x), &r[first]
		for k.at.Update < n && !k.at.Stopped {
			next, work := k.engine.redraw(g, k.at.Update, rows, stream)
			k.at.Update = next
			k.at.Done(work)
		}
		k.engine.flush(g)
		k.shown(g, x)
		if k.at.Update < n {
			return 0
		}
		k.report(first)
	}
	k.at.Finish(info)
	return 1
}

// report completes Info for the chains of a group. Energies that nobody reads are NaN.
func (k *sweeper) report(first int) {
	pending := k.at.Info[first : first+k.width]
	if k.hidden {
		for i := range pending {
			pending[i].Energy = math.NaN()
		}
	} else {
		for i, e := range k.energies(first, first+k.width) {
			pending[i].Energy = e
		}
	}
	for i := range pending {
		if k.proposes > 0 {
			pending[i].Accept /= float64(k.proposes)
		} else {
			pending[i].Accept = 1
		}
	}
}

// AppendBinary appends energies, counts and the position within a step to b, for a checkpoint. It
// implements [sampler.Transition].
func (k *sweeper) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

// UnmarshalBinary restores what AppendBinary saved. It implements [sampler.Transition].
func (k *sweeper) UnmarshalBinary(b []byte) error { return wire.ReadFields(b, k.fields) }

// fields reads or writes energies, counts and the position of a step.
func (k *sweeper) fields(f *wire.Fields) {
	k.packed.fields(f)
	k.at.Fields(f, k.engine.updates())
}

// reserve reserves groups of 64 random words of stream r and returns their source.
func reserve(r *sampler.Stream, groups uint64) spins.Source {
	g, seed, chain, group := r.Reserve(groups)
	return spins.Source{ARS: g == sampler.ARS4x32, Seed: seed, Chain: chain, Group: group}
}
