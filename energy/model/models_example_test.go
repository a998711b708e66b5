package model_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func ExampleQuadratic() {
	// A QUBO: at most one of three items, each worth 1.
	m, err := model.NewQuadratic(3, []model.Edge{
		{I: 0, J: 0, W: -1}, {I: 1, J: 1, W: -1}, {I: 2, J: 2, W: -1},
		{I: 0, J: 1, W: 2}, {I: 0, J: 2, W: 2}, {I: 1, J: 2, W: 2},
	}, model.Polynomial{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := make([]float64, 3)
	m.Energy(e, []int32{0, 0, 0, 0, 1, 0, 1, 1, 1})
	fmt.Println(e)
	// Output: [0 -1 3]
}

func ExampleNewDenseQuadratic() {
	// (v_0 + v_1 − 1)² over the integers −1, 0, 1, 2.
	m, err := model.NewDenseQuadratic(2, []float64{1, 1, 1, 1}, model.Polynomial{
		Linear:   []float64{-2, -2},
		Constant: 1,
		Values:   []float32{-1, 0, 1, 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := make([]float64, 4)
	m.Conditional(d, 0, []int32{1, 2})
	fmt.Println(d)
	// Output: [1 0 1 4]
}

// How far one of four levels wins, on a lattice without periods, from cold to hot.
func ExampleOrderParameter() {
	grid := model.FreeLattice{8, 8}
	order := model.OrderParameter(4)
	for _, coupling := range []float64{2, 1, 0.1} {
		m, err := model.NewPotts(grid, 4, coupling, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		c, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 1, Seed: 1, Init: make([]int32, grid.Sites())})
		if err == nil {
			err = c.Run(context.Background(), 200)
		}
		fmt.Printf("J = %v: %.1f %v\n", coupling, order(c.States()), err)
	}
	// Output:
	// J = 2: 1.0 <nil>
	// J = 1: 0.2 <nil>
	// J = 0.1: 0.0 <nil>
}

func ExamplePotts() {
	m, err := model.NewPotts(model.FreeLattice{3}, 3, 1, []float64{0, 0, 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := make([]float64, 3)
	m.Conditional(d, 1, []int32{0, 1, 0})
	fmt.Println(d)
	// Output: [-2 0 -0.5]
}

func ExampleIndependent() {
	// The last of three levels is forbidden.
	m, err := model.NewIndependent([]float64{0, 1, math.Inf(-1)}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	e := make([]float64, 3)
	m.Energy(e, []int32{0, 1, 2})
	fmt.Println(e)
	// Output: [0 -1 +Inf]
}

func ExampleNewBernoulli() {
	m, err := model.NewBernoulli([]float64{2, -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := make([]float64, 2)
	m.Energy(e, []int32{1, 0, 1, 1})
	fmt.Println(e)
	// Output: [-2 -1]
}

func ExampleRBM_HiddenField() {
	// One hidden unit that wants both visible units on.
	m, err := model.NewRBM([]float32{2, 2}, []float32{-3}, []float32{0, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := make([]float32, 4)
	m.HiddenField(f, []int32{0, 0, 1, 0, 0, 1, 1, 1})
	fmt.Println(f)
	// Output: [-3 -1 -1 1]
}

// A chain of order 1 takes the distribution of the first token and a transition matrix.
func ExampleMarkov() {
	m, err := model.NewMarkov(3, 2, 1, []float64{0.5, 0.5}, []float64{
		0.9, 0.1, // after 0
		0.4, 0.6, // after 1
	})
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	m.Energy(e, []int32{0, 0, 1})
	fmt.Printf("−log(0.5·0.9·0.1) = %.4f\n", e[0])
	// Output: −log(0.5·0.9·0.1) = 3.1011
}

// Transition counts of three sequences, each raised by a pseudo-count of one.
func ExampleFitMarkov() {
	words := [][]int32{{0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 1}}
	m, err := model.FitMarkov(3, 2, 1, words, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", math.Exp(m.LogProb([]int32{0, 1, 0})))
	// Output: 0.3333
}

// Both directions of an edge and repeated edges add up, and what cancels is
// left out.
func ExampleEdge() {
	g, err := model.NewGraph(3, []model.Edge{
		{I: 0, J: 1, W: 1}, {I: 1, J: 0, W: 0.5},
		{I: 2, J: 1, W: -1},
		{I: 0, J: 2, W: 1}, {I: 0, J: 2, W: -1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e := range g.Edges() {
		fmt.Printf("%+v\n", e)
	}
	// Output:
	// {I:0 J:1 W:1.5}
	// {I:1 J:2 W:-1}
}

// Number partitioning: (3s_0 + 1s_1 + 2s_2)² with signs s is zero where the
// numbers balance. Values makes the levels spins.
func ExamplePolynomial() {
	m, err := model.NewDenseQuadratic(3, []float64{
		9, 3, 6,
		3, 1, 2,
		6, 2, 4,
	}, model.Polynomial{Values: []float32{-1, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := make([]float64, 3)
	m.Energy(e, []int32{1, 0, 0, 1, 1, 0, 1, 1, 1})
	fmt.Println(e)
	// Output: [0 4 36]
}

// The energy of a cut problem is minus the weight of the cut, up to a constant.
func ExampleMaxCut() {
	g, err := read.Rudy(strings.NewReader("4 5\n1 2\n2 3\n3 4\n4 1\n1 3\n"))
	if err != nil {
		panic(err)
	}
	m, err := model.MaxCut(g)
	if err != nil {
		panic(err)
	}
	x, e := []int32{0, 1, 0, 1}, make([]float64, 2)
	m.Energy(e, append([]int32{0, 0, 0, 0}, x...))
	fmt.Println("cut:", g.Cut(x), "energies apart:", e[0]-e[1])
	// Output: cut: 4 energies apart: 4
}

func ExampleNewIsing() {
	// Four spins on a ring, the first of them up.
	m, err := model.NewIsing(model.Lattice{4}, 1, 0.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, h := make([]float64, 1), make([]float32, 4)
	m.Field(e, h, []int32{1, 0, 0, 0})
	fmt.Println(e[0], h)
	// Output: 1 [3 -1 3 -1]
}

func ExampleIsing_WithFields() {
	m, err := model.NewIsing(model.FreeLattice{3}, 1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err = m.WithFields([]float64{5, 0, -5})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := make([]float64, 2)
	m.Energy(e, []int32{1, 1, 1, 1, 1, 0})
	fmt.Println(e)
	// Output: [-2 -10]
}

// Three spins that all want to differ from each other cannot: the best states
// leave one bond of the triangle unsatisfied. The fourth site follows the third.
func ExampleGraph() {
	g, err := model.NewGraph(4, []model.Edge{
		{I: 0, J: 1, W: -1}, {I: 1, J: 2, W: -1}, {I: 0, J: 2, W: -1},
		{I: 2, J: 3, W: 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Neighbors(2))
	m, err := model.NewIsing(g, 1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	e := make([]float64, 3)
	m.Energy(e, []int32{
		0, 1, 0, 0,
		0, 0, 0, 0,
		0, 1, 0, 1,
	})
	fmt.Println(e)
	// Output:
	// [0 1 3] [-1 -1 2]
	// [-3 1 1]
}
