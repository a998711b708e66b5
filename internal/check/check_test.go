package check_test

import (
	"math"
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

func TestFinite(t *testing.T) {
	for _, v := range []float64{0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		assert.True(t, check.Finite(v), v)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.False(t, check.Finite(v), v)
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
