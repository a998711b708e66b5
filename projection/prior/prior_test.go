package prior

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
)

// random returns row after row of probabilities, some of them zero.
func random(r *rand.Rand, rows, n int, sparse bool) []float64 {
	p := make([]float64, rows*n)
	for i := range rows {
		row, sum := p[i*n:(i+1)*n], 0.0
		for j := range row {
			row[j] = r.ExpFloat64()
			if sparse && r.IntN(3) == 0 {
				row[j] = 0
			}
			sum += row[j]
		}
		if sum == 0 {
			row[r.IntN(n)], sum = 1, 1
		}
		for j := range row {
			row[j] /= sum
		}
	}
	return p
}

func randomHMM(r *rand.Rand, h, k int) HMM {
	sparse := r.IntN(2) == 0
	return HMM{Start: random(r, 1, h, sparse), Trans: random(r, h, h, sparse), Emit: random(r, h, k, sparse)}
}

// likelihood is p(x) by the sum over hidden paths, in package math.
func (m HMM) likelihood(x []int32) float64 {
	h, k := len(m.Start), len(m.Emit)/len(m.Start)
	total := 0.0
	for _, z := range exact.States(len(x), h) {
		p := m.Start[z[0]]
		for i, l := range x {
			if i > 0 {
				p *= m.Trans[int(z[i-1])*h+int(z[i])]
			}
			p *= m.Emit[int(z[i])*k+int(l)]
		}
		total += p
	}
	return total
}

// instance is a random problem with the logs of the weights of all sequences.
func instance(t *testing.T, r *rand.Rand, chain bool) (p *problem.Problem, m HMM, all []problem.Listed) {
	p = problem.New(t, r, 250)
	if chain {
		m = Markov(random(r, 1, p.Levels, false), random(r, p.Levels, p.Levels, true))
	} else {
		m = randomHMM(r, 1+r.IntN(3), p.Levels)
	}
	for _, s := range p.Brute() {
		if w := m.likelihood(s.X); w > 0 && !math.IsInf(s.Weight, -1) {
			all = append(all, problem.Listed{X: s.X, Weight: s.Weight + math.Log(w)})
		}
	}
	return p, m, all
}

// TestAgainstEnumeration: log Z, log P and marginals of random models, languages
// and weights, at 1e-10. A twin that leaves the transitions of the model out must
// miss.
func TestAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	done, caught := 0, 0
	for n := range 600 {
		p, m, all := instance(t, r, n%4 == 0)
		if len(all) == 0 {
			continue
		}
		done++
		c, err := Path{HMM: m, Language: p.Language}.Compile(context.Background(), p.Sites, p.Levels)
		require.NoError(t, err)
		logZ, err := c.LogZ(t.Context(), p.V)
		require.NoError(t, err)
		want := problem.LogSum(all)
		problem.Near(t, want, logZ, 1e-10)

		in := map[string]float64{}
		for _, s := range all {
			in[problem.Spell(s.X)] = s.Weight - want
		}
		for _, x := range exact.States(p.Sites, p.Levels) {
			got, err := c.LogProb(t.Context(), x, p.V)
			require.NoError(t, err)
			if w, ok := in[problem.Spell(x)]; ok {
				problem.Near(t, w, got, 1e-10)
			} else {
				require.True(t, math.IsInf(got, -1))
			}
		}
		got := make([]float64, len(p.V))
		require.NoError(t, c.LogMarginals(t.Context(), got, p.V))
		for i := range got {
			var with []problem.Listed
			for _, s := range all {
				if int(s.X[i/p.Levels]) == i%p.Levels {
					with = append(with, s)
				}
			}
			if len(with) == 0 {
				require.True(t, math.IsInf(got[i], -1))
			} else {
				problem.Near(t, problem.LogSum(with)-want, got[i], 1e-10)
			}
		}
		twin := m
		twin.Trans = random(r, len(m.Start), len(m.Start), false)
		if d, err := (Path{HMM: twin, Language: p.Language}).Compile(context.Background(), p.Sites, p.Levels); err == nil {
			if z, err := d.LogZ(t.Context(), p.V); err != nil || math.Abs(z-want) > 1e-6 {
				caught++
			}
		}
	}
	require.Greater(t, done, 200)
	require.Greater(t, caught, 50)
}

// TestSeveral: several draws are those of as many single ones, and so are their
// probabilities.
func TestSeveral(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 1))
	for done := 0; done < 20; {
		p, m, all := instance(t, r, false)
		if len(all) == 0 {
			continue
		}
		done++
		c, err := Path{HMM: m, Language: p.Language}.Compile(t.Context(), p.Sites, p.Levels)
		require.NoError(t, err)
		const n = 7
		x, logs := make([]int32, n*p.Sites), make([]float64, n)
		logZ, err := c.Sample(t.Context(), x, p.V, rand.NewPCG(1, 2))
		require.NoError(t, err)
		require.NoError(t, c.LogProbs(t.Context(), logs, x, p.V))
		one, source := make([]int32, p.Sites), rand.NewPCG(1, 2)
		for s := range n {
			z, err := c.Draw(t.Context(), one, p.V, source)
			require.NoError(t, err)
			require.Equal(t, z, logZ)
			require.Equal(t, one, x[s*p.Sites:(s+1)*p.Sites])
			log, err := c.LogProb(t.Context(), one, p.V)
			require.NoError(t, err)
			require.Equal(t, log, logs[s])
		}
		if p.Sites > 1 {
			require.Panics(t, func() { _, _ = c.Sample(t.Context(), x[1:], p.V, source) })
		}
	}
}

// TestDraws: joint draws follow the enumerated distribution at 1e-6 in all; a
// twin that draws each site from its marginal must fail.
func TestDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 1))
	const draws, problems = 4000, 15
	caught := false
	for n := 0; n < problems; {
		p, m, all := instance(t, r, n%4 == 0)
		if len(all) < 4 {
			continue
		}
		n++
		c, err := Path{HMM: m, Language: p.Language}.Compile(context.Background(), p.Sites, p.Levels)
		require.NoError(t, err)
		law := make([]float64, exact.Size(p.Sites, p.Levels))
		for _, s := range all {
			law[exact.Index(s.X, p.Levels)] = math.Exp(s.Weight - problem.LogSum(all))
		}
		count, twin := make([]int, len(law)), make([]int, len(law))
		x, rows := make([]int32, p.Sites), make([]float64, len(p.V))
		require.NoError(t, c.LogMarginals(t.Context(), rows, p.V))
		for range draws {
			logZ, err := c.Draw(t.Context(), x, p.V, r)
			require.NoError(t, err)
			problem.Near(t, problem.LogSum(all), logZ, 1e-10)
			count[exact.Index(x, p.Levels)]++
			for i := range x {
				x[i] = int32(pick(append([]float64(nil), rows[i*p.Levels:(i+1)*p.Levels]...), r))
			}
			twin[exact.Index(x, p.Levels)]++
		}
		exact.Counts(t, count, law, 1e-6/problems)
		caught = caught || exact.PValue(twin, law) < 1e-6
	}
	require.True(t, caught)
}

// TestFarApart: a hidden state that is worse by e^−3 a site and cannot be left
// keeps its weight over 500 sites, and a token of weight e^−10⁴ is no zero.
func TestFarApart(t *testing.T) {
	const sites = 500
	m := HMM{Start: []float64{0, 1}, Trans: []float64{1, 0, 0, 1}, Emit: []float64{1, 0, 0.05, 0.95}}
	only := constraint.Count{Levels: []int32{1}, Max: 0}
	c, err := Path{HMM: m, Language: only}.Compile(context.Background(), sites, 3)
	require.NoError(t, err)
	v := make([]float32, sites*3)
	logZ, err := c.LogZ(t.Context(), v)
	require.NoError(t, err)
	problem.Near(t, sites*math.Log(0.05), logZ, 1e-12, "zero weights")
	for i := range sites {
		v[i*3] = -1e4
	}
	logZ, err = c.LogZ(t.Context(), v)
	require.NoError(t, err)
	problem.Near(t, sites*(math.Log(0.05)-1e4), logZ, 1e-12)
	x := make([]int32, sites)
	_, err = c.Draw(t.Context(), x, v, rand.NewPCG(1, 1))
	require.NoError(t, err)
	require.Equal(t, make([]int32, sites), x)
}

func TestAdvanceAndProject(t *testing.T) {
	ctx := context.Background()
	m := Markov([]float64{0.5, 0.5}, []float64{0.9, 0.1, 0.2, 0.8})
	c, err := Path{HMM: m, Language: constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}}.Compile(ctx, 3, 3)
	require.NoError(t, err)
	sites, levels := c.Shape()
	require.Equal(t, []int{3, 3}, []int{sites, levels})
	// 011 .5·.1·.8, 101 .5·.2·.1, 110 .5·.8·.2.
	dst := make([]float64, 3)
	require.NoError(t, c.Advance(ctx, dst, nil))
	require.InDelta(t, math.Log(.04/.13), dst[0], 1e-12)
	require.NoError(t, c.Advance(ctx, dst, []int32{1}))
	require.InDelta(t, math.Log(.01/.09), dst[0], 1e-12)
	require.True(t, math.IsInf(dst[2], -1))
	problem.Infeasible[error](t, c.Advance(ctx, dst, []int32{0, 0}))
	require.Panics(t, func() { _ = c.Advance(ctx, dst, []int32{0, 1, 1}) })
	v := make([]float32, 9)
	_, err = c.Project(ctx, 0, v, 1, 0, nil)
	require.NoError(t, err)
	require.InDelta(t, math.Log(.04/.13), v[0], 1e-6)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = c.Project(gone, 0, v, 1, 0, nil)
	require.ErrorIs(t, err, context.Canceled)
	v[0] = float32(math.NaN())
	_, err = c.Project(ctx, 0, v, 1, 0, nil)
	require.ErrorContains(t, err, "weight at site 0, level 0 is NaN")
	_, err = c.LogProb(ctx, make([]int32, 3), v)
	require.Error(t, err)
	_, err = c.Draw(ctx, make([]int32, 3), v, rand.NewPCG(1, 1))
	require.Error(t, err)
	require.Equal(t, "Count{Levels:[1] Min:2 Max:2}", c.String())
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	good := Path{HMM: Markov([]float64{1, 0}, []float64{1, 0, 0, 1}), Language: constraint.Count{Levels: []int32{1}, Max: 3}}
	for want, change := range map[string]func(p *Path){
		"Language is nil":                     func(p *Path) { p.Language = nil },
		"Limit = -1, want ≥ 0":                func(p *Path) { p.Limit = -1 },
		"len(HMM.Start) = 0, want ≥ 1":        func(p *Path) { p.HMM.Start = nil },
		"len(HMM.Trans) = 1, want 4":          func(p *Path) { p.HMM.Trans = p.HMM.Trans[:1] },
		"len(HMM.Emit) = 3, want a positive":  func(p *Path) { p.HMM.Emit = p.HMM.Emit[:3] },
		"HMM.Emit":                            func(p *Path) { p.HMM.Emit = []float64{1, 1, 1, 1} },
		"numbers per site (at most Limit / s": func(p *Path) { p.Limit = 3 },
		"levels = 2, want ≥ 3, the tokens of": func(p *Path) { p.HMM.Emit = []float64{1, 0, 0, 1, 0, 0} },
	} {
		p := good
		change(&p)
		_, err := p.Compile(ctx, 3, 2)
		require.ErrorContains(t, err, want)
		_, err = p.Bind(ctx, 3, 2, 1)
		require.ErrorContains(t, err, want)
	}
	_, err := good.Compile(ctx, 0, 2)
	require.ErrorContains(t, err, "sites = 0")
	_, err = good.Bind(ctx, 3, 2, 0)
	require.ErrorContains(t, err, "samples = 0")
	_, err = good.Bind(ctx, 3, 2, 1)
	require.NoError(t, err)
	// The language wants a token that the model never emits; an empty language.
	good.Language = constraint.Count{Levels: []int32{1}, Min: 1, Max: 3}
	_, err = good.Compile(ctx, 3, 2)
	problem.Infeasible[error](t, err)
	good.Language = constraint.Count{Levels: []int32{1}, Min: 4, Max: 4}
	_, err = good.Compile(ctx, 3, 2)
	problem.Infeasible[error](t, err)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = good.Compile(gone, 3, 2)
	require.ErrorIs(t, err, context.Canceled)
}
