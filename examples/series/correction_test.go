package main

import (
	"math"
	"math/rand/v2"
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
	o, err := parse([]string{"-csv", share(t, 500), "-length", "12", "-generate", "1"})
	require.NoError(t, err)
	f, err := seriesOf(o)
	require.NoError(t, err)
	pick, _ := choose(f, false)
	all, _ := windowsOf(f, o.length, pick)
	m, err := newWindowModel(f, o, pick, all)
	require.NoError(t, err)
	require.NoError(t, m.correct(t.Context(), 1))
	l := m.correction
	gap := func(c *logistic) (sum float64) {
		m.correction = c
		random := rand.New(rand.NewPCG(5, 5))
		for range 150 {
			sum -= l.margin(m.signs(m.draw(random))) / 150
		}
		for _, s := range all {
			sum += l.margin(m.signs(m.values(s))) / float64(len(all))
		}
		return sum
	}
	away := *l
	away.weights = slices.Clone(l.weights)
	for j := range away.weights {
		away.weights[j] *= -1
	}
	none := *l
	none.weights = make([]float64, len(l.weights))
	before := gap(&none)
	require.Greater(t, before, 0.3)
	assert.Less(t, math.Abs(gap(l)), 0.5*before)
	assert.Greater(t, gap(&away), 1.3*before)
}

// Real windows cannot be separated from real windows of other parts, even where prices drift.
// The score was biased when windows of the part of the test were among those that the classifier learnt
// as generated.
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

// A market whose windows a kernel density already describes is not made worse, and the report states how
// windows are chosen.
func TestCorrectionIsJudged(t *testing.T) {
	r, _ := generateFrom(t, "-csv", share(t, 400), "-generate", "10", "-length", "6")
	assert.Greater(t, r.HeldOut, 200)
	assert.Less(t, r.Apart, 0.1)
	assert.InDelta(t, 0.5, r.Correction.Effective, 0.45)
	assert.Contains(t, r.String(), "corrected by a classifier")
}

// Many channels are not corrected, which the report says.
func TestCorrectionOfManyChannels(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 8))
	var b strings.Builder
	for c := range 25 {
		b.WriteString(",x" + strconv.Itoa(c))
	}
	text := b.String()[1:] + "\n"
	for range 60 {
		for c := range 25 {
			if c > 0 {
				text += ","
			}
			text += strconv.FormatFloat(random.NormFloat64(), 'f', 3, 64)
		}
		text += "\n"
	}
	g, got := generateFrom(t, "-csv", write(t, text), "-generate", "3", "-length", "6")
	require.Len(t, got, 19)
	assert.Nil(t, g.Correction)
	assert.Contains(t, g.String(), "more than 200 traits of 25 channels")
}
