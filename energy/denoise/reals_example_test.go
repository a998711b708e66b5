package denoise_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
)

// A gap in a series with x_t = 0.8·x_{t−1} + noise between two values that are
// known to be 1. Of the gap there is only noise (ᾱ = 0), so that the prediction
// is the exact interpolation, 0.8·(1 + 1)/(1 + 0.8²).
func ExampleAutoregressive() {
	d, err := denoise.NewAutoregressive(3, denoise.Channel{Coef: []float64{0.8}})
	if err != nil {
		panic(err)
	}
	v := make([]float32, 3)
	err = d.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{1, 0.3, 1}, Clean: []bool{true, false, true},
		Time: []float64{1}, Alpha: []float64{0},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", v)
	// Output: [1.0000 0.9756 1.0000]
}

// Two channels of length 2: white noise around 10 with variance 4, and a slow
// series around 0. Entry t·2 + c is channel c at time t. In pure noise the
// prediction is the mean.
func ExampleChannel() {
	d, err := denoise.NewAutoregressive(2,
		denoise.Channel{Mean: 10, Variance: 4},
		denoise.Channel{Coef: []float64{0.9}})
	if err != nil {
		panic(err)
	}
	v := make([]float32, 4)
	for _, alpha := range []float64{0, 0.25, 1} {
		err = d.Denoise(context.Background(), v, energy.Noised[float32]{
			X: []float32{6, 1, 5, 1}, Time: []float64{1 - alpha}, Alpha: []float64{alpha},
			Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("ᾱ = %.2f: %.3f\n", alpha, v)
	}
	// Output:
	// ᾱ = 0.00: [10.000 0.000 10.000 0.000]
	// ᾱ = 0.25: [11.143 0.776 10.000 0.776]
	// ᾱ = 1.00: [6.000 1.000 5.000 1.000]
}

// Two narrow peaks at −1 and 1. With little noise the prediction is the nearer
// peak; with much noise it is closer to the mean of both.
func ExampleMixture() {
	peaks, err := continuous.NewDiagonal([]float64{1, 1}, []float64{-1, 1}, []float64{0.01, 0.01})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewMixture(peaks)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2)
	err = d.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{0.5, 0.5}, Time: []float64{0.1, 0.9}, Alpha: []float64{0.9, 0.1},
		Sample: []int{0, 1}, Src: []rand.Source{rand.NewPCG(1, 0), rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", v)
	// Output: [0.961 0.175]
}

// Three windows of real data are a denoiser without a network: the prediction is
// their average, weighed by how well each explains the noisy window.
func ExampleWindows() {
	data := []float32{
		0, 1, 2,
		2, 1, 0,
		1, 1, 1,
	}
	d, err := denoise.NewWindows(data, 3, denoise.WindowsConfig{})
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2*3)
	err = d.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{0, 1, 2, 0, 1, 2}, Time: []float64{0.01, 0.99}, Alpha: []float64{0.99, 0.01},
		Sample: []int{0, 1}, Src: []rand.Source{rand.NewPCG(1, 0), rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("little noise: %.2f\nmuch noise:   %.2f\n", v[:3], v[3:])
	// Output:
	// little noise: [0.00 1.00 2.00]
	// much noise:   [0.87 1.00 1.13]
}

// With Top the prediction is the average of the nearest windows alone: of one, here.
func ExampleWindowsConfig() {
	data := []float32{
		0, 1, 2,
		2, 1, 0,
		1, 1, 1,
	}
	d, err := denoise.NewWindows(data, 3, denoise.WindowsConfig{Top: 1})
	if err != nil {
		panic(err)
	}
	v := make([]float32, 3)
	err = d.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{0, 1, 2}, Time: []float64{0.99}, Alpha: []float64{0.01}, Sample: []int{0}, Src: []rand.Source{nil},
	})
	fmt.Println(v, err)
	// Output:
	// [0 1 2] <nil>
}

// Exact samples given an equation, by any number of steps: the mixture is
// conditioned, and every step draws the clean sample instead of its mean.
func ExampleAncestral() {
	m, err := continuous.NewDiagonal([]float64{1, 1}, []float64{-2, 0, 2, 1}, []float64{0.1, 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	given, _, err := m.Where([]float64{1, 1}, []float64{3})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := denoise.NewAncestral(given)
	if err != nil {
		fmt.Println(err)
		return
	}
	x, src := make([]float32, 2), rand.NewPCG(1, 1)
	err = d.Denoise(context.Background(), x, energy.Noised[float32]{
		X: []float32{0.3, -1}, Time: []float64{0.9}, Alpha: []float64{0.01}, Sample: []int{0}, Src: []rand.Source{src},
	})
	fmt.Printf("%.4f %v\n", x[0]+x[1], err)
	// Output: 3.0000 <nil>
}

// A network that was trained by flow matching becomes a denoiser. This one is exact for
// a standard normal number, of which nothing is known in pure noise and, half-way, as
// much as of the noise.
func ExampleVelocity() {
	network := energy.DenoiserFunc[float32]{Sites: 1, Levels: 1,
		F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
			for i, z := range q.X {
				s := q.Time[i]
				v[i] = float32((2*s - 1) / ((1-s)*(1-s) + s*s) * float64(z))
			}
			return nil
		}}
	v := make([]float32, 2)
	err := denoise.Velocity{Denoiser: network}.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{2, 2}, Time: []float64{1, 0.5}, Alpha: []float64{0, 0.5},
		Sample: []int{0, 1}, Src: []rand.Source{rand.NewPCG(1, 1), rand.NewPCG(1, 2)},
	})
	fmt.Printf("%.4f %v\n", v, err)
	// Output: [0.0000 1.4142] <nil>
}
