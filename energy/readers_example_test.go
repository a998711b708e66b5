package energy_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
)

// A QUBO is a list of coefficients; one of spins says so in its first line.
func ExampleReadCOO() {
	bits, err := energy.ReadCOO(strings.NewReader("0 1 -2\n1 2 1.5\n2 2 -1\n"), energy.COO{})
	if err != nil {
		panic(err)
	}
	spins, err := energy.ReadCOO(strings.NewReader("spins\n0 1 -2\n1 2 1.5\n2 2 -1\n"), energy.COO{})
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	bits.Energy(e, []int32{1, 1, 0})
	fmt.Println("bits 110:", e[0])
	spins.Energy(e, []int32{1, 1, 0})
	fmt.Println("spins ++−:", e[0])
	_, err = energy.ReadCOO(strings.NewReader("0 1 -2\n1 x 1.5\n"), energy.COO{})
	fmt.Println(err)
	// Output:
	// bits 110: -2
	// spins ++−: -2.5
	// energy: ReadCOO: line 2: column 2: j = "x", want an integer in 0 … 2147483645
}

// The energy of a cut problem is minus the weight of the cut, up to a constant.
func ExampleMaxCut() {
	g, err := energy.ReadRudy(strings.NewReader("4 5\n1 2\n2 3\n3 4\n4 1\n1 3\n"))
	if err != nil {
		panic(err)
	}
	m, err := energy.MaxCut(g)
	if err != nil {
		panic(err)
	}
	x, e := []int32{0, 1, 0, 1}, make([]float64, 2)
	m.Energy(e, append([]int32{0, 0, 0, 0}, x...))
	fmt.Println("cut:", g.Cut(x), "energies apart:", e[0]-e[1])
	// Output: cut: 4 energies apart: 4
}

// Scale changes the temperature: the colder, the more spins follow the field.
func ExampleScale() {
	m, err := energy.NewIsing(energy.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	for _, beta := range []float64{0.5, 1, 2} {
		hot, err := energy.Scale(m, beta)
		if err != nil {
			panic(err)
		}
		e, err := energy.Enumerate(context.Background(), hot, energy.Magnetization)
		if err != nil {
			panic(err)
		}
		fmt.Printf("β = %v: log Z = %.6f, mean spin %.6f\n", beta, e.LogZ, e.Means[0])
	}
	// Output:
	// β = 0.5: log Z = 11.377167, mean spin 0.154842
	// β = 1: log Z = 12.598503, mean spin 0.480005
	// β = 2: log Z = 19.544265, mean spin 0.948351
}

// A chain of order 1 takes the law of the first token and a transition matrix.
func ExampleNewMarkov() {
	m, err := energy.NewMarkov(3, 2, 1, []float64{0.5, 0.5}, []float64{
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
