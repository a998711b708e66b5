package main

// mistake is a change that makes the library wrong.
type mistake struct {
	name  string
	why   string // consequence of the mistake
	edits []edit
}

// edit replaces text that occurs exactly once in a file. If old is empty, it creates the file.
type edit struct{ file, old, new string }

// mistakes lists mistakes in all parts of the module. If the text of an edit has moved, update
// the edit and keep the mistake. A further mistake is derived from the recipe for a kernel.
var mistakes = []mistake{
	{"acceptance", "the ratio of proposal probabilities is upside down, in DMALA and all that propose with a table", []edit{{
		"internal/sweep/sites.go",
		"if l := decrease + (logReverse - logForward); l < 0 {",
		"if l := decrease - (logReverse - logForward); l < 0 {",
	}}},
	{"clamp", "energy.Clamp holds the site after each fixed one", []edit{{
		"energy/affine.go",
		"if x[s*a.sites+i] != a.fixed[i] {",
		"if x[s*a.sites+(i+1)%a.sites] != a.fixed[i] {",
	}}},
	{"skipped site", "a systematic sweep draws the last site but one twice and the last never", []edit{{
		"internal/sweep/engines.go",
		"for i := range sites {\n\t\t\tsweep = append(sweep, int32(i))",
		"for i := range sites {\n\t\t\tsweep = append(sweep, int32(min(i, max(0, sites-2))))",
	}}},
	{"stale cache", "kernels that have moved are not informed of SetStates and Reset", []edit{{
		"sampler/runner.go",
		"fresh := b.reset\n",
		"fresh := b.reset || b.steps > 0\n",
	}}},
	{"vector tail", "a sum over a length that is no multiple of the lanes leaves out the rest", []edit{{
		"internal/simd/linear64.go",
		"return innerRun(w, x[:n]) + tailInner(w[n:], x[n:])",
		"return innerRun(w, x[:n])",
	}}},
	{"resume", "AdaGrad keeps no sum of squares in a checkpoint", []edit{{
		"dual/firstorder.go",
		"f.Float64s(a.squares)",
		"f.Float64s(nil)",
	}}},
	{"swallowed panic", "a panic in a job ends the job and nothing else", []edit{{
		"internal/pool/pool.go",
		"c.first.CompareAndSwap(nil, end)",
		"c.first.CompareAndSwap(nil, nil)",
	}}},
	{"last site", "sums over sequences leave out the largest weight of the last site", []edit{{
		"internal/trellis/runner.go",
		"r.shifted += r.shift[t]",
		"if r.passed > 0 {\n\t\t\tr.shifted += r.shift[t]\n\t\t}",
	}}},
	{"renoise", "a mask gives way with a probability over what is masked later", []edit{{
		"sampler/diffusion/masked.go",
		"return fraction(p.Alpha(s)-at, 1-at)",
		"return fraction(p.Alpha(s)-at, 1-p.Alpha(s))",
	}}},
	{"leave one out", "uniform diffusion takes leave-one-out predictions as full posteriors", []edit{{
		"sampler/diffusion/uniform.go",
		"p.raise(v, x, a, 1)",
		"p.raise(v, x, 0*a, 1)",
	}}},
	{"sign of λ", "a violated inequality is rewarded", []edit{{
		"dual/lagrangian.go",
		"w := v / l.beta",
		"w := -v / l.beta",
	}}},
	{"forgotten Max", "multipliers have no upper bound", []edit{{
		"dual/batch.go",
		"return 0, b.Max\n",
		"return 0, math.Inf(1)\n",
	}, {
		"dual/batch.go",
		"import (\n",
		"import (\n\t\"math\"\n",
	}}},
	{"swap", "rungs of a ladder swap by the hotter rung's temperature, not by the difference", []edit{{
		"sampler/mcmc/tempering.go",
		"l := (k.betas[j] - k.betas[j+1]) * (e - f)",
		"l := k.betas[j+1] * (e - f)",
	}}},
	{"worker's stream", "random streams depend on the number of workers", []edit{{
		"sampler/runner.go",
		"c.streams[i].Seed(c.cfg.Seed, uint64(c.cfg.First+i))",
		"c.streams[i].Seed(c.cfg.Seed+uint64(c.cfg.Workers), uint64(c.cfg.First+i))",
	}}},
	{"lost error", "what says that nothing is feasible is no ErrInfeasible", []edit{{
		"projection/errors.go",
		"func (e *InfeasibleError) Unwrap() error { return constraint.ErrInfeasible }",
		"func (e *InfeasibleError) Unwrap() error { return nil }",
	}}},
	{"header", "a graph with fewer edges than its header says is read", []edit{{
		"energy/read/rudy.go",
		"if len(edges) < m {",
		"if len(edges) < 0 {",
	}}},
	{"back proposal", "MALA accepts by the energies alone", []edit{{
		"sampler/langevin/kernel.go",
		"k.e[c]-k.f[c]+(back-forth)",
		"k.e[c]-k.f[c]+0*(back-forth)",
	}}},
	{"marginals", "marginals are not divided by the sum of all weights", []edit{{
		"internal/trellis/runner.go",
		"return simd.Log(p) + units - first - r.shift[t]",
		"return simd.Log(p) + units - 0*first - r.shift[t]",
	}}},
	{"warm-up", "statistics count the steps of warm-up", []edit{{
		"sampler/block.go",
		"case b.steps <= c.cfg.Warmup:",
		"case b.steps <= c.cfg.Warmup:\n\t\t\tb.stats.add(t.info, 1)",
	}}},
	{"stop", "kernels go on when they are to stop", []edit{{
		"internal/sweep/cursor.go",
		"p.Stopped = p.Stopped || p.Stop != nil && p.Stop()",
		"p.Stopped = p.Stopped || p.Stop != nil && p.Stop() && p.Work < 0",
	}}},
}
