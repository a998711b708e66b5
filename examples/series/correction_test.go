package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A correction moves the mean of its margin over windows to that over windows of the file; one with
// the opposite weights moves it away.
func TestCorrectionMovesWindows(t *testing.T) {
	o, err := parse([]string{"-csv", share(t, 700), "-length", "12", "-generate", "1"})
	require.NoError(t, err)
	f, err := seriesOf(o)
	require.NoError(t, err)
	pick, _ := choose(f, false)
	all, _ := windowsOf(f, o.length, pick)
	m, err := newWindowModel(f, o, pick, all)
	require.NoError(t, err)
	require.NoError(t, m.train(t.Context(), 1))
	l := m.correction
	judge := logistic{l.Mean, l.Scale, l.Weights}
	gap := func(c *correction) (sum float64) {
		m.correction = c
		random := rand.New(rand.NewPCG(5, 5))
		for range 500 {
			sum -= judge.margin(m.signs(m.draw(random))) / 500
		}
		for _, s := range all {
			sum += judge.margin(m.signs(m.values(s))) / float64(len(all))
		}
		return sum
	}
	away := *l
	away.Weights = slices.Clone(l.Weights)
	for j := range away.Weights {
		away.Weights[j] *= -1
	}
	before := gap(nil)
	require.Greater(t, before, 0.3)
	assert.Less(t, math.Abs(gap(l)), 0.5*before)
	assert.Greater(t, gap(&away), 1.3*before)
}

// Real windows cannot be separated from real windows of other parts, even where prices drift. The score
// of these was .3 when windows of the part of the test were among those that the classifier learnt as
// generated.
func TestScoreOfRealWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var b strings.Builder
	b.WriteString("level\n")
	x := 100.0
	for range 600 {
		x += r.NormFloat64()
		b.WriteString(strconv.FormatFloat(x, 'f', 2, 64) + "\n")
	}
	g, _ := generateFrom(t, "-csv", write(t, b.String()), "-generate", "1", "-length", "12")
	assert.Less(t, g.ApartReal, 0.1)
}

// The score of -train is that of corrected windows, held-out windows are those without it, and a market
// whose windows a kernel density already describes is not made worse.
func TestCorrectionIsJudged(t *testing.T) {
	args := []string{"-csv", share(t, 400), "-generate", "10", "-length", "6"}
	plain, _ := generateFrom(t, args...)
	corrected, _ := generateFrom(t, append(args, "-train")...)
	assert.Equal(t, plain.HeldOut, corrected.HeldOut)
	assert.NotEqual(t, plain.Apart, corrected.Apart)
	assert.Greater(t, corrected.HeldOut, 200)
	assert.Less(t, corrected.Apart, 0.1)
}

// A correction that was read makes the windows of the one that was written; other data are noted or
// refused.
func TestCorrectionIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "correction.json")
	args := []string{"-csv", share(t, 90), "-generate", "40", "-length", "12"} // too short for a score
	plain, _ := generateFrom(t, args...)
	first, windows := generateFrom(t, append(args, "-train", "-save", path)...)
	require.Nil(t, plain.Correction)
	require.NotNil(t, first.Correction)
	assert.InDelta(t, 0.5, first.Correction.Effective, 0.45)
	assert.Contains(t, first.String(), "corrected by a classifier")

	assert.Zero(t, first.HeldOut)
	second, again := generateFrom(t, append(args, "-load", path)...)
	assert.Equal(t, windows, again)
	assert.NotContains(t, strings.Join(second.Notes, "\n"), "trained on other windows")
	other, _ := generateFrom(t, append(args, "-load", path, "-csv", share(t, 80))...)
	assert.Contains(t, strings.Join(other.Notes, "\n"), "trained on other windows")

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	short := write(t, strings.Replace(string(b), "\"mean\": [", "\"mean\": [1,", 1))
	for want, more := range map[string][]string{
		"is a correction for windows of 12 rows": {"-load", path, "-length", "13"},
		"means, ":                                {"-load", short},
	} {
		o, err := parse(append(args, more...))
		if err == nil {
			_, err = dispatch(t.Context(), o)
		}
		assert.ErrorContains(t, err, want)
	}
}
