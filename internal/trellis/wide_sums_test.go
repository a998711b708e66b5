package trellis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// thirds has states 0, 1, 2 and three classes of tokens, v mod 3: class k leads
// from q to q+k mod 3, and class 2 nowhere from state 2. Accepts in 0 and 1.
func thirds(levels int) *table {
	a := &table{levels: levels, next: make([]int, 3*levels), accepting: []bool{true, true, false}}
	for q := range 3 {
		for v := range levels {
			a.next[q*levels+v] = (q + v%3) % 3
			if q == 2 && v%3 == 2 {
				a.next[q*levels+v] = none
			}
		}
	}
	return a
}

// slowLogZ is the sum of thirds by logs in float64 from package math, class by
// class.
func slowLogZ(v []float32, levels int) float64 {
	now := []float64{0, math.Inf(-1), math.Inf(-1)}
	for ; len(v) > 0; v = v[levels:] {
		var class [3][]float64
		for l, w := range v[:levels] {
			class[l%3] = append(class[l%3], float64(w))
		}
		var terms [3][]float64
		for q, w := range now {
			for k := range 3 {
				if q != 2 || k != 2 {
					terms[(q+k)%3] = append(terms[(q+k)%3], w+logSumExp(class[k]))
				}
			}
		}
		now = []float64{logSumExp(terms[0]), logSumExp(terms[1]), logSumExp(terms[2])}
	}
	return logSumExp(now[:2])
}

func logSumExp(w []float64) float64 {
	top, sum := math.Inf(-1), 0.0
	for _, v := range w {
		top = max(top, v)
	}
	if math.IsInf(top, -1) {
		return top
	}
	for _, v := range w {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// TestWideSpread: classes whose weights are far apart keep the accuracy of
// float32, whatever log P(C) is, and sums leave numbers for logarithms only
// where the weights of a site are further apart than a float64 reaches.
func TestWideSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	const levels, sites = 3000, 40
	run := compile(t, &instance{a: thirds(levels), config: Config{Sites: sites, Levels: levels}})
	for _, c := range []struct {
		apart float32
		want  method
	}{{0, scaled}, {20, scaled}, {75, scaled}, {90, scaled}, {300, scaled}, {720, logarithm}, {5000, logarithm}, {1e9, logarithm}} {
		v := make([]float32, sites*levels)
		for i := range v {
			v[i] = float32(2 * r.NormFloat64())
			if i%levels%3 == 2 {
				v[i] += c.apart
			}
		}
		logZ, err := run.Filter(v)
		require.NoError(t, err)
		require.Equal(t, c.want, run.method, c.apart)
		near(t, slowLogZ(v, levels), logZ, 1e-6)
		x := make([]int32, sites)
		run.Draw(x, r)
		require.True(t, run.g.Accepts(x))
	}
}

// TestUnlikelyLanguage: log P(C) from −5 to −1000 needs no logarithms where every
// site has its share of it. Token 0 is favoured and leads nowhere but from the
// state that token 1 leads to.
func TestUnlikelyLanguage(t *testing.T) {
	const levels, sites = 600, 128
	a := &table{levels: levels, next: make([]int, 2*levels), accepting: []bool{true, true}}
	a.next[0], a.next[1] = none, 1
	a.next[levels+1] = 1
	v := make([]float32, sites*levels)
	run := compile(t, &instance{a: a, config: Config{Sites: sites, Levels: levels}})
	for _, favour := range []float32{0, 6, 9, 12, 16} {
		for i := range sites {
			v[i*levels] = favour
		}
		logZ, err := run.Filter(v)
		require.NoError(t, err)
		require.Equal(t, scaled, run.method)
		// q = (weight of state 0, of state 1) = (1, 0)·Mⁿ·(1, 1).
		zero, one, scale := 1.0, 0.0, 0.0
		for range sites {
			zero, one = 598*zero+(598+math.Exp(float64(favour)))*one, zero+one
			scale += math.Log(zero + one)
			zero, one = zero/(zero+one), one/(zero+one)
		}
		near(t, scale, logZ, 1e-6)
	}
}

// TestKeptRows: a Runner that has seen other tables gives the bits of a new one,
// whatever part of the table is what it was.
func TestKeptRows(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	const levels, sites = 900, 7
	p := &instance{a: thirds(levels), config: Config{Sites: sites, Levels: levels}}
	old := compile(t, p)
	v := make([]float32, sites*levels)
	for i := range v {
		v[i] = float32(2 * r.NormFloat64())
	}
	x, y := make([]int32, sites), make([]int32, sites)
	for round := range 300 {
		i := r.IntN(sites)
		row := v[i*levels : (i+1)*levels]
		switch r.IntN(6) {
		case 0: // nothing changes
		case 1:
			row[r.IntN(levels)] += 0.5
		case 2, 3: // shown
			for l := range row {
				row[l] = float32(math.Inf(-1))
			}
			row[r.IntN(levels)] = float32(r.NormFloat64())
		case 4: // one class is far away
			for l := range row {
				row[l] = float32(r.NormFloat64())
				if l%3 == 1 {
					row[l] -= 800 * r.Float32()
				}
			}
		default:
			row[r.IntN(levels)] = float32(math.NaN())
			_, err := old.Filter(v)
			require.Error(t, err)
			for l := range row {
				row[l] = float32(r.NormFloat64())
			}
		}
		young := compile(t, p)
		a, errA := old.Filter(v)
		b, errB := young.Filter(v)
		require.Equal(t, errB, errA, round)
		require.Equal(t, b, a, round)
		if errA != nil {
			continue
		}
		old.Draw(x, rand.NewPCG(5, uint64(round)))
		young.Draw(y, rand.NewPCG(5, uint64(round)))
		require.Equal(t, y, x)
	}
}

// TestLoneToken: the only token of a row is found wherever it is, and rows with
// more or none have none.
func TestLoneToken(t *testing.T) {
	never := float32(math.Inf(-1))
	for n := 1; n < 20; n++ {
		row := make([]float32, n)
		for i := range row {
			row[i] = never
		}
		require.EqualValues(t, none, loneToken(row))
		for i := range row {
			row[i] = 3
			require.EqualValues(t, i, loneToken(row))
			for _, other := range []float32{-1e30, 3, float32(math.NaN()), float32(math.Inf(1))} {
				for j := range row {
					if j != i {
						row[j] = other
						require.EqualValues(t, none, loneToken(row))
						row[j] = never
					}
				}
			}
			row[i] = never
		}
	}
}

// TestLargeClassDraws: tokens of a class of several blocks are drawn by their
// weights, whichever way the class was summed. Cells are the tokens; a twin that
// takes the first block alone must fail.
func TestLargeClassDraws(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(33, 1))
	const levels, draws = 3 * 1100, 200000
	for _, apart := range []float32{0, 100} {
		v := make([]float32, 2*levels)
		for i := range v {
			v[i] = float32(1.5 * r.NormFloat64())
			if i < levels && i%3 != 2 {
				v[i] -= apart
			} else if i >= levels && i%3 == 2 {
				v[i] = float32(math.Inf(-1))
			}
		}
		run := compile(t, &instance{a: thirds(levels), config: Config{Sites: 2, Levels: levels}})
		_, err := run.Filter(v)
		require.NoError(t, err)
		x := make([]int32, 2)
		count, first := make([]int, levels), make([]int, levels)
		for range draws {
			run.Draw(x, r)
			count[x[0]]++
			if x[0] < 3*blockTokens {
				first[x[0]]++
			}
		}
		// The weight of what may follow depends on the class of the token alone.
		p, total := make([]float64, levels), 0.0
		for l := range p {
			rest := make([]float64, 0, levels)
			for m := range levels {
				q := l % 3
				if next := (q + m%3) % 3; (q != 2 || m%3 != 2) && next != 2 {
					rest = append(rest, float64(v[levels+m]))
				}
			}
			p[l] = math.Exp(float64(v[l]) + logSumExp(rest))
			total += p[l]
		}
		for l := range p {
			p[l] /= total
		}
		exact.Counts(t, count, p, 1e-6/2)
		require.Less(t, exact.PValue(first, p), 1e-6)
	}
}

// TestExactAndLogarithmicFilters: sums of large classes in float64, marginals that follow from
// them, and continuations under logarithms. A filter does not remember the mode of the one before.
func TestExactAndLogarithmicFilters(t *testing.T) {
	const levels, sites = 1500, 6
	r := rand.New(rand.NewPCG(5, 6))
	v := randomWeights(r, sites*levels)
	for i := range v {
		v[i] = max(v[i], -8)
	}
	g, err := Compile(t.Context(), thirds(levels), Config{Sites: sites, Levels: levels})
	require.NoError(t, err)
	run := NewRunner(g)
	want := slowLogZ(v, levels)
	single, err := run.Filter(v)
	require.NoError(t, err)
	logZ, err := run.FilterExact(v)
	require.NoError(t, err)
	require.InDelta(t, want, logZ, 1e-12*sites)
	logP := make([]float64, sites*levels)
	require.NoError(t, run.Marginals(logP))
	for i := range sites {
		require.InDelta(t, 0, logSumExp(logP[i*levels:(i+1)*levels]), 1e-11)
	}
	again, err := run.Filter(v)
	require.NoError(t, err)
	require.Equal(t, single, again)
	require.Panics(t, func() { run.Ahead(0) }, "no logarithms")

	logZ, err = run.FilterLogs(v)
	require.NoError(t, err)
	require.InDelta(t, want, logZ, 1e-5)
	require.InDelta(t, logZ, run.Ahead(g.Start()), 1e-12)
	x := make([]int32, sites)
	for range 50 {
		require.Equal(t, 0, run.DrawFrom(x, g.Start(), r))
		require.False(t, math.IsInf(run.LogProb(x), -1))
		state := g.Next(g.Start(), x[0])
		rest := append([]int32(nil), x...)
		require.Equal(t, 1, run.DrawFrom(rest, state, r))
		require.Equal(t, x[0], rest[0])
	}

	given := make([]int32, sites)
	for i := range given {
		given[i] = -1
	}
	given[2] = 4
	_, err = run.FilterGiven(append([]float32(nil), v...), given)
	require.NoError(t, err)
	for range 50 {
		run.Draw(x, r)
		require.Equal(t, int32(4), x[2])
	}
}
