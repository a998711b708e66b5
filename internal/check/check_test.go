package check_test

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

func TestMessagesNameArgumentValueAndBound(t *testing.T) {
	assert.NotPanics(t, func() { check.Len("energy", "x", 9, 9) })
	assert.PanicsWithValue(t, "energy: len(x) = 7, want 9", func() { check.Len("energy", "x", 7, 9) })
	assert.Equal(t, 3, check.Rows("energy", "x", 27, 9))
	assert.PanicsWithValue(t, "energy: len(x) = 7, want a multiple of 9", func() { check.Rows("energy", "x", 7, 9) })
}

// Messages show the beginning of a text, cut between characters.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `""`,
		"a\n\xff":                  `"a\n\xff"`,
		strings.Repeat("é", 80):    `"` + strings.Repeat("é", 80) + `"`,
		strings.Repeat("é", 81):    `"` + strings.Repeat("é", 80) + `"…`,
		strings.Repeat("x", 1<<20): `"` + strings.Repeat("x", 80) + `"…`,
	} {
		assert.Equal(t, want, check.Quote(text))
	}
}

func TestFinite(t *testing.T) {
	for _, v := range []float64{0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		assert.True(t, check.Finite(v), v)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.False(t, check.Finite(v), v)
	}
	assert.True(t, check.AllFinite[float32](nil))
	assert.True(t, check.AllFinite([]float64{0, -math.MaxFloat64}))
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.False(t, check.AllFinite([]float64{0, v}))
		assert.False(t, check.AllFinite([]float32{float32(v), 0}))
	}
}

// shape is a model of which only the shape is known.
type shape [2]int

func (s shape) Shape() (sites, levels int) { return s[0], s[1] }

func TestShapes(t *testing.T) {
	sites, levels, err := check.Shape("mcmc: DMALA", shape{5, 2}, 32, 32)
	assert.NoError(t, err)
	assert.Equal(t, [2]int{5, 2}, [2]int{sites, levels})
	for want, try := range map[string]func() error{
		"mcmc: DMALA: model = nil":                                     func() error { _, _, err := check.Shape("mcmc: DMALA", nil, 1, 32); return err },
		"mcmc: DMALA: sites = 0, want ≥ 1":                             func() error { _, _, err := check.Shape("mcmc: DMALA", shape{0, 2}, 1, 32); return err },
		"mcmc: DMALA: levels = -1, want ≥ 1":                           func() error { _, _, err := check.Shape("mcmc: DMALA", shape{1, -1}, 1, 32); return err },
		"mcmc: DMALA: chains = 33, want 1 … 32":                        func() error { _, _, err := check.Shape("mcmc: DMALA", shape{1, 2}, 33, 32); return err },
		"mcmc: DMALA: chains = 0, want 1 … 32":                         func() error { _, _, err := check.Shape("mcmc: DMALA", shape{1, 2}, 0, 32); return err },
		"dual: New: q has 0 sites and 2 levels, want both ≥ 1":         func() error { _, _, err := check.Model("dual", "New", "q", shape{0, 2}); return err },
		"denoise: NewTable: m is nil":                                  func() error { _, _, err := check.Model("denoise", "NewTable", "m", nil); return err },
		"denoise: NewTable: m has 3 sites and 0 levels, want both ≥ 1": func() error { _, _, err := check.Model("denoise", "NewTable", "m", shape{3, 0}); return err },
		"model: NewMarkov: start[1] = -0.5, want ≥ 0":                  func() error { return check.Probabilities("model", "NewMarkov", "start", []float64{1.5, -0.5}, 2) },
		"model: NewMarkov: start[1] = NaN, want ≥ 0":                   func() error { return check.Probabilities("model", "NewMarkov", "start", []float64{1, math.NaN()}, 2) },
		"model: NewMarkov: rows[2:4] sums to 0.9, want 1 within 1e-06": func() error { return check.Probabilities("model", "NewMarkov", "rows", []float64{0.5, 0.5, 0.9, 0}, 2) },
	} {
		assert.EqualError(t, try(), want)
	}
	sites, levels, err = check.Model("denoise", "NewTable", "m", shape{3, 4})
	assert.NoError(t, err)
	assert.Equal(t, [2]int{3, 4}, [2]int{sites, levels})
	assert.NoError(t, check.Probabilities("model", "NewMarkov", "rows", []float64{0.5, 0.5, 1, 0}, 2))
}

func TestDefaultsAndRefusals(t *testing.T) {
	none, some, less := 0, 3, -2
	assert.NoError(t, check.Defaults("p: C.", check.Number("None", &none, 0, 7), check.Number("Some", &some, 1, 7)))
	assert.Equal(t, [2]int{7, 3}, [2]int{none, some})
	assert.EqualError(t, check.Defaults("p: C.", check.Number("Less", &less, -1, 7)), "p: C.Less = -2, want ≥ -1")
	assert.NoError(t, check.Refuse("p: C.", check.Rule(false, "A", 1, "≥ 2")))
	assert.EqualError(t, check.Refuse("p: C.", check.Rule(false, "A", 1, "≥ 2"), check.Rule(true, "B", 1.5, "0 … 1")), "p: C.B = 1.5, want 0 … 1")
	assert.NoError(t, cmp.Or(check.If(false, "p: A = %d, want ≥ %d", 1, 2), nil))
	assert.EqualError(t, cmp.Or(nil, check.If(true, "p: A = %d, want ≥ %d", 1, 2), check.If(true, "p: B")), "p: A = 1, want ≥ 2")
}

func TestGiven(t *testing.T) {
	assert.NoError(t, check.Given("mcmc: Swap", "r", &bytes.Buffer{}))
	assert.NoError(t, check.Optional("mcmc: Swap", "r", nil))
	assert.NoError(t, check.Optional("mcmc: Swap", "r", &bytes.Buffer{}))
	assert.EqualError(t, check.Optional("mcmc: Swap", "r", io.Reader((*bytes.Buffer)(nil))), "mcmc: Swap: r = (*bytes.Buffer)(nil), want a value")
	assert.EqualError(t, check.Given("mcmc: Swap", "r", nil), "mcmc: Swap: r = nil")
	assert.EqualError(t, check.Given("mcmc: Swap", "r", io.Reader((*bytes.Buffer)(nil))), "mcmc: Swap: r = (*bytes.Buffer)(nil), want a value")
	assert.PanicsWithValue(t, "energy: Differences: m = nil", func() { check.Must("energy: Differences", "m", nil) })
	assert.NotPanics(t, func() { check.Must("energy: Differences", "m", 1) })
}

func TestIndex(t *testing.T) {
	check.Index("model", "i", 2, 3)
	for _, i := range []int{-1, 3, math.MinInt} {
		assert.Panics(t, func() { check.Index("model", "i", i, 3) })
	}
}

func TestEntries(t *testing.T) {
	assert.NoError(t, check.Entries("dual: New", "sites × states", 3, 0))
	assert.NoError(t, check.Entries("dual: New", "sites", check.MaxEntries))
	assert.ErrorContains(t, check.Entries("dual: New", "sites × states", math.MaxInt, math.MaxInt), "dual: New: sites × states = [")
	assert.Error(t, check.Entries("dual: New", "sites", -1))
	assert.Error(t, check.Entries("dual: New", "sites", check.MaxEntries+1))
}

func TestStates(t *testing.T) {
	look := func(x []int32, table []float64) (sum float64) {
		defer check.States("model", x, len(table))
		for _, l := range x {
			sum += table[l]
		}
		if sum > 100 {
			panic("large")
		}
		return sum
	}
	assert.Equal(t, 3.0, look([]int32{0, 1}, []float64{1, 2}))
	assert.PanicsWithValue(t, "model: x[1] = 2, want 0 … 1", func() { look([]int32{0, 2}, []float64{1, 2}) })
	assert.PanicsWithValue(t, "model: x[0] = -1, want 0 … 1", func() { look([]int32{-1}, []float64{1, 2}) })
	assert.PanicsWithValue(t, "large", func() { look([]int32{0}, []float64{101}) })
}
