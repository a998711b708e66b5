package denoise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// A chain that stays where it is with probability 0.9 is seen at both ends. What
// the two masked tokens between (level 2 is the mask) are likely to be follows
// exactly: 0.018/0.756 of the paths from 0 to 0 are at 1 next.
func ExampleMarkov() {
	chain, err := model.NewMarkov(4, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewMarkov(chain, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 4*3)
	err = d.Denoise(context.Background(), v, energy.Noised[int32]{
		X: []int32{0, 2, 2, 0}, Time: []float64{0.5}, Alpha: []float64{0.5},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	row := v[1*3:] // log-weights of token 1, up to a constant
	fmt.Printf("P(x_1 = 1) = %.4f\n", 1/(1+math.Exp(float64(row[0]-row[1]))))
	// Output: P(x_1 = 1) = 0.0238
}

// Three corners of a square of spins that prefer to agree are known, two up and one down. The
// fourth (level 2 is the mask) has one neighbour of each kind.
func ExampleFactored() {
	square, err := model.NewIsing(model.FreeLattice{2, 2}, 0.8, 0.2)
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewFactored(context.Background(), square, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 4*3)
	err = d.Denoise(context.Background(), v, energy.Noised[int32]{
		X: []int32{1, 1, 0, 2}, Time: []float64{0.5}, Alpha: []float64{0.5},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	row := v[3*3:] // 1/(1 + e^(−2·0.2)): only the field decides
	fmt.Printf("P(x_3 = 1) = %.4f\n", 1/(1+math.Exp(float64(row[0]-row[1]))))
	// Output: P(x_3 = 1) = 0.5987
}

// A casino switches between a fair die and one that shows a six every second
// time. After six, six, ?, six it is probably the loaded one that is on the
// table, and the unknown roll is a six with nearly even odds. Level 0 is another
// face, 1 a six, 2 the mask.
func ExampleHMM() {
	casino, err := denoise.NewHMM(4,
		[]float64{0.5, 0.5},
		[]float64{0.95, 0.05, 0.1, 0.9},
		[]float64{5. / 6, 1. / 6, 0.5, 0.5}, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 4*3)
	err = casino.Denoise(context.Background(), v, energy.Noised[int32]{
		X: []int32{1, 1, 2, 1}, Time: []float64{0.25}, Alpha: []float64{0.75},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	row := v[2*3:]
	fmt.Printf("P(six) = %.3f\n", 1/(1+math.Exp(float64(row[0]-row[1]))))
	// Output: P(six) = 0.468
}

// A bit that is 1 with probability 0.9 was replaced by a fair coin with
// probability one half, and reads 0. Bayes: 0.9·0.25 against 0.1·0.75.
func ExampleIndependent() {
	m, err := model.NewBernoulli([]float64{math.Log(9)})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewIndependent(m, denoise.Noisy)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2)
	err = d.Denoise(context.Background(), v, energy.Noised[int32]{
		X: []int32{0}, Time: []float64{0.5}, Alpha: []float64{0.5},
		Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("P(x_0 = 1) = %.4f\n", 1/(1+math.Exp(float64(v[0]-v[1]))))
	// Output: P(x_0 = 1) = 0.7500
}

// Any small model has an exact denoiser. Exactly one of these three bits is 1:
// once the first is revealed as 0, the others are even; once it is 1, they are
// certain.
func ExampleTable() {
	oneHot := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		if x[0]+x[1]+x[2] != 1 {
			return math.Inf(1)
		}
		return 0
	}}
	d, err := denoise.NewTable(oneHot, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2*3*3) // two states
	err = d.Denoise(context.Background(), v, energy.Noised[int32]{
		X: []int32{0, 2, 2, 1, 2, 2}, Time: []float64{0.5, 0.5}, Alpha: []float64{0.5, 0.5},
		Sample: []int{0, 1}, Src: []rand.Source{rand.NewPCG(1, 0), rand.NewPCG(1, 1)},
	})
	if err != nil {
		panic(err)
	}
	for s := range 2 {
		row := v[s*9+1*3:] // of the second bit
		fmt.Printf("P(x_1 = 1) = %.2f\n", 1/(1+math.Exp(float64(row[0]-row[1]))))
	}
	// Output:
	// P(x_1 = 1) = 0.50
	// P(x_1 = 1) = 0.00
}
