package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"time"
	"runtime/pprof"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	l1 := flag.Float64("l1", 0.01, "")
	rate := flag.Float64("rate", 0.01, "")
	pow := flag.Float64("pow", 0, "")
	seed := flag.Uint64("seed", 77, "")
	steps := flag.Int("steps", 200, "")
	pl := flag.Bool("pl", false, "")
	chainsN := flag.Int("chains", 256, "")
	mem := flag.Float64("mem", 0, "")
	prof := flag.String("prof", "", "")
	flag.Parse()
	if *prof != "" {
		pf, _ := os.Create(*prof)
		pprof.StartCPUProfile(pf)
		defer pprof.StopCPUProfile()
	}
	ctx := context.Background()
	const n = 625
	truth, err := model.NewIsing(model.Lattice{25, 25}, 0.5, 0)
	check(err)
	t0 := time.Now()
	name := fmt.Sprintf("/tmp/fitm/data%d", *seed)
	data := make([]int32, 2000*n)
	if raw, err := os.ReadFile(name); err == nil {
		for i, v := range raw {
			data[i] = int32(v)
		}
	} else {
		for i := range data {
			data[i] = int32(i / n % 2)
		}
		dc, err := sampler.NewChains(truth, mcmc.Gibbs{}, sampler.Config{Chains: 2000, Seed: *seed, Warmup: -1, Init: data})
		check(err)
		check(dc.Run(ctx, 200))
		copy(data, dc.States())
		raw := make([]byte, len(data))
		for i, v := range data {
			raw[i] = byte(v)
		}
		os.WriteFile(name, raw, 0o644)
	}
	fmt.Println("data", time.Since(t0))
	m, err := model.NewDenseQuadratic(n, make([]float64, n*n), model.Polynomial{Values: []float32{-1, 1}})
	check(err)
	p, err := m.Learn()
	check(err)
	fixed := make([]bool, len(p.Params()))
	for i := range n {
		fixed[len(fixed)-1-i] = true
	}
	g, _ := truth.Graph()
	_ = g
	start, adj := truth.Graph()
	rmse := func(theta []float64) float64 {
		a := make([]float64, n*n)
		k := 0
		for i := range n {
			for j := i + 1; j < n; j++ {
				a[i*n+j] = -theta[k] / 2
				a[j*n+i] = a[i*n+j]
				k++
			}
		}
		for i := range n {
			for _, j := range adj[start[i]:start[i+1]] {
				a[i*n+int(j)] -= 0.25
			}
		}
		s := 0.0
		for _, v := range a {
			s += v * v
		}
		return math.Log(math.Sqrt(s / float64(n*n)))
	}
	cfg := fit.Config{Memory: *mem, L1: *l1, Fixed: fixed, Seed: 1, Rate: dual.Power(*rate, *pow)}
	if *pl {
		cfg.Objective = fit.Pseudo{}
	} else {
		ch, err := sampler.NewChains(p, mcmc.Gibbs{}, sampler.Config{Chains: *chainsN, Seed: 5, Warmup: -1})
		check(err)
		cfg.Chains = ch
	}
	f, err := fit.New(p, data, cfg)
	check(err)
	t0 = time.Now()
	for k := 0; k < *steps; k += *steps / 20 {
		check(f.Run(ctx, *steps/20))
		fmt.Printf("%4d %6.1fs last %.3f avg %.3f  %v\n", f.Len(), time.Since(t0).Seconds(), rmse(f.Params()), rmse(f.Average()), f.Report())
	}
}
