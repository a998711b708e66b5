// Package repeat is the tab of the playground with runs that visitors can reproduce on their own
// computers.
package repeat

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/lattice"
	"github.com/gibbsite-go/gibbsite/site/engine/minimum"
)

// Case selects a run that gives the same bits on every computer: the name of one of [Cases] and a
// seed.
type Case struct {
	Name string
	Seed uint64
}

// Repeated is the result of running a [Case]: a digest of the final states and the run time in
// milliseconds.
type Repeated struct {
	Digest string
	MS     float64
}

// repeatable is a named run that takes a fraction of a second and whose result depends only on
// the seed.
type repeatable struct {
	name string
	run  func(ctx context.Context, seed uint64) ([]int32, error)
}

// cases returns runs of every kind of sampler. It is a function, not a variable, so that
// programs that do not call it do not link all samplers.
func cases() []repeatable {
	return []repeatable{
		{"A million random words, Philox4x32-10", words(sampler.Philox4x32)},
		{"A million random words, ARS4x32-7", words(sampler.ARS4x32)},
		{"Ising 64×64, Gibbs, 300 sweeps", latticeRun(lattice.Lattice{Levels: 2, Side: 64, Method: "gibbs", Temperature: 2.3}, 300)},
		{"Ising 64×64, Metropolis, 300 sweeps", latticeRun(lattice.Lattice{Levels: 2, Side: 64, Method: "metropolis", Temperature: 2.3}, 300)},
		{"Ising 64×64 in a field, DMALA with warm-up, 200 steps", latticeRun(lattice.Lattice{Levels: 2, Side: 64, Method: "dmala", Temperature: 2.3, Field: 0.1}, 200)},
		{"Ising 64×64, Swendsen–Wang, 50 steps", latticeRun(lattice.Lattice{Levels: 2, Side: 64, Method: "sw", Temperature: 2.3}, 50)},
		{"Ising 16×16, Gibbs with parallel tempering, 50 steps", latticeRun(lattice.Lattice{Levels: 2, Side: 16, Method: "tempering", Temperature: 2}, 50)},
		{"Potts 32×32 of 3 levels, Gibbs, 100 sweeps", latticeRun(lattice.Lattice{Levels: 3, Side: 32, Method: "gibbs", Temperature: 1}, 100)},
		{"Ising 16×16, DMALA with 100 … 110 spins up, 100 steps", func(ctx context.Context, seed uint64) ([]int32, error) {
			m, err := model.NewIsing(model.Lattice{16, 16}, 0.5, 0)
			if err != nil {
				return nil, err
			}
			c, err := sampler.NewChains(ctx, m, mcmc.DMALA{Within: constraint.Count{Levels: []int32{1}, Min: 100, Max: 110}}, sampler.Config{Seed: seed, Warmup: 50})
			if err != nil {
				return nil, err
			}
			err = c.Run(ctx, 100)
			return c.States(), err
		}},
		{"1,000 strings of a pattern", func(ctx context.Context, seed uint64) ([]int32, error) {
			v := text.Runes("abcdefghijklmnopqrstuvwxyz0123456789-")
			d, err := text.Regexp(ctx, `[a-z]{2,5}(-[0-9]+)+`, v, constraint.Limits{})
			if err != nil {
				return nil, err
			}
			p, err := projection.Path{Language: d}.Compile(ctx, 14, len(v.Tokens))
			if err != nil {
				return nil, err
			}
			x := make([]int32, 1000*14)
			_, err = p.Sample(ctx, x, nil, sampler.NewStream(seed, 0))
			return x, err
		}},
		{"A masked diffusion within a pattern, 64 samples", func(ctx context.Context, seed uint64) ([]int32, error) {
			const sites, mask = 30, 4
			v := text.Runes("ACGT")
			v.Tokens, v.Forbidden = append(v.Tokens, ""), []int32{mask}
			d, err := text.Regexp(ctx, `ATG([ACGT]{3})*TA[AG]`, v, constraint.Limits{})
			if err != nil {
				return nil, err
			}
			r, err := diffusion.New(ctx, composition{sites}, diffusion.Masked{Mask: mask}, diffusion.Config{Steps: 16, Seed: seed, Projector: projection.Path{Language: d}})
			if err != nil {
				return nil, err
			}
			x := make([]int32, 64*sites)
			return x, r.Sample(ctx, x)
		}},
		{"A cut of a random graph of 200 vertices, 8 rounds", func(ctx context.Context, seed uint64) ([]int32, error) {
			return minimum.Problem{Text: randomGraph(200), Seed: seed}.Best(ctx, 8)
		}},
	}
}

// composition is a denoiser that ignores its input: at every site it predicts the same
// probabilities of A, C, G and T, and probability 0 of the mask.
type composition struct{ sites int }

func (c composition) Shape() (sites, levels int) { return c.sites, 5 }

func (c composition) Denoise(_ context.Context, v []float32, _ energy.Noised[int32]) error {
	for i := range v {
		v[i] = [...]float32{-1, -1.5, -1.5, -1.25, float32(math.Inf(-1))}[i%5]
	}
	return nil
}

// Tab registers the call that runs a reproducible [Case].
func Tab(e *engine.Engine) { engine.Handle(e, "bits", Run) }

// Cases returns the names of the runs that a [Case] can select.
func Cases() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.name)
	}
	return names
}

// Run runs the case named c.Name with the seed c.Seed. It fails if there is no such case.
func Run(ctx context.Context, c Case) (*Repeated, error) {
	for _, k := range cases() {
		if k.name == c.Name {
			began := time.Now()
			x, err := k.run(ctx, c.Seed)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			return &Repeated{engine.Digest(x), engine.Milliseconds(began)}, nil
		}
	}
	return nil, fmt.Errorf("no such case: %q", c.Name)
}

func words(g sampler.Generator) func(context.Context, uint64) ([]int32, error) {
	return func(_ context.Context, seed uint64) ([]int32, error) {
		var s sampler.Stream
		if err := s.SeedOf(g, seed, 7); err != nil {
			return nil, err
		}
		u := make([]uint32, 1<<20)
		s.Uint32s(u)
		x := make([]int32, len(u))
		for i := range u {
			x[i] = int32(u[i])
		}
		return x, nil
	}
}

func latticeRun(l lattice.Lattice, steps int) func(context.Context, uint64) ([]int32, error) {
	return func(ctx context.Context, seed uint64) ([]int32, error) {
		l.Seed = seed
		return l.Run(ctx, steps)
	}
}

// randomGraph returns a fixed pseudorandom graph of n vertices and 3n edges with weights ±1, in
// the rudy format.
func randomGraph(n int) string {
	var b strings.Builder
	s := sampler.NewStream(7, 0)
	fmt.Fprintf(&b, "%d %d\n", n, 3*n)
	for i := range n {
		for k := range 3 { // of three residues: never the same twice
			fmt.Fprintf(&b, "%d %d %d\n", i+1, 1+(i+1+3*s.IntN((n-4)/3)+k)%n, 2*s.IntN(2)-1)
		}
	}
	return b.String()
}
