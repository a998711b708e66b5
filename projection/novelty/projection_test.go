package novelty

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/stretchr/testify/require"
)

// plainSet is a Seen that is not a lexicon.
type plainSet map[string]bool

func (s plainSet) Contains(x []int32) bool { return s[problem.Spell(x)] }
func (s plainSet) Add(x []int32) bool {
	known := s[problem.Spell(x)]
	s[problem.Spell(x)] = true
	return !known
}

// novelty is what every set gives, whether it is a corpus or not.
type novelty interface {
	Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (float64, error)
	Nearest(ctx context.Context, x []int32, v []float32) (float64, error)
	Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error
	Seen() Seen
	Shape() (sites, levels int)
}

func bindNovel(recipe Projector, sites, levels int) (novelty, error) {
	p, err := recipe.Bind(context.Background(), sites, levels, 1)
	if err != nil {
		return nil, err
	}
	return p.(novelty), nil
}

// novelCase is a random problem of novelty with every sequence listed.
type novelCase struct {
	*problem.Problem
	path   projection.Path
	recipe Projector
	known  map[string]bool
	open   []problem.Listed // the sequences of the language that are not known
}

func newNovelCase(t *testing.T, r *rand.Rand) *novelCase {
	p := problem.New(t, r, 250)
	c := &novelCase{Problem: p, known: map[string]bool{}}
	if r.IntN(2) == 0 { // no language
		p.Judges, p.Language = nil, nil
	}
	c.path.Language = p.Language
	c.path.Divergence = projection.Divergence(r.IntN(2))
	c.path.Margin = []float64{0, 1.5}[r.IntN(2)]
	c.path.Revive = c.path.Divergence == projection.Forward && r.IntN(3) == 0
	c.recipe = Projector{Path: c.path, Gap: r.IntN(3) == 0}
	language := p.Brute()
	var set Seen = new(constraint.Lexicon)
	if r.IntN(2) == 0 {
		set = plainSet{}
	}
	c.recipe.Seen = set
	share := r.Float64()
	slices.SortStableFunc(language, func(a, b problem.Listed) int { // the likeliest are known first
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	for i, s := range language {
		if float64(i) < share*float64(len(language)) && r.IntN(10) > 0 {
			set.Add(s.X)
			c.known[problem.Spell(s.X)] = true
		} else {
			c.open = append(c.open, s)
		}
	}
	return c
}

// cheapest returns the least cost of an open sequence, +Inf if there is none.
func (c *novelCase) cheapest() float64 {
	costs := make([]float64, len(c.V))
	for i := range c.Sites {
		row := c.V[i*c.Levels : (i+1)*c.Levels]
		r := lead.New(c.Levels, lead.Rule{Reverse: c.path.Divergence == projection.Reverse, Margin: c.path.Margin, Revive: c.path.Revive})
		if _, ok := r.Load(row); !ok {
			return math.Inf(1)
		}
		out := costs[i*c.Levels : (i+1)*c.Levels]
		r.Costs(out)
		if c.recipe.Gap {
			top, sum := float64(slices.Max(row)), 0.0
			for _, w := range row {
				sum += math.Exp(float64(w) - top)
			}
			for l := range out {
				if !math.IsInf(out[l], 1) {
					out[l] = (1 - math.Exp(float64(row[l])-top)) / sum
				}
			}
		}
	}
	least := math.Inf(1)
	for _, s := range c.open {
		sum := 0.0
		for i, v := range s.X {
			sum += costs[i*c.Levels+int(v)]
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
		s, err := bindNovel(c.recipe, c.Sites, c.Levels)
		if len(c.Brute()) == 0 {
			problem.Infeasible[*projection.InfeasibleError](t, err)
			continue
		}
		require.NoError(t, err)
		want := c.cheapest()
		x, y := make([]int32, c.Sites), slices.Clone(c.V)
		got, err := s.Nearest(ctx, x, y)
		if math.IsInf(want, 1) {
			problem.Infeasible[*projection.InfeasibleError](t, err)
			require.Equal(t, c.V, y)
			continue
		}
		solved++
		require.NoError(t, err)
		problem.Near(t, want, got, 1e-9)
		require.True(t, slices.ContainsFunc(c.open, func(s problem.Listed) bool { return slices.Equal(s.X, x) }))
		c.RequireLead(t, c.path.Margin, x, y)
		again := slices.Clone(y)
		_, err = s.Nearest(ctx, x, again)
		require.NoError(t, err)
		z := make([]int32, c.Sites)
		_, err = s.Project(ctx, 0, again, 1, 0, nil)
		require.NoError(t, err)
		// What was projected commits as it is; a second time it must change.
		require.NoError(t, s.Commit(ctx, x, c.V, nil))
		require.True(t, s.Seen().Contains(x))
		copy(z, x)
		if err := s.Commit(ctx, z, c.V, nil); err != nil {
			problem.Infeasible[*projection.InfeasibleError](t, err)
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
		p := problem.New(t, r, 300)
		all := make([]*lead.Row, p.Sites)
		size := 1
		ok := true
		for i := range all {
			all[i] = lead.New(p.Levels, lead.Rule{})
			_, fine := all[i].Load(p.V[i*p.Levels : (i+1)*p.Levels])
			ok = ok && fine
			n := 0
			for _, w := range p.V[i*p.Levels : (i+1)*p.Levels] {
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
			x, last := make([]int32, p.Sites), math.Inf(-1)
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
					sum += all[i].Price(v)
				}
				problem.Near(t, sum, cost, 1e-12)
				seen[problem.Spell(x)] = true
			}
			require.Len(t, seen, size)
		}
	}
}

// TestLexicalProbability: exact P(novel) and the joint distribution of new draws,
// against the list, while the set grows. The rate of false alarms is 1e-6 in
// all. The twin that forgets the set must be caught.
func TestLexicalProbability(t *testing.T) {
	exact.SkipRepeated(t)
	const problems, draws = 40, 2000
	r := rand.New(rand.NewPCG(43, 1))
	caught := 0
	for n := 0; n < problems; {
		c := newNovelCase(t, r)
		for i := range c.V {
			c.V[i] = float32(math.Max(-3, math.Min(3, float64(c.V[i]))))
		}
		lexicon, ok := c.recipe.Seen.(*constraint.Lexicon)
		all := c.Brute()
		if !ok || len(c.open) < 3 {
			continue
		}
		n++
		c.recipe.Trials = 1 + r.IntN(3) // so that the complement is used
		bound, err := c.recipe.Bind(context.Background(), c.Sites, c.Levels, 1)
		require.NoError(t, err)
		s := bound.(*CorpusProjection)
		for range 3 {
			want, cell, open := c.openDistribution(all, lexicon)
			if len(open) == 0 {
				break
			}
			logZ, err := s.LogZ(t.Context(), c.V)
			require.NoError(t, err)
			problem.Near(t, problem.LogSum(open), logZ, 1e-10)
			p, err := s.LogProb(t.Context(), c.V)
			require.NoError(t, err)
			problem.Near(t, problem.LogSum(open)-problem.LogSum(all), p, 1e-10)
			count, twin := make([]int, len(want)), make([]int, len(want))
			x := make([]int32, c.Sites)
			for range draws {
				z, err := s.Draw(t.Context(), x, c.V, r)
				require.NoError(t, err)
				require.Equal(t, logZ, z)
				count[cell(x)]++
				_, err = s.within.Draw(t.Context(), x, c.V, r)
				require.NoError(t, err)
				twin[cell(x)]++
			}
			exact.Counts(t, count, want, 1e-6/problems/3)
			if exact.PValue(twin, want) < 1e-6 {
				caught++
			}
			require.NoError(t, s.Commit(t.Context(), x, c.V, r))
		}
	}
	require.Greater(t, caught, 10)
}

// openDistribution returns the distribution of new sequences, the cell of each and the list; the
// last cell is for everything else.
func (c *novelCase) openDistribution(all []problem.Listed, lexicon *constraint.Lexicon) (want []float64, cell func([]int32) int, open []problem.Listed) {
	for _, s := range all {
		if !lexicon.Contains(s.X) {
			open = append(open, s)
		}
	}
	logZ := problem.LogSum(open)
	at := map[string]int{}
	for i, s := range open {
		want = append(want, math.Exp(s.Weight-logZ))
		at[problem.Spell(s.X)] = i
	}
	want = append(want, 0)
	return want, func(x []int32) int {
		if i, ok := at[problem.Spell(x)]; ok {
			return i
		}
		return len(open)
	}, open
}

// TestLexicalTiny: P(novel) = 1e-12 keeps its digits.
func TestLexicalTiny(t *testing.T) {
	lexicon := new(constraint.Lexicon)
	lexicon.Add([]int32{0, 0})
	bound, err := Projector{Seen: lexicon}.Bind(context.Background(), 2, 2, 1)
	require.NoError(t, err)
	s := bound.(*CorpusProjection)
	w := float32(math.Log(5e-13))
	p, err := s.LogProb(t.Context(), []float32{0, w, 0, w})
	require.NoError(t, err)
	e := math.Exp(float64(w))
	require.InDelta(t, math.Log((2*e+e*e)/((1+e)*(1+e))), p, 1e-12)
	for _, x := range [][]int32{{0, 1}, {1, 0}, {1, 1}} {
		lexicon.Add(x)
	}
	_, err = s.LogProb(t.Context(), make([]float32, 4))
	problem.Infeasible[*projection.InfeasibleError](t, err)
	_, err = s.Draw(t.Context(), make([]int32, 2), make([]float32, 4), rand.NewPCG(1, 1))
	problem.Infeasible[*projection.InfeasibleError](t, err)
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
	_, err := Projector{}.Bind(context.Background(), 2, 2, 0)
	require.ErrorContains(t, err, "samples = 0")
	_, err = Projector{Trials: -1}.Bind(context.Background(), 2, 2, 1)
	require.ErrorContains(t, err, "Trials = -1")
	_, err = Projector{Seen: plainSet{}, Key: problem.Spell}.Bind(context.Background(), 2, 2, 1)
	require.ErrorContains(t, err, "both Seen and Key")
	_, err = Projector{Path: projection.Path{Margin: .5}}.Bind(context.Background(), 2, 2, 1)
	require.ErrorContains(t, err, "Margin")

	s, err := bindNovel(Projector{Seen: &brokenSet{plainSet: plainSet{"aa": true}}, Path: projection.Path{Name: "fresh"}}, 2, 2)
	require.NoError(t, err)
	v := make([]float32, 4)
	_, err = s.Nearest(ctx, make([]int32, 2), v)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "fresh")
	require.ErrorIs(t, s.Commit(ctx, make([]int32, 2), v, nil), errDisk)

	s, err = bindNovel(Projector{}, 2, 2)
	require.NoError(t, err)
	sites, levels := s.Shape()
	require.Equal(t, []int{2, 2}, []int{sites, levels})
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.Project(gone, 0, v, 1, 0, nil)
	require.ErrorIs(t, err, context.Canceled)
	v[3] = float32(math.NaN())
	var weight *projection.WeightError
	_, err = s.Project(ctx, 0, v, 1, 0, nil)
	require.ErrorAs(t, err, &weight)
	require.Equal(t, []int{1, 1}, []int{weight.Site, weight.Level})
	inf := float32(math.Inf(-1))
	_, err = s.Project(ctx, 0, []float32{0, 0, inf, inf}, 1, 0, nil)
	problem.Infeasible[*projection.InfeasibleError](t, err)
}

// TestNovelKey: sequences that are permutations of each other count as one.
func TestNovelKey(t *testing.T) {
	sorted := func(x []int32) string {
		y := slices.Clone(x)
		slices.Sort(y)
		return problem.Spell(y)
	}
	s, err := bindNovel(Projector{Key: sorted}, 3, 2)
	require.NoError(t, err)
	v := make([]float32, 6)
	got := map[string]bool{}
	for range 4 {
		x := []int32{0, 0, 0}
		require.NoError(t, s.Commit(t.Context(), x, v, nil))
		got[sorted(x)] = true
	}
	require.Len(t, got, 4)
	problem.Infeasible[*projection.InfeasibleError](t, s.Commit(t.Context(), []int32{0, 0, 0}, v, nil))
}
