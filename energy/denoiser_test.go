package energy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// A network that predicts every token from the others declares it, because a diffusion
// then adds the token itself to the prediction.
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
	good.Sample, good.Src = nil, nil // by hand
	assert.NoError(t, f.Denoise(ctx, make([]float32, 4), good))
	assert.False(t, energy.TimeFree(3))
	assert.False(t, energy.LeaveOneOut("no denoiser"))
}

func TestNoisePredictorConverts(t *testing.T) {
	noise := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		v[0], v[1] = 0.5, -1
		return nil
	}}
	v := make([]float32, 2)
	x := []float32{1, 2}
	require.NoError(t, energy.NoisePredictor{Denoiser: noise}.Denoise(context.Background(), v, energy.Noised[float32]{X: x, Alpha: []float64{0.36}, Time: []float64{0.64}, Sample: []int{0}, Src: make([]rand.Source, 1), Clean: []bool{false, true}}))
	assert.InDelta(t, (1-0.8*0.5)/0.6, v[0], 1e-6)
	assert.Equal(t, float32(2), v[1])
}

// counted wraps a denoiser and passes questions on.
type counted struct{ energy.Denoiser[int32] }

func (c counted) As(target any) bool { return energy.AsInto(c.Denoiser, target) }

// A wrapped denoiser says what the bare one says, by value and by pointer.
func TestWrappedDenoisersKeepWhatTheySay(t *testing.T) {
	for _, says := range []bool{false, true} {
		f := energy.DenoiserFunc[int32]{Sites: 1, Levels: 2, IgnoresTime: says, ExcludesSelf: !says}
		for _, d := range []energy.Denoiser[int32]{f, &f, counted{f}, &counted{&f}, counted{counted{f}}} {
			assert.Equal(t, says, energy.TimeFree(d), "%T", d)
			assert.Equal(t, !says, energy.LeaveOneOut(d), "%T", d)
		}
	}
	// A wrapper that does not pass them on is asked itself.
	assert.False(t, energy.TimeFree(struct{ energy.Denoiser[int32] }{energy.DenoiserFunc[int32]{IgnoresTime: true}}))
}
