package model_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

func ExampleNeighborCorrelation() {
	corr, err := model.NeighborCorrelation(model.Lattice{2, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(corr([]int32{1, 1, 0, 0}), energy.Magnetization([]int32{1, 1, 1, 0}))
	// Output: 0 0.5
}
