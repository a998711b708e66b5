package junction_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection/junction"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A strip of an Ising model of 6 × 500 spins whose first corner is up: its free energy,
// how the corner shows across the strip, draws and ground states.
func ExampleNew() {
	ctx := context.Background()
	strip, err := model.NewIsing(model.FreeLattice{6, 500}, 0.4, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	corner, err := energy.Clamp(strip, map[int]int32{0: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, _ := energy.As[energy.Factored](corner)
	d, err := junction.New(ctx, f, junction.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, logZ, err := d.Marginals(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log Z = %.6f\n", logZ)
	fmt.Printf("up with probability %.4f, %.4f, %.4f\n", p[2*1+1], p[2*10+1], p[2*499+1])
	x, src := make([]int32, 2*3000), []rand.Source{sampler.NewStream(1, 0), sampler.NewStream(1, 1)}
	if err := d.Sample(ctx, x, src); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("corners of two draws:", x[0], x[3000])
	_, e, err := d.Best(ctx, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("lowest energies: %.1f\n", e)
	// Output:
	// log Z = 2577.257444
	// up with probability 0.7220, 0.5035, 0.5000
	// corners of two draws: 1 1
	// lowest energies: [-2197.6 -2196.0 -2196.0]
}

// How two ends of a chain depend on each other, the mean number of bonds that agree, and
// the entropy.
func ExampleDistribution_Joint() {
	ctx := context.Background()
	chain, err := model.NewPotts(model.FreeLattice{8}, 3, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	bonds, err := model.NewPotts(model.FreeLattice{8}, 3, -1, nil) // its energy counts equal neighbours
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := junction.New(ctx, chain, junction.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pair, err := d.Joint(ctx, []int32{0, 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, err := d.Mean(ctx, bonds)
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := d.Entropy(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("p(0, 0) = %.5f, p(0, 1) = %.5f\n", pair[0][0], pair[0][1])
	fmt.Printf("%.4f of 7 bonds agree; entropy %.4f nats\n", mean[0], h)
	fmt.Printf("width %.2f\n", d.Width())
	// Output:
	// p(0, 0) = 0.11130, p(0, 1) = 0.11102
	// 4.0328 of 7 bonds agree; entropy 7.9259 nats
	// width 3.17
}
