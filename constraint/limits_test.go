package constraint_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Tables whose bytes no int counts are larger than any limit.
func TestLimitsCountTablesBeyondMemory(t *testing.T) {
	for _, entries := range []int{math.MaxInt, math.MaxInt / 36, math.MaxInt/36 + 1} {
		var limit *constraint.LimitError
		assert.ErrorAs(t, constraint.Limits{}.Check("f", 1, entries, 8), &limit, entries)
		assert.ErrorAs(t, constraint.Limits{Bytes: math.MaxInt - 1}.Check("f", 1, entries, math.MaxInt-3), &limit, entries)
	}
	assert.NoError(t, constraint.Limits{Bytes: 368}.Check("f", 1, 10, 8))
	assert.Error(t, constraint.Limits{Bytes: 367}.Check("f", 1, 10, 8))
}
