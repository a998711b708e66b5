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

// The norm of root mean squares, with a gain and a bias.
func ExampleNorm_Forward() {
	n := layer.Norm{Width: 2, Gain: []float32{1, 10}, Bias: []float32{0, 5}, RMS: true, Epsilon: 1e-8}
	y, hat, scale := make([]float32, 2), make([]float32, 2), make([]float32, 1)
	n.Forward(y, hat, scale, []float32{3, 1})
	fmt.Printf("%.3f = 1/√5, %.3f %.3f\n", scale, hat, y)
	// Output:
	// [0.447] = 1/√5, [1.342 0.447] [1.342 9.472]
}

func ExampleMLP() {
	m := layer.MLP{
		Up:         layer.Linear{In: 1, Out: 1, Weight: []float32{1}},
		Down:       layer.Linear{In: 1, Out: 1, Weight: []float32{10}},
		Activation: layer.SiLU,
	}
	y, work := make([]float32, 1), make([]float32, 1)
	m.Forward(y, work, work, []float32{2})
	fmt.Printf("%.3f\n", y)
	// Output: [17.616]
}

func ExampleAttention() {
	// One head of width 1; each position sees itself and those before it.
	a := layer.Attention{Length: 2, Width: 1, Heads: 1, Block: 1}
	forward, _ := a.Work()
	o := make([]float32, 2)
	a.Forward(o, make([]float32, 4), []float32{0, 0, 5, 0, 0, 7}, make([]float32, forward))
	fmt.Println(o)
	// Output: [5 6]
}

func ExampleRotary() {
	// A query and a key of one turn apart score differently from a pair in place.
	a := layer.Attention{Length: 2, Width: 2, Heads: 1, Rotary: layer.NewRotary(2, 2, 0)}
	forward, _ := a.Work()
	o := make([]float32, 4)
	a.Forward(o, make([]float32, 4), []float32{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1}, make([]float32, forward))
	fmt.Printf("%.3f\n", o)
	// Output: [0.581 0.419 0.419 0.581]
}

func ExampleConv() {
	// A series of three values of one channel; each position adds its neighbours.
	c := layer.Conv{Cols: 3, In: 1, Out: 1, Kernel: 3, Weight: []float32{1, 0, 1}}
	y, windows := make([]float32, 3), make([]float32, 3*c.Work())
	c.Forward(y, windows, []float32{1, 2, 4})
	fmt.Println(y)
	// Output: [2 5 2]
}

// A causal convolution, of which every second position before is seen.
func ExampleConv_Backward() {
	c := layer.Conv{Cols: 4, In: 1, Out: 1, Kernel: 2, Dilation: 2, Causal: true, Weight: []float32{10, 1}, Bias: []float32{0.5}}
	y, windows := make([]float32, 4), make([]float32, 4*c.Work())
	c.Forward(y, windows, []float32{1, 2, 3, 4})
	fmt.Println(c.Taps(), y)

	grad := layer.Conv{Cols: 4, In: 1, Out: 1, Kernel: 2, Dilation: 2, Causal: true, Weight: make([]float32, 2), Bias: make([]float32, 1)}
	dx := make([]float32, 4)
	c.Backward(dx, grad, []float32{0, 0, 0, 1}, windows, make([]float32, 4)) // of the last result
	fmt.Println(dx, grad.Weight, grad.Bias)
	// Output:
	// 2 [1.5 2.5 13.5 24.5]
	// [0 10 0 1] [2 4] [1]
}

func ExampleResidual() {
	// A block whose last weights are 0 is the identity.
	conv := layer.Conv{Rows: 2, Cols: 2, In: 1, Out: 1, Kernel: 3, Weight: make([]float32, 9)}
	block := layer.Residual{Norm1: layer.Norm{Width: 1}, Norm2: layer.Norm{Width: 1}, A: conv, B: conv}
	y := make([]float32, 4)
	block.Forward(y, []float32{1, 2, 3, 4}, block.NewKept(1))
	fmt.Println(y)
	// Output: [1 2 3 4]
}

func ExampleKept() {
	conv := layer.Conv{Cols: 2, In: 1, Out: 1, Kernel: 1, Weight: []float32{0}}
	block := layer.Residual{Norm1: layer.Norm{Width: 1}, Norm2: layer.Norm{Width: 1}, A: conv, B: conv, Activation: layer.SiLU}
	kept := block.NewKept(1)
	y, dx := make([]float32, 2), make([]float32, 2)
	block.Forward(y, []float32{3, 5}, kept)
	grad := block
	grad.A.Weight, grad.B.Weight = make([]float32, 1), make([]float32, 1)
	block.Backward(dx, grad, []float32{1, 10}, kept)
	fmt.Println(y, dx)
	// Output: [3 5] [1 10]
}
