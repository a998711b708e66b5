package diagnose

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// tallyOf shows draws[chain][draw] of the chains from first on to a tally.
func tallyOf(t require.TestingT, cfg TallyConfig, draws [][]float64) *Tally {
	var v float64
	a, err := NewTally(cfg, func([]int32) float64 { return v })
	require.NoError(t, err)
	for c := range draws {
		for i := range draws[c] {
			v = draws[c][i]
			a.Observe(cfg.First+c, i, nil, nil)
		}
	}
	return a
}

// autoregressive returns chains of an AR(1) series with coefficient phi about a
// mean of its own per group of chains.
func autoregressive(src *rand.Rand, chains, n int, phi, apart float64) [][]float64 {
	x := newDraws(chains, n)
	for c := range x {
		at := apart * src.NormFloat64()
		v := src.NormFloat64() / math.Sqrt(1-phi*phi)
		for i := range x[c] {
			v = phi*v + src.NormFloat64()
			x[c][i] = 1e3 + at + v
		}
	}
	return x
}

// The figures are those of all draws together.
func TestTallyIsTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		chains, n := rapid.IntRange(1, 40).Draw(t, "chains"), rapid.IntRange(MinDraws, 400).Draw(t, "n")
		x := autoregressive(src, chains, n, rapid.SampledFrom([]float64{-0.5, 0, 0.5, 0.8}).Draw(t, "phi"), rapid.SampledFrom([]float64{0, 0.1, 3}).Draw(t, "apart"))
		a := tallyOf(t, TallyConfig{Chains: chains, Draws: n}, x)
		s, err := a.Summary()
		require.NoError(t, err)
		row := s.Rows[0]
		mean, sd := meanSD(x)
		assert.InEpsilon(t, mean, row.Mean.Value, 1e-12)
		assert.InEpsilon(t, sd, row.SD.Value, 1e-12)
		rhat, err := rHatBasic(x)
		require.NoError(t, err)
		assert.InEpsilon(t, rhat, row.RHat.Value, 1e-12)
		if _, enough, _ := a.rows[0].effective(chains, n/2); enough {
			ess, err := ESSMean(x)
			require.NoError(t, err)
			assert.InEpsilon(t, ess, row.ESSMean.Value, 1e-12)
			mcse, err := MCSEMean(x)
			require.NoError(t, err)
			assert.InEpsilon(t, mcse, row.MCSE.Value, 1e-12)
			tau, err := AutocorrelationTime(x)
			require.NoError(t, err)
			assert.InEpsilon(t, tau, row.Time.Value, 1e-12)
		} else if chains > 1 {
			most := capESS(math.Inf(1), float64(chains*n), true) // two means may be the same by chance
			assert.InEpsilon(t, max(row.MCSEChains.Value, sd/math.Sqrt(most)), row.MCSE.Value, 1e-12)
		} else {
			assert.ErrorIs(t, row.MCSE.Err, ErrTooFew)
		}
		if chains > 1 {
			means := make([]float64, chains)
			for c := range x {
				means[c], _ = meanVariance(x[c])
			}
			_, between := meanVariance(means)
			assert.InEpsilon(t, math.Sqrt(between/float64(chains)), row.MCSEChains.Value, 1e-9)
		}
		for _, e := range []Estimate{row.Q5, row.Q50, row.Q95, row.ESSBulk, row.ESSTail} {
			assert.ErrorIs(t, e.Err, ErrRanks)
		}
	})
}

// parts returns tallies of random parts of the chains, each of one, two or more.
func parts(t require.TestingT, src *rand.Rand, cfg TallyConfig, x [][]float64) []*Tally {
	var all []*Tally
	for at := 0; at < len(x); {
		cfg.First, cfg.Count = at, min(cfg.Nested*(1+src.IntN(5)), len(x)-at)
		all = append(all, tallyOf(t, cfg, x[at:at+cfg.Count]))
		at += cfg.Count
	}
	return all
}

func bytesOf(t require.TestingT, a *Tally) []byte {
	b, err := a.MarshalBinary()
	require.NoError(t, err)
	return b
}

// A hundred orders and bundlings, one of them by bytes and one by JSON, have the
// bits of one tally of all chains.
func TestTallyMergesToTheBit(t *testing.T) {
	src := rand.New(rand.NewPCG(12, 1))
	const chains, n = 96, 41
	x := autoregressive(src, chains, n, 0.6, 1)
	for c := range x {
		for i := range x[c] {
			x[c][i] = math.Ldexp(x[c][i]-1e3, src.IntN(100)-50) // sums of floats would depend on their order
		}
	}
	cfg := TallyConfig{Chains: chains, Draws: n, Seed: 7, Nested: 4, Run: struct{ Model string }{"a"}}
	whole := tallyOf(t, cfg, x)
	want := bytesOf(t, whole)
	assert.Less(t, len(want), 12_000) // numbers of all sizes
	naive := map[float64]bool{}
	for range 100 {
		list := parts(t, src, cfg, x)
		sum := 0.0
		for len(list) > 1 { // a random tree
			i := src.IntN(len(list))
			a := list[i]
			list = append(list[:i], list[i+1:]...)
			b := list[src.IntN(len(list))]
			switch src.IntN(3) {
			case 0:
				require.NoError(t, b.UnmarshalBinary(bytesOf(t, b)))
			case 1:
				text, err := b.MarshalJSON()
				require.NoError(t, err)
				require.NoError(t, b.UnmarshalJSON(text))
			}
			sum += a.rows[0].whole.float64() // a twin
			require.NoError(t, b.Merge(a))
		}
		require.Equal(t, want, bytesOf(t, list[0]))
		naive[sum] = true
	}
	assert.Greater(t, len(naive), 50)
	var zero Tally
	require.NoError(t, zero.Merge(whole))
	assert.Equal(t, want, bytesOf(t, &zero))
	a, err := whole.Summary()
	require.NoError(t, err)
	b, err := zero.Summary()
	require.NoError(t, err)
	assert.Equal(t, a, b)
	assert.Contains(t, a.String(), "Rank statistics (quantiles, bulk and tail ESS, rank-normalised R-hat) do not merge.")
	assert.Equal(t, chains, zero.Chains())
	assert.Equal(t, whole.Digest(), zero.Digest())
	assert.Regexp(t, "^[0-9a-f]{64}$", zero.Digest())

	// Chains that change places give the same sums, or nearly so, and another
	// digest; so does the last bit of one draw.
	x[0], x[1] = x[1], x[0]
	assert.NotEqual(t, whole.Digest(), tallyOf(t, cfg, x).Digest())
	x[0], x[1] = x[1], x[0]
	assert.Equal(t, whole.Digest(), tallyOf(t, cfg, x).Digest())
	x[5][6] = math.Nextafter(x[5][6], 2)
	assert.NotEqual(t, whole.Digest(), tallyOf(t, cfg, x).Digest())
}

// The digest sees states that no function looks at.
func TestDigestSeesStates(t *testing.T) {
	digest := func(x []int32) string {
		a, err := NewTally(TallyConfig{Chains: 1, Draws: 1})
		require.NoError(t, err)
		a.Observe(0, 0, x, nil)
		return a.Digest()
	}
	assert.Equal(t, digest([]int32{1, 2}), digest([]int32{1, 2}))
	assert.NotEqual(t, digest([]int32{1, 2}), digest([]int32{2, 1}))
	b, observe, err := RealTally(TallyConfig{Chains: 1, Draws: 1})
	require.NoError(t, err)
	observe(0, 0, []float32{1, 2}, nil)
	assert.NotEqual(t, digest([]int32{1, 2}), b.Digest())
}

// Nested R-hat by its definition.
func TestTallyNestedRHat(t *testing.T) {
	src := rand.New(rand.NewPCG(5, 5))
	const groups, each, n = 6, 3, 10
	x := autoregressive(src, groups*each, n, 0.3, 0.5)
	a := tallyOf(t, TallyConfig{Chains: groups * each, Draws: n, Nested: each}, x)
	s, err := a.Summary()
	require.NoError(t, err)
	var tops []float64
	w := 0.0
	for k := range groups {
		var means []float64
		for _, y := range x[k*each : (k+1)*each] {
			m, v := meanVariance(y)
			means = append(means, m)
			w += v / each / groups
		}
		m, v := meanVariance(means)
		tops = append(tops, m)
		w += v / groups
	}
	_, b := meanVariance(tops)
	assert.InEpsilon(t, math.Sqrt(1+b/w), s.Rows[0].RHatNested.Value, 1e-9)
	// One draw each: the chains of a group still have a spread.
	a = tallyOf(t, TallyConfig{Chains: 4, Draws: 1, Nested: 2}, [][]float64{{1}, {3}, {2}, {5}})
	s, err = a.Summary()
	require.NoError(t, err)
	assert.InEpsilon(t, math.Sqrt(1+(3.5-2)*(3.5-2)/2/((2+4.5)/2)), s.Rows[0].RHatNested.Value, 1e-12)
	assert.ErrorIs(t, s.Rows[0].RHat.Err, ErrTooFew)
	assert.ErrorIs(t, s.Rows[0].MCSE.Err, ErrTooFew)
	assert.True(t, s.Rows[0].MCSEChains.Defined())
	// No groups to compare.
	a = tallyOf(t, TallyConfig{Chains: 4, Draws: 1}, [][]float64{{1}, {3}, {2}, {5}})
	s, _ = a.Summary()
	assert.ErrorIs(t, s.Rows[0].RHatNested.Err, ErrTooFew)
	a = tallyOf(t, TallyConfig{Chains: 4, Draws: 2, Nested: 4}, [][]float64{{1, 2}, {3, 4}, {2, 5}, {5, 2}})
	s, _ = a.Summary()
	assert.ErrorIs(t, s.Rows[0].RHatNested.Err, ErrTooFew)
}

func TestTallyRefusesOtherParts(t *testing.T) {
	x := [][]float64{{1, 2}, {3, 5}}
	cfg := TallyConfig{Chains: 8, First: 2, Count: 2, Draws: 2, Seed: 1, Run: struct{ A, B int }{1, 2}}
	other := func(change func(*TallyConfig)) *Tally {
		c := cfg
		c.First = 4
		change(&c)
		return tallyOf(t, c, x[:c.Count])
	}
	a := tallyOf(t, cfg, x)
	before := bytesOf(t, a)
	three := [][]float64{{1, 2, 3}, {2, 1, 2}}
	longer := cfg
	longer.Draws = 3
	unfinished, err := NewTally(cfg)
	require.NoError(t, err)
	unfinished.Observe(2, 0, nil, nil)
	for want, o := range map[string]*Tally{
		"chain 3 is in both":                other(func(c *TallyConfig) { c.First = 3 }),
		"TallyConfig.Seed is 1":             other(func(c *TallyConfig) { c.Seed = 2 }),
		"TallyConfig.Chains is 8":           other(func(c *TallyConfig) { c.Chains = 9 }),
		"TallyConfig.Nested is 1":           other(func(c *TallyConfig) { c.Nested = 2 }),
		"B is 2 in one part and 3":          other(func(c *TallyConfig) { c.Run = struct{ A, B int }{1, 3} }),
		"TallyConfig.Draws is 2":            tallyOf(t, longer, three),
		"the functions' names":              other(func(*TallyConfig) {}).Name("other"),
		"chain 2 has 1 draws, want 2":       unfinished,
		"the other tally is empty":          {},
		"both are the same tally":           a,
		"not the same run: TallyConfig.Run": other(func(c *TallyConfig) { c.Run = "text" }),
	} {
		require.ErrorContains(t, a.Merge(o), want)
		assert.Equal(t, before, bytesOf(t, a))
	}
	require.ErrorContains(t, a.Merge(nil), "empty")
	require.ErrorContains(t, a.SameRun(nil), "empty")
	require.ErrorContains(t, a.SameRun(unfinished), "the functions' names")
	require.NoError(t, a.SameRun(other(func(c *TallyConfig) { c.First = 0 })))
	assert.True(t, a.Covers(2, 2))
	assert.False(t, a.Covers(2, 3) || a.Covers(1, 3) || (&Tally{}).Covers(0, 0))
	require.ErrorContains(t, unfinished.Merge(a), "chain 2 has 1 draws")
	_, err = unfinished.MarshalBinary()
	require.ErrorContains(t, err, "chain 2 has 1 draws, want 2")
	_, err = (&Tally{}).MarshalBinary()
	require.ErrorContains(t, err, "empty")
	_, err = (&Tally{}).MarshalJSON()
	require.ErrorContains(t, err, "empty")

	_, err = a.Summary()
	require.EqualError(t, err, "diagnose: Tally: missing of 8 chains: 0 … 1, 4 … 7")
	require.NoError(t, a.Merge(other(func(c *TallyConfig) { c.First, c.Count = 5, 1 })))
	require.EqualError(t, a.Missing(), "diagnose: Tally: missing of 8 chains: 0 … 1, 4, 6 … 7")
	_, err = (&Tally{}).Summary()
	require.EqualError(t, err, "diagnose: Tally: empty")

	many := spans{}
	for i := range 10 {
		many.add(span{2 * i, 2*i + 1})
	}
	b := &Tally{run: run{chains: 20}, done: many}
	assert.ErrorContains(t, b.Missing(), "7 and 6 more gaps")

	// Numbers that agree to rounding are one run, in any order of merging.
	near := func(first int, v float64) *Tally {
		c := cfg
		c.First, c.Run = first, []float64{v, 2}
		return tallyOf(t, c, x)
	}
	p, q := near(0, 1), near(0, 1)
	require.NoError(t, p.Merge(near(2, 1+1e-9)))
	r := near(2, 1+1e-9)
	require.NoError(t, r.Merge(q))
	assert.Equal(t, bytesOf(t, p), bytesOf(t, r))
	require.ErrorContains(t, p.Merge(near(4, 1.1)), "TallyConfig.Run[0]")
}

func TestTallyEdges(t *testing.T) {
	f := func([]int32) float64 { return 1 }
	for want, cfg := range map[string]TallyConfig{
		"Draws = 0, want 1":                        {},
		"Chains = -1, want ≥ 0":                    {Chains: -1, Draws: 1},
		"First = 4, want 0 … 3":                    {First: 4, Draws: 1},
		"First = -1, want 0 … 3":                   {First: -1, Draws: 1},
		"Count = 3, want 1 … 2":                    {First: 2, Count: 3, Draws: 1},
		"Nested = 3, want a divisor of Chains = 4": {Nested: 3, Draws: 1},
		"First = 1, want a multiple of Nested = 2": {First: 1, Nested: 2, Draws: 1},
		"Count = 1, want a multiple of Nested = 2": {Count: 1, Nested: 2, Draws: 1},
		"Draws = 134217728, want 1 … 134217727":    {Draws: 1 << 27},
	} {
		_, err := NewTally(cfg, f)
		require.ErrorContains(t, err, "diagnose: TallyConfig."+want)
	}
	_, err := NewTally(TallyConfig{Draws: 1}, f, nil)
	require.EqualError(t, err, "diagnose: NewTally: function 1 is nil")
	_, _, err = RealTally(TallyConfig{Draws: 1}, nil)
	require.Error(t, err)

	a, err := NewTally(TallyConfig{Chains: 8, First: 4, Draws: 2}, f)
	require.NoError(t, err)
	assert.Panics(t, func() { a.Observe(3, 0, nil, nil) })
	assert.Panics(t, func() { a.Observe(8, 0, nil, nil) })
	assert.Panics(t, func() { (&Tally{}).Observe(0, 0, nil, nil) })
	assert.Panics(t, func() { a.Name() })
	assert.Panics(t, func() { a.Name("a,b") })
	a.Observe(4, 0, nil, nil)
	a.Observe(4, 1, nil, nil)
	assert.PanicsWithValue(t, "diagnose: Tally.Observe: chain 4 has 2 draws, want no more: TallyConfig.Draws = 2", func() { a.Observe(4, 2, nil, nil) })
	for chain := 5; chain < 8; chain++ {
		a.Observe(chain, 0, nil, nil)
		a.Observe(chain, 1, nil, nil)
	}
	s, err := a.Summary()
	require.Error(t, err, "chains 0 … 3")
	assert.Equal(t, Estimate{Value: 1}, s.Rows[0].Mean)
	assert.ErrorIs(t, s.Rows[0].MCSE.Err, ErrConstant)
	s, err = tallyOf(t, TallyConfig{Chains: 1, Draws: 6}, [][]float64{{1, 2, math.NaN(), 4, 5, 6}}).Summary()
	require.NoError(t, err)
	var bad *NotFinite
	require.ErrorAs(t, s.Rows[0].Mean.Err, &bad)
	assert.Equal(t, 2, bad.Draw)

	// The first of several, whatever the order.
	x := [][]float64{{1, 2}, {1, math.Inf(1)}, {math.Inf(-1), 2}}
	for _, swap := range []bool{false, true} {
		p := tallyOf(t, TallyConfig{Chains: 3, Count: 2, Draws: 2}, x[:2])
		q := tallyOf(t, TallyConfig{Chains: 3, First: 2, Draws: 2}, x[2:])
		if swap {
			p, q = q, p
		}
		require.NoError(t, p.Merge(q))
		s, err = p.Summary()
		require.NoError(t, err)
		require.ErrorAs(t, s.Rows[0].SD.Err, &bad)
		assert.Equal(t, NotFinite{Chain: 1, Draw: 1, Value: math.Inf(1)}, *bad)
		again := &Tally{}
		require.NoError(t, again.UnmarshalBinary(bytesOf(t, p)))
		assert.Equal(t, bytesOf(t, p), bytesOf(t, again))
	}
	for _, huge := range []float64{1e200, math.MaxFloat64} {
		s, err = tallyOf(t, TallyConfig{Chains: 2, Draws: 6}, [][]float64{{-huge, huge, 0, 0, 1, 2}, {huge, huge, 2, 2, 3, 4}}).Summary()
		require.NoError(t, err)
		for _, e := range []Estimate{s.Rows[0].SD, s.Rows[0].MCSE, s.Rows[0].RHat, s.Rows[0].MCSEChains} {
			assert.ErrorIs(t, e.Err, ErrRange)
		}
	}
	assert.True(t, errors.Is(s.Rows[0].RHat.Err, ErrRange) && s.Warnings() != nil)
}

func TestRealTally(t *testing.T) {
	a, observe, err := RealTally(TallyConfig{Chains: 2, Draws: 2}, func(x []float32) float64 { return float64(x[0]) })
	require.NoError(t, err)
	for c := range 2 {
		for i := range 2 {
			observe(c, i, []float32{float32(c + 2*i)}, &sampler.Info{Accept: 0.5, Moved: 3, Invalid: 1})
		}
	}
	s, err := a.Summary()
	require.NoError(t, err)
	assert.Equal(t, Estimate{Value: 1.5}, s.Rows[0].Mean)
	assert.Equal(t, Estimate{Value: 0.5}, s.Accept)
	assert.Equal(t, Estimate{Value: 3}, s.Moves)
	assert.Equal(t, 4, s.Invalid)
}
