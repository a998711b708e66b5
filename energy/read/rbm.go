package read

import (
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/npy"
)

// RBM reads a restricted Boltzmann machine from three NumPy .npy arrays. The weights w have the
// shape (hidden, visible); bh and bv are the biases of the hidden and of the visible units. A bias
// array may have any shape with the right number of elements. Arrays of float64 are rounded to
// float32. RBM returns an error that names the array if an array cannot be read or shapes do not
// fit. It also returns the errors of [model.NewRBM].
func RBM(w, bh, bv io.Reader) (*model.RBM, error) {
	arrays := [3][]float32{}
	var shape []int
	for k, in := range []struct {
		name string
		r    io.Reader
	}{{"w", w}, {"bh", bh}, {"bv", bv}} {
		if in.r == nil {
			return nil, fmt.Errorf("read: RBM: %s is nil", in.name)
		}
		s, data, err := npy.Read[float32](in.r)
		if err != nil {
			return nil, fmt.Errorf("read: RBM: %s: %w", in.name, err)
		}
		if k == 0 {
			shape = s
		}
		arrays[k] = data
	}
	hidden, visible := len(arrays[1]), len(arrays[2])
	if len(shape) != 2 || shape[0] != hidden || shape[1] != visible {
		return nil, fmt.Errorf("read: RBM: w has the shape %v, want [%d %d], the lengths of bh and bv", shape, hidden, visible)
	}
	return model.NewRBM(arrays[0], arrays[1], arrays[2])
}
