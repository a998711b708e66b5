package train_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
)

// A network learns that tokens alternate.
func ExampleTrainer() {
	const mask = 2
	net, err := neural.New(neural.Config{Length: 4, Levels: 3, Width: 16, Heads: 2, Blocks: 1, Positions: true}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	data := []int32{0, 1, 0, 1, 1, 0, 1, 0} // two states: log 2 = 0.69 nats
	t, err := train.New(net, train.Masked{Mask: mask}, data, train.Config{Steps: 500, Batch: 64, Seed: 1, Rate: 1e-2, Average: 0.9})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := t.Run(context.Background(), 500); err != nil {
		fmt.Println(err)
		return
	}
	nelbo, _, err := train.Evaluate(context.Background(), t.Average(), train.Masked{Mask: mask}, data, 100, 2, 1)
	fmt.Printf("%.1f %v\n", nelbo, err)
	// Output: 0.7 <nil>
}

// Training that is stopped goes on from its file to the same weights.
func ExampleTrainer_LoadFile() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "net")
	start := func() *train.Trainer {
		net, err := neural.New(neural.Config{Length: 4, Levels: 3, Width: 8, Heads: 2, Blocks: 1, Positions: true}, rand.NewPCG(1, 1))
		if err != nil {
			panic(err)
		}
		t, err := train.New(net, train.Masked{Mask: 2}, []int32{0, 1, 0, 1, 1, 0, 1, 0}, train.Config{Steps: 20, Batch: 4, Seed: 1})
		if err != nil {
			panic(err)
		}
		return t
	}
	ctx := context.Background()
	whole, first, second := start(), start(), start()
	fmt.Println(errors.Join(whole.Run(ctx, 20), first.Run(ctx, 7), first.SaveFile(file), second.LoadFile(ctx, file), second.Run(ctx, 13)))
	fmt.Println(slices.Equal(whole.Average().Weights(), second.Average().Weights()))
	// Output:
	// <nil>
	// true
}

func ExampleMasked() {
	x, weight := make([]int32, 4), make([]float64, 4)
	train.Masked{Mask: 9}.Corrupt(x, weight, []int32{1, 2, 3, 4}, 0.4, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(x, weight) // two of four, each in place of two
	// Output: [9 2 9 4] [2 0 2 0]
}

func ExampleNoisy() {
	x, weight := make([]int32, 4), make([]float64, 4)
	level := train.Noisy{Levels: 5}.Corrupt(x, weight, []int32{1, 2, 3, 4}, 0.5, rand.New(rand.NewPCG(1, 2)))
	fmt.Printf("%v %v %.3f\n", x, weight, level)
	// Output: [1 3 1 2] [1 1 1 1] 0.692
}

// With Drop = −1 the network always sees the class.
func ExampleClasses() {
	o := train.Classes{Objective: train.Masked{Mask: 4}, Labels: []int32{0, 1}, Drop: -1}
	r := rand.New(rand.NewPCG(1, 2))
	fmt.Println(o.Tell(0, r), o.Tell(1, r), o.Check(neural.Config{Levels: 5, Cond: 8, Classes: 2}))
	// Output: 0 1 <nil>
}

// A classifier of even odds loses log 2.
func ExampleClassify() {
	o := train.Classify{Objective: train.Masked{Mask: 4}, Labels: []int32{0, 1}}
	d := make([]float32, 2)
	fmt.Printf("%.3f %v\n", o.Loss(d, []float32{0, 0}, 1), d)
	// Output: 0.693 [0.5 -0.5]
}

// A prediction that is 2 too high loses 4.
func ExampleRegress() {
	o := train.Regress{Targets: []float64{1, 5}}
	d := make([]float32, 1)
	fmt.Println(o.Loss(d, []float32{7}, 1), d)
	// Output: 4 [4]
}

// A network learns the flow from noise to a series that is 1, −1 or −1, 1, and is a
// denoiser then.
func ExampleFlow() {
	net, err := neural.New(neural.Config{Length: 2, Channels: 1, Width: 16, Heads: 2, Blocks: 1, Cond: 16, Positions: true}, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	t, err := train.NewReals(net, train.Flow{}, []float32{1, -1, -1, 1}, train.Config{Steps: 100, Batch: 16, Rate: 1e-2, Average: 0.9, Seed: 1})
	if err != nil {
		panic(err)
	}
	if err := t.Run(context.Background(), 100); err != nil {
		panic(err)
	}
	reals, err := neural.NewReals(t.Average(), neural.Options{})
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2)
	err = denoise.Velocity{Denoiser: reals}.Denoise(context.Background(), v, energy.Noised[float32]{
		X: []float32{0.9, -0.6}, Time: []float64{0.5}, Alpha: []float64{0.7}, Sample: []int{0}, Src: make([]rand.Source, 1),
	})
	fmt.Printf("%.0f %v\n", v, err)
	// Output: [1 -1] <nil>
}

// A network learns that a number doubles.
func ExamplePairs() {
	net, err := neural.New(neural.Config{Length: 1, Channels: 1, Width: 16, Heads: 1, Blocks: 1}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	pairs := &train.Pairs{X: []float32{-1, 0, 1}, Target: []float32{-2, 0, 2}}
	t, err := train.NewPairs(net, pairs, train.Config{Steps: 300, Batch: 6, Rate: 1e-2, Average: 0.9, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = t.Run(context.Background(), 300)
	fmt.Printf("%.2f %v\n", t.Loss(), err)
	// Output: 0.00 <nil>
}
