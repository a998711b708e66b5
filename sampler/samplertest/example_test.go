package samplertest_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/samplertest"
)

// metropolis is a kernel of a user: it gives a random site a random other level.
type metropolis struct{}

func (metropolis) Name() string { return "metropolis" }

func (metropolis) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if m == nil || chains < 1 || chains > sampler.BlockSize {
		return nil, fmt.Errorf("metropolis: model %v and %d chains, want a model and 1…%d chains", m, chains, sampler.BlockSize)
	}
	sites, levels := m.Shape()
	return &walk{m: m, levels: levels, energy: make([]float64, chains), next: make([]float64, 1), y: make([]int32, sites)}, nil
}

type walk struct {
	sampler.Base
	m            energy.Model
	levels       int
	energy, next []float64 // of every chain, and of y
	y            []int32   // the proposal
}

func (k *walk) Reset(_ sampler.Control, x []int32) error {
	k.m.Energy(k.energy, x)
	return sampler.CheckStart(k.energy)
}

func (k *walk) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	for s := range info {
		row := x[s*len(k.y) : (s+1)*len(k.y)]
		i := r[s].IntN(len(k.y))
		copy(k.y, row)
		k.y[i] = (row[i] + 1 + int32(r[s].IntN(k.levels-1))) % int32(k.levels)
		k.m.Energy(k.next, k.y)
		info[s] = sampler.Info{Accept: min(1, math.Exp(k.energy[s]-k.next[0]))}
		if math.IsNaN(k.next[0]) || math.IsInf(k.next[0], -1) {
			info[s] = sampler.Info{Invalid: 1} // rejected
		}
		if r[s].Float64() < info[s].Accept {
			row[i], k.energy[s], info[s].Moved = k.y[i], k.next[0], 1
		}
		info[s].Energy = k.energy[s]
	}
	return 1
}

// Three lines check a method of your own, and so its kernel. In a test, the middle one is
// t.Fatal(err).
func Example() {
	if err := samplertest.TestMethod(context.Background(), metropolis{}, samplertest.Options{Draws: 4096}); err != nil {
		log.Fatal(err)
	}

	fmt.Println("the kernel obeys every law")
	// Output:
	// the kernel obeys every law
}

// A method of one's own, here one that forgets where it is when it is saved, is held
// against every law.
func ExampleTestMethod() {
	var method sampler.Method = barker{Bug: "lost position"}
	if err := samplertest.TestMethod(context.Background(), method, samplertest.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// samplertest: samplertest_test.barker: resume: model 0 (Ising ring, 5 sites of 2 levels): saved after 1 of 20 draws and loaded: chain 0 differs from draw 1 on (40 chains, warm-up 20)
}

func ExampleOptions() {
	// A method that is confined to the states whose levels sum to 3 or less states it.
	opt := samplertest.Options{Support: func(x []int32) bool {
		sum := int32(0)
		for _, l := range x {
			sum += l
		}
		return sum <= 3
	}}
	fmt.Println(opt.Support([]int32{1, 1, 1}), opt.Support([]int32{2, 2, 0}))
	// Output:
	// true false
}

// A method that is known not to mix states it, and is held to the other laws.
func ExampleOptions_skip() {
	var method sampler.Method = barker{Bug: "skipped site"} // invariant, but the last site stays
	opt := samplertest.Options{Draws: 4096, Seed: 1}
	fmt.Println(samplertest.TestMethod(context.Background(), method, opt))
	opt.Skip = []string{"mixing"}
	fmt.Println(samplertest.TestMethod(context.Background(), method, opt))
	opt.Skip = []string{"speed"}
	fmt.Println(samplertest.TestMethod(context.Background(), method, opt))
	// Output:
	// samplertest: samplertest_test.barker: mixing: model 0 (Ising ring, 5 sites of 2 levels): after 256 steps from [1 0 1 0 0], half of them after one more: 0 of 512 chains are at [1 1 1 1 1], want about 152 (p-value 1.4e-222, seed 1)
	// <nil>
	// samplertest: Options: Skip names "speed", which is not a law
}
