package neural_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// A network as the energy of nine sites, and the copy that a learner moves.
func ExamplePotential() {
	m, err := neural.NewPotential(9, 2, 16, 1, rand.NewPCG(1, 2))
	if err != nil {
		log.Fatal(err)
	}
	p, err := m.Learn()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(p.Params()), "weights")
	// Output: 729 weights
}
