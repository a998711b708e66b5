package model_test

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
)

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
