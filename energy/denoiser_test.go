package energy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy"
)

// network stands for a neural network over a batch of sequences: it returns
// logits for states × sites × levels.
type network struct{ sites, levels int }

func (n network) forward(ids []int64) []float32 {
	logits := make([]float32, len(ids)*n.levels)
	for i, id := range ids {
		logits[i*n.levels+int(id+1)%n.levels] = 2
	}
	return logits
}

// A network becomes a denoiser with a function that converts its input, runs it
// and copies its logits. Rows may have any constant: logits need no softmax.
func ExampleDenoiserFunc() {
	net := network{sites: 4, levels: 3}
	model := energy.DenoiserFunc[int32]{
		Sites: net.sites, Levels: net.levels, IgnoresTime: true,
		F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
			ids := make([]int64, len(q.X))
			for i, token := range q.X {
				ids[i] = int64(token)
			}
			copy(v, net.forward(ids))
			return ctx.Err()
		},
	}
	v := make([]float32, 4*3)
	err := model.Denoise(context.Background(), v, energy.Noised[int32]{
		X: []int32{0, 1, 2, 2}, Time: []float64{0.5}, Alpha: []float64{0.5},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	fmt.Println(v, err, energy.TimeFree(model), energy.LeaveOneOut(model))
	// Output: [0 2 0 0 0 2 2 0 0 2 0 0] <nil> true false
}

// A network that predicts every token from the others says so, as a diffusion puts the
// token itself into the prediction.
func ExampleLeaveOneOut() {
	for _, excludes := range []bool{false, true} {
		model := energy.DenoiserFunc[int32]{
			Sites: 2, Levels: 2, ExcludesSelf: excludes,
			F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
				for i := range q.X {
					v[2*i+int(q.X[i^1])] = 1 // two sites that are alike
				}
				return nil
			},
		}
		fmt.Println(energy.LeaveOneOut(model))
	}
	// Output:
	// false
	// true
}

func TestDenoiserFuncChecksItsSlices(t *testing.T) {
	f := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(context.Context, []float32, energy.Noised[float32]) error { return nil }}
	good := energy.Noised[float32]{X: make([]float32, 4), Time: make([]float64, 2), Alpha: make([]float64, 2), Sample: make([]int, 2), Src: make([]rand.Source, 2)}
	ctx := context.Background()
	assert.NoError(t, f.Denoise(ctx, make([]float32, 4), good))
	assert.PanicsWithValue(t, "energy: len(v) = 3, want 4", func() { _ = f.Denoise(ctx, make([]float32, 3), good) })
	for want, spoil := range map[string]func(*energy.Noised[float32]){
		"energy: len(X) = 3, want a multiple of 2": func(q *energy.Noised[float32]) { q.X = q.X[:3] },
		"energy: len(Time) = 1, want 2":            func(q *energy.Noised[float32]) { q.Time = q.Time[:1] },
		"energy: len(Alpha) = 1, want 2":           func(q *energy.Noised[float32]) { q.Alpha = q.Alpha[:1] },
		"energy: len(Sample) = 1, want 2":          func(q *energy.Noised[float32]) { q.Sample = q.Sample[:1] },
		"energy: len(Src) = 1, want 2":             func(q *energy.Noised[float32]) { q.Src = q.Src[:1] },
		"energy: len(Clean) = 1, want 4":           func(q *energy.Noised[float32]) { q.Clean = make([]bool, 1) },
	} {
		q := good
		spoil(&q)
		assert.PanicsWithValue(t, want, func() { _ = f.Denoise(ctx, make([]float32, 4), q) })
	}
	assert.False(t, energy.TimeFree(3))
	assert.False(t, energy.LeaveOneOut("no denoiser"))
}
