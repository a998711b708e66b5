package sweep

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// newSites returns the general kernel, which visits one site after the other. It accepts every
// model.
func newSites(r *request) (sampler.Kernel, error) {
	sweep, err := r.order(r.Scan)
	updates := r.Updates
	switch {
	case sweep != nil:
		updates = len(sweep)
	case updates == 0:
		updates = r.sites
	}
	all := newSitewise(NewLocals(r.Model, r.Chains, updates))
	if r.Proposes {
		return padded.New(metropolis{sitewise: all, order: sweep, work: all.RowWork()}), err
	}
	return padded.New(gibbs{sitewise: all, order: sweep, w: padded.Make[float64](r.levels), unpolled: max(1, PollWork/all.RowWork())}), err
}

type gibbs struct {
	sitewise
	order    []int32 // order of the visits; nil means random
	w        []float64
	unpolled int // number of updates between two checks for a stop
}

var (
	_ sampler.Costed    = (*gibbs)(nil)
	_ sampler.Exchanger = (*gibbs)(nil)
)

// Step makes one step of every chain, checking for a stop every few thousand sites. It implements
// [sampler.Transition].
func (k *gibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.Make(ctl, k, info, x, r)
}

// Walk makes n updates of chain s, or fewer if it is stopped or fails, and returns the number made.
// Each update redraws one site. Walk implements [Walker].
func (k *gibbs) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	for made < n && k.At.Info[s].Err == nil && !k.At.Stopped {
		m := min(n-made, k.unpolled)
		k.sweep(k.At.Update+made, m, s, x, &r[s])
		made += m
		k.At.Done(PollWork)
	}
	return made
}

// sweep makes the updates first … first+n−1 of chain s at state x.
func (k *gibbs) sweep(first, n, s int, x []int32, r *sampler.Stream) {
	pending := &k.At.Info[s]
	pending.Accept = 1
	for at := first; at < first+n; at++ {
		i := 0
		if k.order != nil {
			i = int(k.order[at])
		} else {
			i = r.IntN(k.Sites)
		}
		row := k.Row(s, i, x)
		l := HeatBath(k.w, row, r.Float64())
		if l < 0 {
			pending.Err = fmt.Errorf("site %d: %w", i, sampler.ErrNaN)
			return
		}
		if int32(l) != x[i] {
			k.move(s, i, int32(l), x, row)
			pending.Moved++
		}
	}
}

// Cost estimates the time in nanoseconds of a step, which visits every site. It implements
// [sampler.Costed].
func (k *gibbs) Cost(info []sampler.Info) float64 {
	return k.Visits(info, k.Sites, 1, sweepCost+float64(LevelCost*float64(k.Levels)))
}

type metropolis struct {
	sitewise
	work  int     // elementary operations of an update
	order []int32 // order of the visits; nil means random
}

var (
	_ sampler.Costed    = (*metropolis)(nil)
	_ sampler.Exchanger = (*metropolis)(nil)
)

// Step makes Updates proposals in every chain. It implements [sampler.Transition].
func (k *metropolis) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = k.Make(ctl, k, info, x, r)
	MeanAccept(info, done, k.Updates)
	return done
}

// Walk makes n updates of chain s, or fewer if it is stopped, and returns the number made. Each
// update proposes one change. If sites have a single level, there is no change to propose, and the
// acceptance probability is 1. Walk implements [Walker].
func (k *metropolis) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	if k.Levels < 2 {
		k.At.Info[s].Accept = float64(k.Updates)
		return n
	}
	for made < n && !k.At.Stopped {
		k.update(s, k.At.Update+made, x, &r[s])
		made++
		k.At.Done(k.work)
	}
	return made
}

// update makes one numbered proposal of a step, for chain s at state x.
func (k *metropolis) update(s, at int, x []int32, r *sampler.Stream) {
	pending := &k.At.Info[s]
	i := 0
	if k.order != nil {
		i = int(k.order[at])
	} else {
		i = r.IntN(k.Sites)
	}
	l := int32(r.IntN(k.Levels - 1))
	if l >= x[i] {
		l++
	}
	row := k.Row(s, i, x)
	a, ok := Accept(row[x[i]]-row[l], 0, 0)
	if !ok {
		pending.Invalid++
	}
	pending.Accept += a
	if r.Float64() < a {
		k.move(s, i, l, x, row)
		pending.Moved++
	}
}

// Cost estimates the time in nanoseconds of a step, which makes Updates proposals. It implements
// [sampler.Costed].
func (k *metropolis) Cost(info []sampler.Info) float64 {
	return k.Visits(info, k.Updates, 1, ProposalCost)
}

// HeatBath draws a level l from the distribution p_l ∝ exp(−d_l), by inverse CDF with the uniform
// number u ∈ [0, 1). It returns −1 if no d_l is finite, or if some d_l is NaN or −Inf. The slice w
// is scratch memory of at least len(d) entries.
func HeatBath(w, d []float64, u float64) int {
	if len(d) == 2 {
		// p_1 = σ(d_0 − d_1); the difference is NaN if both are infinite.
		diff := d[0] - d[1]
		if math.IsNaN(diff) || math.IsInf(d[0], -1) || math.IsInf(d[1], -1) {
			return -1
		}
		if u < simd.Sigmoid(diff) {
			return 1
		}
		return 0
	}
	low := math.Inf(1)
	for _, v := range d {
		if math.IsNaN(v) {
			return -1
		}
		low = min(low, v)
	}
	if math.IsInf(low, 0) {
		return -1
	}
	total := 0.0
	for l, v := range d {
		w[l] = simd.Exp(low - v)
		total += w[l]
	}
	u *= total
	last := -1
	for l := range d {
		if w[l] == 0 {
			continue
		}
		last = l
		if u -= w[l]; u < 0 {
			return l
		}
	}
	return last // u is left over because of rounding
}

// odds returns 2⁶⁴·p(x_i = 1) for diff = E(x_i=1) − E(x_i=0), rounded down and at most 2⁶⁴ − 1.
func odds(diff float64) uint64 { return fraction(simd.Sigmoid(-diff)) }

// fraction returns 2⁶⁴·p, rounded down and at most 2⁶⁴ − 1.
func fraction(p float64) uint64 {
	if p >= 1 {
		return math.MaxUint64
	}
	return uint64(math.Ldexp(p, 64))
}

// Accept returns the Metropolis–Hastings acceptance probability min(1, exp(decrease + logReverse −
// logForward)) of a proposed move. Here decrease is the decrease of the energy, logForward is the
// log-probability of proposing the move, and logReverse is the log-probability of proposing its
// reverse. If the probability is not defined, a is 0 and ok is false.
func Accept(decrease, logForward, logReverse float64) (a float64, ok bool) {
	if math.IsInf(decrease, -1) {
		return 0, true // the new state has probability zero, so its table is meaningless
	}
	if math.IsInf(decrease, 1) || math.IsNaN(decrease) || math.IsNaN(logForward) || math.IsNaN(logReverse) {
		return 0, false
	}
	if l := decrease + (logReverse - logForward); l < 0 {
		return simd.Exp(l), true
	}
	return 1, true
}

// Changed returns the number of sites at which the states x and y differ.
func Changed(x, y []int32) (n int) {
	y = y[:len(x)]
	for i, l := range x {
		d := 0
		if y[i] != l {
			d = 1
		}
		n += d
	}
	return n
}

// sitewise is the base of kernels whose states stay in x and change one site at a time, with
// exact differences and running energies. It can exchange states with a sitewise kernel at
// another temperature.
type sitewise struct {
	*Locals
	beta float64 // inverse temperature of the target, relative to that of the first kernel
}

func newSitewise(c *Locals) sitewise { return sitewise{Locals: c, beta: 1} }

// sited returns k; it implements siting.
func (k *sitewise) sited() *sitewise { return k }

// siting is a kernel that embeds a sitewise.
type siting interface{ sited() *sitewise }

// Exchanges reports whether the kernel can exchange states with partner. Both must be of the same
// kind (sitewise) and have the same numbers of sites, levels and chains. Exchanges implements
// [sampler.Exchanger].
func (k *sitewise) Exchanges(partner sampler.Exchanger, beta float64) bool {
	other, ok := partner.(siting)
	if !ok {
		return false
	}
	k.beta = beta
	o := other.sited()
	return beta > 0 && o.Sites == k.Sites && o.Levels == k.Levels && len(o.E) == len(k.E) && (o.Local == nil) == (k.Local == nil)
}

// Hold makes the kernel use the slice x as its states from now on. It implements
// [sampler.Exchanger].
func (k *sitewise) Hold(x []int32) { k.X = x }

// Show copies the states to x unless x is the slice that the kernel holds. It implements
// [sampler.Lazy].
func (k *sitewise) Show(x []int32) { Store(x, k.X) }

// Energies computes the energies that the partner's states have at this kernel's temperature, by
// scaling the partner's energies. It implements [sampler.Exchanger].
func (k *sitewise) Energies(e []float64, partner sampler.Exchanger) {
	o := partner.(siting).sited()
	for s, v := range o.E {
		e[s] = tempered(v, k.beta, o.beta)
	}
}

// Exchange swaps states with partner, and rescales energies and caches to the other temperature. It
// implements [sampler.Exchanger].
func (k *sitewise) Exchange(partner sampler.Exchanger, chains []int, moved []int) {
	o := partner.(siting).sited()
	for _, s := range chains {
		k.Swap(o.Locals, s, moved)
		k.E[s], o.E[s] = tempered(o.E[s], k.beta, o.beta), tempered(k.E[s], o.beta, k.beta)
		if k.Local != nil {
			mine, theirs := k.Chain(s), o.Chain(s)
			for i, d := range mine {
				mine[i], theirs[i] = tempered(theirs[i], k.beta, o.beta), tempered(d, o.beta, k.beta)
			}
		}
	}
}

// Exchange swaps the entries of a and b.
func Exchange(a, b []int32) {
	b = b[:len(a)]
	for i, v := range a {
		a[i], b[i] = b[i], v
	}
}

// tempered converts an energy, or an energy difference, from another inverse temperature to beta.
func tempered(e, beta, from float64) float64 {
	if beta == from {
		return e
	}
	return float64(e * (beta / from))
}
