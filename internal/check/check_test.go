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
