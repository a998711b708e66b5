package diagnose

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// weighted is a tally of log-weights, of chains first, first+1, … of n.
func weighted(t testing.TB, n, first int, l ...float64) *Tally {
	at := 0.0
	tally, err := NewTally(TallyConfig{Chains: n, First: first, Count: len(l), Draws: 1, LogWeights: true}, func([]int32) float64 { return at })
	require.NoError(t, err)
	for i := range l {
		at = l[i]
		tally.Observe(first+i, 0, []int32{int32(first + i)}, nil)
	}
	return tally
}

// expected is the mean of the weights, its relative standard error and the ESS.
func expected(l []float64) (mean, relative, ess float64) {
	top := math.Inf(-1)
	for _, v := range l {
		top = max(top, v)
	}
	sum, squares := 0.0, 0.0
	for _, v := range l {
		sum += math.Exp(v - top)
		squares += math.Exp(2 * (v - top))
	}
	n := float64(len(l))
	spread := 0.0
	for _, v := range l {
		d := math.Exp(v-top)*n/sum - 1
		spread += d * d
	}
	return top + math.Log(sum/n), math.Sqrt(spread / n / max(n-1, 1)), sum * sum / squares
}

func TestLogMeanExp(t *testing.T) {
	src := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct{ centre, spread float64 }{{0, 1}, {-1e5, 3}, {1e5, .1}, {354, 20}, {0, 1000}, {-3e7, 400}} {
		l := make([]float64, 40)
		for i := range l {
			l[i] = c.centre + c.spread*src.NormFloat64()
		}
		l[3] = math.Inf(-1)
		whole := weighted(t, len(l), 0, l...)
		mean, relative, ess, err := whole.LogMeanExp()
		require.NoError(t, err)
		m, r, e := expected(l)
		assert.InEpsilon(t, m, mean, 1e-12, c)
		assert.InDelta(t, r, relative, 1e-6*r, c) // of log-weights that are rounded
		assert.InDelta(t, e, ess, 1e-6*e, c)
		want := bytesOf(t, whole)
		for range 20 {
			var all Tally
			for _, i := range src.Perm(8) {
				part := weighted(t, len(l), 5*i, l[5*i:5*i+5]...)
				var sent Tally
				require.NoError(t, sent.UnmarshalBinary(bytesOf(t, part)))
				require.NoError(t, all.Merge(&sent))
			}
			require.True(t, bytes.Equal(want, bytesOf(t, &all)), c)
		}
	}
	mean, relative, ess, err := weighted(t, 1, 0, 5).LogMeanExp()
	require.NoError(t, err)
	assert.InDelta(t, 5, mean, 1e-15)
	assert.Equal(t, [2]float64{0, 1}, [2]float64{relative, ess})
}

// Terms that are too small to count are dropped in every order; a sum that carried
// them upwards would differ.
func TestScaledSumDropsAlike(t *testing.T) {
	terms := []int{-2000, -1500, -600, -513, -512, -511, -1, 0, 1, 511, 512, 513, 1023, 1024}
	src := rand.New(rand.NewPCG(7, 8))
	sum := func(order []int) []byte {
		var w weights
		for _, i := range order {
			w.first.add(1.5, terms[i])
		}
		return w.append(nil)
	}
	want := sum(src.Perm(len(terms)))
	for range 100 {
		require.Equal(t, want, sum(src.Perm(len(terms))))
	}
}

func TestLogMeanExpRefuses(t *testing.T) {
	f := func([]int32) float64 { return 0 }
	_, err := NewTally(TallyConfig{Draws: 2, LogWeights: true}, f)
	require.ErrorContains(t, err, "TallyConfig.Draws = 2, want 1 with LogWeights")
	_, err = NewTally(TallyConfig{Draws: 1, LogWeights: true})
	require.ErrorContains(t, err, "want a function with it")
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e300, -1e300} {
		_, _, _, err := weighted(t, 3, 0, 1, bad, 2).LogMeanExp()
		require.ErrorContains(t, err, "chain 1: log-weight = ")
		var all Tally
		require.NoError(t, all.Merge(weighted(t, 3, 2, 2)))
		require.NoError(t, all.Merge(weighted(t, 3, 0, 1, bad)))
		_, _, _, err = all.LogMeanExp()
		require.ErrorContains(t, err, "chain 1: log-weight = ")
	}
	mean, _, _, err := weighted(t, 2, 0, math.Inf(-1), math.Inf(-1)).LogMeanExp()
	require.ErrorIs(t, err, errNoWeight)
	assert.True(t, math.IsInf(mean, -1))
	_, _, _, err = (&Tally{}).LogMeanExp()
	require.ErrorContains(t, err, "empty")
	mean, _, _, err = weighted(t, 3, 0, 1, 1).LogMeanExp()
	require.ErrorContains(t, err, "missing of 3 chains: 2")
	assert.InDelta(t, 1, mean, 1e-15)

	plain, err := NewTally(TallyConfig{Chains: 1, Draws: 1}, f)
	require.NoError(t, err)
	plain.Observe(0, 0, nil, nil)
	_, _, _, err = plain.LogMeanExp()
	require.ErrorContains(t, err, "keeps no weights")
	require.ErrorContains(t, weighted(t, 1, 0, 1).SameRun(plain), "LogWeights is true in one part and false")

	w := weights{}
	w.add(0, 1)
	b := w.append(nil)
	for i := range b {
		d := &decoder{rest: b[:i]}
		(&weights{}).decode(d)
		require.True(t, d.short, i)
	}
	whole := bytesOf(t, weighted(t, 1, 0, 1))
	body, err := wire.Body(whole, tallyMagic)
	require.NoError(t, err)
	body[8] = 2 // draws
	require.Error(t, (&Tally{}).UnmarshalBinary(wire.Append(nil, tallyMagic, body)))
}
