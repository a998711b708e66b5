package projection

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// plainSet is a Seen that is not a lexicon.
type plainSet map[string]bool

func (s plainSet) Contains(x []int32) bool { return s[spell(x)] }
func (s plainSet) Add(x []int32) bool {
	known := s[spell(x)]
	s[spell(x)] = true
	return !known
}

// novelCase is a random problem of novelty with every sequence listed.
type novelCase struct {
	*problem
	recipe Novel
	known  map[string]bool
	open   []listed // the sequences of the language that are not known
}

func newNovelCase(t *testing.T, r *rand.Rand) *novelCase {
	p := newProblem(t, r, 250)
	c := &novelCase{problem: p, known: map[string]bool{}}
	if r.IntN(2) == 0 { // no language
		p.judges, p.path.Language = nil, nil
	}
	p.path.Divergence = Divergence(r.IntN(2))
	p.path.Margin = []float64{0, 1.5}[r.IntN(2)]
	p.path.Revive = p.path.Divergence == Forward && r.IntN(3) == 0
	c.recipe = Novel{Path: p.path, Gap: r.IntN(3) == 0}
	language := p.brute()
	var set Seen = new(constraint.Lexicon)
	if r.IntN(2) == 0 {
		set = plainSet{}
	}
	c.recipe.Seen = set
	share := r.Float64()
	slices.SortStableFunc(language, func(a, b listed) int { // the likeliest are known first
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	for i, s := range language {
		if float64(i) < share*float64(len(language)) && r.IntN(10) > 0 {
			set.Add(s.x)
			c.known[spell(s.x)] = true
		} else {
			c.open = append(c.open, s)
		}
	}
	return c
}

// cheapest returns the least cost of an open sequence, +Inf if there is none.
func (c *novelCase) cheapest() float64 {
	costs := make([]float64, len(c.v))
	for i := range c.sites {
		row := c.v[i*c.levels : (i+1)*c.levels]
		r := newRows(c.levels, newRule(c.path.Divergence, max(1, c.path.Margin), false, c.path.Revive))
		if _, ok := r.load(row); !ok {
			return math.Inf(1)
		}
		out := costs[i*c.levels : (i+1)*c.levels]
		r.costs(out)
		if c.recipe.Gap {
			top := slices.Max(r.logp)
			for l := range out {
				if !math.IsInf(out[l], 1) {
					out[l] = math.Exp(top) - math.Exp(r.logp[l])
				}
			}
		}
	}
	least := math.Inf(1)
	for _, s := range c.open {
		sum := 0.0
		for i, v := range s.x {
			sum += costs[i*c.levels+int(v)]
		}
		least = min(least, sum)
	}
	return least
}

// TestNovelAgainstBruteForce: the cheapest new sequence on 10 000 random
// problems (1000 in short mode), with and without a language, a lexicon or
// another set, for every cost.
func TestNovelAgainstBruteForce(t *testing.T) {
	cases := 10000
	if testing.Short() {
		cases = 1000
	}
	r := rand.New(rand.NewPCG(41, 1))
	ctx := context.Background()
	solved := 0
	for range cases {
		c := newNovelCase(t, r)
		s, err := c.recipe.Compile(ctx, c.sites, c.levels)
		if len(c.brute()) == 0 {
			requireInfeasible(t, err)
			continue
		}
		require.NoError(t, err)
		want := c.cheapest()
		x, y := make([]int32, c.sites), slices.Clone(c.v)
		got, err := s.Nearest(ctx, x, y)
		if math.IsInf(want, 1) {
			requireInfeasible(t, err)
			require.Equal(t, c.v, y)
			continue
		}
		solved++
		require.NoError(t, err)
		near(t, want, got, 1e-9)
		require.True(t, slices.ContainsFunc(c.open, func(s listed) bool { return slices.Equal(s.x, x) }))
		c.requireLead(t, x, y)
		again := slices.Clone(y)
		_, err = s.Nearest(ctx, x, again)
		require.NoError(t, err)
		z := make([]int32, c.sites)
		_, err = s.Project(ctx, 0, again, 1, 0, nil)
		require.NoError(t, err)
		// What was projected commits as it is; a second time it must change.
		require.NoError(t, s.Commit(x, c.v, nil))
		require.True(t, s.Seen().Contains(x))
		copy(z, x)
		if err := s.Commit(z, c.v, nil); err != nil {
			requireInfeasible(t, err)
		} else {
			require.NotEqual(t, x, z)
			require.True(t, s.Seen().Contains(z))
		}
	}
	require.Greater(t, solved, cases/3)
}

// TestRankedOrder: all sequences, each once, in order of cost.
func TestRankedOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 1))
	for range 300 {
		p := newProblem(t, r, 300)
		all := make([]*rows, p.sites)
		size := 1
		ok := true
		for i := range all {
			all[i] = newRows(p.levels, newRule(Forward, 1, false, false))
			_, fine := all[i].load(p.v[i*p.levels : (i+1)*p.levels])
			ok = ok && fine
			n := 0
			for _, w := range p.v[i*p.levels : (i+1)*p.levels] {
				if !math.IsInf(float64(w), -1) {
					n++
				}
			}
			size *= n
		}
		if !ok {
			continue
		}
		var e ranked
		for range 2 { // scratch is used again
			e.start(all)
			x, last := make([]int32, p.sites), math.Inf(-1)
			seen := map[string]bool{}
			for {
				cost, ok := e.next(x)
				if !ok {
					break
				}
				require.GreaterOrEqual(t, cost, last)
				last = cost
				sum := 0.0
				for i, v := range x {
					sum += all[i].cost[slices.Index(all[i].order, v)]
				}
				near(t, sum, cost, 1e-12)
				seen[spell(x)] = true
			}
			require.Len(t, seen, size)
		}
	}
}

// TestLexicalProbability: exact P(novel) and the joint law of new draws,
// against the list, while the set grows. The rate of false alarms is 1e-6 in
// all. The twin that forgets the set must be caught.
func TestLexicalProbability(t *testing.T) {
	const problems, draws = 40, 2000
	r := rand.New(rand.NewPCG(43, 1))
	caught := 0
	for n := 0; n < problems; {
		c := newNovelCase(t, r)
		for i := range c.v {
			c.v[i] = float32(math.Max(-3, math.Min(3, float64(c.v[i]))))
		}
		lexicon, ok := c.recipe.Seen.(*constraint.Lexicon)
		all := c.brute()
		if !ok || len(c.open) < 3 {
			continue
		}
		n++
		c.recipe.Trials = 1 + r.IntN(3) // so that the complement is used
		bound, err := c.recipe.Bind(c.sites, c.levels, 1)
		require.NoError(t, err)
		s := bound.(*Lexical)
		for range 3 {
			law, cell, open := c.openLaw(all, lexicon)
			if len(open) == 0 {
				break
			}
			logZ, err := s.LogZ(c.v)
			require.NoError(t, err)
			near(t, logSum(open), logZ, 1e-10)
			p, err := s.LogProb(c.v)
			require.NoError(t, err)
			near(t, logSum(open)-logSum(all), p, 1e-10)
			count, twin := make([]int, len(law)), make([]int, len(law))
			x := make([]int32, c.sites)
			for range draws {
				z, err := s.Draw(x, c.v, r)
				require.NoError(t, err)
				require.Equal(t, logZ, z)
				count[cell(x)]++
				_, err = s.within.Draw(x, c.v, r)
				require.NoError(t, err)
				twin[cell(x)]++
			}
			exact.Counts(t, count, law, 1e-6/problems/3)
			if exact.PValue(twin, law) < 1e-6 {
				caught++
			}
			require.NoError(t, s.Commit(x, c.v, r))
		}
	}
	require.Greater(t, caught, 10)
}

// openLaw returns the law of new sequences, the cell of each and the list; the
// last cell is for everything else.
func (c *novelCase) openLaw(all []listed, lexicon *constraint.Lexicon) (law []float64, cell func([]int32) int, open []listed) {
	for _, s := range all {
		if !lexicon.Contains(s.x) {
			open = append(open, s)
		}
	}
	logZ := logSum(open)
	at := map[string]int{}
	for i, s := range open {
		law = append(law, math.Exp(s.weight-logZ))
		at[spell(s.x)] = i
	}
	law = append(law, 0)
	return law, func(x []int32) int {
		if i, ok := at[spell(x)]; ok {
			return i
		}
		return len(open)
	}, open
}

// TestLexicalTiny: P(novel) = 1e-12 keeps its digits.
func TestLexicalTiny(t *testing.T) {
	lexicon := new(constraint.Lexicon)
	lexicon.Add([]int32{0, 0})
	bound, err := Novel{Seen: lexicon}.Bind(2, 2, 1)
	require.NoError(t, err)
	s := bound.(*Lexical)
	w := float32(math.Log(5e-13))
	p, err := s.LogProb([]float32{0, w, 0, w})
	require.NoError(t, err)
	e := math.Exp(float64(w))
	require.InDelta(t, math.Log((2*e+e*e)/((1+e)*(1+e))), p, 1e-12)
	for _, x := range [][]int32{{0, 1}, {1, 0}, {1, 1}} {
		lexicon.Add(x)
	}
	_, err = s.LogProb(make([]float32, 4))
	requireInfeasible(t, err)
	_, err = s.Draw(make([]int32, 2), make([]float32, 4), rand.NewPCG(1, 1))
	requireInfeasible(t, err)
}

// brokenSet fails on its second call.
type brokenSet struct {
	plainSet
	calls int
}

var errDisk = errors.New("disk gone")

func (s *brokenSet) Contains(x []int32) bool { s.calls++; return s.plainSet.Contains(x) }
func (s *brokenSet) Err() error {
	if s.calls > 1 {
		return errDisk
	}
	return nil
}

func TestNovelErrors(t *testing.T) {
	ctx := context.Background()
	_, err := Novel{}.Bind(2, 2, 0)
	require.ErrorContains(t, err, "samples = 0")
	_, err = Novel{Trials: -1}.Bind(2, 2, 1)
	require.ErrorContains(t, err, "Trials = -1")
	_, err = Novel{Seen: plainSet{}, Key: spell}.Bind(2, 2, 1)
	require.ErrorContains(t, err, "both Seen and Key")
	_, err = Novel{Path: Path{Margin: .5}}.Bind(2, 2, 1)
	require.ErrorContains(t, err, "Margin")

	s, err := Novel{Seen: &brokenSet{plainSet: plainSet{"aa": true}}, Path: Path{Name: "fresh"}}.Compile(ctx, 2, 2)
	require.NoError(t, err)
	v := make([]float32, 4)
	_, err = s.Nearest(ctx, make([]int32, 2), v)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "fresh")
	require.ErrorIs(t, s.Commit(make([]int32, 2), v, nil), errDisk)

	s, err = Novel{}.Compile(ctx, 2, 2)
	require.NoError(t, err)
	sites, levels := s.Shape()
	require.Equal(t, []int{2, 2}, []int{sites, levels})
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.Project(gone, 0, v, 1, 0, nil)
	require.ErrorIs(t, err, context.Canceled)
	v[3] = float32(math.NaN())
	var weight *WeightError
	_, err = s.Project(ctx, 0, v, 1, 0, nil)
	require.ErrorAs(t, err, &weight)
	require.Equal(t, []int{1, 1}, []int{weight.Site, weight.Level})
	inf := float32(math.Inf(-1))
	_, err = s.Project(ctx, 0, []float32{0, 0, inf, inf}, 1, 0, nil)
	requireInfeasible(t, err)
}

// TestNovelKey: sequences that are permutations of each other count as one.
func TestNovelKey(t *testing.T) {
	sorted := func(x []int32) string {
		y := slices.Clone(x)
		slices.Sort(y)
		return spell(y)
	}
	s, err := Novel{Key: sorted}.Compile(context.Background(), 3, 2)
	require.NoError(t, err)
	v := make([]float32, 6)
	got := map[string]bool{}
	for range 4 {
		x := []int32{0, 0, 0}
		require.NoError(t, s.Commit(x, v, nil))
		got[sorted(x)] = true
	}
	require.Len(t, got, 4)
	requireInfeasible(t, s.Commit([]int32{0, 0, 0}, v, nil))
}
