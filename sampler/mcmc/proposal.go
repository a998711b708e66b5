package mcmc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proposal proposes moves of a block of chains. Most are the discrete Langevin
// proposal (Zhang, Liu and Liu 2022, equation 3),
//
//	q_i(l|x) ∝ exp( −β (E(x with x_i=l) − E(x)) − δ²(l, x_i)/(2 α_i) ),
//
// independently for every site i, with exact differences or those of the model's first-order
// table. β is ½ unless tune sets another value. A different balance g replaces √t in exp(−½Δ). A
// proposal holds two sets of weights per chain: the current ones, and the loaded ones of the
// state evaluated last.
type proposal interface {
	// evaluate evaluates the model at the states y (chains × sites) of the chains lo … hi−1. It
	// stores energies in e and differences in the loaded set. The argument x holds the states of
	// the current weights; nil means that there are none yet. It returns false if it was stopped
	// and must be called again.
	evaluate(lo, hi int, e []float64, y, x []int32, at *sweep.Cursor) bool

	// weigh computes the loaded weights of these chains from the loaded differences at y. It
	// returns false if it was stopped and must be called again.
	weigh(lo, hi int, y []int32, at *sweep.Cursor) bool

	// accept makes the loaded weights of chains lo … hi−1 the current ones.
	accept(lo, hi int)

	// tune sets the step size α and the balance β of weights computed later. The method rebuild
	// recomputes the current weights of chains lo … hi−1 at the states x. It returns false if it
	// was stopped and must be called again.
	tune(alpha, beta float64)
	rebuild(lo, hi int, x []int32, at *sweep.Cursor) bool

	// work returns the number of elementary operations that each of the methods above takes for
	// one chain.
	work() int

	// draw stores in y a draw from q(·|x) for chain s at state x. It returns the number of
	// changed sites and log q(y|x), NaN if the weights are not defined.
	draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64)

	// logProb returns log q(y|x) by the loaded weights of chain s, which were computed at x. It
	// returns −Inf if y cannot be proposed.
	logProb(y, x []int32, s int) float64

	// current returns log q(y|x) by the current weights of chain s, which were computed at x.
	current(y, x []int32, s int) float64

	// check returns a *StartError if a chain cannot start from one of the states lo … hi−1 of x.
	check(lo, hi int, x []int32) error

	// start replaces the state x by one from which the chain can start.
	start(x []int32, r *sampler.Stream) error

	// fields reads or writes the checkpoint. Before a read, tune has set the step size and the
	// balance ½.
	fields(f *wire.Fields)
}

// estimated is a proposal that can use differences estimated by an energy.Stochastic model.
type estimated interface {
	// loaded returns the slice for the loaded differences of the chains lo … hi−1.
	loaded(lo, hi int) []float32
}

// unstepped implements the methods of a proposal that depend on a step size, for one without.
type unstepped struct{}

func (unstepped) tune(float64, float64)                         {}
func (unstepped) rebuild(int, int, []int32, *sweep.Cursor) bool { return true }

// resetProposal computes the current weights of the chains lo … hi−1 at the states x and their
// energies e, in three stages. It returns false if it was stopped.
func resetProposal(p proposal, stage, lo, hi int, e []float64, x []int32, at *sweep.Cursor, stale []bool) (bool, error) {
	switch stage {
	case 0:
		return true, p.check(lo, hi, x)
	case 1:
		return p.evaluate(lo, hi, e, x, nil, at), nil
	}
	if !p.weigh(lo, hi, x, at) {
		return false, nil
	}
	p.accept(lo, hi)
	clear(stale[lo:hi])
	return true, sweep.CheckStart(e, lo, hi)
}

// unconfined implements check and start for a proposal that is not restricted to a language.
type unconfined struct{}

func (unconfined) check(int, int, []int32) error        { return nil }
func (unconfined) start([]int32, *sampler.Stream) error { return nil }

// checkStep returns an error unless 0 ≤ alpha < ∞; 0 selects the default.
func checkStep(method string, alpha float64) error {
	return check.If(!(alpha >= 0) || math.IsInf(alpha, 1), "mcmc: %s: StepSize = %v, want positive and finite (0 for the default)", method, alpha)
}

// product accumulates a product of probabilities and takes a single logarithm at the end.
type product struct {
	factor   float64
	exponent int // the product is factor · 2^(−rescaleBy·exponent)
}

// A running factor below 2⁻⁶⁰⁰ is scaled up by 2⁶⁰⁰. The next probability is at least leastWeight
// divided by the number of levels, so the factor stays a normal number.
const (
	rescaleBy    = 600      // binary exponent of rescale
	rescaleBelow = 0x1p-600 // a running factor of a product below this is scaled up
	rescale      = 0x1p600  // scale of a running factor that would become too small
)

func newProduct() product { return product{factor: 1} }

// mul multiplies the product by the probability q. A product of 0 or NaN does not change.
func (p *product) mul(q float64) {
	p.factor *= q
	if p.factor < rescaleBelow && p.factor > 0 {
		p.factor *= rescale
		p.exponent++
	}
}

// log returns the logarithm of the product, −Inf if the product is 0.
func (p *product) log() float64 {
	scale := float64(rescaleBy * math.Ln2)
	return simd.Log(p.factor) - float64(float64(p.exponent)*scale)
}

// flips is the discrete Langevin proposal of two-level models. Every site flips independently
// with probability σ(−βΔ_i − 1/(2α_i)), where Δ_i is the energy difference of the flip and δ² =
// 1. flips is also the proposal of [DLMC] on two levels, where a site flips with the probability
// of a jump. Probabilities are multiples of 2⁻³¹.
type flips struct {
	field  func(lo, hi int, e []float64, h []float32, y, x []int32)
	cheap  bool     // field is the ProposalFrom method of a Proposing model
	cached *changes // incremental evaluation; nil unless the model is energy.Incremental
	flipLaw
	unconfined

	h      padded.Pair[float32] // fields: chains × sites
	t      padded.Pair[int32]   // flip thresholds: chains × sites
	bits   []uint32
	table  []float32 // scratch for models without a compact field
	levels *table    // table of differences, for models without a field; otherwise nil
}

func newFlips(m energy.Model, chains int, l langevin) *flips {
	sites, _ := m.Shape()
	n := chains * sites
	p := padded.New(flips{
		flipLaw: newFlipLaw(sites, l),
		h:       padded.NewPair[float32](chains, sites), t: padded.NewPair[int32](chains, sites),
		bits: padded.Make[uint32](sites),
	})
	if l.exact {
		p.table, p.levels = make([]float32, 2*n), newExactTable(m)
		return p
	}
	b, binary := energy.As[energy.Binary](m)
	if !binary {
		p.table = make([]float32, 2*n)
	}
	if i, ok := energy.As[energy.Incremental](m); ok && !l.minibatch {
		from := i.FieldFrom
		if c, ok := energy.As[Proposing](m); ok && l.judged {
			from, p.cheap = c.ProposalFrom, true
		}
		p.cached = newChanges(from, i.CacheLen(), chains)
		p.field = p.cached.field
		return p
	}
	if binary {
		p.field = func(_, _ int, e []float64, h []float32, y, _ []int32) { b.Field(e, h, y) }
		return p
	}
	p.levels = newTable(m)
	return p
}

// compact stores in h the fields of chains lo and up, computed from the two-column table. One of
// the two entries of a row is 0, the other is the energy difference of the flip.
func (p *flips) compact(lo int, h []float32) {
	table := p.table[2*lo*p.sites:]
	for i := range h {
		h[i] = table[2*i+1] - table[2*i]
	}
}

func (p *flips) work() int {
	if p.levels != nil {
		return p.levels.work()
	}
	return p.sites
}

func (p *flips) evaluate(lo, hi int, e []float64, y, x []int32, at *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	if p.levels != nil {
		if !p.levels.evaluate(e[lo:hi], p.table[2*from:2*to], y[from:to], at) {
			return false
		}
		p.compact(lo, p.h.Next[from:to])
		return true
	}
	if x != nil {
		x = x[from:to]
	}
	p.field(lo, hi, e[lo:hi], p.h.Next[from:to], y[from:to], x)
	return true
}

func (p *flips) loaded(lo, hi int) []float32 { return p.h.Next[lo*p.sites : hi*p.sites] }

func (p *flips) weigh(lo, hi int, y []int32, _ *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	p.Thresholds(p.t.Next[from:to], p.h.Next[from:to], y[from:to])
	return true
}

func (p *flips) accept(lo, hi int) {
	p.h.Accept(lo, hi)
	p.t.Accept(lo, hi)
	if p.cached != nil {
		p.cached.accept(lo, hi)
	}
}

func (p *flips) tune(alpha, beta float64) {
	p.SetStep(alpha)
	p.beta = float32(beta)
}

func (p *flips) rebuild(lo, hi int, x []int32, _ *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	p.Thresholds(p.t.Now[from:to], p.h.Now[from:to], x[from:to])
	return true
}

func (p *flips) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	r.Uint32s(p.bits)
	return simd.Flip(y, x, p.t.Chain(s, false), p.bits)
}

func (p *flips) logProb(y, x []int32, s int) float64 {
	return simd.FlipLogProb(x, y, p.t.Chain(s, true))
}

func (p *flips) current(y, x []int32, s int) float64 {
	return simd.FlipLogProb(x, y, p.t.Chain(s, false))
}

// cheapFormat marks a checkpoint whose fields are accurate enough only for proposals. Earlier
// versions stored a different field for the same models.
const cheapFormat = 0x63686561

func (p *flips) fields(f *wire.Fields) {
	if f.Reading() && p.cached != nil {
		p.cached.forget()
	}
	if p.cheap {
		f.Tag(cheapFormat, "a kernel with another field of such a model")
	}
	f.Float32s(p.h.Now)
	f.Int32s(p.t.Now)
}

// onTorus returns the kernel of DMALA or DLMC. If the model allows it, the kernel stores states
// as bits. Otherwise it draws from the proposal that p returns.
func onTorus(m energy.Model, chains int, l langevin, t *tune.Tuner, p func() (proposal, error)) (sampler.Kernel, error) {
	bits := func(m energy.Model) (sampler.Kernel, error) {
		if l.within != nil || l.window > 0 || l.minibatch || l.preconditioner != nil {
			return nil, nil // the bit kernel supports at most ten kinds of sites
		}
		law := newFlipLaw(5, l)
		return sweep.OnBits(m, chains, &law, l.alpha, t), nil
	}
	return follow(m, false, bits, func() (sampler.Kernel, error) {
		if k, _ := bits(m); k != nil {
			return k, nil
		}
		p, err := p()
		if err != nil {
			return nil, err
		}
		return newHastings(m, chains, p, l.alpha, t), nil
	})
}

// flipLaw computes the probabilities with which the sites of a two-level state flip, as multiples
// of 2⁻³¹.
type flipLaw struct {
	sites    int
	prec     []float32
	beta     float32        // balance β; ½ for the Langevin proposal
	cost     []float32      // 1/(2α) in one entry, or 1/(2α g_i) per site
	balanced *balancedFlips // thresholds for a balancing function other than √t; nil for √t
	jumps    bool           // flip with the probabilities of the jump process of DLMC
	rate     simd.JumpRate  // jump rate of DLMC
	tau      float32        // jump time of DLMC
}

func newFlipLaw(sites int, l langevin) flipLaw {
	p := flipLaw{sites: sites, prec: l.preconditioner, beta: half, cost: padded.Make[float32](max(1, len(l.preconditioner)))}
	switch {
	case l.jumps:
		p.jumps, p.rate = true, simd.JumpRate(l.balance)
	case l.balance != Sqrt:
		p.balanced = newBalancedFlips(l.balance)
	}
	p.SetStep(l.alpha)
	return p
}

// SetStep sets the step size (for [DLMC], the jump time) to alpha. It implements [sweep.FlipLaw].
func (p *flipLaw) SetStep(alpha float64) {
	if p.jumps {
		p.tau = float32(alpha)
		return
	}
	p.cost[0] = float32(1 / (2 * alpha))
	for i, g := range p.prec {
		p.cost[i] = float32(1 / (2 * alpha * float64(g)))
	}
	if p.balanced != nil {
		p.balanced.setCost(p.cost)
	}
}

// Thresholds stores in t, for every site of the states x, the probability that the proposal flips
// the site, multiplied by 2³¹. The slice h holds the fields of the sites. It implements
// [sweep.FlipLaw].
func (p *flipLaw) Thresholds(t []int32, h []float32, x []int32) {
	if p.jumps {
		simd.JumpThresholds(t, h, x, p.tau, p.rate)
		return
	}
	n := p.sites
	if len(p.cost) == 1 {
		n = len(x)
	}
	for ; len(x) > 0; t, h, x = t[n:], h[n:], x[n:] {
		if p.balanced != nil {
			p.balanced.thresholds(t[:n], h[:n], x[:n])
		} else {
			simd.FlipThresholds(t[:n], h[:n], x[:n], p.beta, p.cost)
		}
	}
}

// balancedFlips computes the flip thresholds of the discrete Langevin proposal for a balancing
// function g other than √t. Site i flips with odds e^(−c_i)·g(t)/g(1), where t = e^(−Δ) and c_i
// is the cost of a flip. For Min and Max these odds are
//
//	e^(−c − max(Δ, 0)) and e^(−c − min(Δ, 0)),
//
// and for Barker they give the probability, with o = 2e^(−c),
//
//	o·σ(−Δ)/(1 + o·σ(−Δ)) = o/(1+o)·σ(−Δ + log(1+o)),
//
// so that [simd.FlipThresholds] can compute all of them.
type balancedFlips struct {
	balance Balance
	cost    []float32              // costs c, or −log(1+o) for Barker; one entry or one per site
	share   []int64                // Barker only: o/(1+o) in multiples of 2⁻³¹
	d       [balancedBlock]float32 // scratch for energy differences
	zero    [balancedBlock]int32
}

const balancedBlock = 256

func newBalancedFlips(b Balance) *balancedFlips { return &balancedFlips{balance: b} }

// setCost sets the costs c of flips, one entry or one per site.
func (j *balancedFlips) setCost(c []float32) {
	if j.cost == nil {
		j.cost, j.share = make([]float32, len(c)), make([]int64, len(c))
	}
	copy(j.cost, c)
	if j.balance != Barker {
		return
	}
	for i, v := range c {
		o := 2 * simd.Exp(-float64(v))
		j.cost[i] = float32(-simd.Log1p(o))
		j.share[i] = int64(o / (1 + o) * (1 << 31))
	}
}

// thresholds stores in t the flip thresholds of the states x with fields h. If the costs of sites
// differ, x is one state.
func (j *balancedFlips) thresholds(t []int32, h []float32, x []int32) {
	if j.balance == Barker {
		simd.FlipThresholds(t, h, x, 1, j.cost)
		j.shares(t)
		return
	}
	for from := 0; from < len(x); from += balancedBlock {
		to := min(from+balancedBlock, len(x))
		cost := j.cost
		if len(cost) > 1 {
			cost = cost[from:to]
		}
		j.rest(t[from:to], h[from:to], x[from:to], cost)
	}
}

// shares multiplies the thresholds t by share. A positive threshold stays at least 1; other
// thresholds do not change.
func (j *balancedFlips) shares(t []int32) {
	share := j.share[0]
	for i, v := range t {
		if len(j.share) > 1 {
			share = j.share[i]
		}
		s := int32(int64(v) * share >> 31)
		if s == 0 && v > 0 {
			s = 1
		}
		t[i] = s
	}
}

// rest computes the thresholds for Min and Max.
func (j *balancedFlips) rest(t []int32, h []float32, x []int32, cost []float32) {
	const infinite = 0x7f800000
	n := len(x)
	d, h := j.d[:n], h[:n]
	keep := int32(0) // sign of the differences that are kept
	if j.balance == Max {
		keep = -1
	}
	for i, l := range x {
		v := math.Float32bits(h[i]) ^ uint32(l)<<31
		if v&(1<<31-1) < infinite { // finite, the usual case
			v &^= uint32(int32(v)>>31 ^ keep)
		} else if v == infinite|1<<31 && j.balance == Min {
			v = 0
		}
		d[i] = math.Float32frombits(v)
	}
	simd.FlipThresholds(t, d, j.zero[:n], 1, cost)
}

// matches is the proposal of [rows] for energy.Matching models of few levels and neighbours,
// above all Potts models. The weights of a site depend only on its level and on how many of its
// neighbours have each level. These select a row of a table. A row is computed when it is first
// needed; a site stores the index of its row and no weights.
type matches struct {
	unconfined
	model         energy.Model
	sites, levels int
	coupling      float64
	field         []float64
	first, adj    []int32 // neighbours in compressed sparse rows: offsets, sites
	degrees       []int   // numbers of neighbours that occur, ascending
	base          []int32 // per site: the first index of the rows for its number of neighbours
	// per level: what a neighbour at this level adds to the index; 0 for the last level
	scale []int32
	four  bool // all sites have four neighbours

	row   *rows   // proposal that computes the weights of one row
	own   []int32 // the level of the site whose weights row computes
	made  []bool
	bound []uint64  // per entry: 2⁵³ times the probability of all levels up to that of the entry, rounded
	prob  []float64 // per entry: probability of the level

	place padded.Pair[int32] // index of the row of each site, chains × sites
}

const (
	// matchEntries is the maximum number of entries of a table. It allows four neighbours on five
	// levels, 250 kB.
	matchEntries = 1 << 14

	// matchSteepest is the maximum of |J|·n + |h|, with coupling J, n neighbours and field h. It
	// keeps differences within a float32.
	matchSteepest = 1e30
)

// newMatches returns nil if the model is not energy.Matching, the table would be too large, or
// the settings differ from site to site.
func newMatches(m energy.Model, chains int, l langevin) *matches {
	g, ok := energy.As[energy.Matching](m)
	if !ok || l.preconditioner != nil || l.window > 0 || l.minibatch {
		return nil
	}
	coupling, field, ok := g.Matching()
	if !ok {
		return nil
	}
	start, adj := g.Graph()
	p := &matches{model: m, sites: len(start) - 1, levels: len(field), coupling: coupling, field: field, first: start, adj: adj, own: make([]int32, 1)}
	p.base, p.scale = make([]int32, p.sites), make([]int32, p.levels)
	most := 0
	for i := range p.sites {
		degree := int(start[i+1] - start[i])
		if most = max(most, degree); !slices.Contains(p.degrees, degree) {
			p.degrees = append(p.degrees, degree)
		}
		if len(p.degrees)*p.levels*p.levels > matchEntries {
			return nil
		}
	}
	slices.Sort(p.degrees)
	// table entries for one number of neighbours, all of them at the last level
	size := p.levels * p.levels
	for n := range p.levels - 1 {
		p.scale[n] = int32(size)
		if size *= most + 1; size*len(p.degrees) > matchEntries {
			return nil
		}
	}
	if !(float64(math.Abs(coupling)*float64(most))+slices.Max(field)-slices.Min(field) <= matchSteepest) {
		return nil
	}
	for i := range p.base {
		p.base[i] = int32(size * slices.Index(p.degrees, int(start[i+1]-start[i])))
	}
	p.four = slices.Equal(p.degrees, []int{4})
	one := langevin{alpha: l.alpha, balance: l.balance}
	p.row, _ = newRows("", m, 0, one) // cannot fail without a window
	p.row.g, p.row.p, p.row.sum = padded.NewPair[float32](1, p.levels), padded.NewPair[float32](1, p.levels), padded.NewPair[float64](1, 1)
	size *= len(p.degrees)
	p.made, p.bound, p.prob = make([]bool, size/p.levels), make([]uint64, size), make([]float64, size)
	p.place = padded.NewPair[int32](chains, p.sites)
	for s := range chains { // valid indices before the first state
		copy(p.place.Chain(s, false), p.base)
	}
	return p
}

// counts stores in n the number of neighbours at each level that the index place encodes, and
// returns the level of the site. It returns ok = false if the index is not valid.
func (p *matches) counts(n []float64, place int) (own int32, ok bool) {
	q := p.levels
	own = int32(place / q % q)
	each := len(p.bound) / len(p.degrees)
	left, rest := p.degrees[place/each], place%each/(q*q)
	most := p.degrees[len(p.degrees)-1]
	for l := range q - 1 {
		near := rest % (most + 1)
		n[l] = float64(near)
		rest, left = rest/(most+1), left-near
	}
	n[q-1] = float64(left)
	return own, left >= 0 && place%q == 0
}

// compute computes the row with the given index.
func (p *matches) compute(place int) {
	q := p.levels
	prob, w := p.prob[place:place+q], p.row.p.Now
	p.own[0], _ = p.counts(prob, place)
	own := p.own[0]
	for l := range q {
		p.row.g.Now[l] = float32(float64(p.coupling*(prob[own]-prob[l])) + (p.field[own] - p.field[l]))
	}
	p.row.weights(0, 1, w, p.row.sum.Now, p.row.g.Now, p.own)
	total, sum := p.row.sum.Now[0], 0.0
	for l := range q {
		sum += float64(w[l])
		prob[l] = float64(w[l]) / total
		p.bound[place+l] = uint64(math.RoundToEven(float64(sum / total * (1 << 53))))
	}
	p.made[place/q] = true
}

// ready computes those rows at the given indices that have not been computed yet.
func (p *matches) ready(places []int32) {
	for _, c := range places {
		if !p.made[int(c)/p.levels] {
			p.compute(int(c))
		}
	}
}

func (p *matches) work() int { return sweep.Times(p.sites, p.levels) }

func (p *matches) evaluate(lo, hi int, e []float64, y, _ []int32, _ *sweep.Cursor) bool {
	y = y[lo*p.sites : hi*p.sites]
	p.model.Energy(e[lo:hi], y)
	for s := lo; s < hi; s++ {
		p.find(p.place.Chain(s, true), y[(s-lo)*p.sites:(s-lo+1)*p.sites])
	}
	return true
}

// find stores in places the index of the row of each site at state x.
func (p *matches) find(places, x []int32) {
	q, adj, scale := int32(p.levels), p.adj, p.scale
	if p.four {
		for i, own := range x {
			a := adj[4*i : 4*i+4 : 4*i+4]
			places[i] = q*own + scale[x[a[0]]] + scale[x[a[1]]] + scale[x[a[2]]] + scale[x[a[3]]]
		}
		return
	}
	for i, own := range x {
		c := p.base[i] + q*own
		for _, j := range adj[p.first[i]:p.first[i+1]] {
			c += scale[x[j]]
		}
		places[i] = c
	}
}

func (p *matches) weigh(lo, hi int, _ []int32, _ *sweep.Cursor) bool {
	for s := lo; s < hi; s++ {
		p.ready(p.place.Chain(s, true))
	}
	return true
}

func (p *matches) accept(lo, hi int) { p.place.Accept(lo, hi) }

func (p *matches) tune(alpha, beta float64) {
	p.row.tune(alpha, beta)
	clear(p.made)
}

func (p *matches) rebuild(lo, hi int, _ []int32, _ *sweep.Cursor) bool {
	for s := lo; s < hi; s++ {
		p.ready(p.place.Chain(s, false))
	}
	return true
}

func (p *matches) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	const each = 128
	var words [2 * each]uint32
	q, product := p.levels, newProduct()
	places := p.place.Chain(s, false)
	for len(places) > 0 {
		n := min(len(places), each)
		r.Uint32s(words[:2*n])
		for i, c := range places[:n] {
			u := (uint64(words[2*i+1])<<32 | uint64(words[2*i])) >> 11
			l := uint64(0)
			for _, b := range p.bound[int(c) : int(c)+q-1] {
				l += (b - 1 - u) >> 63 // 1 if b ≤ u
			}
			if y[i] = int32(l); y[i] != x[i] {
				moved++
			}
			product.mul(p.prob[int(c)+int(l)])
		}
		places, x, y = places[n:], x[n:], y[n:]
	}
	return moved, product.log()
}

func (p *matches) logProb(y, _ []int32, s int) float64 { return p.score(y, p.place.Chain(s, true)) }

func (p *matches) current(y, _ []int32, s int) float64 { return p.score(y, p.place.Chain(s, false)) }

func (p *matches) score(y, places []int32) float64 {
	q := newProduct()
	for i, c := range places {
		q.mul(p.prob[c+y[i]])
	}
	return q.log()
}

func (p *matches) fields(f *wire.Fields) {
	f.Tokens(p.place.Now, len(p.bound))
	if !f.Reading() {
		return
	}
	n, each := make([]float64, p.levels), len(p.bound)/len(p.degrees)
	for i, c := range p.place.Now {
		if _, ok := p.counts(n, int(c)); !ok || uint(c-p.base[i%p.sites]) >= uint(each) {
			f.Fail(errors.New("mcmc: a site has no such neighbours"))
			return
		}
	}
	p.ready(p.place.Now)
}

// rows is the discrete Langevin proposal of models with any number of levels. Each site draws
// from a row of weights, for all levels or for a window of 2w+1 levels around its current level.
// δ² is 2 between different categories and (v_l − v_k)² between ordinal levels with values v.
type rows struct {
	sites, levels, cols int
	window              int    // largest distance w of a proposed level; −1 means whole rows
	table               *table // source of the differences of whole rows; nil with a window
	windows             energy.Windowed
	prec                []float32
	values              []float32 // values of ordinal levels; nil for categories
	unconfined

	jumps  *jumps      // if not nil, weighs rows by the jump process of DLMC instead
	barker *barkerRows // if not nil, multiplies the weights of distances by Barker's function

	balance Balance
	alpha   float64
	apart   float64              // δ² between different categories
	beta    float32              // balance β; ½ for the Langevin proposal
	g, p    padded.Pair[float32] // differences and weights: chains × sites × cols
	sum     padded.Pair[float64] // totals of weights: chains × sites
}

func newRows(method string, m energy.Model, chains int, l langevin) (*rows, error) {
	sites, levels := m.Shape()
	r := padded.New(rows{sites: sites, levels: levels, cols: levels, window: -1, prec: l.preconditioner, balance: l.balance, alpha: l.alpha, apart: 2, beta: half})
	if o, ok := energy.As[energy.Ordinal](m); ok {
		r.values = o.Values()
	}
	if r.table = newTable(m); l.exact {
		r.table = newExactTable(m)
	}
	if l.window > 0 && 2*l.window+1 < levels {
		if err := r.useWindow(method, m, l); err != nil {
			return nil, err
		}
	}
	if l.balance == Barker {
		r.barker = newBarkerRows(r.cols)
	}
	r.g, r.p = padded.NewPair[float32](chains, sites*r.cols), padded.NewPair[float32](chains, sites*r.cols)
	r.sum = padded.NewPair[float64](chains, sites)
	return r, nil
}

func (p *rows) useWindow(method string, m energy.Model, l langevin) error {
	if l.minibatch {
		return fmt.Errorf("mcmc: %s: Window = %d with Minibatch: estimates have no windows", method, l.window)
	}
	if p.values == nil {
		return fmt.Errorf("mcmc: %s: model = %T with Window = %d, want an energy.Ordinal one: set Window = 0", method, m, l.window)
	}
	w, ok := energy.As[energy.Windowed](m)
	if !ok {
		return fmt.Errorf("mcmc: %s: model = %T with Window = %d, want an energy.Windowed one: set Window = 0", method, m, l.window)
	}
	p.window, p.cols = l.window, 2*l.window+1
	p.windows, p.table = w, nil
	return nil
}

// column returns the column of level l in the row of a site, given the site's current level, or −1
// if l is outside the window.
func (p *rows) column(l, at int32) int {
	if p.window < 0 {
		return int(l)
	}
	c := int(l-at) + p.window
	if c < 0 || c >= p.cols {
		return -1
	}
	return c
}

// weightsUntil computes the weights of the chains lo … hi−1, see weights. It returns false if it
// was stopped in the middle of a chain.
func (p *rows) weightsUntil(lo, hi int, w []float32, sum []float64, g []float32, x []int32, at *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	if hi-lo > 1 || at.Stop == nil {
		p.weights(from, to, w, sum, g, x)
		at.Part = 0
		return true
	}
	each := max(1, p.sites/max(1, p.sites*p.cols/(sweep.PollWork/weighWork)))
	for at.Part < p.sites {
		if at.Stopped {
			return false
		}
		first := from + at.Part
		last := min(first+each, to)
		p.weights(first, last, w, sum, g, x)
		at.Part = last - from
		at.Done(sweep.Times(last-first, p.cols*weighWork))
	}
	at.Part = 0
	return true
}

// weights computes weights w and their row totals sum from a range of rows of a table g of
// differences at the states x.
func (p *rows) weights(from, to int, w []float32, sum []float64, g []float32, x []int32) {
	w, sum, g, x = w[from*p.cols:to*p.cols], sum[from:to], g[from*p.cols:to*p.cols], x[from:to]
	if p.jumps != nil {
		p.jumps.weigh(w, sum, g, x, p.alpha)
		return
	}
	if p.barker != nil {
		clear(w)
		for i, at := range x {
			p.approach(w[i*p.cols:(i+1)*p.cols], at, p.kappa((from+i)%p.sites))
		}
		simd.Weights(w, sum, w, p.cols, leastWeight)
		p.barker.multiply(w, sum, g, p.cols)
		return
	}
	for i, at := range x {
		p.logits(w[i*p.cols:(i+1)*p.cols], g[i*p.cols:(i+1)*p.cols], at, p.kappa((from+i)%p.sites))
	}
	simd.Weights(w, sum, w, p.cols, leastWeight)
}

// kappa returns 1/(2α) for a site, divided by its preconditioner if there is one.
func (p *rows) kappa(site int) float64 {
	if p.prec == nil {
		return 1 / (2 * p.alpha)
	}
	return 1 / (2 * p.alpha) / float64(p.prec[site])
}

// logits stores in w the log-weights of a site from its row g, given the site's current level and
// kappa = 1/(2α).
func (p *rows) logits(w, g []float32, at int32, kappa float64) {
	if p.balance != Sqrt {
		p.balance.logs(w, g)
	} else {
		for c := range w {
			w[c] = -float32(p.beta * g[c])
		}
	}
	p.approach(w, at, kappa)
}

// approach subtracts kappa·δ² from each log-weight in w, where δ is the distance of that level from
// the current level.
func (p *rows) approach(w []float32, at int32, kappa float64) {
	if p.values == nil {
		own, far := w[at], float32(p.apart*kappa)
		for l := range w {
			w[l] -= far
		}
		w[at] = own
		return
	}
	first := int32(0)
	if p.window >= 0 {
		first = at - int32(p.window)
	}
	own := float64(p.values[at])
	for c := range w {
		l := first + int32(c)
		if l < 0 || int(l) >= p.levels {
			w[c] = float32(math.Inf(-1))
			continue
		}
		d := float64(p.values[l]) - own
		w[c] -= float32(kappa * float64(d*d))
	}
}

func (p *rows) work() int {
	work := sweep.Times(p.sites, p.cols)
	if p.jumps != nil {
		work = sweep.Times(work, weighWork)
	}
	if p.table != nil {
		work = max(work, p.table.work())
	}
	return work
}

// weighWork is the cost of jumps.weigh per level, at most, relative to the cost of a level of a
// table.
const weighWork = 4

func (p *rows) evaluate(lo, hi int, e []float64, y, _ []int32, at *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	if p.windows != nil {
		p.windows.Window(e[lo:hi], p.g.Next[from*p.cols:to*p.cols], y[from:to], p.window)
		return true
	}
	return p.table.evaluate(e[lo:hi], p.g.Next[from*p.cols:to*p.cols], y[from:to], at)
}

func (p *rows) weigh(lo, hi int, y []int32, at *sweep.Cursor) bool {
	return p.weightsUntil(lo, hi, p.p.Next, p.sum.Next, p.g.Next, y, at)
}

func (p *rows) loaded(lo, hi int) []float32 {
	n := p.sites * p.cols
	return p.g.Next[lo*n : hi*n]
}

func (p *rows) accept(lo, hi int) {
	p.g.Accept(lo, hi)
	p.p.Accept(lo, hi)
	p.sum.Accept(lo, hi)
}

func (p *rows) tune(alpha, beta float64) { p.alpha, p.beta = alpha, float32(beta) }

func (p *rows) rebuild(lo, hi int, x []int32, at *sweep.Cursor) bool {
	return p.weightsUntil(lo, hi, p.p.Now, p.sum.Now, p.g.Now, x, at)
}

func (p *rows) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	q := newProduct()
	for i, at := range x {
		row, sum := p.row(p.p.Now, p.sum.Now, s, i)
		c := simd.Pick(row, sum, r.Float64())
		if c < 0 {
			return 0, math.NaN()
		}
		l := int32(c)
		if p.window >= 0 {
			l += at - int32(p.window)
		}
		if l != at {
			moved++
		}
		y[i] = l
		q.mul(float64(row[c]) / sum)
	}
	return moved, q.log()
}

func (p *rows) logProb(y, x []int32, s int) float64 { return p.score(p.p.Next, p.sum.Next, y, x, s) }

func (p *rows) current(y, x []int32, s int) float64 { return p.score(p.p.Now, p.sum.Now, y, x, s) }

func (p *rows) score(w []float32, sums []float64, y, x []int32, s int) float64 {
	q := newProduct()
	for i, at := range x {
		row, sum := p.row(w, sums, s, i)
		c := p.column(y[i], at)
		if c < 0 {
			return math.Inf(-1)
		}
		q.mul(float64(row[c]) / sum)
	}
	return q.log()
}

func (p *rows) row(w []float32, sums []float64, s, site int) ([]float32, float64) {
	i := s*p.sites + site
	return w[i*p.cols : (i+1)*p.cols], sums[i]
}

func (p *rows) fields(f *wire.Fields) {
	f.Float32s(p.g.Now)
	f.Float32s(p.p.Now)
	f.Float64s(p.sum.Now)
}

// barkerRows multiplies weights by Barker's function g(e^(−d)) = σ(−d) without computing
// logarithms.
type barkerRows struct{ pull []float32 }

// barkerEntries is the number of entries that multiply processes at a time.
const barkerEntries = 1024

func newBarkerRows(cols int) *barkerRows {
	return &barkerRows{make([]float32, max(barkerEntries/cols, 1)*cols)}
}

// multiply multiplies the weights w, which depend on the distances of levels, by g(e^(−d)) for the
// energy differences d in g. It stores in sum the totals of rows. A weight is 1 for the current
// level of a site, and otherwise 0 or at least leastWeight. The same holds for the products, except
// that a level with d = +Inf, of probability zero, gets 0.
func (b *barkerRows) multiply(w []float32, sum []float64, g []float32, cols int) {
	for len(sum) > 0 {
		rows := min(len(sum), len(b.pull)/cols)
		n := rows * cols
		for i, d := range g[:n] {
			b.pull[i] = -d
		}
		simd.SigmoidTo(b.pull[:n], b.pull[:n])
		for i := range rows {
			total := 0.0
			for c := i * cols; c < (i+1)*cols; c++ {
				v := float32(w[c] * b.pull[c])
				if v < leastWeight && w[c] > 0 && g[c] <= math.MaxFloat32 {
					v = leastWeight
				}
				w[c] = v
				total += float64(v)
			}
			sum[i] = total
		}
		w, sum, g = w[n:], sum[rows:], g[n:]
	}
}
