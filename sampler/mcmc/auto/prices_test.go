package auto_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
)

// Counted cost compared with processor time, of models of many sizes.
func TestPrices(t *testing.T) {
	if *familiesFlag != "prices" {
		t.Skip(`-families=prices compares counted costs with processor times; it takes a minute`)
	}
	r := rand.New(rand.NewPCG(9, 9))
	spins := model.Polynomial{Values: []float32{-1, 1}}
	dense := func(n int) energy.Model {
		q := make([]float64, n*n)
		for i := range n {
			for j := range i {
				q[i*n+j] = r.NormFloat64() / math.Sqrt(float64(n)) / 2
			}
		}
		return exact.Must(model.NewDenseQuadratic(n, q, spins))
	}
	sparse := func(n, degree int, p model.Polynomial) energy.Model {
		var edges []model.Edge
		for i := range n {
			for range degree / 2 {
				edges = append(edges, model.Edge{I: i, J: (i + 1 + r.IntN(n-1)) % n, W: r.NormFloat64() / 3})
			}
		}
		return exact.Must(model.NewQuadratic(n, edges, p))
	}
	rbm := func(n, h int) energy.Model {
		w := make([]float32, n*h)
		for i := range w {
			w[i] = float32(r.NormFloat64()) / 4
		}
		return exact.Must(model.NewRBM(w, make([]float32, h), make([]float32, n)))
	}
	many := model.Polynomial{Values: []float32{-1, -.5, 0, .5, 1}}
	half := func(n int) constraint.Count { return constraint.Count{Levels: []int32{1}, Min: n / 2, Max: n / 2} }
	ising := func(n int) energy.Model { return exact.Must(model.NewIsing(model.Lattice{n, n}, .3, 0)) }
	free := func(n int) energy.Model { return exact.Must(model.NewIsing(model.FreeLattice{n, n}, .3, .1)) }
	potts := func(n, q int) energy.Model { return exact.Must(model.NewPotts(model.Lattice{n, n}, q, .7, nil)) }
	sum := func(n int) energy.Model {
		return energy.Func{Sites: n, Levels: 2, E: func(x []int32) float64 {
			e := 0.0
			for i, l := range x {
				e += float64(l) * float64(i%3-1) * .5
			}
			return e
		}}
	}
	for _, f := range []family{
		{"torus 10", ising(10), auto.Method{}},
		{"torus 24", ising(24), auto.Method{}},
		{"torus 50", ising(50), auto.Method{}},
		{"free 12", free(12), auto.Method{}},
		{"free 30", free(30), auto.Method{}},
		{"potts 12", potts(12, 3), auto.Method{}},
		{"potts 24", potts(24, 5), auto.Method{}},
		{"rbm 32 16", rbm(32, 16), auto.Method{}},
		{"rbm 128 64", rbm(128, 64), auto.Method{}},
		{"dense 40", dense(40), auto.Method{}},
		{"dense 160", dense(160), auto.Method{}},
		{"sparse 100", sparse(100, 6, spins), auto.Method{}},
		{"sparse 400", sparse(400, 4, spins), auto.Method{}},
		{"ordinal 50", sparse(50, 4, many), auto.Method{}},
		{"ordinal 200", sparse(200, 6, many), auto.Method{}},
		{"count 8", ising(8), auto.Method{Within: half(64)}},
		{"count 14", ising(14), auto.Method{Within: half(196)}},
		{"func 10", sum(10), auto.Method{}},
		{"func 30", sum(30), auto.Method{}},
	} {
		if *onlyFlag != "" && f.name != *onlyFlag {
			continue
		}
		fmt.Println(f.name)
		cfg := sampler.Config{Chains: 64, Warmup: 120, Workers: 1}
		c := exact.Must(sampler.NewChains(context.Background(), f.model, f.method, cfg))
		for _, a := range auto.Reports(c)[0].Candidates {
			if a.Left != "" {
				continue
			}
			took := price(t, f.model, a.Method, cfg)
			c := exact.Must(sampler.NewChains(context.Background(), f.model, a.Method, cfg))
			require.NoError(t, c.Run(context.Background(), 5))
			counted := c.Kernels()[0].(sampler.Costed).Cost(c.Info()[:32]) / 32
			fmt.Printf("%18s cpu %8.0f counted %8.0f  %.2f\n", a.Name, took, counted, counted/took)
		}
	}
}
