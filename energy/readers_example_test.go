package energy_test

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
)

// A QUBO is a list of coefficients; one of spins says so in its first line.
func ExampleReadCOO() {
	bits, err := energy.ReadCOO(strings.NewReader("0 1 -2\n1 2 1.5\n2 2 -1\n"), energy.COOConfig{})
	if err != nil {
		panic(err)
	}
	spins, err := energy.ReadCOO(strings.NewReader("spins\n0 1 -2\n1 2 1.5\n2 2 -1\n"), energy.COOConfig{})
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	bits.Energy(e, []int32{1, 1, 0})
	fmt.Println("bits 110:", e[0])
	spins.Energy(e, []int32{1, 1, 0})
	fmt.Println("spins ++−:", e[0])
	_, err = energy.ReadCOO(strings.NewReader("0 1 -2\n1 x 1.5\n"), energy.COOConfig{})
	fmt.Println(err)
	// Output:
	// bits 110: -2
	// spins ++−: -2.5
	// read: COO: line 2: column 2: j = "x", want an integer in 0 … 2147483645
}

func ExampleReadRudy() {
	g, err := energy.ReadRudy(strings.NewReader("3 2\n1 2 5\n2 3\n"))
	if err != nil {
		panic(err)
	}
	m, _ := energy.MaxCut(g)
	e := make([]float64, 1)
	x := []int32{0, 1, 0}
	m.Energy(e, x)
	fmt.Printf("a cut of %v, the energy %v\n", g.Cut(x), e[0])
	_, err = energy.ReadRudy(strings.NewReader("3 1\n1 4\n"))
	fmt.Println(err)
	// Output:
	// a cut of 6, the energy -3
	// read: Rudy: line 2: column 2: j = 4, want an integer in 1 … 3
}
