package sampler_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// independence is the recipe of a kernel that proposes fair coins.
type independence struct{}

func (independence) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels := m.Shape()
	if levels != 2 {
		return nil, fmt.Errorf("independence: levels = %d, want 2", levels)
	}
	return &coins{model: m, y: make([]int32, chains*sites), e: make([]float64, chains), f: make([]float64, chains)}, nil
}

type coins struct {
	sampler.Base // of checkpoints: Reset makes all that Step reads
	model        energy.Model
	y            []int32
	e, f         []float64
}

func (k *coins) Reset(_ sampler.Control, x []int32) error { k.model.Energy(k.e, x); return nil }

func (k *coins) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
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
	return 1
}

// A kernel of one's own runs like those of package mcmc: independence proposes
// fair coins and accepts by the Metropolis rule.
func ExampleTransition() {
	ctx := context.Background()
	mag := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), ring(), independence{}, sampler.Config{Chains: 32, Seed: 1, Observe: mag.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(ctx, 1000); err != nil {
		log.Fatal(err)
	}
	exact, err := energy.Enumerate(ctx, ring(), energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	row := mag.Summary().Rows[0]
	off := math.Abs(row.Mean.Value - exact.Means[0])
	fmt.Printf("exact %.3f, agrees: %t\n", exact.Means[0], off < 4*row.MCSE.Value)
	// Output: exact 0.180, agrees: true
}

// A kernel moves without a runner, too: a Control sets the number of steps of a call. Two
// blocks of a kernel that is a Companion make many steps at once that nobody reads, and a
// step that is read afterwards stores the states.
func ExampleControl() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{5, 5}, 0.2, 0)
	if err != nil {
		log.Fatal(err)
	}
	block := func(first uint64) sampler.Block {
		k, err := mcmc.Gibbs{}.Kernel(ctx, m, 32)
		if err != nil {
			log.Fatal(err)
		}
		b := sampler.Block{Kernel: k, Info: make([]sampler.Info, 32), X: make([]int32, 32*25), R: make([]sampler.Stream, 32)}
		for i := range b.R {
			b.R[i].Seed(1, first+uint64(i))
		}
		if err := k.Reset(sampler.Control{}, b.X); err != nil {
			log.Fatal(err)
		}
		return b
	}
	lead, other := block(0), block(32)
	many := sampler.Control{Steps: 100, Unread: true, Company: []sampler.Block{other}}
	done := lead.Kernel.Step(many, lead.Info, lead.X, lead.R)
	for _, b := range []sampler.Block{lead, other} {
		done := b.Kernel.Step(sampler.Control{}, b.Info, b.X, b.R)
		e := make([]float64, 1)
		m.Energy(e, b.X[:25])
		fmt.Println(done, math.Abs(e[0]-b.Info[0].Energy) < 1e-9)
	}
	fmt.Println(done)
	// Output:
	// 1 true
	// 1 true
	// 100
}

// visits is the recipe of a kernel that redraws one site a step, in order, and so has
// a place that a checkpoint must keep.
type visits struct{}

func (visits) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	c, ok := energy.As[energy.Conditional](m)
	if !ok {
		return nil, fmt.Errorf("visits: %T is no energy.Conditional", m)
	}
	sites, levels := m.Shape()
	k := &visitor{model: c, sites: sites, d: make([]float64, levels), e: make([]float64, chains)}
	k.Keep(&k.at, k.e) // all that Step reads
	return k, nil
}

type visitor struct {
	sampler.Base
	model energy.Conditional
	sites int
	at    int
	d, e  []float64
}

func (k *visitor) Reset(_ sampler.Control, x []int32) error {
	k.model.Energy(k.e, x)
	return sampler.CheckStart(k.e)
}

func (k *visitor) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	for s := range info {
		row := x[s*k.sites : (s+1)*k.sites]
		k.model.Conditional(k.d, k.at, row)
		total := 0.0
		for _, d := range k.d {
			total += math.Exp(-d)
		}
		u, l := r[s].Float64()*total, 0
		for u -= math.Exp(-k.d[l]); u > 0 && l < len(k.d)-1; u -= math.Exp(-k.d[l]) {
			l++
		}
		info[s] = sampler.Info{Accept: 1}
		if int32(l) != row[k.at] {
			row[k.at], info[s].Moved = int32(l), 1
			k.e[s] += k.d[l]
		}
		info[s].Energy = k.e[s]
	}
	k.at = (k.at + 1) % k.sites
	return 1
}

// A kernel that keeps its place in a sweep goes on from there after a checkpoint.
func ExampleBase_Keep() {
	ctx := context.Background()
	start := func() *sampler.Chains {
		ch, err := sampler.NewChains(ctx, ring(), visits{}, sampler.Config{Chains: 2, Seed: 1, Warmup: -1})
		if err != nil {
			log.Fatal(err)
		}
		return ch
	}
	whole, first, second := start(), start(), start()
	var file bytes.Buffer
	for _, err := range []error{
		whole.Run(ctx, 27),
		first.Run(ctx, 13), first.Save(&file),
		second.Load(ctx, &file), second.Run(ctx, 14),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(slices.Equal(whole.States(), second.States()))
	// Output: true
}

// Chains that go on to another target tune themselves for it by Warm.
func ExampleRunner_Warm() {
	ctx := context.Background()
	hot := ring()
	cold, err := energy.Scale(hot, 3)
	if err != nil {
		log.Fatal(err)
	}
	ch, err := sampler.NewChains(ctx, hot, mcmc.DMALA{}, sampler.Config{Chains: 32, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(ctx, 100); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("tuned for the first target: step size %.2f\n", ch.StepSizes()[0])
	if err := sampler.Retarget(ctx, ch, cold); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("new kernels: %.2f\n", ch.StepSizes()[0])
	if err := ch.Warm(ctx, 500); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("tuned for the second: %.2f, after %d draws\n", ch.StepSizes()[0], ch.Len())
	// Output:
	// tuned for the first target: step size 3.91
	// new kernels: 0.20
	// tuned for the second: 0.90, after 100 draws
}
