package model_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/model"
)

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
