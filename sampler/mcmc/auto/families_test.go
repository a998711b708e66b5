package auto_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
)

// With -families, a table of what every candidate and the choice are worth on nine
// models; with "train", on other models of the same families, by which prices were
// set.
var familiesFlag = flag.String("families", "", `compare Auto with every candidate on nine families of models: "report" or "train"`)

var onlyFlag = flag.String("only", "", "one of the families")

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the families; 0: 71 for the report, 11 for training")
	stepsFlag = flag.Int("steps", 5000, "steps that the best candidates are measured in; a tenth of them says which are worth half the best or more")
	seedsFlag = flag.Int("seeds", 1, "choices of so many seeds from that one on are compared; candidates are measured with the first")
)

// family is a model, with the method that chooses.
type family struct {
	name   string
	model  energy.Model
	method auto.Method
}

// families returns models of nine families; those for training have other sizes,
// temperatures and couplings.
func families(train bool) []family {
	pick := func(a, b int) int {
		if train {
			return a
		}
		return b
	}
	real := func(a, b float64) float64 {
		if train {
			return a
		}
		return b
	}
	r := rand.New(rand.NewPCG(uint64(pick(100, 2026)), 1))
	n := pick(20, 32)
	critical := exact.Must(model.NewIsing(model.Lattice{n, n}, real(0.42, 0.4406868), 0))
	cold := exact.Must(model.NewIsing(model.FreeLattice{pick(14, 18), pick(15, 21)}, real(0.55, 0.6), 0.01))
	potts := exact.Must(model.NewPotts(model.Lattice{pick(14, 20), pick(14, 20)}, 3, real(0.95, 1.0050525), nil))
	visible, hidden := pick(60, 100), pick(24, 40)
	w := make([]float32, visible*hidden)
	for i := range w {
		w[i] = float32(r.NormFloat64() * real(0.25, 0.3))
	}
	rbm := exact.Must(model.NewRBM(w, make([]float32, hidden), make([]float32, visible)))
	n = pick(80, 120)
	q := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := r.NormFloat64() / math.Sqrt(float64(n)) * real(.2, .25)
			q[i*n+j], q[j*n+i] = v, v
		}
	}
	dense := exact.Must(model.NewDenseQuadratic(n, q, model.Polynomial{Values: []float32{-1, 1}, Linear: slices.Repeat([]float64{.1}, n)}))
	n = pick(200, 300)
	var edges []model.Edge
	for i := range n {
		for range 2 {
			if j := r.IntN(n); j != i {
				edges = append(edges, model.Edge{I: i, J: j, W: real(0.4, 0.5) * float64(1-2*r.IntN(2))})
			}
		}
	}
	signs := exact.Must(model.NewQuadratic(n, edges, model.Polynomial{Values: []float32{-1, 1}}))
	n = pick(40, 60)
	values := []float32{-1.5, -1, -.5, 0, .5, 1, 1.5}
	edges = nil
	for i := range n {
		edges = append(edges, model.Edge{I: i, J: i, W: real(1, .8)}, model.Edge{I: i, J: (i + 1) % n, W: -real(.5, .6)}, model.Edge{I: i, J: (i + 7) % n, W: real(.2, .15)})
	}
	ordinal := exact.Must(model.NewQuadratic(n, edges, model.Polynomial{Values: values}))
	half := pick(50, 72)
	gas := exact.Must(model.NewIsing(model.Lattice{pick(10, 12), pick(10, 12)}, real(.2, .3), 0))
	count := constraint.Count{Levels: []int32{1}, Min: half, Max: half}
	n = pick(12, 16)
	h := make([]float64, n)
	for i := range h {
		h[i] = r.NormFloat64()
	}
	closure := energy.Func{Sites: n, Levels: 3, E: func(x []int32) float64 {
		sum, e := 0.0, 0.0
		for i, l := range x {
			sum += float64(l)
			e += h[i] * float64(l)
		}
		d := sum - float64(n)
		return e + real(.05, .1)*d*d
	}}
	return []family{
		{"ising critical", critical, auto.Method{}},
		{"ising cold", cold, auto.Method{}},
		{"potts q=3", potts, auto.Method{}},
		{"rbm", rbm, auto.Method{}},
		{"dense quadratic", dense, auto.Method{}},
		{"random ±J", signs, auto.Method{}},
		{"ordinal", ordinal, auto.Method{}},
		{"fixed count", gas, auto.Method{Within: count}},
		{"closure", closure, auto.Method{}},
	}
}

// worth is what a method is found to be worth after its warm-up.
type worth struct {
	time    float64 // steps per effective draw
	counted float64 // ns of a chain step, counted
	took    float64 // ns of a chain step, of processor time
}

// measure runs a method for so many steps of every chain.
func measure(t *testing.T, m energy.Model, method sampler.Method, seed uint64, steps int) worth {
	sites, levels := m.Shape()
	f := observables(sites, levels)
	cfg := sampler.Config{Chains: 64, Seed: seed, Warmup: 1000, Workers: 1}
	ctx := context.Background()
	traces := make([][][]float64, len(f)+1)
	for i := range traces {
		traces[i] = make([][]float64, cfg.Chains)
	}
	keep := false
	counted, made := 0.0, 0.0
	cfg.Observe = func(chain, _ int, x []int32, info *sampler.Info) {
		if !keep {
			return
		}
		traces[0][chain] = append(traces[0][chain], info.Energy)
		for i, f := range f {
			traces[i+1][chain] = append(traces[i+1][chain], f(x))
		}
	}
	c := exact.Must(sampler.NewChains(context.Background(), m, method, cfg))
	require.NoError(t, c.Run(ctx, 100))
	keep = true
	for c.Len() < steps {
		require.NoError(t, c.Run(ctx, 1))
		block := cfg.Block()
		for i, k := range c.Kernels() {
			counted += k.(sampler.Costed).Cost(c.Info()[i*block : (i+1)*block])
			made += float64(block)
		}
	}
	w := worth{counted: counted / made}
	sum, n := 0.0, 0.0
	for i, trace := range traces {
		ess, err := diagnose.ESSMean(trace)
		tau := float64(len(trace)*len(trace[0])) / ess
		if errors.Is(err, diagnose.ErrConstant) {
			continue
		}
		require.NoError(t, err)
		if i < len(traces)-4 {
			w.time = max(w.time, tau)
			continue
		}
		sum, n = sum+tau, n+1
	}
	w.time = max(w.time, sum/max(n, 1))
	w.took = price(t, m, method, cfg)
	return w
}

// price returns the processor time of a chain step after warm-up, in ns.
func price(t *testing.T, m energy.Model, method sampler.Method, cfg sampler.Config) float64 {
	cfg.Observe = nil
	ctx := context.Background()
	c := exact.Must(sampler.NewChains(context.Background(), m, method, cfg))
	require.NoError(t, c.Run(ctx, 20))
	least, n := math.Inf(1), 20.0
	for range 6 {
		start := exact.CPU()
		require.NoError(t, c.Run(ctx, int(n)))
		took := float64(exact.CPU() - start)
		least = min(least, took/n/float64(cfg.Chains))
		if took < 2e7 {
			n = math.Ceil(n * max(1, min(8, 2e7/max(took, 1))))
		}
	}
	return least
}

// observables are how many sites are at each level and, the last four, random
// projections other than those that trials look at.
func observables(sites, levels int) []func(x []int32) float64 {
	var f []func(x []int32) float64
	for l := 1; l < levels; l++ {
		f = append(f, func(x []int32) float64 {
			n := 0.0
			for _, v := range x {
				if int(v) == l {
					n++
				}
			}
			return n
		})
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 4 {
		table := make([]float64, sites*levels)
		for i := range table {
			table[i] = float64(r.IntN(2))
		}
		f = append(f, func(x []int32) float64 {
			sum := 0.0
			for i, l := range x {
				sum += table[i*levels+int(l)]
			}
			return sum
		})
	}
	return f
}

func TestFamilies(t *testing.T) {
	if *familiesFlag != "report" && *familiesFlag != "train" {
		t.Skip(`-families=report compares the choice with every candidate; it takes some minutes`)
	}
	train := *familiesFlag == "train"
	seed := uint64(71)
	if train {
		seed = 11
	}
	if *seedFlag != 0 {
		seed = *seedFlag
	}
	for _, f := range families(train) {
		if *onlyFlag != "" && f.name != *onlyFlag {
			continue
		}
		c := exact.Must(sampler.NewChains(context.Background(), f.model, f.method, sampler.Config{Chains: 64, Seed: seed, Workers: 1}))
		require.NoError(t, c.Run(context.Background(), 1))
		reports := auto.Reports(c)
		fmt.Printf("%s\n%18s %8s %10s %10s %12s %12s %s\n", f.name, "", "τ", "counted ns", "cpu ns", "ESS/counted s", "ESS/cpu s", "chosen by blocks")
		counted, clock := make([]float64, len(reports[0].Candidates)), make([]float64, len(reports[0].Candidates))
		w := make([]worth, len(counted))
		find := func(i, steps int) {
			w[i] = measure(t, f.model, reports[0].Candidates[i].Method, seed+1000, steps)
			counted[i], clock[i] = 1e9/(w[i].time*w[i].counted), 1e9/(w[i].time*w[i].took)
		}
		for i, a := range reports[0].Candidates {
			if a.Left == "" {
				find(i, *stepsFlag/10)
			}
		}
		best := slices.Max(counted)
		for i, v := range counted { // the noise of the first steps is more than the differences of these
			if v >= best/2 {
				find(i, *stepsFlag)
			}
		}
		best = slices.Max(counted)
		fastest := slices.Max(clock)
		for i, a := range reports[0].Candidates {
			if a.Left != "" {
				fmt.Printf("%18s left out: %.90s\n", a.Name, a.Left)
				continue
			}
			var by []int
			for b, r := range reports {
				if r.Chosen == i {
					by = append(by, b)
				}
			}
			fmt.Printf("%18s %8.2f %10.0f %10.0f %12.0f %12.0f %v   trial τ %.2f of %d, cost %.0f\n", a.Name, w[i].time, w[i].counted, w[i].took, counted[i], clock[i], by, a.Time, a.Steps, a.Cost)
		}
		// Its chains begin where all candidates have brought them, which tells when a candidate
		// alone would leave them in the mode that it found first.
		own := measure(t, f.model, f.method, seed+1000, *stepsFlag)
		fmt.Printf("%18s %8.2f %10.0f %10.0f %12.0f %12.0f\n", "Auto itself", own.time, own.counted, own.took, 1e9/(own.time*own.counted), 1e9/(own.time*own.took))
		for b, r := range reports {
			fmt.Printf("%18s block %d:", "", b)
			for _, a := range r.Candidates {
				if a.Steps > 0 {
					fmt.Printf(" %s %.2f", a.Name, a.Time)
				}
			}
			fmt.Println()
		}
		var low, slow []float64
		for k := range max(*seedsFlag, 1) {
			if k > 0 {
				c := exact.Must(sampler.NewChains(context.Background(), f.model, f.method, sampler.Config{Chains: 64, Seed: seed + uint64(k), Workers: 1}))
				require.NoError(t, c.Run(context.Background(), 1))
				reports = auto.Reports(c)
			}
			for _, r := range reports {
				low, slow = append(low, counted[r.Chosen]/best), append(slow, clock[r.Chosen]/fastest)
			}
		}
		fmt.Printf("%18s of the best: counted %.2f, by the clock %.2f (least of blocks: %.2f, %.2f)\n", "Auto", mean(low), mean(slow), slices.Min(low), slices.Min(slow))
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// On ±J spins at a low temperature only Tempering passes between the modes; a model whose
// couplings have one sign is not tempered.
func TestTempersFrustratedModels(t *testing.T) {
	const n = 10
	glass := func(both bool) energy.Model {
		r := rand.New(rand.NewPCG(1, 2))
		var edges []model.Edge
		for i := range n * n {
			for _, j := range []int{i/n*n + (i+1)%n, (i + n) % (n * n)} {
				w := -2.0
				if both && r.IntN(2) == 1 {
					w = 2
				}
				edges = append(edges, model.Edge{I: i, J: j, W: w})
			}
		}
		return exact.Must(model.NewQuadratic(n*n, edges, model.Polynomial{Values: []float32{-1, 1}}))
	}
	rhat := func(method sampler.Method) float64 {
		trace := diagnose.NewTrace(func(x []int32) float64 { return float64(x[0] ^ x[n*n/2]) })
		ch := exact.Must(sampler.NewChains(context.Background(), glass(true), method, sampler.Config{Chains: 64, Seed: 1, Observe: trace.Observe}))
		require.NoError(t, ch.Run(context.Background(), 2000))
		for _, report := range auto.Reports(ch) {
			require.Equal(t, "tempering", report.Candidates[report.Chosen].Name)
		}
		return trace.Summary().Rows[0].RHat.Value
	}
	require.Less(t, rhat(auto.Method{}), 1.1)
	require.Greater(t, rhat(mcmc.Gibbs{}), 1.2)
	for _, report := range auto.Reports(exact.Must(sampler.NewChains(context.Background(), glass(false), auto.Method{}, sampler.Config{}))) {
		at := slices.IndexFunc(report.Candidates, func(c auto.Candidate) bool { return c.Name == "tempering" })
		require.Contains(t, report.Candidates[at].Left, "both signs")
	}
}
