package gibbsite_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Parallel chains on the 4×4 torus of Zhang, Liu and Liu 2022, with the exact
// answer.
func Example() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	mag := diagnose.NewTrace(energy.Magnetization).Name("mag")
	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 5000); err != nil {
		panic(err)
	}
	fmt.Println(mag.Summary())
	exact, err := energy.Enumerate(ctx, m, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	row := mag.Summary().Rows[0]
	off := math.Abs(row.Mean.Value - exact.Means[0])
	fmt.Println("within three standard errors of the exact mean:", off < 3*row.MCSE.Value)
	// Output:
	// 64 chains × 5000 draws, acceptance 0.5688, 2.41 moves per step
	//
	//        Mean      MCSE  StdDev      5%  50%  95%  ESS_bulk  ESS_tail  R_hat
	// mag  0.4805  0.002351   0.335  -0.125  0.5    1     19108     42229  1.003
	//
	// within three standard errors of the exact mean: true
}

// Chains, their draws and a summary in one line; and a tempered run, whose rungs
// together give every temperature between.
func Example_record() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{8, 8}, 0.5, 0)
	if err != nil {
		panic(err)
	}
	mag, err := diagnose.Record(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1}, 1000, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	e, err := mag.Row("energy")
	fmt.Printf("energy %.0f %v\n", e.Mean.Value, err)

	all := diagnose.NewReplicas(energy.Magnetization).Name("mag")
	ch, err := sampler.NewChains(ctx, m, mcmc.Tempering{Base: mcmc.Gibbs{}}, sampler.Config{Seed: 1, Observe: all.Observe})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 2000); err != nil {
		panic(err)
	}
	w, err := all.Reweight()
	if err != nil {
		panic(err)
	}
	heat, err := w.HeatCapacity(0.2, 0.5, 0.8)
	fmt.Printf("%.0f %.0f %.0f %v\n", heat[0].Value, heat[1].Value, heat[2].Value, err)
	// Output:
	// energy -56 <nil>
	// 1 11 71 <nil>
}

// An energy of one's own is a closure: ten dimers on a ring of twenty sites that
// like to be in the same state as their partner and unlike their neighbour.
func Example_ownEnergy() {
	ctx := context.Background()
	m := energy.Func{Sites: 20, Levels: 2, E: func(x []int32) float64 {
		e := 0.0
		for i := 0; i < 20; i += 2 {
			e -= float64(1 - (x[i] ^ x[i+1]))      // partners agree
			e -= float64(x[i+1]^x[(i+2)%20]) * 0.5 // neighbours differ
		}
		return e
	}}
	ch, err := sampler.NewChains(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1})
	if err != nil {
		panic(err)
	}
	agree := 0
	for x := range ch.Draws(ctx, 500) {
		for i := 0; i < len(x); i += 2 {
			if x[i] == x[i+1] {
				agree++
			}
		}
	}
	// A free pair agrees with odds e : 1, that is 73 % of the time.
	fmt.Printf("partners agree in %d %% of the draws\n", 100*agree/(500*4*10))
	// Output: partners agree in 72 % of the draws
}

// The same chains with exactly ten spins up: still an exact sampler, now of the
// distribution given the constraint.
func Example_within() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	up := constraint.Count{Levels: []int32{1}, Min: 10, Max: 10}
	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{Within: up}, sampler.Config{Seed: 1})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 1000); err != nil {
		panic(err)
	}
	for s := range 4 {
		fmt.Print(energy.Magnetization(ch.States()[16*s:16*(s+1)]), " ")
	}
	// Output: 0.25 0.25 0.25 0.25
}

// How many strings match a regular expression, and a uniform draw from them.
func Example_strings() {
	ctx := context.Background()
	vocab := text.Runes("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
	plates, err := text.Regexp(ctx, `[A-Z]{2}-[1-9][0-9]{3}`, vocab, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	p, err := projection.Path{Language: plates}.Compile(ctx, 7, len(vocab.Tokens)) // strings of 7 tokens
	if err != nil {
		panic(err)
	}
	n, err := p.Count(ctx, nil) // nil: all tokens are equally likely
	if err != nil {
		panic(err)
	}
	x := make([]int32, 7)
	if _, err := p.Draw(ctx, x, nil, rand.NewPCG(1, 1)); err != nil {
		panic(err)
	}
	fmt.Println(n, vocab.Text(x))
	// Output: 6084000 CX-8544
}

// JSON that a schema describes, from a distribution over characters; here all are equally likely.
func Example_json() {
	ctx := context.Background()
	schema := `{"type": "object", "required": ["plate", "kind"], "additionalProperties": false, "properties": {
		"plate": {"type": "string", "pattern": "^[A-Z]{2}-[1-9]{3}$"}, "kind": {"enum": ["car", "van"]}}}`
	g, err := grammar.JSONSchema(ctx, []byte(schema), grammar.SchemaConfig{Compact: true})
	if err != nil {
		panic(err)
	}
	vocab := text.Bytes()
	l, err := g.Over(ctx, vocab)
	if err != nil {
		panic(err)
	}
	p, err := projection.Path{Language: l}.Compile(ctx, 31, len(vocab.Tokens)) // texts of 31 bytes
	if err != nil {
		panic(err)
	}
	x := make([]int32, 31)
	if _, err := p.Draw(ctx, x, nil, rand.NewPCG(1, 1)); err != nil {
		panic(err)
	}
	fmt.Println(vocab.Text(x))
	// Output: {"plate":"WI-448","kind":"car"}
}

// Masked diffusion whose every sample matches a regular expression. The model is
// a Markov chain fitted to a few plates; a neural network takes its place by
// energy.DenoiserFunc.
func Example_regexp() {
	ctx := context.Background()
	vocab := text.Runes("ABCDE0123456789-")
	vocab.Tokens = append(vocab.Tokens, "") // the mask
	mask := int32(len(vocab.Tokens) - 1)
	vocab.Forbidden = []int32{mask}
	re, err := text.Regexp(ctx, `[A-Z]{2}[0-9]{4}(-[0-9])`, vocab, constraint.Limits{})
	if err != nil {
		panic(err)
	}

	var plates [][]int32
	for _, text := range []string{"AB1234-5", "CA1999-0", "EE2026-1", "BA0011-2"} {
		var x []int32
		for _, r := range text {
			for l, token := range vocab.Tokens {
				if token == string(r) {
					x = append(x, int32(l))
				}
			}
		}
		plates = append(plates, x)
	}
	chain, err := model.FitMarkov(8, int(mask), 1, plates, 0.1)
	if err != nil {
		panic(err)
	}
	prior, err := denoise.NewMarkov(chain, denoise.Absorbing)
	if err != nil {
		panic(err)
	}

	d, err := diffusion.New(ctx, prior, diffusion.Masked{Mask: mask},
		diffusion.Config{Steps: 64, Seed: 1, Projector: projection.Path{Language: re}})
	if err != nil {
		panic(err)
	}
	x := make([]int32, 3*8)
	if err := d.Sample(ctx, x); err != nil {
		panic(err)
	}
	for ; len(x) > 0; x = x[8:] {
		fmt.Println(vocab.Text(x[:8]))
	}
	// Output:
	// CD9234-0
	// AB1512-0
	// EE2356-0
}

// An average constraint met by dual ascent: at most three of ten sites on
// average, by a multiplier that the chains find while they run.
func Example_average() {
	ctx := context.Background()
	base, err := model.NewIsing(model.Lattice{10}, 0.3, 0)
	if err != nil {
		panic(err)
	}
	lag, err := dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 3})
	if err != nil {
		panic(err)
	}
	ch, err := sampler.NewChains(ctx, lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1})
	if err != nil {
		panic(err)
	}
	inf, err := dual.NewInference(ctx, lag, ch, dual.Config{})
	if err != nil {
		panic(err)
	}
	if err := inf.Run(ctx, 2000); err != nil {
		panic(err)
	}
	exact, err := dual.Solve(ctx, lag)
	if err != nil {
		panic(err)
	}
	fmt.Printf("λ = %.2f, exact λ* = %.2f\n", inf.Average()[0], exact.Lambda[0])
	// Output: λ = 0.47, exact λ* = 0.47
}

// The Ising model from T = 1.8 to 3.2: magnetisation, heat capacity and Binder's
// cumulant of two sizes at every temperature, from one tempered run each.
func Example_physicist() {
	const coldest, hottest = 1.8, 3.2
	var temps, betas, ladder []float64
	for t := coldest; t < hottest; t += 0.028 { // 50 temperatures
		temps, betas = append(temps, t), append(betas, coldest/t)
	}
	for j := range 10 { // 10 rungs
		ladder = append(ladder, 1+float64(j)/9*(coldest/hottest-1))
	}
	curves := func(side int) (m, c, u []diagnose.Average) {
		ising := check(model.NewIsing(model.Lattice{side, side}, 1/coldest, 0))
		abs := func(x []int32) float64 { return math.Abs(energy.Magnetization(x)) }
		all := diagnose.NewReplicas(abs).Name("m")
		chains := check(sampler.NewChains(context.Background(), ising, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: ladder},
			sampler.Config{Seed: 1, Thin: 5, Observe: all.Observe}))
		if err := chains.Run(context.Background(), 1000); err != nil {
			panic(err)
		}
		w := check(all.Reweight())
		return check(w.Mean("m", betas...)), check(w.HeatCapacity(betas...)), check(w.Binder("m", betas...))
	}
	m, c, u := curves(12)
	_, _, small := curves(8)
	peak, cross := 0, 0
	for i := range temps {
		if c[i].Value > c[peak].Value {
			peak = i
		}
		if u[i].Value > small[i].Value {
			cross = i
		}
	}
	fmt.Printf("T = 1.8: |m| = %.2f ± %.2f\n", m[0].Value, m[0].SE)
	fmt.Printf("heat capacity per spin peaks at T = %.1f: %.1f\n", temps[peak], c[peak].Value/144)
	fmt.Printf("cumulants cross at T = %.1f\n", temps[cross])
	// Output:
	// T = 1.8: |m| = 0.96 ± 0.00
	// heat capacity per spin peaks at T = 2.3: 1.4
	// cumulants cross at T = 2.2
}

// A language model of a folder's sentences, over the tokens of a tokenizer: it is
// trained, and then writes sentences of which each is about a dog and a house.
func Example_languageModel() {
	ctx := context.Background()
	tokenizer := check(text.ReadTokenizer(check(os.Open("testdata/tokenizer.json"))))
	vocab := tokenizer.Vocabulary()
	mask, end := vocab.Forbidden[0], tokenizer.Encode(nil, "\n")[0]
	const length = 12
	var data []int32
	for _, s := range strings.Fields(strings.ReplaceAll(string(check(os.ReadFile("testdata/sentences.txt"))), " ", "_")) {
		x := tokenizer.Encode(nil, strings.ReplaceAll(s, "_", " "))
		for len(x) < length {
			x = append(x, end)
		}
		data = append(data, x...)
	}

	net := check(neural.New(neural.Config{Length: length, Levels: len(vocab.Tokens), Width: 32, Heads: 2, Blocks: 1, Positions: true}, rand.NewPCG(1, 1)))
	const steps = 600
	trainer := check(train.New(net, train.Masked{Mask: mask}, data, train.Config{Steps: steps, Batch: 32, Seed: 1, Rate: 1e-2, Average: 0.9}))
	if err := trainer.Run(ctx, steps); err != nil {
		panic(err)
	}
	nats, _, err := train.Evaluate(ctx, trainer.Average(), train.Masked{Mask: mask}, data, 40, 4, 1)
	fmt.Println("below 6 nats a sentence:", nats < 6, err)

	lm := check(neural.NewMasked(trainer.Average(), mask, neural.Options{TimeFree: true}))
	want := check(text.Regexp(ctx, `The dog .* house\.\n*`, vocab, constraint.Limits{}))
	d := check(diffusion.New(ctx, lm, diffusion.Masked{Mask: mask}, diffusion.Config{Steps: length, Seed: 1, Projector: projection.Path{Language: want}}))
	x := make([]int32, 4*length)
	if err := d.Sample(ctx, x); err != nil {
		panic(err)
	}
	for i := range 4 {
		fmt.Printf("%.8q … ", tokenizer.Decode(x[i*length:(i+1)*length]))
	}
	// Output:
	// below 6 nats a sentence: true <nil>
	// "The dog " … "The dog " … "The dog " … "The dog " …
}

// The pairwise model of 400 people's answers to five questions of yes or no: of
// all distributions with their means and correlations, that of most entropy.
func Example_survey() {
	people := strings.Fields(string(check(os.ReadFile("testdata/survey.csv"))))
	var rows []constraint.Set
	for k := range 25 {
		i, j, seen := k/5, k%5, 0 // i = j: those who say yes; else those who do to both
		both := dual.Statistic(func(x []int32) float64 { return float64(x[i] * x[j]) })
		for _, p := range people {
			seen += int((p[2*i] - '0') * (p[2*j] - '0'))
		}
		rows = append(rows, dual.Between(both, float64(seen)/400, float64(seen)/400))
	}
	lag := check(dual.NewLagrangian(energy.Func{Sites: 5, Levels: 2, E: func([]int32) float64 { return 0 }}, rows...))
	fit := check(dual.Solve(context.Background(), lag)) // a pair has two equal rows, which share its coupling
	fmt.Printf("couplings of question 1 with 2 … 5: %.2f\n", []float64{-2 * fit.Lambda[1], -2 * fit.Lambda[2], -2 * fit.Lambda[3], -2 * fit.Lambda[4]})
	// Output: couplings of question 1 with 2 … 5: [1.16 0.28 -0.61 1.29]
}

// Rosters of five nurses and seven shifts: two nurses on every shift, always; no
// more than three shifts a nurse, on average, whatever they like better.
func Example_planner() {
	const nurses, shifts, fair = 5, 7, 3.0
	ctx := context.Background()
	at := func(shift, nurse int) int { return shift*nurses + nurse }
	dislike := energy.Func{Sites: shifts * nurses, Levels: 2, E: func(x []int32) float64 {
		e := 0.0
		for s := range shifts {
			for n := range nurses {
				e += float64(x[at(s, n)]) * 0.4 * float64(n) // the first likes to work, the last does not
			}
		}
		return e
	}}
	pair := check(constraint.Intersect(constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}, constraint.Count{Levels: []int32{0, 1}, Min: nurses, Max: nurses}))
	var week []constraint.Automaton
	var limits []constraint.Set
	for range shifts {
		week = append(week, pair)
	}
	for n := range nurses {
		limits = append(limits, dual.AtMost(dual.Statistic(func(x []int32) (worked float64) {
			for s := range shifts {
				worked += float64(x[at(s, n)])
			}
			return worked
		}), fair))
	}
	rosters := check(constraint.Concat(ctx, 2, constraint.Limits{}, week...))
	lag := check(dual.NewLagrangian(dislike, limits...))
	seen := diagnose.NewTrace().KeepMarginals(2)
	chains := check(sampler.NewChains(ctx, lag, mcmc.Swap{Within: rosters}, sampler.Config{Chains: 16, Seed: 1, Warmup: -1, Observe: seen.Observe}))
	fit := check(dual.NewInference(ctx, lag, chains, dual.Config{}))
	if err := fit.Solve(ctx, 4000, 0.05); err != nil {
		panic(err)
	}
	seen.Reset()
	proof := check(fit.Certify(ctx, fit.Average(), 100, 1000))
	first, _ := check(seen.Marginals()).At(0, 1)
	fmt.Printf("limits hold within 0.1: %v; nurse 1 works shift 1 in %.1f of the rosters\n", proof.Holds(0.1), first)
	// Output: limits hold within 0.1: true; nurse 1 works shift 1 in 0.4 of the rosters
}

// Bars of open, high, low and close, of which two are missing: they are drawn
// given those around them, in cents, with prices in order to the last bit.
func Example_trader() {
	const length, history = 8, 400
	r, log := rand.New(rand.NewPCG(1, 1)), 0.0
	var bars []float64
	for range history {
		open := log
		log += 0.01*r.NormFloat64() - 0.02*log
		high, low := max(open, log)+0.004*r.ExpFloat64(), min(open, log)-0.004*r.ExpFloat64()
		for _, p := range []float64{open, high, low, log} {
			bars = append(bars, math.Round(1e4*math.Exp(p))/100)
		}
	}
	last := bars[len(bars)-4*length:] // the file ends with a gap of two bars, two before its end
	for i := 16; i < 24; i++ {
		last[i] = math.NaN()
	}

	shape := series.Shape{Length: length, Channels: 4, Shift: []float64{100, 100, 100, 100}, Scale: []float64{5, 5, 5, 5}}
	var windows []float32
	for t := range history - 2*length {
		for _, p := range bars[4*t : 4*(t+length)] {
			windows = append(windows, float32((p-100)/5))
		}
	}
	want := series.NewBuilder(shape)
	want.OHLC(0, 1, 2, 3)
	want.Impute(last) // what is not NaN stays
	model := check(denoise.NewWindows(windows, 4*length, denoise.WindowsConfig{Bandwidth: 0.1}))
	d := check(diffusion.New(context.Background(), model, diffusion.Gaussian{Recompute: true},
		diffusion.Config{Steps: 50, Seed: 1, Projector: proximal.Projector{Set: check(want.Build())}}))
	x := make([]float32, 4*length)
	if err := d.Sample(context.Background(), x); err != nil {
		panic(err)
	}
	filled := shape.Raw(x)[16:24]
	moved, err := series.Prices{Open: 0, High: 1, Low: 2, Close: 3, Tick: 0.01}.Finish(filled, 4, 0.02)
	fmt.Printf("%.0f %v %v\n", filled, moved < 0.01, err)
	// Output: [106 107 104 105 104 106 103 106] true <nil>
}

// check returns v and panics on an error, which is what the programs of this file do
// with theirs.
func check[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
