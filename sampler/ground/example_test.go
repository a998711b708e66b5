package ground_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

// The ground state of a spin glass of 400 spins.
func ExampleSearch() {
	r := rand.New(rand.NewPCG(1, 2))
	var edges []model.Edge
	for i := range 400 {
		for _, j := range []int{i/20*20 + (i+1)%20, (i + 20) % 400} {
			edges = append(edges, model.Edge{I: i, J: j, W: float64(2*r.IntN(2) - 1)})
		}
	}
	g, err := model.NewGraph(400, edges)
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.MaxCut(g)
	if err != nil {
		log.Fatal(err)
	}
	s, err := ground.New(m, ground.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Run(context.Background(), 16); err != nil {
		log.Fatal(err)
	}
	x, e := s.Best()
	fmt.Println("energy:", e, "cut:", g.Cut(x))
	// Output: energy: -287 cut: 310
}

// Searches that begin with a given state find nothing worse.
func ExampleConfig() {
	g, err := model.NewGraph(7, []model.Edge{
		{I: 0, J: 1, W: 2}, {I: 1, J: 2, W: 2}, {I: 2, J: 3, W: -1}, {I: 3, J: 4, W: 1}, {I: 4, J: 5, W: 3}, {I: 5, J: 6, W: 1}, {I: 6, J: 0, W: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.MaxCut(g)
	if err != nil {
		log.Fatal(err)
	}
	found := []int32{0, 1, 0, 0, 0, 1, 0}
	s, err := ground.New(m, ground.Config{Chains: 2, Init: found})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("begins with:", s.Energies())
	if err := s.Run(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after a round:", s.Energies())
	// Output:
	// begins with: [-3.5 -3.5]
	// after a round: [-5.5 -5.5]
}
