package mcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/subgraph"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Subgraph redraws many sites at once from their exact joint distribution given the others (Hamze
// and de Freitas 2004),
//
//	p(x_B | rest) ∝ exp(−E(x)).
//
// The set B is chosen such that its sites form a graph of low tree-width, which makes an exact draw
// possible. The model must be energy.Factored, without hidden units.
//
// Width bounds the number of sites on which an intermediate sum depends; sets of width 1 are
// forests. The method Kernel chooses a list of sets B, which is the same in every run. The steps
// redraw these sets in order, over and over. Two or three successive sets cover all sites that have
// more than one allowed level.
//
// On a square lattice a set contains about 63 % of the sites at width 1, and 81 % at width 8.
//
// # When to use it
//
// On sparse random graphs at low temperatures, forests yield far more effective draws per second
// than Gibbs (BenchmarkSparseGlass, sixteen chains in one block). Let the couplings be β times
// standard normal numbers. At β = 1 the gain is 58 to 97 times with 1.5 neighbours a site, and 30
// to 65 times with three. The gain grows with β. At high temperatures Gibbs is as fast.
//
// With couplings ±β the gain is smaller, because Gibbs is faster than with normal couplings. At β =
// 1 the gain is about 10 times with 1.5 neighbours a site, and 1 to 2 times with three. With three
// neighbours and blocks of four chains (see [sampler.Config.BlockChains]), it is 9 to 36 times.
//
// With three neighbours a site and stronger couplings, chains of both methods stay in one valley of
// the energy. There, make Subgraph the Base of [Tempering]. At β = 1.5 and couplings ±β this mostly
// gave 1 to 12 times as many effective draws as [Tempering] of Gibbs. Do the same for spin glasses
// on lattices, with wider sets.
//
// On ferromagnets near their critical temperature, Gibbs and the cluster methods (package cluster)
// are faster.
//
// # Cost
//
// For forests of two-level pair models, a step costs 4 ns to 10 ns per site, or 0.7 ns to 1.9 ns
// with AVX-512. For other models it costs 100 ns per site plus 1 ns to 10 ns per entry of the
// intermediate sums. A site has at most levels^Width entries.
type Subgraph struct {
	// Width limits the sets of sites that a step redraws. A step sums out the sites of a set one by
	// one, and each intermediate sum depends on at most Width sites. Width 1 means forests. The
	// default 0 means 1 for graphs with at most 3 neighbours per site on average. For other graphs
	// it means the largest width with levels^Width ≤ 256.
	Width int

	// Within is a language (package constraint) of the allowed states; nil means that all states
	// are allowed. The levels that the language allows at a site may depend only on the few
	// preceding sites. Examples are a constraint.Mask, constraint.Avoids of short words, and some
	// regular expressions. Other languages, such as a constraint.Count, are rejected.
	//
	// The chain reaches all states of the language only if redrawing the sets, one at a time,
	// connects them.
	Within constraint.Automaton
}

const (
	covers       = 8       // maximum number of times that the sets cover all sites
	forestCovers = 2       // number of times that forests of two-level pair models cover all sites
	defaultJoint = 1 << 8  // default maximum of levels^Width
	mostJoint    = 1 << 20 // maximum of levels^Width
	mostEntries  = 1 << 26 // maximum number of message entries of a set: 512 MiB
	mostSites    = 1 << 22 // maximum of sites × covers, if there are more than two covers
	sparseDegree = 3       // mean number of neighbours up to which forests are the default
)

// Name returns "subgraph"; it implements [sampler.Named].
func (Subgraph) Name() string { return "subgraph" }

// Kernel returns a new kernel that moves the given number of chains. It implements
// [sampler.Method].
func (g Subgraph) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: Subgraph", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if g.Width < 0 || float64(g.Width)*math.Log2(float64(max(2, levels))) > math.Log2(mostJoint) {
		return nil, fmt.Errorf("mcmc: Subgraph: Width = %d, want 0 … %d for %d levels: levels^Width ≤ 2^20", g.Width, int(math.Log2(mostJoint)/math.Log2(float64(max(2, levels)))), levels)
	}
	within, err := newSupport(ctx, "Subgraph", g.Within, sites, levels)
	if err != nil {
		return nil, err
	}
	made := func(m energy.Model) (sampler.Kernel, error) { return g.kernel(m, chains, within) }
	return follow(m, false, made, func() (sampler.Kernel, error) { return made(m) })
}

// kernel returns the kernel for the current parameters of model m.
func (g Subgraph) kernel(m energy.Model, chains int, within *support) (sampler.Kernel, error) {
	sites, levels := m.Shape()
	f, ok := energy.As[energy.Factored](m)
	var cards []int32
	var scopes [][]int32
	var tables [][]float64
	if ok {
		cards, scopes, tables, ok = f.Factors()
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("mcmc: Subgraph: model = %T, want an energy.Factored one, whose terms are known: use Gibbs", m)
	case len(cards) > sites:
		return nil, fmt.Errorf("mcmc: Subgraph: the model has %d hidden units, want none: use BlockGibbs, which draws two layers", len(cards)-sites)
	}
	if within != nil {
		s, t, err := within.factors(cards)
		if err != nil {
			return nil, err
		}
		scopes, tables = append(s, scopes...), append(t, tables...)
	}
	free, lowest := choices(cards, scopes, tables)
	graph := subgraph.OfScopes(sites, scopes, free)
	width := g.Width
	if width == 0 {
		if width = 1; graph.Degree() > sparseDegree {
			width = max(1, int(math.Log2(defaultJoint)/math.Log2(float64(max(2, levels)))))
		}
	}
	k := padded.New(subgraphs{inLanguage: inLanguage{sweep.NewEnergies(m, chains, 1), within}})
	model := subgraph.NewModel(cards, scopes, tables)
	if width == 1 && levels == 2 {
		k.pair(model.Pairs(free), lowest)
	}
	r := rand.New(rand.NewPCG(44, 2)) // no chain draws from r
	var plans []*subgraph.Plan
	most, words := 0, 0 // maximum numbers of sites with messages and of words of a draw
	times := min(covers, max(2, mostSites/sites))
	if k.pairs != nil {
		times = forestCovers
	}
	for range times {
		for _, chosen := range graph.Cover(width, r) {
			s := set{}
			if k.pairs != nil {
				s.forest = k.pairs.Forest(chosen)
				open, _ := s.forest.Sites()
				most, words = max(most, open), max(words, s.forest.Words())
			} else {
				most = max(most, len(chosen))
				s.plan = model.Compile(chosen)
				if plans = append(plans, s.plan); s.plan.Entries() > mostEntries {
					return nil, fmt.Errorf("mcmc: Subgraph: Width = %d: a set needs messages of %d entries, want ≤ 2^26; use a smaller Width", width, s.plan.Entries())
				}
			}
			k.sets = append(k.sets, s)
		}
	}
	if len(k.sets) == 0 { // no site has more than one allowed level
		k.sets = []set{{plan: model.Compile(nil)}}
	}
	k.run = subgraph.NewRun(plans)
	lanes := 1
	if k.pairs != nil && chains >= fewestForests && k.sets[0].forest != nil {
		lanes = simd.ForestChains
		k.own = make([][]uint8, (chains+lanes-1)/lanes)
		for g := range k.own {
			k.own[g] = padded.Make[uint8](sites&^63 + 64) // at least one more than the sites
		}
		k.held, k.stale, k.old = padded.Make[bool](len(k.own)), padded.Make[bool](len(k.own)), padded.Make[uint8](sites&^63+64)
		words = (words + 7) &^ 7
		k.columns = padded.Make[uint32](lanes * words)
	}
	k.words = padded.Make[uint32](lanes * words)
	k.odds = padded.Make[float64](lanes * (most + 1))
	if k.pairs == nil {
		k.u = padded.Make[float64](most)
	}
	k.stop = k.At.Done
	return k, nil
}

// pair sets the couplings and fields of a pair model. It computes the constant of the energies
// from the state x. If the constant is not finite, the model has no allowed state, and Reset
// returns an error.
func (k *subgraphs) pair(pairs *subgraph.Pairs, x []int32) {
	e := make([]float64, 1)
	k.Model.Energy(e, x)
	if pairs != nil && !math.IsInf(e[0], 0) && !math.IsNaN(e[0]) {
		k.pairs, k.constant = pairs, e[0]-pairs.Energy(x)
	}
}

// choices considers the levels that have a finite energy in all tables of a site alone. It returns
// which sites have more than one such level, and the lowest one of each site, 0 if there is none.
func choices(cards []int32, scopes [][]int32, tables [][]float64) (free []bool, lowest []int32) {
	forbidden := make([][]bool, len(cards))
	for k, scope := range scopes {
		if len(scope) != 1 {
			continue
		}
		i := scope[0]
		for l, e := range tables[k] {
			if math.IsInf(e, 1) {
				if forbidden[i] == nil {
					forbidden[i] = make([]bool, cards[i])
				}
				forbidden[i][l] = true
			}
		}
	}
	free, lowest = make([]bool, len(cards)), make([]int32, len(cards))
	for i, card := range cards {
		left := int(card)
		for l := len(forbidden[i]) - 1; l >= 0; l-- {
			if forbidden[i][l] {
				left--
			} else {
				lowest[i] = int32(l)
			}
		}
		free[i] = left > 1
	}
	return free, lowest
}

// mostSuffixes is the maximum number of joint levels of a site and the earlier sites on which it
// depends in a language.
const mostSuffixes = 1 << 12

// factors returns the language as tables: the levels allowed at each site, given the few sites
// before it. It returns an error if more sites before it matter.
func (t *support) factors(cards []int32) (scopes [][]int32, tables [][]float64, err error) {
	for memory, n := 0, t.levels; n <= mostSuffixes; memory, n = memory+1, n*t.levels {
		if scopes, tables, ok := t.within(cards, memory); ok {
			return scopes, tables, nil
		}
		if memory >= t.sites || t.levels == 1 {
			break
		}
	}
	return nil, nil, fmt.Errorf("mcmc: Subgraph: Within = %s does not factorise: what may stand at a site depends on more than the few sites before it; use PairGibbs, BlockGibbs or DMALA within it", t.name)
}

// within returns the tables of a language in which the last memory levels determine the levels that
// may follow. For any other language it returns ok = false.
func (t *support) within(cards []int32, memory int) (scopes [][]int32, tables [][]float64, ok bool) {
	type suffix struct {
		node int
		last []int32
	}
	number := func(last []int32) (n int) {
		for k := len(last) - 1; k >= 0; k-- {
			n = n*t.levels + int(last[k])
		}
		return n
	}
	now := []suffix{{t.graph.Start(), nil}}
	for i := range t.sites {
		m := min(memory, i)
		scope, size := make([]int32, 0, m+1), 1
		for j := i - m; j <= i; j++ {
			scope, size = append(scope, int32(j)), size*int(cards[j])
		}
		table := make([]float64, size)
		for a := range table {
			table[a] = math.Inf(1)
		}
		var next []suffix
		seen := map[int]int{} // trellis node after the site, by suffix
		for _, q := range now {
			at := 0
			inside := true
			for k, l := range q.last {
				inside = inside && l < cards[i-m+k]
				at = at*int(cards[i-m+k]) + int(l)
			}
			for l := range int32(t.levels) {
				node := t.graph.NextAt(i, q.node, l)
				if node < 0 {
					continue
				}
				if inside && l < cards[i] {
					table[at*int(cards[i])+int(l)] = 0
				}
				last := append(append([]int32(nil), q.last...), l)
				last = last[max(0, len(last)-memory):]
				n := number(last)
				if before, met := seen[n]; met && before != node {
					return nil, nil, false
				} else if !met {
					seen[n] = node
					next = append(next, suffix{node, last})
				}
			}
		}
		scopes, tables = append(scopes, scope), append(tables, table)
		now = next
	}
	return scopes, tables, true
}

// set is a set of sites that are redrawn together, as a forest or by a plan.
type set struct {
	forest *subgraph.Forest // messages of two-level pair models on a forest; nil for other sets
	plan   *subgraph.Plan
}

// subgraphs is the kernel of [Subgraph].
type subgraphs struct {
	inLanguage
	sets   []set
	turn   int // index of the set of the next step
	run    *subgraph.Run
	u      []float64           // uniform numbers for the sites of a set
	words  []uint32            // random bits for the sites of a forest, by chain
	odds   []float64           // messages of a forest
	stop   func(work int) bool // counts work and reports whether the step has to stop
	unread bool                // the energies of this step are not read

	pairs    *subgraph.Pairs // couplings and fields; nil if the model has other tables
	constant float64         // constant of the energies of pairs

	own     [][]uint8 // states of each group of eight chains as bits; nil if chains move one by one
	held    []bool    // per group, whether own holds its states
	stale   []bool    // per group, whether the caller's states are out of date
	old     []uint8   // states of eight chains before a step or an exchange
	columns []uint32  // words of eight chains, by word
}

var (
	_ sampler.Costed    = (*subgraphs)(nil)
	_ sampler.Starter   = (*subgraphs)(nil)
	_ sampler.Exchanger = (*subgraphs)(nil)
)

// Reset evaluates the states x and discards an interrupted step; it implements
// [sampler.Transition].
func (k *subgraphs) Reset(ctl sampler.Control, x []int32) error {
	k.lose()
	return k.inLanguage.Reset(ctl, x)
}

// Step redraws one set of sites; it implements [sampler.Transition].
func (k *subgraphs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if k.unread = ctl.Unread; k.own != nil {
		done = k.eights(ctl, info, x, r)
	} else {
		done = k.Make(ctl, k, info, x, r)
	}
	k.turn = (k.turn + done) % len(k.sets)
	return done
}

// Walk redraws the sites of the current set in chain s. This is the only update in a step. Walk
// implements [sweep.Walker].
func (k *subgraphs) Walk(_, s int, x []int32, r []sampler.Stream) (made int) {
	if !k.redraw(&k.sets[k.turn], x, &r[s]) {
		return 0
	}
	k.At.Info[s].Accept, k.E[s] = 1, math.NaN()
	switch {
	case k.unread:
	case k.pairs != nil:
		k.E[s] = k.constant + k.pairs.Energy(x)
	default:
		k.Model.Energy(k.E[s:s+1], x)
	}
	return 1
}

// eights makes a step of all chains, eight at a time. The results are bit for bit those of
// [sweep.Locals.Make].
func (k *subgraphs) eights(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.At.Begin(ctl.Stop)
	f, n := k.sets[k.turn].forest, k.Sites
	for k.At.Chain < len(info) {
		lo := k.At.Chain
		g := lo / simd.ForestChains
		first, hi := k.eight(g)
		own := k.own[g]
		k.hold(g, x)
		open, _ := f.Sites()
		odds, used := k.odds[:simd.ForestChains*(open+1)], f.Words()
		ld := (used + 7) &^ 7
		if !k.forward(open, hi-lo, func(from, to int) { f.Eight().Odds(odds, own, from, to) }) {
			return 0
		}
		live := uint8(0)
		for s := lo; s < hi; s++ {
			c := s - first
			r[s].Uint32s(k.words[c*ld : c*ld+used])
			live |= 1 << c
		}
		simd.EightColumns(k.columns[:simd.ForestChains*ld], k.words[:simd.ForestChains*ld], ld)
		copy(k.old, own)
		f.DrawEight(own, k.columns, odds, live, func(c int) uint64 { return r[first+c].Uint64() })
		var moved [simd.ForestChains]int64
		simd.ForestMoved(&moved, k.old, own)
		if k.stale[g] = k.unread; !k.unread {
			simd.SpreadForest(x[first*n:hi*n], own, n)
		}
		e := [simd.ForestChains]float64{}
		if !k.unread {
			k.pairs.Energies(&e, own)
		}
		for s := lo; s < hi; s++ {
			pending := &k.At.Info[s]
			k.E[s] = k.constant + e[s-first]
			if k.unread {
				k.E[s] = math.NaN()
			}
			pending.Accept, pending.Energy = 1, k.E[s]
			pending.Moved += int(moved[s-first])
		}
		k.At.Chain = hi
	}
	k.At.Finish(info)
	return 1
}

// eight returns the chains lo … hi−1 of the g-th eight.
func (k *subgraphs) eight(g int) (lo, hi int) {
	lo = g * simd.ForestChains
	return lo, min(lo+simd.ForestChains, len(k.E))
}

// hold reads the states of the g-th eight chains from x, unless own holds them.
func (k *subgraphs) hold(g int, x []int32) {
	if k.held[g] {
		return
	}
	own, n := k.own[g], k.Sites
	lo, hi := k.eight(g)
	for i := range n {
		own[i] = 0
		for s := lo; s < hi; s++ {
			own[i] |= uint8(x[s*n+i]) << (s - lo)
		}
	}
	k.held[g] = true
}

// Exchanges reports whether the kernel can exchange states with partner. The models of both must
// consist of fields and pair couplings. The numbers of sites and chains and the format of the
// states must be the same. It implements [sampler.Exchanger].
func (k *subgraphs) Exchanges(partner sampler.Exchanger, _ float64) bool {
	o, ok := partner.(*subgraphs)
	return ok && k.pairs != nil && o.pairs != nil && k.Sites == o.Sites && len(k.E) == len(o.E) && len(k.own) == len(o.own)
}

// Hold reads the states from x, unless the kernel already holds them. It implements
// [sampler.Exchanger].
func (k *subgraphs) Hold(x []int32) {
	if k.own == nil {
		k.X = x
	}
	for g := range k.held {
		k.hold(g, x)
		k.stale[g] = true
	}
}

// Show brings x up to date: it stores the states that have changed since x was last written. It
// implements [sampler.Lazy].
func (k *subgraphs) Show(x []int32) {
	sweep.Store(x, k.X)
	for g, stale := range k.stale {
		if stale {
			lo, hi := k.eight(g)
			simd.SpreadForest(x[lo*k.Sites:hi*k.Sites], k.own[g], k.Sites)
			k.stale[g] = false
		}
	}
}

// Exchange swaps the states of the given chains with those of partner. It implements
// [sampler.Exchanger].
func (k *subgraphs) Exchange(partner sampler.Exchanger, chains []int, moved []int) {
	o := partner.(*subgraphs)
	for _, s := range chains {
		k.E[s], o.E[s] = math.NaN(), math.NaN() // the next step computes them
		if k.own == nil {
			k.Swap(o.Locals, s, moved)
		}
	}
	for g := range k.own {
		lo, hi := k.eight(g)
		swapped := uint8(0)
		for _, s := range chains {
			if lo <= s && s < hi {
				swapped |= 1 << (s - lo)
			}
		}
		if swapped == 0 {
			continue
		}
		a, b := k.own[g], o.own[g]
		copy(k.old, a)
		for i, v := range b {
			d := (a[i] ^ v) & swapped
			a[i] ^= d
			b[i] = v ^ d
		}
		if moved != nil {
			var n [simd.ForestChains]int64
			simd.ForestMoved(&n, k.old, a)
			for s := lo; s < hi; s++ {
				moved[s] += int(n[s-lo])
			}
		}
		k.stale[g], o.stale[g] = true, true
	}
}

// Energies computes the energies that the partner's states have under this kernel's model. It
// implements [sampler.Exchanger].
func (k *subgraphs) Energies(e []float64, partner sampler.Exchanger) {
	o := partner.(*subgraphs)
	if k.own == nil {
		for s := range e {
			e[s] = k.constant + k.pairs.Energy(o.State(s))
		}
	}
	for g := range k.own {
		lo, hi := k.eight(g)
		sum := [simd.ForestChains]float64{}
		k.pairs.Energies(&sum, o.own[g])
		for s := lo; s < hi; s++ {
			e[s] = k.constant + sum[s-lo]
		}
	}
}

// fewestForests is the minimum number of chains in a block of which eight at a time move a forest.
// It exceeds the number of chains of any block if moving one by one is as fast. Tests vary it.
var fewestForests = func() int {
	if simd.HasForests() {
		return 2
	}
	return sampler.BlockSize + 1
}()

// forestWork is the number of sites of a forest processed between two checks for a stop.
const forestWork = 1 << 14

// redraw draws the levels of the sites of a set. It returns false if it was stopped.
func (k *subgraphs) redraw(s *set, x []int32, r *sampler.Stream) bool {
	moved := &k.At.Info[k.At.Chain].Moved
	if s.forest == nil {
		if !k.run.Forward(s.plan, x, k.stop) {
			return false
		}
		u := k.u[:s.plan.Sites()]
		r.Float64s(u)
		*moved += k.run.Draw(s.plan, x, u)
		return true
	}
	open, _ := s.forest.Sites()
	if !k.forward(open, 1, func(lo, hi int) { s.forest.Forward(k.odds, x, lo, hi) }) {
		return false
	}
	words := k.words[:s.forest.Words()]
	r.Uint32s(words)
	*moved += s.forest.Draw(x, words, k.odds, r.Uint64)
	return true
}

// forward calls part for the places of a forest that moves the given number of chains, in order, or
// returns false if it was stopped; the next call continues.
func (k *subgraphs) forward(places, chains int, part func(lo, hi int)) bool {
	for k.At.Part < places {
		if k.At.Stopped {
			return false
		}
		hi := min(k.At.Part+forestWork/chains, places)
		part(k.At.Part, hi)
		k.At.Done(16 * chains * (hi - k.At.Part))
		k.At.Part = hi
	}
	k.At.Part = 0
	return true
}

// AppendBinary appends the index of the next set of sites and the energies of the states to b; it
// implements [sampler.Transition].
func (k *subgraphs) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

// UnmarshalBinary restores the output of AppendBinary; it implements [sampler.Transition].
func (k *subgraphs) UnmarshalBinary(b []byte) error { return wire.ReadFields(b, k.fields) }

func (k *subgraphs) fields(f *wire.Fields) {
	f.Int("mcmc: Subgraph: the set", &k.turn, 0, len(k.sets)-1)
	f.Binary(k.Locals, -1)
	if f.Reading() {
		k.lose()
	}
}

// lose discards the states that the kernel holds and an interrupted step.
func (k *subgraphs) lose() {
	k.run.Begin()
	clear(k.held)
	clear(k.stale)
}

// Unit costs of a step in nanoseconds, fitted like those of cost.go.
const (
	forestSite = 5   // per site of a forest outside pendant trees
	hungSite   = 0.5 // per site of a pendant tree
	forestEdge = 1.7 // per neighbour outside the forest
	planSite   = 90  // per site of a set that is not a forest
	planEntry  = 2.5 // per message entry of a set that is not a forest
	siteEnergy = 2   // per site of the evaluated energy
	setPrice   = 100 // per set, in addition
	eightCost  = 1.4 // of moving up to eight chains at once, in units of the cost of one chain
)

// Cost estimates the time in nanoseconds of the next step; it implements [sampler.Costed].
func (k *subgraphs) Cost(info []sampler.Info) float64 {
	s, sum := k.sets[k.turn], float64(setPrice+siteEnergy*k.Sites)
	if s.forest != nil {
		open, hung := s.forest.Sites()
		sum += float64(forestSite*open) + float64(hungSite*float64(hung)) + float64(forestEdge*float64(s.forest.Edges()))
	} else {
		sum += float64(planSite*s.plan.Sites()) + float64(planEntry*float64(s.plan.Entries()))
	}
	if k.own != nil {
		sum *= eightCost * float64(len(k.own)) / float64(len(k.E))
	}
	return float64(len(info)) * sum
}
