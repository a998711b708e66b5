package network_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
)

// brief is a training of a moment.
func brief() network.Config {
	return network.Config{
		Rounds: 4, PerRound: 64, Bounds: [][]float64{{0}, {-0.5}}, Width: 16, Cond: 16, Chains: 16, Path: 12,
		Train: train.Config{Rate: 1e-2, Average: 0.98, Batch: 32, Seed: 1},
	}
}

// training is that of a network to be a standard normal distribution under E[x] ≥ 1,
// whose tilted distribution is N(λ, 1).
func training(c network.Config) *network.Trainer {
	base, err := continuous.NewDiagonal([]float64{1}, []float64{0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	atLeast, err := continuous.NewLinear([]float64{-1}, 1) // 1 − x ≤ 0
	if err != nil {
		log.Fatal(err)
	}
	teacher, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	t, err := network.New(context.Background(), teacher, c)
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// learned is a training that is done.
var learned = sync.OnceValue(func() *network.Trainer {
	t := training(brief())
	if err := t.Run(context.Background(), 4); err != nil {
		log.Fatal(err)
	}
	return t
})

// What is left of the loss measures how closely the network follows its teacher, here an
// exact one.
func ExampleTrainer() {
	t := learned()
	fmt.Println(t.Round(), t.Loss() < 0.05)
	// Output: 4 true
}

// One network is the predictor of several bounds, and states how far its λ goes.
func ExamplePredictor() {
	t := learned()
	for _, bound := range []float64{0, -0.5} {
		p, err := t.Predictor([]float64{bound})
		if err != nil {
			log.Fatal(err)
		}
		v, g := make([]float32, 1), make([]float64, 1)
		if err := p.Predict(v, []float32{0}, []float64{0}, []float64{0.8}, make([]rand.Source, 1)); err != nil {
			log.Fatal(err)
		}
		p.Violation(g, []float32{0.5})
		fmt.Printf("mean %.1f, violation of 0.5: %.1f, too far: %t\n", v, g, p.Outside([]float64{100}) != nil)
	}
	// Output:
	// mean [0.8], violation of 0.5: [0.5], too far: true
	// mean [0.8], violation of 0.5: [0.0], too far: true
}

// Dual training, the baseline: a network for one bound, and the multiplier it is for.
func ExampleTrainer_Lambda() {
	base, err := continuous.NewDiagonal([]float64{1}, []float64{0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	atLeast, err := continuous.NewLinear([]float64{-1}, 1) // 1 − x ≤ 0
	if err != nil {
		log.Fatal(err)
	}
	teacher, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	t, err := network.New(context.Background(), teacher, network.Config{
		Rounds: 8, PerRound: 32, Dual: dual.Auto{}, Width: 16, Cond: 16, Path: 12,
		Train: train.Config{Rate: 1e-2, Average: 0.98, Batch: 32, Seed: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Run(context.Background(), 8); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ = %.1f\n", t.Lambda()) // N(λ, 1) has the mean 1
	// Output: λ = [1.0]
}

// A training that is kept in a file, and in another the state a round before.
func ExampleConfig() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "network")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c := brief()
	c.Checkpoint.Path, c.Checkpoint.Every = filepath.Join(dir, "training"), 1
	if err := training(c).Run(ctx, 2); err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{c.Checkpoint.Path, c.Checkpoint.Path + ".old"} {
		t := training(brief())
		if err := t.LoadFile(ctx, path); err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Round())
	}
	// Output:
	// 2
	// 1
}

// A training that goes on from a file comes to the same bits as one in a single run.
func ExampleTrainer_SaveFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "network")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "training")
	first := training(brief())
	if err := first.Run(ctx, 3); err != nil {
		log.Fatal(err)
	}
	if err := first.SaveFile(path); err != nil {
		log.Fatal(err)
	}
	second := training(brief())
	if err := second.LoadFile(ctx, path); err != nil {
		log.Fatal(err)
	}
	if err := second.Run(ctx, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println(second.Round(), second.Loss() == learned().Loss())
	// Output: 4 true
}
