package diagnose

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// stream shows the draws to a streaming trace.
func stream(draws [][]float64) *Trace {
	var v float64
	t := NewStreamingTrace(func([]int32) float64 { return v })
	for c := range draws {
		for i := range draws[c] {
			v = draws[c][i]
			t.Observe(c, i, nil, nil)
		}
	}
	return t
}

// walk is a reflected random walk on 0…9 per chain.
func walk(chains, n int) [][]float64 {
	x := newDraws(chains, n)
	state := uint64(2021)
	for c := range x {
		v := 5
		for i := range x[c] {
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
			v = min(9, max(0, v+int(state>>62)%3-1))
			x[c][i] = float64(v)
		}
	}
	return x
}

// batchesOf computes from all draws, in two passes, what the documentation of
// the streaming mode says: the split R̂ of the halves of the full batches, and
// the MCSE by batch means.
func batchesOf(draws [][]float64) (rhat, mcse float64) {
	n := len(draws[0])
	size := 1
	for n/size >= 64 {
		size *= 2
	}
	full := n / size
	half := full / 2 * size
	cut := newDraws(len(draws), 2*half)
	join := (int(math.Sqrt(float64(n))) + size - 1) / size * size
	var longRun float64
	for c, x := range draws {
		copy(cut[c], x[:half])
		copy(cut[c][half:], x[full*size-half:full*size])
		var means []float64
		for at := 0; at+join <= full*size; at += join {
			sum := 0.0
			for _, v := range x[at : at+join] {
				sum += v
			}
			means = append(means, sum/float64(join))
		}
		_, v := meanVariance(means)
		longRun += v * float64(join) / float64(len(draws))
	}
	rhat, _ = rHatBasic(cut)
	within := longRun / float64(n*len(draws))
	var chainMeans []float64
	for _, x := range draws {
		m, _ := meanVariance(x)
		chainMeans = append(chainMeans, m)
	}
	_, between := meanVariance(chainMeans)
	between /= float64(len(draws))
	f, g := float64(len(draws)*(full*size/join-1)), float64(len(draws)-1)
	// F by the incomplete beta function; the package takes its upper tail.
	if mathext.RegIncBeta(g/2, f/2, g*between/(f*within+g*between)) > 0.99 {
		return rhat, math.Sqrt(between)
	}
	return rhat, math.Sqrt((f*within + g*between) / (f + g))
}

func TestStreamingIsWhatItSays(t *testing.T) {
	for _, n := range []int{4, 5, 10, 63, 64, 65, 100, 128, 1000, 2048, 4097, 10007} {
		x := walk(3, n)
		row := stream(x).Summary().Rows[0]
		mean, sd := meanSD(x)
		rhat, mcse := batchesOf(x)
		// Welford's and the two-pass formulas round differently, by some 1e−16
		// per draw at worst.
		const rounding = 1e-11
		assert.InEpsilon(t, mean, row.Mean.Value, rounding, n)
		assert.InEpsilon(t, sd, row.SD.Value, rounding, n)
		if bound := 3 * float64(n) * math.Log10(3*float64(n)); row.MCSE.Err != nil {
			assert.ErrorIs(t, row.MCSE.Err, ErrTooFew, n)
			assert.LessOrEqual(t, row.ESSMean.Value, sd*sd/mcse/mcse*(1+rounding), n)
		} else if row.MCSE.Value > mcse*(1+rounding) { // batches are correlated
			assert.Less(t, n, 10007)
		} else if sd*sd/mcse/mcse < bound {
			assert.InEpsilon(t, mcse, row.MCSE.Value, rounding, n)
			assert.InEpsilon(t, sd*sd/mcse/mcse, row.ESSMean.Value, rounding, n)
		} else {
			assert.InEpsilon(t, bound, row.ESSMean.Value, rounding, n)
		}
		require.True(t, row.RHat.Defined())
		if math.IsInf(rhat, 1) {
			assert.Equal(t, rhat, row.RHat.Value)
		} else {
			assert.InEpsilon(t, rhat, row.RHat.Value, rounding, n)
		}
		for _, e := range []Estimate{row.Q5, row.Q50, row.Q95, row.ESSBulk, row.ESSTail} {
			assert.ErrorIs(t, e.Err, ErrStreaming)
		}
	}
}

// Where batches fill both halves, the streaming R̂ is rHatBasic.
func TestStreamingRHatIsBasic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(4, 63), rapid.SampledFrom([]int{64, 96, 128, 192, 256, 480, 1024})).Draw(t, "n")
		x := walk(rapid.IntRange(1, 4).Draw(t, "chains"), n)
		want, err := rHatBasic(x)
		got := stream(x).Summary().Rows[0].RHat
		if err != nil || math.IsInf(want, 1) {
			return
		}
		assert.NoError(t, got.Err)
		assert.InEpsilon(t, want, got.Value, 1e-12)
	})
}

// On a long AR(1) series with coefficient φ the MCSE must come near the known
// σ/((1−φ)√n), σ the innovations' standard deviation. With k = 39 batches in
// each of 16 chains its square is a χ² of 16·38 degrees of freedom over that
// number but for a bias: the relative standard deviation of the MCSE is
// 1/√(2·608) = 2.9 %, so 14.2 % is the two-sided bound of rate 1e−6 (4.9σ).
// Batches of 256 draws bias the variance by −2φ/((1−φ²)·256) < 1 % for φ = ½.
func TestStreamingMCSEIsRight(t *testing.T) {
	const phi, n, chains = 0.5, 10_000, 16
	x := newDraws(chains, n)
	state := uint64(7)
	for c := range x {
		v := 0.0
		for i := range x[c] {
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
			v = phi*v + float64(state>>11)/(1<<53) - 0.5
			x[c][i] = v
		}
	}
	row := stream(x).Summary().Rows[0]
	want := math.Sqrt(1./12) / (1 - phi) / math.Sqrt(n*chains)
	assert.InEpsilon(t, want, row.MCSE.Value, 0.142+0.01)
	// A twin that takes the draws for independent fails: it is off by √3.
	broken := row.SD.Value / math.Sqrt(n*chains)
	assert.Greater(t, math.Abs(broken-want)/want, 0.152)
}

// Few chains that mix: the mean of MCSE² over 400 runs of 4 chains is their true
// error squared, within its own error and two biases. Each has 4·38 + 3 degrees of
// freedom, so the mean has a relative standard deviation of √(2/155/400) = 0.57 %,
// 4.9 of which have a rate of 1e−6; batches of 32 draws miss 2φ/((1−φ²)·32) = 4 % of the variance,
// and means alone, taken in 1 % of all cases, add 1 % of some 3.5. The larger of the
// two estimates, as a twin, is over by 26 %.
func TestStreamingMCSEHasNoBias(t *testing.T) {
	exact.SkipRepeated(t)
	const phi, n, chains, runs = 0.5, 1000, 4, 400
	src := rand.New(rand.NewPCG(1, 1))
	mean, larger := 0.0, 0.0
	for range runs {
		row := stream(autoregressive(src, chains, n, phi, 0)).Summary().Rows[0]
		mean += row.MCSE.Value * row.MCSE.Value / runs
		larger += math.Pow(max(row.MCSE.Value, row.MCSEChains.Value), 2) / runs
	}
	want := 1 / (1 - phi) / (1 - phi) / (n * chains)
	const tolerance = 0.028 + 0.04 + 0.035
	assert.InEpsilon(t, want, mean, tolerance)
	assert.Greater(t, larger, want*(1+tolerance))
}

func TestExceeds(t *testing.T) {
	// 99 % quantiles of F, from tables.
	for _, c := range []struct{ g, f, at float64 }{{3, 120, 3.949}, {10, 30, 2.979}, {60, 120, 1.656}} {
		assert.InDelta(t, 0.01, exceeds(c.at, c.g, c.f), 5e-5, c) // tables have four digits
	}
	assert.Zero(t, exceeds(math.Inf(1), 3, 3))
}

func TestStreamingEdges(t *testing.T) {
	row := stream([][]float64{{1, 2, 3}, {3, 4, 1}}).Summary().Rows[0]
	assert.EqualError(t, row.Mean.Err, "3 draws per chain, want ≥ 4: too few draws")
	assert.ErrorIs(t, row.RHat.Err, ErrTooFew)

	tenth := make([]float64, 1000)
	for i := range tenth {
		tenth[i] = 0.1
	}
	row = stream([][]float64{tenth, tenth}).Summary().Rows[0]
	assert.Equal(t, Estimate{Value: 0.1}, row.Mean)
	assert.Equal(t, Estimate{}, row.SD)
	for _, e := range []Estimate{row.MCSE, row.RHat, row.ESSMean} {
		assert.ErrorIs(t, e.Err, ErrConstant)
	}

	row = stream([][]float64{{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}}).Summary().Rows[0]
	assert.True(t, math.IsInf(row.RHat.Value, 1))
	assert.NoError(t, row.RHat.Err)

	var bad *NotFinite
	row = stream([][]float64{{1, 2, 3, 4}, {1, 2, math.Inf(1), math.NaN()}}).Summary().Rows[0]
	require.ErrorAs(t, row.Mean.Err, &bad)
	assert.Equal(t, NotFinite{Chain: 1, Draw: 2, Value: math.Inf(1)}, *bad)

	for _, size := range []float64{1e-200, 1e200, math.MaxFloat64} {
		row = stream([][]float64{{-size, size, size, -size, size, size}}).Summary().Rows[0]
		for _, e := range []Estimate{row.SD, row.MCSE, row.RHat, row.ESSMean} {
			assert.ErrorIs(t, e.Err, ErrRange, size)
		}
	}
	// Batch means of an alternating series are all equal.
	alternating := make([]float64, 128)
	for i := range alternating {
		alternating[i] = float64(i % 2)
	}
	row = stream([][]float64{alternating}).Summary().Rows[0]
	assert.InEpsilon(t, 128*math.Log10(128), row.ESSMean.Value, 1e-12)
	assert.Positive(t, row.MCSE.Value)

	// Chains of different lengths.
	row = stream([][]float64{walk(1, 200)[0], walk(1, 199)[0]}).Summary().Rows[0]
	assert.True(t, row.RHat.Defined() && row.ESSMean.Defined())
	assert.ErrorContains(t, row.MCSE.Err, "batches of 4 draws with an autocorrelation of")
}
