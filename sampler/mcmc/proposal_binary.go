package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// flips is the discrete Langevin proposal of two-level models: every site flips
// independently with probability σ(−βΔ_i − 1/(2α_i)), where Δ_i is the energy
// difference of the flip and δ² = 1. It is also the proposal of [DLMC], where a site
// flips with the probability of a jump. Probabilities are multiples of 2⁻³¹.
type flips struct {
	field  func(lo, hi int, e []float64, h []float32, y, x []int32)
	cheap  bool     // the field is ProposalFrom of Proposing
	cached *changes // nil unless the model is incremental
	flipLaw
	unconfined

	h      padded.Pair[float32] // fields: chains × sites
	t      padded.Pair[int32]   // flip thresholds: chains × sites
	bits   []uint32
	table  []float32 // scratch of models without a compact field
	levels *table    // of models without a field
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

// compact stores in h, from chain lo on, the field that corresponds to the two-column table: one of
// the two entries of a row is 0, the other is the difference.
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

// cheapFormat marks a checkpoint whose field is accurate enough only for proposals: earlier
// versions used another field for the same models.
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

// onTorus returns the kernel of DMALA or DLMC: the kernel that stores states as bits if the model
// allows it, otherwise one that draws from a proposal.
func onTorus(m energy.Model, chains int, l langevin, t *tune.Tuner, p func() (proposal, error)) (sampler.Kernel, error) {
	bits := func(m energy.Model) (sampler.Kernel, error) {
		if l.within != nil || l.window > 0 || l.minibatch || l.preconditioner != nil {
			return nil, nil // proposals distinguish more than ten kinds of sites
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

// flipLaw gives the probabilities with which the sites of a two-level state flip, in
// multiples of 2⁻³¹.
type flipLaw struct {
	sites    int
	prec     []float32
	beta     float32        // balance: ½ for the Langevin proposal
	cost     []float32      // 1/(2α), one entry, or 1/(2α g_i) per site
	balanced *balancedFlips // nil: √t
	jumps    bool           // DLMC's
	rate     simd.JumpRate  // of jumps
	tau      float32        // of jumps
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

// SetStep implements [FlipLaw].
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

// Thresholds implements [FlipLaw].
func (p *flipLaw) Thresholds(t []int32, h []float32, x []int32) {
	if p.jumps {
		simd.JumpThresholds(t, h, x, p.tau, p.rate)
		return
	}
	if p.balanced != nil {
		for at := 0; at < len(x); at += p.sites {
			p.balanced.thresholds(t[at:at+p.sites], h[at:at+p.sites], x[at:at+p.sites])
		}
		return
	}
	if len(p.cost) == 1 {
		simd.FlipThresholds(t, h, x, p.beta, p.cost)
		return
	}
	for at := 0; at < len(x); at += p.sites {
		simd.FlipThresholds(t[at:at+p.sites], h[at:at+p.sites], x[at:at+p.sites], p.beta, p.cost)
	}
}

// balancedFlips makes the flip thresholds of the discrete Langevin proposal for a balance other
// than √t: site i flips with odds e^(−c_i)·g(t)/g(1), t = e^(−Δ). For Min and Max these odds are
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
	cost    []float32              // c, or −log(1+o), one entry or one per site
	share   []int64                // o/(1+o) in multiples of 2⁻³¹, of Barker
	d       [balancedBlock]float32 // differences
	zero    [balancedBlock]int32
}

const balancedBlock = 256

func newBalancedFlips(b Balance) *balancedFlips { return &balancedFlips{balance: b} }

// setCost takes the costs c, one entry or one per site.
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

// thresholds stores the same thresholds as [simd.FlipThresholds], for the fields h of one state x.
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

// shares multiplies thresholds by share. A positive threshold stays at least 1; other thresholds do
// not change.
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

// rest is thresholds for Min and Max.
func (j *balancedFlips) rest(t []int32, h []float32, x []int32, cost []float32) {
	const infinite = 0x7f800000
	n := len(x)
	d, h := j.d[:n], h[:n]
	keep := int32(0) // signs of what stays
	if j.balance == Max {
		keep = -1
	}
	for i, l := range x {
		v := math.Float32bits(h[i]) ^ uint32(l)<<31
		if v&(1<<31-1) < infinite { // mostly
			v &^= uint32(int32(v)>>31 ^ keep)
		} else if v == infinite|1<<31 && j.balance == Min {
			v = 0
		}
		d[i] = math.Float32frombits(v)
	}
	simd.FlipThresholds(t, d, j.zero[:n], 1, cost)
}
