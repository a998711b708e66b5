package read_test

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
)

// A QUBO is a list of coefficients; one of spins says so in its first line.
func ExampleCOO() {
	bits, err := read.COO(strings.NewReader("0 1 -2\n1 2 1.5\n2 2 -1\n"), read.COOConfig{})
	if err != nil {
		panic(err)
	}
	spins, err := read.COO(strings.NewReader("spins\n0 1 -2\n1 2 1.5\n2 2 -1\n"), read.COOConfig{})
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	bits.Energy(e, []int32{1, 1, 0})
	fmt.Println("bits 110:", e[0])
	spins.Energy(e, []int32{1, 1, 0})
	fmt.Println("spins ++−:", e[0])
	_, err = read.COO(strings.NewReader("0 1 -2\n1 x 1.5\n"), read.COOConfig{})
	fmt.Println(err)
	// Output:
	// bits 110: -2
	// spins ++−: -2.5
	// read: COO: line 2: column 2: j = "x", want an integer in 0 … 2147483645
}

func ExampleRudy() {
	g, err := read.Rudy(strings.NewReader("3 2\n1 2 5\n2 3\n"))
	if err != nil {
		panic(err)
	}
	m, _ := model.MaxCut(g)
	e := make([]float64, 1)
	x := []int32{0, 1, 0}
	m.Energy(e, x)
	fmt.Printf("a cut of %v, the energy %v\n", g.Cut(x), e[0])
	_, err = read.Rudy(strings.NewReader("3 1\n1 4\n"))
	fmt.Println(err)
	// Output:
	// a cut of 6, the energy -3
	// read: Rudy: line 2: column 2: j = 4, want an integer in 1 … 3
}
