package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Kernels that take numbers from a model once and for all keep their speed inside wrappers of
// energies: a step of the wrapped model over one of the plain model, states read after
// every step, a tenth of the sites fixed (the least of sixteen runs of BenchmarkAffine):
//
//	engine                    model                   Scale  Clamp  Lagrangian of a Count
//	wordGibbs                 torus 5×5               1.0    1.0    1.0
//	torusGibbs                torus 64×64             1.0    1.1    1.0
//	torusGibbs of Metropolis  torus 64×64             1.0    1.1    1.0
//	torusLangevin             torus 64×64             1.0    1.4    1.0
//	rowGibbs                  2000 sites, one J       1.0    2.4    1.0
//	fieldGibbs                2000 sites, a glass     1.0    1.0    1.0
//	rowGibbs                  complete graph of 100   1.0    1.3    1.0
//	denseGibbs of Metropolis  complete graph of 100   1.2    1.0    1.2    more is accepted
//	sparseGibbs               Potts 64×64             1.0    0.9    1.1
//	bipartite                 RBM 256 × 64            –      1.1    1.2
//	hastings of DMALA         RBM 256 × 64            1.2    1.1    1.9    fields are added up
//
// Scale and a Lagrangian change numbers; a sum of a torus or a Matching model and a uniform
// field is one, and sums of pairs are pairs. Bits, words, proposals and stretches of sites leave out
// fixed ones; rowGibbs, denseGibbs and fieldGibbs know none, and run on the model of the
// free sites, whose states are copied to those that are read.
//
// None can: a scaled RBM has a free energy that no binary hidden units have; a torus with
// fields of its own at every site is one of pairs; a clamp makes fields differ, so that the clusters
// of package cluster, which want one field, do not take it, nor do they take a Lagrangian, whose numbers change;
// a Lagrangian of a set of which only values are known, and one whose couplings differ from
// site to site at every multiplier, have the kernels of their models.

// follow returns the kernel of a method for a model whose numbers change, as it is at
// present, if that takes numbers from it once and for all; nil otherwise. slow, if not nil,
// makes the kernel that works on the model itself.
func follow(ctx context.Context, method sampler.Method, m energy.Model, chains int, slow func() (sampler.Kernel, error)) sampler.Kernel {
	v, ok := energy.As[energy.Varying](m)
	if !ok {
		return nil
	}
	k := &following{method: method, model: v, chains: chains, version: v.Version(), seen: v.Version(), make: slow, since: patience}
	k.ctx = context.WithoutCancel(ctx)
	if k.quick = fast(method.Kernel(ctx, v.Now(), chains)); k.quick == nil {
		return nil
	}
	k.Kernel = k.quick
	return k
}

// moveFree returns the kernel of a method for the free sites of a clamped model of pairs, if
// that is faster than what the method does with the model; nil otherwise.
func moveFree(ctx context.Context, method sampler.Method, m energy.Model, chains int) sampler.Kernel {
	f := newFreeSites(m)
	if f == nil {
		return nil
	}
	k := fast(method.Kernel(ctx, f, chains))
	if k == nil {
		return nil
	}
	return newClamped(f, k, chains)
}

// varyingTorus reports whether a model whose numbers change is a torus at present.
func varyingTorus(m energy.Model) bool {
	v, ok := energy.As[energy.Varying](m)
	if !ok {
		return false
	}
	whole, _ := unclamped(v.Now())
	_, ok = energy.As[energy.Toroidal](whole)
	return ok
}

// fast returns a kernel that does not work on the model step by step, nil for another.
func fast(k sampler.Kernel, err error) sampler.Kernel {
	switch k.(type) {
	case *gibbs, *memoGibbs, *metropolis, *hastings:
		return nil
	}
	if err != nil {
		return nil
	}
	return k
}

// following is a kernel of a model whose numbers change: the kernel of the model as it is at
// present, made anew after a change. Where there is one that works on the model itself, that
// makes the first steps after a Reset, as changes may follow each other.
type following struct {
	sampler.Kernel // the one at work
	ctx            context.Context
	method         sampler.Method
	model          energy.Varying
	chains         int
	version        uint64 // of the model that quick is of
	seen           uint64 // of the model at the last Reset
	make           func() (sampler.Kernel, error)
	slow, quick    sampler.Kernel // slow: nil until it is needed
	since          int            // steps since the last change, up to patience
}

// patience is the number of steps that take as long as making a kernel anew, on small models:
// with it dual.ExampleInference, which changes the model every few steps, takes no longer.
const patience = 16

// stepping kernels keep a step size through a Reset.
type stepping interface {
	step() (alpha float64, t *tune.Tuner)
	takeStep(alpha float64, t *tune.Tuner)
}

// Unwrap implements [sampler.Wrapper].
func (k *following) Unwrap() sampler.Kernel { return k.Kernel }

// choose puts the kernel for the model as it is to work.
func (k *following) choose() (err error) {
	v := k.model.Version()
	if k.since < patience {
		if k.slow == nil {
			if k.slow, err = k.make(); err != nil {
				return err
			}
		}
		k.Kernel = k.slow
		return nil
	}
	if v != k.version {
		next, err := k.method.Kernel(k.ctx, k.model.Now(), k.chains)
		if err != nil {
			return err
		}
		if from, ok := k.quick.(stepping); ok {
			if to, ok := next.(stepping); ok {
				to.takeStep(from.step())
			}
		}
		k.quick, k.version = next, v
	}
	k.Kernel = k.quick
	return nil
}

// Reset implements [sampler.Transition].
func (k *following) Reset(ctl sampler.Control, x []int32) error {
	if v := k.model.Version(); v != k.seen {
		if k.seen = v; k.make != nil {
			k.since = 0
		}
	}
	if err := k.choose(); err != nil {
		return err
	}
	return k.Kernel.Reset(ctl, x)
}

// Step implements [sampler.Transition].
func (k *following) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if k.since == patience {
		return k.Kernel.Step(ctl, info, x, r)
	}
	ctl.Steps = 1
	if done = k.Kernel.Step(ctl, info, x, r); done == 0 {
		return 0
	}
	if k.since++; k.since < patience {
		return done
	}
	err := k.choose()
	if err == nil {
		err = k.Kernel.Reset(sampler.Control{Workers: ctl.Workers}, x)
	}
	if err != nil { // as where a state has lost its energy
		for s := range info {
			info[s].Err = err
		}
	}
	return done
}

// AppendBinary implements [sampler.Transition].
func (k *following) AppendBinary(b []byte) ([]byte, error) {
	return k.Kernel.AppendBinary(wire.AppendInts(b, k.since))
}

// UnmarshalBinary implements [sampler.Transition].
func (k *following) UnmarshalBinary(b []byte) error {
	var since [1]uint64
	b, err := wire.ReadUint64s(b, since[:])
	if err != nil {
		return err
	}
	if k.since = int(since[0]); since[0] > patience || k.since < patience && k.make == nil {
		return fmt.Errorf("mcmc: the checkpoint is of a kernel %d steps after a change of its model, want ≤ %d", since[0], patience)
	}
	if err := k.choose(); err != nil {
		return err
	}
	return k.Kernel.UnmarshalBinary(b)
}

// freeSites is the model of the free sites of a clamped model of pairs: fixed neighbours
// are fields.
type freeSites struct {
	whole         energy.Model // without fixed sites
	sites         int          // of that
	fixed         []int32      // their levels, −1 where free
	free          []int32      // the others
	start, adj    []int32
	weight, field []float64
}

// fewestFree is the number of free sites from which on a kernel of their own pays
// (BenchmarkAffine). Tests set it lower.
var fewestFree = 8

// few reports whether sites are fixed and hardly any are free.
func few(fixed []int32) bool {
	free := 0
	for _, l := range fixed {
		if l < 0 {
			free++
		}
	}
	return fixed != nil && free < fewestFree
}

// newFreeSites returns nil if the model is not clamped or not of pairs, or has too few
// free sites.
func newFreeSites(m energy.Model) *freeSites {
	f := &freeSites{start: []int32{0}}
	if f.whole, f.fixed = unclamped(m); f.fixed == nil || few(f.fixed) {
		return nil
	}
	f.sites = len(f.fixed)
	place := make([]int32, f.sites)
	for i, l := range f.fixed {
		if l < 0 {
			place[i] = int32(len(f.free))
			f.free = append(f.free, int32(i))
		}
	}
	start, adj, weight, field, ok := energy.PairsOf(f.whole)
	if !ok {
		return nil
	}
	for _, i := range f.free {
		sum := field[i]
		for n := start[i]; n < start[i+1]; n++ {
			if j := adj[n]; f.fixed[j] < 0 {
				f.adj, f.weight = append(f.adj, place[j]), append(f.weight, weight[n])
			} else {
				sum += float64(weight[n] * float64(f.fixed[j]))
			}
		}
		f.start, f.field = append(f.start, int32(len(f.adj))), append(f.field, sum)
	}
	return f
}

// Shape implements [energy.Model].
func (f *freeSites) Shape() (sites, levels int) { return len(f.free), 2 }

// Energy implements [energy.Model] with that of the whole state.
func (f *freeSites) Energy(e []float64, x []int32) {
	b := scratch.Int32s.Get(len(e) * f.sites)
	defer scratch.Int32s.Put(b)
	f.spread(*b, x)
	f.whole.Energy(e, *b)
}

// spread stores whole states of given levels of the free sites.
func (f *freeSites) spread(whole, x []int32) {
	for ; len(x) > 0; x, whole = x[len(f.free):], whole[f.sites:] {
		copy(whole, f.fixed)
		for at, i := range f.free {
			whole[i] = x[at]
		}
	}
}

// Graph implements [energy.Graphical].
func (f *freeSites) Graph() (start, adj []int32) { return f.start, f.adj }

// Pairs implements [energy.Pairwise].
func (f *freeSites) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	return f.start, f.adj, f.weight, f.field, true
}

// Matching implements [energy.Matching], ok if all couplings and all fields are alike.
func (f *freeSites) Matching() (coupling float64, field []float64, ok bool) {
	if len(f.weight) == 0 {
		return 0, nil, false
	}
	w := f.weight[0]
	for _, v := range f.weight {
		if v != w {
			return 0, nil, false
		}
	}
	for i, h := range f.field {
		near := float64(w / 2 * float64(f.start[i+1]-f.start[i]))
		if i == 0 {
			field = []float64{h + near, 0}
		}
		// Fields of fixed neighbours were added up in several orders.
		if math.Abs(h+near-field[0]) > sameBase*(math.Abs(h)+math.Abs(near)) {
			return 0, nil, false
		}
	}
	return -w / 2, field, true
}

// clamped is a kernel that moves the free sites of states by a kernel of theirs, which
// keeps them beside x.
type clamped struct {
	model   *freeSites
	inner   sampler.Kernel
	y       []int32 // states of the free sites, as inner knows them
	held    bool    // y has the states
	stale   bool    // x does not have them
	company []sampler.Block
}

var (
	_ sampler.Companion   = (*clamped)(nil)
	_ sampler.Costed      = (*clamped)(nil)
	_ sampler.Lazy[int32] = (*clamped)(nil)
)

func newClamped(f *freeSites, inner sampler.Kernel, chains int) *clamped {
	return apart.New(clamped{model: f, inner: inner, y: apart.Make[int32](chains * len(f.free)), company: make([]sampler.Block, 0, 64)})
}

// hold takes the free sites from x, unless they are there.
func (k *clamped) hold(x []int32) {
	if k.held {
		return
	}
	k.held = true
	for y := k.y; len(y) > 0; x, y = x[k.model.sites:], y[len(k.model.free):] {
		for at, i := range k.model.free {
			y[at] = x[i]
		}
	}
}

// Reset implements [sampler.Transition].
func (k *clamped) Reset(ctl sampler.Control, x []int32) error {
	for at, l := range x {
		if f := k.model.fixed[at%k.model.sites]; f >= 0 && f != l {
			return &sampler.StartError{Chain: at / k.model.sites, Energy: math.Inf(1)}
		}
	}
	k.held, k.stale = false, false
	k.hold(x)
	return k.inner.Reset(ctl, k.y)
}

// Step implements [sampler.Transition].
func (k *clamped) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.hold(x)
	k.company = k.company[:0]
	for _, b := range ctl.Company {
		with, ok := sampler.As[*clamped](b.Kernel)
		if !ok {
			return 0
		}
		with.hold(b.X)
		with.stale = true
		k.company = append(k.company, sampler.Block{Kernel: with.inner, Info: b.Info, X: with.y, R: b.R})
	}
	ctl.Company = k.company
	done = k.inner.Step(ctl, info, k.y, r)
	if k.stale = true; !ctl.Unread {
		k.Show(x)
	}
	return done
}

// Show implements [sampler.Lazy].
func (k *clamped) Show(x []int32) {
	if !k.stale {
		return
	}
	if lazy, ok := sampler.As[sampler.Lazy[int32]](k.inner); ok {
		lazy.Show(k.y)
	}
	for y := k.y; len(y) > 0; x, y = x[k.model.sites:], y[len(k.model.free):] {
		for at, i := range k.model.free {
			x[i] = y[at]
		}
	}
	k.stale = false
}

// Company implements [sampler.Companion].
func (k *clamped) Company(blocks int) int {
	c, ok := sampler.As[sampler.Companion](k.inner)
	if !ok {
		return 0
	}
	return c.Company(blocks)
}

// Cost implements [sampler.Costed].
func (k *clamped) Cost(info []sampler.Info) float64 {
	c, ok := sampler.As[sampler.Costed](k.inner)
	if !ok {
		return math.NaN()
	}
	return c.Cost(info)
}

// AppendBinary implements [sampler.Transition].
func (k *clamped) AppendBinary(b []byte) ([]byte, error) { return k.inner.AppendBinary(b) }

// UnmarshalBinary implements [sampler.Transition].
func (k *clamped) UnmarshalBinary(b []byte) error {
	k.held, k.stale = false, false
	return k.inner.UnmarshalBinary(b)
}

// unclamped returns the model without fixed sites and their levels, −1 where free; nil if there
// are none.
func unclamped(m energy.Model) (whole energy.Model, fixed []int32) {
	if c, ok := energy.As[energy.Clamped](m); ok {
		return c.Unclamped()
	}
	return m, nil
}
