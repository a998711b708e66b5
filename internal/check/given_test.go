package check_test

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/stretchr/testify/assert"
)

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
