package check_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/stretchr/testify/assert"
)

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
