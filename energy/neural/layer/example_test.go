package layer_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
)

func ExampleLinear() {
	l := layer.Linear{In: 2, Out: 1, Weight: []float32{2, 3}, Bias: []float32{1}}
	y := make([]float32, 2)
	x := []float32{1, 1, 0, 2}
	l.Forward(y, x)
	grad := layer.Linear{In: 2, Out: 1, Weight: make([]float32, 2), Bias: make([]float32, 1)}
	dx := make([]float32, 4)
	l.Backward(dx, grad, []float32{1, 10}, x, make([]float32, 2))
	fmt.Println(y, dx, grad.Weight, grad.Bias)
	// Output: [6 7] [2 3 20 30] [1 21] [11]
}

func ExampleEmbedding() {
	e := layer.Embedding{Levels: 3, Width: 2, Weight: []float32{0, 0, 1, 2, 3, 4}}
	y := make([]float32, 4)
	e.Forward(y, []int32{2, 1})
	fmt.Println(y)
	// Output: [3 4 1 2]
}

func ExampleNorm() {
	y, scale := make([]float32, 2), make([]float32, 1)
	layer.Norm{Width: 2}.Forward(y, y, scale, []float32{3, 5})
	fmt.Printf("%.3f\n", y)
	// Output: [-1.000 1.000]
}

func ExampleMLP() {
	m := layer.MLP{
		Up:         layer.Linear{In: 1, Out: 1, Weight: []float32{1}},
		Down:       layer.Linear{In: 1, Out: 1, Weight: []float32{10}},
		Activation: layer.SiLU,
	}
	y, room := make([]float32, 1), make([]float32, 1)
	m.Forward(y, room, room, []float32{2})
	fmt.Printf("%.3f\n", y)
	// Output: [17.616]
}

func ExampleAttention() {
	// One head of width 1; each position sees itself and those before it.
	a := layer.Attention{Length: 2, Width: 1, Heads: 1, Block: 1}
	forward, _ := a.Room()
	o := make([]float32, 2)
	a.Forward(o, make([]float32, 4), []float32{0, 0, 5, 0, 0, 7}, make([]float32, forward))
	fmt.Println(o)
	// Output: [5 6]
}

func ExampleRotary() {
	// A query and a key of one turn apart score differently from a pair in place.
	a := layer.Attention{Length: 2, Width: 2, Heads: 1, Rotary: layer.NewRotary(2, 2)}
	forward, _ := a.Room()
	o := make([]float32, 4)
	a.Forward(o, make([]float32, 4), []float32{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1}, make([]float32, forward))
	fmt.Printf("%.3f\n", o)
	// Output: [0.581 0.419 0.419 0.581]
}
