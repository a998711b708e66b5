package mcmc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// ring is an Ising ring of ten spins; small enough that every kernel below is
// shown beside its exact mean.
func ring() *model.Ising {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		panic(err)
	}
	return m
}

// sampled prints whether the mean spin of a run is within four standard errors
// of the exact one.
func sampled(m energy.Model, method sampler.Method) {
	ctx := context.Background()
	trace := diagnose.NewTrace(32, energy.Magnetization)
	ch, err := sampler.NewChains(m, method, sampler.Config{Chains: 32, Seed: 1, Warmup: 200, Observe: trace.Observe})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 1000); err != nil {
		panic(err)
	}
	exact, err := energy.Enumerate(ctx, m, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	row := trace.Summary().Rows[0]
	off := math.Abs(row.Mean.Value - exact.Means[0])
	fmt.Printf("exact %.3f, agrees: %t\n", exact.Means[0], off < 4*row.MCSE.Value)
}

func ExampleDMALA() {
	sampled(ring(), mcmc.DMALA{})              // tunes its step size
	sampled(ring(), mcmc.DMALA{StepSize: 0.5}) // keeps this one
	// Output:
	// exact 0.180, agrees: true
	// exact 0.180, agrees: true
}

func ExampleGibbs() {
	sampled(ring(), mcmc.Gibbs{})
	sampled(ring(), mcmc.Gibbs{Scan: mcmc.Chromatic})
	// Output:
	// exact 0.180, agrees: true
	// exact 0.180, agrees: true
}

func ExampleMetropolis() {
	sampled(ring(), mcmc.Metropolis{})
	// Output: exact 0.180, agrees: true
}

func ExampleGWG() {
	sampled(ring(), mcmc.GWG{})
	// Output: exact 0.180, agrees: true
}

// DULA never rejects. Its bias falls with the step size, and so does its speed.
func ExampleDULA() {
	ctx := context.Background()
	for _, alpha := range []float64{0.4, 0.1} {
		trace := diagnose.NewTrace(32, energy.Magnetization)
		ch, err := sampler.NewChains(ring(), mcmc.DULA{StepSize: alpha}, sampler.Config{Chains: 32, Seed: 1, Observe: trace.Observe})
		if err != nil {
			panic(err)
		}
		if err := ch.Run(ctx, 20000); err != nil {
			panic(err)
		}
		fmt.Printf("step size %v: mean %.2f of 0.18\n", alpha, trace.Summary().Rows[0].Mean.Value)
	}
	// Output:
	// step size 0.4: mean 0.12 of 0.18
	// step size 0.1: mean 0.17 of 0.18
}

// Hidden and visible units of a restricted Boltzmann machine take turns.
func ExampleBlockGibbs() {
	w := []float32{
		1, -1, 0.5, // hidden unit 0
		-0.5, 2, 1, // hidden unit 1
	}
	m, err := model.NewRBM(w, []float32{0.2, -0.3}, []float32{0.1, 0, -0.2})
	if err != nil {
		panic(err)
	}
	sampled(m, mcmc.BlockGibbs{})
	// Any model will do with blocks of sites that are enumerated.
	sampled(ring(), mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}})
	// Output:
	// exact 0.306, agrees: true
	// exact 0.180, agrees: true
}

// A run that is saved and loaded goes on as if it had not stopped.
func ExampleChains_Save() {
	ctx := context.Background()
	start := func() *sampler.Chains {
		ch, err := sampler.NewChains(ring(), mcmc.DMALA{}, sampler.Config{Chains: 8, Seed: 1})
		if err != nil {
			panic(err)
		}
		return ch
	}
	whole, first, second := start(), start(), start()
	var file bytes.Buffer
	for _, err := range []error{
		whole.Run(ctx, 100),
		first.Run(ctx, 50), first.Save(&file),
		second.Load(&file), second.Run(ctx, 50),
	} {
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(second.Len(), "draws, same states:", fmt.Sprint(whole.States()) == fmt.Sprint(second.States()))
	// Output: 100 draws, same states: true
}

// Draws is for loops. It warms up first, and its error is asked for afterwards.
func ExampleChains_Draws() {
	ch, err := sampler.NewChains(ring(), mcmc.Gibbs{}, sampler.Config{Chains: 2, Seed: 1, Thin: 5})
	if err != nil {
		panic(err)
	}
	for x := range ch.Draws(context.Background(), 3) {
		fmt.Println(x[:10], x[10:]) // one row per chain
	}
	if err := ch.Err(); err != nil {
		panic(err)
	}
	// Output:
	// [1 0 1 1 1 1 1 1 1 1] [1 0 0 0 1 0 1 0 1 1]
	// [1 0 1 0 0 0 0 0 1 1] [0 1 1 1 1 1 1 1 0 0]
	// [1 0 0 1 1 1 1 1 1 1] [0 1 1 0 0 1 1 1 0 0]
}

// A Stream is a rand.Source with a name, and starts anywhere in constant time.
func ExampleStream() {
	a, b := sampler.NewStream(1, 0), sampler.NewStream(1, 0)
	for range 1000 {
		a.Uint32()
	}
	b.Skip(1000)
	fmt.Println(a.Uint64() == b.Uint64())
	fmt.Println(a.IntN(6)+1, b.IntN(6)+1)
	// Output:
	// true
	// 5 5
}

// independence proposes fair coins: what a kernel of one's own takes.
type independence struct{}

func (independence) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels := m.Shape()
	if levels != 2 {
		return nil, fmt.Errorf("independence: levels = %d, want 2", levels)
	}
	return &coins{model: m, y: make([]int32, chains*sites), e: make([]float64, chains), f: make([]float64, chains)}, nil
}

type coins struct {
	model energy.Model
	y     []int32
	e, f  []float64
}

func (k *coins) Reset(x []int32) error { k.model.Energy(k.e, x); return nil }

func (k *coins) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	n := len(k.y) / len(info)
	for s := range info {
		for i := range n {
			k.y[s*n+i] = int32(r[s].IntN(2))
		}
	}
	k.model.Energy(k.f, k.y)
	for s := range info {
		a := math.Min(1, math.Exp(k.e[s]-k.f[s]))
		if r[s].Float64() < a {
			copy(x[s*n:(s+1)*n], k.y[s*n:])
			k.e[s] = k.f[s]
		}
		info[s] = sampler.Info{Energy: k.e[s], Accept: a}
	}
}

// A loaded kernel is not Reset: what Step reads has to be in the checkpoint.
func (k *coins) AppendBinary(b []byte) ([]byte, error) {
	return binary.Append(b, binary.LittleEndian, k.e)
}

func (k *coins) UnmarshalBinary(b []byte) error {
	_, err := binary.Decode(b, binary.LittleEndian, k.e)
	return err
}

func ExampleKernel() {
	sampled(ring(), independence{})
	// Output: exact 0.180, agrees: true
}
