package energy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
)

// The Petersen graph has 120 proper colourings with three colours. Where E is 0
// on the allowed states and +Inf elsewhere, the partition sum counts them, and
// means are averages over all of them.
func ExampleEnumeration() {
	petersen := [][2]int{
		{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, // outside
		{5, 7}, {7, 9}, {9, 6}, {6, 8}, {8, 5}, // inside
		{0, 5}, {1, 6}, {2, 7}, {3, 8}, {4, 9},
	}
	colouring := energy.Func{Sites: 10, Levels: 3, E: func(x []int32) float64 {
		for _, edge := range petersen {
			if x[edge[0]] == x[edge[1]] {
				return math.Inf(1)
			}
		}
		return 0
	}}
	e, err := energy.Enumerate(context.Background(), colouring, func(x []int32) float64 {
		if x[0] == x[2] {
			return 1
		}
		return 0
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.0f colourings; vertices 0 and 2 agree in %.0f %%\n", math.Exp(e.LogZ), 100*e.Means[0])
	// Output: 120 colourings; vertices 0 and 2 agree in 40 %
}

// The batch that a denoiser sees: two states of two sites at different noise
// levels. The last entry of the second state is known, so it is its own
// prediction.
func ExampleNoised() {
	// For independent standard normal numbers, E[x_0 | x_t] = √ᾱ·x_t.
	normal := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1,
		F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
			for i, x := range q.X {
				v[i] = float32(math.Sqrt(q.Alpha[i/2]) * float64(x))
				if q.Clean[i] {
					v[i] = x
				}
			}
			return nil
		}}
	v := make([]float32, 4)
	err := normal.Denoise(context.Background(), v, energy.Noised[float32]{
		X:      []float32{2, -1, 4, 3},
		Time:   []float64{0.5, 0.8},
		Alpha:  []float64{0.25, 0.0625},
		Sample: []int{0, 1},
		Src:    []rand.Source{rand.NewPCG(1, 0), rand.NewPCG(1, 1)},
		Clean:  []bool{false, false, false, true},
	})
	fmt.Println(v, err)
	// Output: [1 -0.5 1 3] <nil>
}

// A network that was trained to predict the noise becomes a denoiser. This one
// is exact for a standard normal number, where E[ε | x_t] = √(1−ᾱ)·x_t and
// E[x_0 | x_t] = √ᾱ·x_t.
func ExampleNoisePredictor() {
	network := energy.DenoiserFunc[float32]{Sites: 1, Levels: 1,
		F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
			for s, x := range q.X {
				v[s] = float32(math.Sqrt(1-q.Alpha[s]) * float64(x))
			}
			return nil
		}}
	v := make([]float32, 1)
	err := energy.NoisePredictor{Denoiser: network}.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{2}, Time: []float64{0.5}, Alpha: []float64{0.25},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	fmt.Printf("%.4f %v\n", v, err)
	// Output: [1.0000] <nil>
}

// The double well E(x) = (x² − 1)²: the score is zero at both minima and points
// towards them from everywhere else but 0.
func ExampleRealFunc() {
	well := energy.RealFunc{
		Dim:  1,
		E:    func(x []float32) float64 { y := float64(x[0]*x[0]) - 1; return y * y },
		Grad: func(g, x []float32) { g[0] = 4 * x[0] * (x[0]*x[0] - 1) },
	}
	x := []float32{-2, -1, 0.5, 1} // four states
	e, s := make([]float64, 4), make([]float32, 4)
	well.Energy(e, x)
	well.Score(s, x)
	fmt.Println(e)
	fmt.Println(s)
	// Output:
	// [9 0 0.5625 0]
	// [24 0 1.5 0]
}
