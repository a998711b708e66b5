package model_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// randomRows returns rows of probabilities, zero with the given chance.
func randomRows(r *rand.Rand, rows, levels int, zero float64) []float64 {
	var p []float64
	for range rows {
		row := make([]float64, levels)
		row[r.IntN(levels)] = 1 // never all zero
		for l := range row {
			if row[l] == 0 && r.Float64() >= zero {
				row[l] = r.ExpFloat64()
			}
		}
		sum := exact.Sum(row)
		for _, v := range row {
			p = append(p, v/sum)
		}
	}
	return p
}

// chain is a Markov chain by its definition, probabilities in maps.
type chain struct {
	sites, levels, order int
	start, trans         []float64
}

func newChain(r *rand.Rand, sites, levels, order int, zero float64) *chain {
	contexts := exact.Size(max(1, order), levels)
	if order == 0 {
		contexts = 1
	}
	return &chain{sites, levels, order, randomRows(r, 1, contexts, zero), randomRows(r, contexts, levels, zero)}
}

func (c *chain) model(t exact.Test) *model.Markov {
	m, err := model.NewMarkov(c.sites, c.levels, c.order, c.start, c.trans)
	require.NoError(t, err)
	require.Equal(t, c.order, m.Order())
	return m
}

// number reads tokens as digits, the last one the fastest.
func (c *chain) number(tokens []int32) int {
	n := 0
	for _, v := range tokens {
		n = n*c.levels + int(v)
	}
	return n
}

func (c *chain) energy(x []int32) float64 {
	e := -math.Log(c.start[c.number(x[:c.order])])
	for i := c.order; i < c.sites; i++ {
		e -= math.Log(c.trans[c.number(x[i-c.order:i+1])])
	}
	return e
}

func TestMarkovByEnumeration(t *testing.T) {
	for _, c := range []struct{ sites, levels, order int }{{1, 3, 0}, {3, 2, 0}, {1, 2, 1}, {5, 3, 1}, {4, 3, 2}, {2, 3, 2}, {6, 2, 3}, {4, 1, 2}} {
		for _, zero := range []float64{0, 0.4} {
			t.Run(fmt.Sprintf("sites=%d/levels=%d/order=%d/zero=%v", c.sites, c.levels, c.order, zero), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(c.sites)))
				want := newChain(r, c.sites, c.levels, c.order, zero)
				m := want.model(t)
				p, logZ := exact.Law(m)
				// Both are sums of at most 3⁵ terms with 5 roundings each.
				assert.InDelta(t, 0, logZ, 1e-13, "normalised")
				for k, x := range exact.States(c.sites, c.levels) {
					require.InDelta(t, math.Exp(-want.energy(x)), p[k], 1e-13)
					require.Equal(t, p[k] == 0, math.IsInf(m.LogProb(x), -1))
				}
				if zero == 0 {
					exact.CheckModel(t, m, false, want.energy)
				} else {
					checkMarkovOnSupport(t, m, want.energy)
				}
			})
		}
	}
}

// checkMarkovOnSupport checks differences from states of finite energy.
func checkMarkovOnSupport(t *testing.T, m *model.Markov, brute func(x []int32) float64) {
	sites, levels := m.Shape()
	c := &exact.Checker{Model: m, Brute: brute, Slack: 0x1p-40}
	g, e := make([]float32, sites*levels), make([]float64, 1)
	for _, x := range exact.States(sites, levels) {
		m.Gradient(e, g, x)
		c.Near(t, brute(x), e[0], c.Slack, x)
		if !math.IsInf(e[0], 1) {
			c.Table(t, g, x)
			c.Single(t, x)
		}
	}
	c.Graph(t)
}

func TestMarkovRepairsAsLittleAsPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		order := rapid.IntRange(0, 2).Draw(t, "order")
		sites, levels := rapid.IntRange(max(1, order), 5).Draw(t, "sites"), rapid.IntRange(1, 3).Draw(t, "levels")
		m := newChain(r, sites, levels, order, 0.6).model(t)
		s, ok := energy.As[energy.Supported](m)
		require.True(t, ok)
		all := exact.States(sites, levels)
		distance := func(a, b []int32) (n int) {
			for i := range a {
				if a[i] != b[i] {
					n++
				}
			}
			return n
		}
		var repaired []int32
		for _, x := range all {
			repaired = append(repaired, x...)
		}
		s.Repair(repaired)
		for k, x := range all {
			y := repaired[k*sites : (k+1)*sites]
			require.False(t, math.IsInf(m.LogProb(y), -1))
			fewest := sites
			for _, z := range all {
				if !math.IsInf(m.LogProb(z), -1) {
					fewest = min(fewest, distance(x, z))
				}
			}
			require.Equal(t, fewest, distance(x, y))
		}
	})
}

func TestFitMarkovCounts(t *testing.T) {
	seqs := [][]int32{{0, 1, 1, 0, 2}, {2}, {}, {1, 1}}
	m, err := model.FitMarkov(3, 3, 1, seqs, 0)
	require.NoError(t, err)
	// Starts 0, 2, 1. After 0: 1, 2. After 1: 1, 0, 1. After 2: nothing.
	start := []float64{1. / 3, 1. / 3, 1. / 3}
	trans := []float64{0, 1. / 2, 1. / 2, 1. / 3, 2. / 3, 0, 1. / 3, 1. / 3, 1. / 3}
	want := &chain{3, 3, 1, start, trans}
	for _, x := range exact.States(3, 3) {
		if e := want.energy(x); math.IsInf(e, 1) {
			require.Equal(t, -e, m.LogProb(x))
		} else {
			require.InDelta(t, -e, m.LogProb(x), 1e-14)
		}
	}
	m, err = model.FitMarkov(3, 3, 2, seqs, 0.5)
	require.NoError(t, err)
	// Of (0,1), (1,1): starts one each among 9 with ½ added. (0,1)→1, (1,1)→0, (1,0)→2.
	assert.InDelta(t, math.Log(1.5/6.5*1.5/2.5), m.LogProb([]int32{0, 1, 1}), 1e-14)
	assert.InDelta(t, math.Log(0.5/6.5/3), m.LogProb([]int32{2, 2, 0}), 1e-14)
	m, err = model.FitMarkov(2, 3, 0, [][]int32{{0, 0, 1}}, 0)
	require.NoError(t, err)
	assert.InDelta(t, math.Log(2./9), m.LogProb([]int32{0, 1}), 1e-14)
}

func TestFitMarkovFindsTheChain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	want := newChain(r, 4, 3, 1, 0)
	p, _ := exact.Law(want.model(t))
	var seqs [][]int32
	for range 20_000 {
		u, k := r.Float64(), 0
		for k < len(p)-1 && u >= p[k] {
			u -= p[k]
			k++
		}
		x := make([]int32, 4)
		exact.State(x, k, 3)
		seqs = append(seqs, x)
	}
	m, err := model.FitMarkov(4, 3, 1, seqs, 0)
	require.NoError(t, err)
	// 2·n·(fitted − true log-likelihood) is χ² with 2 + 6 degrees of freedom
	// (Wilks 1938); P(χ² > 43.4) = 7e-7.
	gain := 0.0
	for _, x := range seqs {
		gain += m.LogProb(x) + want.energy(x)
	}
	assert.Positive(t, gain, "the maximum-likelihood estimate is at least as likely")
	assert.Less(t, 2*gain, 43.4)
	back := make([][]int32, len(seqs)) // a broken twin: reversed time
	for k, x := range seqs {
		back[k] = slices.Clone(x)
		slices.Reverse(back[k])
	}
	twin, err := model.FitMarkov(4, 3, 1, back, 0)
	require.NoError(t, err)
	loss := 0.0
	for _, x := range seqs {
		loss += m.LogProb(x) - twin.LogProb(x)
	}
	assert.Greater(t, 2*loss, 43.4)
}

func TestMarkovRefuses(t *testing.T) {
	half := []float64{0.5, 0.5}
	rows := []float64{0.5, 0.5, 1, 0}
	for want, build := range map[string]func() (*model.Markov, error){
		"levels = 0, want ≥ 1":                         func() (*model.Markov, error) { return model.NewMarkov(1, 0, 0, nil, nil) },
		"order = -1, want ≥ 0":                         func() (*model.Markov, error) { return model.NewMarkov(1, 2, -1, nil, nil) },
		"NewMarkov: sites = 1, want ≥ 2":               func() (*model.Markov, error) { return model.NewMarkov(1, 2, 2, nil, nil) },
		"NewMarkov: a table of 2^64 entries, want ≤ 4": func() (*model.Markov, error) { return model.NewMarkov(99, 2, 63, half, rows) },
		"len(start) = 3, want levels^order = 2":        func() (*model.Markov, error) { return model.NewMarkov(4, 2, 1, make([]float64, 3), rows) },
		"len(trans) = 5, want levels^(order+1) = 4":    func() (*model.Markov, error) { return model.NewMarkov(4, 2, 1, half, append(rows, 1)) },
		"start[0:2] sums to 1.5, want 1 within 1e-06":  func() (*model.Markov, error) { return model.NewMarkov(4, 2, 1, []float64{1, 0.5}, rows) },
		"trans[2:4] sums to 0, want 1":                 func() (*model.Markov, error) { return model.NewMarkov(4, 2, 1, half, []float64{1, 0, 0, 0}) },
		"trans[1] = -0.5, want ≥ 0":                    func() (*model.Markov, error) { return model.NewMarkov(4, 2, 1, half, []float64{1.5, -0.5, 1, 0}) },
		"start[0] = NaN, want ≥ 0":                     func() (*model.Markov, error) { return model.NewMarkov(4, 2, 1, []float64{math.NaN(), 1}, rows) },
		"trans[0:2] sums to +Inf": func() (*model.Markov, error) {
			return model.NewMarkov(4, 2, 1, half, []float64{math.Inf(1), 0, 1, 0})
		},
		"2000000000":                                        func() (*model.Markov, error) { return model.NewMarkov(2e9, 2, 1, half, rows) },
		"FitMarkov: a table of 100^5 entries":               func() (*model.Markov, error) { return model.FitMarkov(9, 100, 4, nil, 1) },
		"smoothing = -1, want 0 … 2^53":                     func() (*model.Markov, error) { return model.FitMarkov(9, 2, 1, nil, -1) },
		"smoothing = NaN":                                   func() (*model.Markov, error) { return model.FitMarkov(9, 2, 1, nil, math.NaN()) },
		"sequences[1][0] = 2, want 0 … 1":                   func() (*model.Markov, error) { return model.FitMarkov(9, 2, 1, [][]int32{{0}, {2}}, 1) },
		"no sequence of ≥ 2 tokens among 1, want one or sm": func() (*model.Markov, error) { return model.FitMarkov(9, 2, 2, [][]int32{{0}}, 0) },
	} {
		_, err := build()
		assert.ErrorContains(t, err, want)
	}
	m, err := model.FitMarkov(9, 2, 2, nil, 1<<53)
	require.NoError(t, err)
	assert.InDelta(t, -9*math.Ln2, m.LogProb(make([]int32, 9)), 1e-14)
	assert.PanicsWithValue(t, "model: len(x) = 8, want 9", func() { m.LogProb(make([]int32, 8)) })
	assert.PanicsWithValue(t, "model: len(x) = 8, want a multiple of 9", func() { m.Energy(nil, make([]int32, 8)) })
	assert.Panics(t, func() { m.Conditional(make([]float64, 3), 0, make([]int32, 9)) })
	assert.Panics(t, func() { m.Gradient(make([]float64, 1), make([]float32, 3), make([]int32, 9)) })
}

func TestMarkovAllocatesNothing(t *testing.T) {
	if exact.Race {
		t.Skip("the race detector empties pools")
	}
	m := newChain(rand.New(rand.NewPCG(9, 9)), 6, 3, 2, 0).model(t)
	exact.NoAllocations(t, m)
}
