package subgraph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// problem is a random product of tables.
type problem struct {
	cards  []int32
	scopes [][]int32
	tables [][]float64
	free   []bool
}

// random makes tables of the given scale over a ring with chords, some of them with entries
// +Inf that leave the state of zeros.
func random(r *rand.Rand, sites, levels int, scale, zeros float64) problem {
	p := problem{cards: make([]int32, sites), free: make([]bool, sites)}
	for i := range p.cards {
		p.cards[i], p.free[i] = 2+int32(r.IntN(levels-1)), r.IntN(6) > 0
	}
	add := func(scope ...int32) {
		size := 1
		for _, i := range scope {
			size *= int(p.cards[i])
		}
		t := make([]float64, size)
		for k := range t {
			if t[k] = scale * r.NormFloat64(); k > 0 && r.Float64() < zeros {
				t[k] = math.Inf(1)
			}
		}
		p.scopes, p.tables = append(p.scopes, scope), append(p.tables, t)
	}
	for i := range int32(sites) {
		add(i)
		add(i, (i+1)%int32(sites))
		if j := int32(r.IntN(sites)); j != i {
			add(j, i)
		}
	}
	perm := r.Perm(sites)
	add(int32(perm[0]), int32(perm[1]), int32(perm[2]))
	add()
	return p
}

// energy returns the sum of the tables.
func (p problem) energy(x []int32) (e float64) {
	for k, scope := range p.scopes {
		at := 0
		for _, i := range scope {
			at = at*int(p.cards[i]) + int(x[i])
		}
		e += p.tables[k][at]
	}
	return e
}

// states calls f with every state that equals x outside the set.
func (p problem) states(x []int32, set []int32, f func(y []int32)) {
	y := slices.Clone(x)
	var rest func(k int)
	rest = func(k int) {
		if k == len(set) {
			f(y)
			return
		}
		for l := range p.cards[set[k]] {
			y[set[k]] = l
			rest(k + 1)
		}
	}
	rest(0)
}

// logProb returns the logarithm of the probability with which Draw makes y.
func (r *Run) logProb(p *Plan, y []int32) (log float64) {
	for k := len(p.buckets) - 1; k >= 0; k-- {
		b := &p.buckets[k]
		w, sum := r.conditional(p, b, y), 0.0
		for _, v := range w {
			if r.mode != linear {
				v = math.Exp(v - slices.Max(w))
			}
			sum += v
		}
		if r.mode == linear {
			log += math.Log(w[y[b.site]] / sum)
		} else {
			log += w[y[b.site]] - slices.Max(w) - math.Log(sum)
		}
	}
	return log
}

// Sets have every free site, no other, and no site twice; messages are no wider than the
// width, and conditional distributions are those of enumeration.
func TestPlansAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	modes := map[mode]int{}
	for trial := range 600 {
		zeros, scale := 0.0, 1.0
		if trial%3 == 1 {
			zeros = 0.3
		}
		if trial%5 == 4 {
			scale = 300
		}
		p := random(r, 3+r.IntN(7), 2+trial%3, scale, zeros)
		g := OfScopes(len(p.cards), p.scopes, p.free)
		m := NewModel(p.cards, p.scopes, p.tables)
		width := 1 + r.IntN(4)
		had := make([]bool, len(p.cards))
		var plans []*Plan
		sets := g.Cover(width, r)
		for _, set := range sets {
			plan := m.Compile(set)
			plans = append(plans, plan)
			for k := range plan.buckets {
				require.LessOrEqual(t, len(plan.buckets[k].scope), width)
			}
		}
		run := NewRun(plans)
		for k, set := range sets {
			for j, i := range set {
				had[i] = true
				require.NotContains(t, set[:j], i)
			}
			x := make([]int32, len(p.cards))
			logZ, least, best := math.Inf(-1), math.Inf(1), 0
			p.states(x, set, func(y []int32) {
				e := p.energy(y)
				if e < least {
					least, best = e, 0
				}
				if e == least {
					best++
				}
				if !math.IsInf(e, 1) {
					logZ = max(logZ, -e) + math.Log1p(math.Exp(-math.Abs(logZ+e)))
				}
			})
			calls := 0
			for !run.Forward(plans[k], x, func(int) bool { calls++; return calls%2 == 0 }) {
			}
			modes[run.mode]++
			p.states(x, set, func(y []int32) {
				want, got := -p.energy(y)-logZ, run.logProb(plans[k], y)
				if math.IsNaN(got) { // after a level without probability
					got = math.Inf(-1)
				}
				if want < -600 || math.IsInf(want, -1) {
					require.Less(t, got, -500.0)
					return
				}
				require.InDelta(t, want, got, 1e-10*max(1, scale), "trial %d", trial)
			})
			u := make([]float64, len(set))
			for range 5 {
				for i := range u {
					u[i] = r.Float64()
				}
				run.Draw(plans[k], x, u)
				require.False(t, math.IsInf(p.energy(x), 1))
			}
		}
		require.Equal(t, p.free, had)
	}
	require.Greater(t, modes[linear], 300)
	require.Greater(t, modes[logarithmic], 100)
}

// The product of the transition matrices of the sets of a cover leaves the distribution as it
// is and leads from every state to every other.
func TestCoverLeavesTheDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for trial := range 20 {
		p := random(r, 6, 2, 1, 0)
		for i := range p.free {
			p.free[i] = true
		}
		m := NewModel(p.cards, p.scopes, p.tables)
		all := [][]int32{}
		p.states(make([]int32, 6), []int32{0, 1, 2, 3, 4, 5}, func(y []int32) { all = append(all, slices.Clone(y)) })
		number := func(y []int32) (n int) {
			for _, l := range y {
				n = 2*n + int(l)
			}
			return n
		}
		pi, sum := make([]float64, len(all)), 0.0
		for k, x := range all {
			pi[k] = math.Exp(-p.energy(x))
			sum += pi[k]
		}
		now := make([][]float64, len(all)) // distributions after the sets so far, by start
		for k := range now {
			now[k] = make([]float64, len(all))
			now[k][k] = 1
		}
		for _, set := range OfScopes(6, p.scopes, p.free).Cover(1+trial%3, r) {
			plan := m.Compile(set)
			run := NewRun([]*Plan{plan})
			next := make([][]float64, len(all))
			for k := range next {
				next[k] = make([]float64, len(all))
			}
			for a, x := range all {
				run.Forward(plan, x, nil)
				p.states(x, set, func(y []int32) {
					q := math.Exp(run.logProb(plan, y))
					for k := range now {
						next[k][number(y)] += now[k][a] * q
					}
				})
			}
			now = next
		}
		for b := range all {
			after := 0.0
			for a := range all {
				require.Positive(t, now[a][b])
				after += pi[a] * now[a][b]
			}
			require.InDelta(t, pi[b], after, 1e-13*sum)
		}
	}
}

// grid returns the graph of an n × n torus.
func grid(n int) (start, adj []int32) {
	start = []int32{0}
	for i := range n {
		for j := range n {
			for _, k := range []int{(i+1)%n*n + j, (i+n-1)%n*n + j, i*n + (j+1)%n, i*n + (j+n-1)%n} {
				adj = append(adj, int32(k))
			}
			start = append(start, int32(len(adj)))
		}
	}
	return start, adj
}

// Of a torus, forests have three sites in five and wider sets three in four; a few sets cover
// it.
func TestCoverTorus(t *testing.T) {
	start, adj := grid(24)
	for _, width := range []int{1, 4, 8} {
		g := NewGraph(start, adj, nil)
		require.EqualValues(t, 4, g.Degree())
		r := rand.New(rand.NewPCG(3, uint64(width)))
		sets := g.Cover(width, r)
		require.LessOrEqual(t, len(sets), 4)
		require.Greater(t, len(sets[0]), 24*24*3/5)
		if width > 1 {
			require.Greater(t, len(sets[0]), 24*24*3/4)
		}
	}
}

// Bands of a torus have messages along the pattern that needs no offsets, and ties among
// lowest states are broken both ways.
func TestBandOfATorus(t *testing.T) {
	const n = 8
	start, adj := grid(n)
	p := problem{cards: slices.Repeat([]int32{2}, n*n)}
	r := rand.New(rand.NewPCG(5, 5))
	for i := range int32(n * n) {
		for _, j := range adj[start[i]:start[i+1]] {
			if i < j {
				s := float64(1 - 2*r.IntN(2))
				p.scopes, p.tables = append(p.scopes, []int32{i, j}), append(p.tables, []float64{s, -s, -s, s})
			}
		}
	}
	m := NewModel(p.cards, p.scopes, p.tables)
	var band []int32
	for k := range int32(4 * (n - 2)) {
		band = append(band, k%4*n+k/4)
	}
	plan := m.Compile(band)
	patterns := 0
	for k := range plan.buckets {
		if plan.buckets[k].walk.middle > 0 {
			patterns++
		}
	}
	require.Greater(t, patterns, 4)
	run := NewRun([]*Plan{plan})
	x, u := make([]int32, n*n), make([]float64, len(band))
	// With a pattern, logarithms give what weights do.
	run.Begin()
	require.True(t, run.Forward(plan, x, nil))
	require.Equal(t, linear, run.mode)
	logs := NewRun([]*Plan{plan})
	logs.mode = logarithmic
	require.True(t, logs.forward(plan, x, nil))
	for range 20 {
		for i := range u {
			u[i] = r.Float64()
		}
		run.Draw(plan, x, u)
		require.InDelta(t, run.logProb(plan, x), logs.logProb(plan, x), 1e-11)
	}
}

// Draws of forests are those of plans, for one chain and for eight; nothing is allocated.
func TestForestAgainstPlan(t *testing.T) {
	const sites = 12
	r := rand.New(rand.NewPCG(7, 7))
	pendants, ties := 0, 0
	for range 100 {
		p := random(r, sites, 2, 2, 0)
		p.scopes, p.tables = p.scopes[:len(p.scopes)-2], p.tables[:len(p.tables)-2] // without the triple
		for range 20 {
			if k := r.IntN(len(p.scopes)); len(p.scopes[k]) == 2 {
				p.scopes, p.tables = slices.Delete(p.scopes, k, k+1), slices.Delete(p.tables, k, k+1)
			}
		}
		m := NewModel(p.cards, p.scopes, p.tables)
		pairs := m.Pairs(p.free)
		require.NotNil(t, pairs)
		forest := pairs.Forest(OfScopes(len(p.cards), p.scopes, p.free).Cover(1, r)[0])
		open, pendant := forest.Sites()
		pendants += pendant
		var set []int32 // the later sites are drawn first
		for k := range pendant {
			set = append(set, forest.pendants[pendant-1-k].Site)
		}
		for _, l := range forest.links[:open] {
			set = append(set, l.Site)
		}
		plan := m.Compile(set)
		require.Equal(t, plan.Sites(), open+pendant)
		require.Greater(t, plan.Entries()+forest.Edges()+pendant, 0)
		run, top := NewRun([]*Plan{plan}), (open+1)&^1
		x, y, own := make([]int32, sites), make([]int32, sites), make([]uint8, sites&^63+64)
		u, odds, words, low := make([]float64, len(set)), make([]float64, open+1), make([]uint32, forest.Words()), uint64(0)
		eight, columns := make([]float64, simd.ForestChains*(open+1)), make([]uint32, simd.ForestChains*len(words))
		more := func() uint64 { ties++; return low << 16 }
		for range 20 {
			forest.Forward(odds, y, 0, open/2)
			forest.Forward(odds, y, open/2, open)
			low = r.Uint64() >> 27 << 11 // of 48 bits, such that a float64 holds all 64
			clear(words)
			for k := range u {
				high, at := r.Uint64()>>48, top+k-open
				switch tie := r.IntN(2) == 0; {
				case tie && k < open: // if its parent is as drawn here
					o := odds[open-1-k] * forest.links[open-1-k].Couple[r.IntN(2)]
					high = min(0xffff, uint64(o/(1+o)*0x1p16))
				case tie:
					high = uint64(forest.pendants[k-open].High[r.IntN(2)] >> 16)
				}
				u[k] = float64(high<<48|low) * 0x1p-64
				words[at/2] |= uint32(high) << (at & 1 * 16)
			}
			v := slices.Clone(u)
			for k := range v {
				v[k] = 1 - u[k] // odds and weights divide [0, 1) the other way round
			}
			run.Forward(plan, x, nil)
			a := run.Draw(plan, x, v)
			asked := ties
			b := forest.Draw(y, words, odds, more)
			asked = ties - asked
			require.Equal(t, x, y)
			require.Equal(t, a, b)

			// Chains 2 and 3 of eight draw the same.
			for k, w := range words {
				columns[simd.ForestChains*k+2], columns[simd.ForestChains*k+3] = w, w
			}
			once := ties
			forest.Eight().Odds(eight, own, 0, open)
			for k := range open {
				require.Equal(t, odds[k], eight[simd.ForestChains*k+2])
			}
			forest.DrawEight(own, columns, eight, 0b1100, func(int) uint64 { return more() })
			require.Equal(t, 2*asked, ties-once, "bits of ties")
			for i := range x {
				require.Equal(t, uint8(x[i])*0b1100, own[i]&0b1100)
			}
		}
		require.Zero(t, testing.AllocsPerRun(10, func() {
			run.Forward(plan, x, nil)
			run.Draw(plan, x, u)
			forest.Forward(odds, y, 0, open)
			forest.Draw(y, words, odds, more)
			forest.DrawEight(own, columns, eight, 0xff, func(int) uint64 { return more() })
		}))
	}
	require.Greater(t, pendants, 200)
	require.Greater(t, ties, 2000)
}

// The energies of pairs are those of the tables without the constant, for one chain and for eight.
func TestPairEnergies(t *testing.T) {
	const sites = 12
	r := rand.New(rand.NewPCG(8, 8))
	for range 20 {
		p := random(r, sites, 2, 5, 0)
		p.scopes, p.tables = p.scopes[:len(p.scopes)-2], p.tables[:len(p.tables)-2]
		pairs := NewModel(p.cards, p.scopes, p.tables).Pairs(slices.Repeat([]bool{true}, sites))
		require.NotNil(t, pairs)
		x, own, e := make([]int32, sites), make([]uint8, sites&^15+16), [simd.ForestChains]float64{}
		zero := p.energy(x)
		require.Zero(t, pairs.Energy(x))
		for c := range simd.ForestChains {
			for i := range x {
				own[i] |= uint8(r.IntN(2)) << c
			}
		}
		pairs.Energies(&e, own)
		for c := range e {
			for i := range x {
				x[i] = int32(own[i] >> c & 1)
			}
			require.InDelta(t, p.energy(x)-zero, e[c], 1e-12)
			require.Equal(t, e[c], pairs.Energy(x))
		}
	}
}

// Other models have no pairs.
func TestPairsRefuses(t *testing.T) {
	all := []bool{true, true, true}
	for _, p := range []problem{
		{cards: []int32{2, 2, 2}, scopes: [][]int32{{0, 1, 2}}, tables: [][]float64{make([]float64, 8)}},
		{cards: []int32{3, 2, 2}, scopes: [][]int32{{0}}, tables: [][]float64{make([]float64, 3)}},
		{cards: []int32{2, 2, 2}, scopes: [][]int32{{0, 1}}, tables: [][]float64{{0, 0, 0, math.Inf(1)}}},
		{cards: []int32{2, 2, 2}, scopes: [][]int32{{0, 1}}, tables: [][]float64{{0, 0, 0, 301}}},
	} {
		require.Nil(t, NewModel(p.cards, p.scopes, p.tables).Pairs(all))
	}
	p := problem{cards: []int32{2, 2, 2}, scopes: [][]int32{{0, 1}, {1, 0}}, tables: [][]float64{{0, 0, 0, 301}, {0, 0, 0, -301}}}
	require.NotNil(t, NewModel(p.cards, p.scopes, p.tables).Pairs(all)) // together they are 0
}
