package constraint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSlabs(t *testing.T) {
	inf := math.Inf(1)
	s := Slabs{
		A:     []Row{{Index: []int32{0, 1}, Value: []float64{1, -2}}, {Index: []int32{1}, Value: []float64{1}}},
		Lower: []float64{-1, -inf}, Upper: []float64{2, 0.5},
	}
	assert.NoError(t, s.Validate(2))
	assert.Equal(t, 2, s.Len())
	g := make([]float64, 2)
	s.Value(g, []float32{4, 0.25}) // 3.5 and 0.25
	assert.Equal(t, []float64{1.5, -0.25}, g)
	s.Value(g, []float32{-4, 1}) // -6 and 1
	assert.Equal(t, []float64{5, 0.5}, g)
	dst := make([]float32, 2)
	s.Pull(dst, []float32{-4, 1}, []float64{2, 3})
	assert.Equal(t, []float32{-2, 4 + 3}, dst)
	clear(dst)
	s.Pull(dst, []float32{4, 0}, []float64{1, 0})
	assert.Equal(t, []float32{1, -2}, dst)
	assert.PanicsWithValue(t, "constraint: len(g) = 1, want 2", func() { s.Value(g[:1], dst) })

	for want, spoil := range map[string]func(s *Slabs){
		"len(Lower), len(Upper) = 1, 2, want len(A) = 2": func(s *Slabs) { s.Lower = s.Lower[:1] },
		"A[1].Index[0] = 2, want 0…1":                    func(s *Slabs) { s.A = []Row{s.A[0], {Index: []int32{2}, Value: []float64{1}}} },
		"Lower[0] = NaN":                                 func(s *Slabs) { s.Lower = []float64{math.NaN(), 0} },
		"Upper[1] = -Inf":                                func(s *Slabs) { s.Upper = []float64{3, -inf} },
		"row 0 is 3 ≤ … ≤ 2":                             func(s *Slabs) { s.Lower = []float64{3, 0} },
	} {
		bad := s
		spoil(&bad)
		assert.ErrorContains(t, bad.Validate(2), want)
	}
	l := Linear{A: s.A, B: []float64{1, 2}}.Slabs()
	assert.NoError(t, l.Validate(2))
	assert.Equal(t, []float64{-inf, -inf}, l.Lower)
}
