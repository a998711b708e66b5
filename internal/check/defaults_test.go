package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

func TestDefaultsAndRefusals(t *testing.T) {
	none, some, less := 0, 3, -2
	assert.NoError(t, check.Defaults("p: C.", check.Number("None", &none, 0, 7), check.Number("Some", &some, 1, 7)))
	assert.Equal(t, [2]int{7, 3}, [2]int{none, some})
	assert.EqualError(t, check.Defaults("p: C.", check.Number("Less", &less, -1, 7)), "p: C.Less = -2, want ≥ -1")
	assert.NoError(t, check.Refuse("p: C.", check.Rule(false, "A", 1, "≥ 2")))
	assert.EqualError(t, check.Refuse("p: C.", check.Rule(false, "A", 1, "≥ 2"), check.Rule(true, "B", 1.5, "0 … 1")), "p: C.B = 1.5, want 0 … 1")
}
