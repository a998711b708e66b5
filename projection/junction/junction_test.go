package junction_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/junction"
)

// anyModel returns a model with factors of at most 4096 states, often wrapped, and one
// without hidden units of the same shape.
func anyModel(r *rand.Rand) (m energy.Model, statistic energy.Model) {
	scale := []float64{.3, 2, 20, 100}[r.IntN(4)]
	numbers := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * r.NormFloat64()
		}
		return v
	}
	edges := func(n int) (e []model.Edge) {
		for range r.IntN(2*n) + 1 {
			i := r.IntN(n - 1)
			e = append(e, model.Edge{I: i, J: i + 1 + r.IntN(n-i-1), W: scale * r.NormFloat64()})
		}
		return e
	}
	n, levels := 2+r.IntN(5), 2+r.IntN(3)
	kind := r.IntN(7)
	switch kind {
	case 0, 5, 6:
		n, levels = 2+r.IntN(8), 2
	}
	potts := exact.Must(model.NewPotts(exact.Must(model.NewGraph(n, edges(n))), levels, 1, numbers(levels)))
	switch kind {
	case 0:
		m = exact.Must(exact.Must(model.NewIsing(exact.Must(model.NewGraph(n, edges(n))), 0.7, 0.1)).WithFields(numbers(n)))
	case 1:
		m = potts
	case 2:
		values := []float32{-2, -1, 0.5, 3}[:levels]
		if r.IntN(2) == 0 {
			m = exact.Must(model.NewQuadratic(n, edges(n), model.Polynomial{Linear: numbers(n), Constant: 3, Values: values}))
		} else {
			m = exact.Must(model.NewDenseQuadratic(n, numbers(n*n), model.Polynomial{Constant: -300, Values: values}))
		}
	case 3:
		order := r.IntN(3)
		row := func(k int) (p []float64) {
			for range k {
				q := make([]float64, levels)
				for i := range q {
					if r.IntN(3) > 0 {
						q[i] = r.Float64()
					}
				}
				q[r.IntN(levels)] += 0.1
				sum := 0.0
				for _, v := range q {
					sum += v
				}
				for _, v := range q {
					p = append(p, v/sum)
				}
			}
			return p
		}
		contexts := int(math.Pow(float64(levels), float64(order)))
		start := slices.Repeat([]float64{1 / float64(contexts)}, contexts)
		m = exact.Must(model.NewMarkov(max(n, order), levels, order, start, row(contexts)))
	case 4:
		var b bytes.Buffer
		cards := make([]int, n)
		for i := range cards {
			cards[i] = 1 + r.IntN(levels)
		}
		cards[0] = levels
		tables := r.IntN(5) + 1
		fmt.Fprintln(&b, "MARKOV", n, strings.Trim(fmt.Sprint(cards), "[]"), tables)
		var values bytes.Buffer
		for range tables {
			scope := r.Perm(n)[:r.IntN(min(4, n))]
			fmt.Fprintln(&b, len(scope), strings.Trim(fmt.Sprint(scope), "[]"))
			size := 1
			for _, i := range scope {
				size *= cards[i]
			}
			fmt.Fprintln(&values, size)
			for k := range size {
				if v := math.Exp(scale * r.NormFloat64() / 4); k > 0 && r.IntN(4) == 0 {
					fmt.Fprint(&values, " 0")
				} else {
					fmt.Fprint(&values, " ", v)
				}
			}
			fmt.Fprintln(&values)
		}
		b.Write(values.Bytes())
		m = exact.Must(read.UAI(&b))
	case 5:
		h := 1 + r.IntN(4)
		narrow := func(k int) []float32 {
			v := make([]float32, k)
			for i := range v {
				v[i] = float32(math.Round(8*r.NormFloat64())) / 8 // sums are exact in float32
			}
			return v
		}
		m = exact.Must(model.NewRBM(narrow(h*n), narrow(h), narrow(n)))
	case 6:
		m = exact.Must(energy.Scale(exact.Must(model.NewBernoulli(numbers(n))), 1.5))
	}
	n, levels = m.Shape()
	site := numbers(n * levels)
	if r.IntN(2) == 0 {
		for i := range n {
			site[i*levels+r.IntN(levels)] = math.Inf(-1)
		}
	}
	independent := exact.Must(model.NewIndependent(site, levels))
	statistic = exact.Must(model.NewIndependent(numbers(n*levels), levels))
	if r.IntN(2) == 0 {
		m = exact.Must(energy.Sum(m, independent))
	}
	if r.IntN(2) == 0 && kind != 5 {
		m = exact.Must(energy.Scale(m, 2*r.Float64()))
	}
	if r.IntN(2) == 0 {
		m = exact.Must(energy.Clamp(m, map[int]int32{r.IntN(n): int32(r.IntN(levels))}))
	}
	if sites, colours := potts.Shape(); n == sites && levels == colours && r.IntN(2) == 0 {
		statistic = potts
	}
	return m, statistic
}

func factored(t *testing.T, m energy.Model) energy.Factored {
	t.Helper()
	f, ok := energy.As[energy.Factored](m)
	require.True(t, ok)
	return f
}

// states returns all states of a model, row by row, and their energies.
func states(m energy.Model) (x []int32, e []float64) {
	n, levels := m.Shape()
	row := make([]int32, n)
	for {
		x = append(x, row...)
		at := 0
		for ; at < n; at++ {
			if row[at]++; int(row[at]) < levels {
				break
			}
			row[at] = 0
		}
		if at == n {
			break
		}
	}
	e = make([]float64, len(x)/n)
	m.Energy(e, x)
	return x, e
}

// All that a distribution says of random models is what the energies of all states say.
func TestAgainstEnumeration(t *testing.T) {
	ctx, cases := t.Context(), 600
	if exact.Long() {
		cases = 40_000
	}
	for seed := range cases {
		r := rand.New(rand.NewPCG(uint64(seed), 44))
		m, statistic := anyModel(r)
		n, levels := m.Shape()
		x, e := states(m)
		least := slices.Min(e)
		var c junction.Config
		if seed%3 == 0 {
			some := []constraint.Language{
				constraint.Count{Levels: []int32{1}, Min: 1, Max: n - 1},
				constraint.Count{Levels: []int32{0}, Min: 1, Max: 2},
				exact.Must(constraint.NewResidue([]int{0, 1, 2, 5, 7}[:levels], 3, 1)),
				exact.Must(constraint.NewSum([]int{0, 2, 3, 1, 1}[:levels], 3, 2*n)),
			}
			a := some[r.IntN(len(some))]
			c.Within = a
			for k := range e {
				if !constraint.Accepts(a, x[k*n:(k+1)*n]) {
					e[k] = math.Inf(1)
				}
			}
			least = slices.Min(e)
		}
		d, err := junction.New(ctx, factored(t, m), c)
		if c.Within != nil && math.IsInf(least, 1) && errors.Is(err, constraint.ErrInfeasible) {
			continue
		}
		if math.IsInf(least, 1) {
			if err == nil {
				_, err = d.LogZ(ctx)
			}
			require.ErrorContains(t, err, "every state has energy +Inf", seed)
			continue
		}
		require.NoError(t, err, seed)
		p, sum := make([]float64, len(e)), 0.0
		for k, v := range e {
			p[k] = math.Exp(least - v)
			sum += p[k]
		}
		want := math.Log(sum) - least
		logZ, err := d.LogZ(ctx)
		require.NoError(t, err)
		// The energies themselves are rounded, relative to their largest terms.
		largest := 1.0
		for _, v := range e {
			if !math.IsInf(v, 1) {
				largest = max(largest, math.Abs(v))
			}
		}
		slack := 1e-12 + 4e-15*largest*float64(n)
		cards, _, _, _ := factored(t, m).Factors()
		hidden := len(cards) > n
		if hidden {
			slack += 1e-6 // energies of hidden units are rounded to float32
		}
		require.InDelta(t, want, logZ, slack*max(1, math.Abs(want)), seed)

		single, entropy, mean := make([]float64, n*levels), 0.0, 0.0
		i, j := int32(r.IntN(n)), int32(r.IntN(n))
		scope := []int32{i, j}
		if i == j {
			scope = scope[:1]
		}
		joint := make([]float64, int(math.Pow(float64(levels), float64(len(scope)))))
		s := make([]float64, len(e))
		statistic.Energy(s, x)
		for k := range p {
			p[k] /= sum
			at := 0
			for _, v := range scope {
				at = at*levels + int(x[k*n+int(v)])
			}
			joint[at] += p[k]
			for v, l := range x[k*n : (k+1)*n] {
				single[v*levels+int(l)] += p[k]
			}
			if p[k] > 0 {
				mean += p[k] * s[k]
				entropy -= p[k] * math.Log(p[k])
			}
		}
		got, again, err := d.Marginals(ctx)
		require.NoError(t, err)
		require.Equal(t, logZ, again)
		require.InDeltaSlice(t, single, got, slack, seed)
		pair, err := d.Joint(ctx, scope, nil)
		require.NoError(t, err)
		require.InDeltaSlice(t, joint, pair[0], slack, seed)
		require.InDelta(t, 1, pair[1][0], slack)
		means, err := d.Mean(ctx, factored(t, statistic))
		require.NoError(t, err)
		require.InDelta(t, mean, means[0], slack*100*(1+math.Abs(mean)), seed)
		h, err := d.Entropy(ctx)
		if hidden {
			require.ErrorContains(t, err, "hidden units")
		} else {
			require.NoError(t, err)
			require.InDelta(t, entropy, h, slack*100, seed)
		}
		k := 1 + r.IntN(8)
		y, f, err := d.Best(ctx, k)
		require.NoError(t, err)
		own := make([]float64, len(f))
		m.Energy(own, y)
		require.InDeltaSlice(t, own, f, slack*max(1, largest), seed)
		sorted := slices.DeleteFunc(slices.Sorted(slices.Values(e)), func(v float64) bool { return math.IsInf(v, 1) })
		require.InDeltaSlice(t, sorted[:min(k, len(sorted))], f, slack*max(1, largest), seed)
	}
}

// Draws have the probabilities of states, χ² at an error rate of 1e-6 in all, and depend on
// their own source alone.
func TestSample(t *testing.T) {
	ctx := t.Context()
	const draws, models = 3000, 40
	for seed := range models {
		r := rand.New(rand.NewPCG(uint64(seed), 45))
		m, _ := anyModel(r)
		n, _ := m.Shape()
		x, e := states(m)
		least := slices.Min(e)
		if math.IsInf(least, 1) {
			continue
		}
		sum, want, count := 0.0, map[string]float64{}, map[string]int{}
		for _, v := range e {
			sum += math.Exp(least - v)
		}
		for k, v := range e {
			want[fmt.Sprint(x[k*n:(k+1)*n])] = math.Exp(least-v) / sum
		}
		d := exact.Must(junction.New(ctx, factored(t, m), junction.Config{}))
		y := make([]int32, draws*n)
		sources := func(from, to int) (src []rand.Source) {
			for s := from; s < to; s++ {
				src = append(src, rand.NewPCG(uint64(seed), uint64(s)))
			}
			return src
		}
		require.NoError(t, d.Sample(ctx, y, sources(0, draws)))
		z := make([]int32, 10*n)
		require.NoError(t, d.Sample(ctx, z, sources(1990, 2000)))
		require.Equal(t, y[1990*n:2000*n], z, "other calls make the same draws")
		for s := range draws {
			key := fmt.Sprint(y[s*n : (s+1)*n])
			require.Positive(t, want[key], key)
			count[key]++
		}
		chi, df, rest, others := 0.0, -1, 0.0, 0
		add := func(p float64, k int) {
			d := float64(k) - p*draws
			chi, df = chi+d*d/(p*draws), df+1
		}
		for key, p := range want {
			if p*draws < 10 {
				rest, others = rest+p, others+count[key]
				continue
			}
			add(p, count[key])
		}
		if rest*draws >= 10 {
			add(rest, others)
		}
		if df > 0 { // Laurent and Massart 2000
			a := math.Log(models / 1e-6)
			require.Less(t, chi, float64(df)+2*math.Sqrt(float64(df)*a)+2*a, seed)
		}
	}
}

func TestRefusals(t *testing.T) {
	ctx := t.Context()
	_, err := junction.New(ctx, nil, junction.Config{})
	require.EqualError(t, err, "junction: New: m is nil")
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 1, 0))
	_, err = junction.New(ctx, ising, junction.Config{Bytes: -1})
	require.EqualError(t, err, "junction: New: Config: Bytes = -1, want ≥ 0")
	rbm := exact.Must(model.NewRBM(make([]float32, 6), make([]float32, 2), make([]float32, 3)))
	_, err = junction.New(ctx, factored(t, exact.Must(energy.Scale(rbm, 0.5))), junction.Config{})
	require.ErrorContains(t, err, "no factors")
	var wide *energy.WidthError
	_, err = junction.New(ctx, exact.Must(model.NewIsing(model.Lattice{60, 60}, 1, 0)), junction.Config{})
	require.ErrorAs(t, err, &wide)
	require.GreaterOrEqual(t, wide.Width, 60.0)
	both := exact.Must(energy.Clamp(exact.Must(energy.Clamp(ising, map[int]int32{0: 0})), map[int]int32{0: 1}))
	_, err = junction.New(ctx, factored(t, both), junction.Config{})
	require.EqualError(t, err, "junction: New: every state has energy +Inf")

	d := exact.Must(junction.New(ctx, ising, junction.Config{Bytes: 1 << 20}))
	require.LessOrEqual(t, d.Bytes(), int64(1<<20))
	require.GreaterOrEqual(t, d.Width(), 6.0)
	_, err = junction.New(ctx, ising, junction.Config{Within: constraint.Count{Levels: []int32{1}, Min: 17, Max: 20}})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	narrow := exact.Must(read.UAI(strings.NewReader("MARKOV 2 1 2 0")))
	_, err = junction.New(ctx, factored(t, narrow), junction.Config{Within: constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}})
	require.ErrorContains(t, err, "no level of site 0 that the model has is allowed")
	_, _, err = d.Best(ctx, 0)
	require.EqualError(t, err, "junction: Best: k = 0, want ≥ 1")
	_, err = d.Joint(ctx, []int32{0, 16})
	require.ErrorContains(t, err, "scopes[0] = [0 16], want distinct sites 0 … 15")
	_, err = exact.Must(junction.New(ctx, exact.Must(model.NewIsing(model.FreeLattice{40}, 1, 0)), junction.Config{})).Joint(ctx, func() (s []int32) {
		for i := range int32(40) {
			s = append(s, i)
		}
		return s
	}())
	require.ErrorContains(t, err, "want ≤ 2^28 states")
	_, err = d.Mean(ctx, nil)
	require.EqualError(t, err, "junction: Mean: statistics[0] is nil")
	_, err = d.Mean(ctx, rbm)
	require.ErrorContains(t, err, "statistics[0] has 3 sites of 2 levels, want 16 of 2")
	small := exact.Must(read.UAI(strings.NewReader("MARKOV 2 1 2 1 2 0 1 2 1 2")))
	pair := exact.Must(junction.New(ctx, exact.Must(model.NewIsing(model.FreeLattice{2}, 1, 0)), junction.Config{}))
	_, err = pair.Mean(ctx, factored(t, small))
	require.EqualError(t, err, "junction: Mean: statistics[0] forbids level 1 of site 0, which has probability")
	require.Panics(t, func() { _ = d.Sample(ctx, make([]int32, 3), []rand.Source{rand.NewPCG(1, 1)}) })
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = d.LogZ(ended)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = d.Marginals(ended)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Entropy(ended)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = d.Best(ended, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, d.Sample(ended, make([]int32, 16), []rand.Source{rand.NewPCG(1, 1)}), context.Canceled)
	_, err = d.Joint(ended, []int32{3})
	require.ErrorIs(t, err, context.Canceled)
}
