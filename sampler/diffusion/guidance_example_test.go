package diffusion_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// coins is the denoiser of six tokens that are 1 with probability p each.
func coins(p float64) *denoise.Independent {
	logw := make([]float64, 0, 12)
	for range 6 {
		logw = append(logw, math.Log(1-p), math.Log(p))
	}
	m, err := model.NewIndependent(logw, 2)
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewIndependent(m, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	return d
}

// ones draws 2000 samples and returns the share of ones.
func ones(m energy.Denoiser[int32]) float64 {
	d, err := diffusion.New(context.Background(), m, diffusion.Masked{Mask: 2}, diffusion.Config{Steps: 20, Seed: 1})
	if err != nil {
		panic(err)
	}
	x := make([]int32, 2000*6)
	if err := d.Sample(context.Background(), x); err != nil {
		panic(err)
	}
	sum := 0
	for _, l := range x {
		sum += int(l)
	}
	return float64(sum) / float64(len(x))
}

// The condition makes a one as likely as 0.7, without it a one has 0.5. A weight
// of 3 makes the odds of the condition count three times: 0.7³/(0.7³+0.3³) = 0.927.
func ExampleClassifierFree() {
	for _, scale := range []float64{0, 1, 3} {
		g := diffusion.ClassifierFree{Conditional: coins(0.7), Unconditional: coins(0.5), Scale: scale}
		fmt.Printf("weight %v: %.2f\n", scale, ones(g))
	}
	// Output:
	// weight 0: 0.51
	// weight 1: 0.70
	// weight 3: 0.93
}

// liking is log p(y | x), up to a constant: ones make the condition likelier.
// The mask, level 2, says nothing.
var liking = energy.Func{Sites: 6, Levels: 3, E: func(x []int32) float64 {
	e := 0.0
	for _, l := range x {
		if l == 1 {
			e--
		}
	}
	return e
}}

// A classifier leads the fair coins: odds of e to 1, so 0.73.
func ExampleClassifierGuided() {
	g := diffusion.ClassifierGuided{
		Denoiser:   coins(0.5),
		Classifier: diffusion.ExactClassifier{Model: liking},
		Scale:      1,
	}
	fmt.Printf("%.2f\n", ones(g))
	// Output:
	// 0.74
}

// The classifier of an energy says what every level of every site would do.
func ExampleExactClassifier() {
	c := diffusion.ExactClassifier{Model: liking}
	table := make([]float32, 6*3)
	if err := c.Table(table, []int32{0, 1, 2, 2, 2, 2}, 0.5); err != nil {
		fmt.Println(err)
	}
	fmt.Println(table[:3]) // relative to the level that shows
	fmt.Println(table[3:6])
	// Output:
	// [0 1 0]
	// [-1 0 -1]
}

// A model with a table of its own answers for the price of one evaluation.
func ExampleFirstOrderClassifier() {
	m, err := model.NewIndependent([]float64{0, 1, 2, 0, -1, -2}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	table := make([]float32, 2*3)
	if err := (diffusion.FirstOrderClassifier{Model: m}).Table(table, []int32{0, 0}, 0.5); err != nil {
		fmt.Println(err)
	}
	fmt.Println(table)
	// Output:
	// [0 1 2 0 -1 -2]
}
