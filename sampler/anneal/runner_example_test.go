package anneal_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The largest cut of a pentagon with one chord.
func ExampleRunner() {
	g, err := model.NewGraph(5, []model.Edge{
		{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 2, J: 3, W: 1}, {I: 3, J: 4, W: 1}, {I: 4, J: 0, W: 1},
		{I: 0, J: 2, W: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.MaxCut(g)
	if err != nil {
		log.Fatal(err)
	}
	a, err := anneal.New(m, mcmc.Metropolis{}, anneal.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	x, e := a.Best()
	fmt.Println("largest cut:", g.Cut(x), "energy:", e)
	// Output: largest cut: 5 energy: -2
}
