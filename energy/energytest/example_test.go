package energytest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/energytest"
)

// necklace is a ring of beads of a few colours. Its energy is the number of beads whose next bead
// has the same colour.
type necklace struct{ beads, colours int }

func (n necklace) Shape() (sites, levels int) { return n.beads, n.colours }

func (n necklace) Energy(e []float64, x []int32) {
	if len(x) != len(e)*n.beads {
		panic("necklace: len(x) is not len(e)·beads")
	}
	for s := range e {
		bead := x[s*n.beads : (s+1)*n.beads]
		e[s] = 0
		for i, colour := range bead {
			if colour == bead[(i+1)%n.beads] {
				e[s]++
			}
		}
	}
}

// Three lines check a model of your own. In a test, the middle one is t.Fatal(err).
func Example() {
	var m energy.Model = necklace{beads: 6, colours: 3}

	if err := energytest.TestModel(context.Background(), m, energytest.Options{}); err != nil {
		log.Fatal(err)
	}

	fmt.Println("the model obeys every law")
	// Output:
	// the model obeys every law
}

// A field that forgets a factor of two is found.
func ExampleTestModel() {
	m := energy.Func{
		Sites: 2, Levels: 2,
		E: func(x []int32) float64 { return 2 * float64(x[0]*x[1]) },
		Field: func(h []float32, x []int32) float64 {
			h[0], h[1] = float32(x[1]), float32(x[0])
			return 2 * float64(x[0]*x[1])
		},
	}
	fmt.Println(energytest.TestModel(context.Background(), m, energytest.Options{}))
	// Output:
	// energytest: energy.Func: tables: Gradient, site 1 of [1 0]: entry of level 1 = 1, want E(x_i=1) − E(x) = 2; a table of derivatives wants Options.FirstOrder
}

// A model whose gradient comes from automatic differentiation says that its tables are
// derivatives.
func ExampleOptions() {
	m := energy.Func{
		Sites: 1, Levels: 3,
		E: func(x []int32) float64 { return float64(x[0] * x[0]) },
		Grad: func(g []float32, x []int32) float64 {
			for l := range g {
				g[l] = float32(2 * int(x[0]) * (l - int(x[0])))
			}
			return float64(x[0] * x[0])
		},
	}
	fmt.Println(energytest.TestModel(context.Background(), m, energytest.Options{FirstOrder: true}))
	// Output:
	// <nil>
}

// A model that makes slices leaves out the law that forbids it. Other random states are
// those of another seed.
func ExampleOptions_skip() {
	m := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		request := fmt.Sprint(x) // as one to another process
		return float64(len(request)) + float64(x[0])
	}}
	opt := energytest.Options{Skip: []string{"allocations"}}
	for opt.Seed = range 3 {
		fmt.Println(energytest.TestModel(context.Background(), m, opt))
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
}
