package anneal

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// fourPointNine standard errors are a normal tail of 1e-6, two-sided.
const fourPointNine = 4.9

func isingLogZ(t *testing.T) (*model.Ising, float64) {
	m, err := model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)
	require.NoError(t, err)
	_, logZ := exact.Law(m)
	return m, logZ
}

func TestAIS(t *testing.T) {
	m, logZ := isingLogZ(t)
	var values []float64
	for _, workers := range []int{1, 3} {
		res, err := AIS(context.Background(), m, mcmc.Gibbs{}, AISConfig{Chains: 200, Seed: 1, Stages: 20, Workers: workers})
		require.NoError(t, err)
		assert.InDelta(t, logZ, res.Value, fourPointNine*res.StdErr)
		assert.Less(t, res.StdErr, 0.05)
		assert.Greater(t, res.ESS, 100.0)
		assert.Less(t, res.ESS, 200.0)
		assert.Len(t, res.States, 200*9)
		values = append(values, res.Value)
	}
	assert.Equal(t, values[0], values[1], "workers change nothing")
	more, err := AIS(context.Background(), m, mcmc.Gibbs{}, AISConfig{Chains: 200, Seed: 1, Stages: 20, Moves: 3})
	require.NoError(t, err)
	assert.NotEqual(t, values[0], more.Value)
	assert.InDelta(t, logZ, more.Value, fourPointNine*more.StdErr)
}

func TestAISErrors(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	never := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return math.Inf(1) }}
	broken := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return math.NaN() }}
	for want, c := range map[string]struct {
		m      energy.Model
		method sampler.Method
		cfg    AISConfig
	}{
		"method = nil":                              {m, nil, AISConfig{}},
		"AIS: model = nil":                          {nil, mcmc.Gibbs{}, AISConfig{}},
		"AISConfig.Chains = 1, want ≥ 2":            {m, mcmc.Gibbs{}, AISConfig{Chains: 1}},
		"AISConfig.Workers = -1":                    {m, mcmc.Gibbs{}, AISConfig{Workers: -1}},
		"AISConfig.Stages = -1":                     {m, mcmc.Gibbs{}, AISConfig{Stages: -1}},
		"AISConfig.Moves = -1":                      {m, mcmc.Gibbs{}, AISConfig{Moves: -1}},
		"AIS: Schedule(0) = 0.1, want 0":            {m, mcmc.Gibbs{}, AISConfig{Schedule: Linear(0.1, 1)}},
		"AIS: Schedule(1) = 0.5, want 1":            {m, mcmc.Gibbs{}, AISConfig{Schedule: Linear(0, 0.5)}},
		"AIS: Schedule(1/200) = -0.005, want withi": {m, mcmc.Gibbs{}, AISConfig{Schedule: Linear(0, -1)}},
		"GWG: Flips = -1":                           {m, mcmc.GWG{Flips: -1}, AISConfig{}},
		"all 64 chains began at states of probabil": {never, mcmc.Gibbs{}, AISConfig{}},
		"chain 0, stage 0: energy = NaN":            {broken, mcmc.Gibbs{}, AISConfig{}},
	} {
		_, err := AIS(context.Background(), c.m, c.method, c.cfg)
		assert.ErrorContains(t, err, want)
	}
	_, err := AIS(context.Background(), never, mcmc.Gibbs{}, AISConfig{})
	assert.ErrorIs(t, err, sampler.ErrZero)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = AIS(ctx, m, mcmc.Gibbs{}, AISConfig{})
	assert.ErrorIs(t, err, context.Canceled)
	sometimes := energy.Func{Sites: 1, Levels: 3, E: func(x []int32) float64 {
		if x[0] == 2 {
			return math.Inf(1)
		}
		return 0
	}}
	_, err = AIS(context.Background(), sometimes, mcmc.DULA{StepSize: 100}, AISConfig{})
	assert.NoError(t, err, "a table that knows the hole never leads into it")
}

func TestSteppingStone(t *testing.T) {
	m, logZ := isingLogZ(t)
	holed := exact.NewRugged(4, 3, 1, 0.5, 6).Holed()
	_, holedZ := exact.Law(holed)
	for _, c := range []struct {
		m      energy.Model
		method sampler.Method
		logZ   float64
	}{{m, mcmc.Gibbs{}, logZ}, {m, mcmc.DMALA{}, logZ}, {holed, mcmc.Metropolis{}, holedZ}, {holed, mcmc.BlockGibbs{Blocks: [][]int{{0, 1}, {1, 2}, {2, 3}}}, holedZ}} {
		cfg := SteppingStoneConfig{Chains: 4, Seed: 3, Stages: 6, Warmup: 100, Draws: 300, Workers: 1}
		z, err := SteppingStone(context.Background(), c.m, c.method, cfg)
		require.NoError(t, err)
		assert.InDelta(t, c.logZ, z.Value, fourPointNine*z.StdErr)
		assert.True(t, z.StdErr > 0 && z.StdErr < 0.2, "%+v", z)
		cfg.Workers = 3
		again, err := SteppingStone(context.Background(), c.m, c.method, cfg)
		require.NoError(t, err)
		assert.Equal(t, z, again, "workers change nothing")
	}
	// The twin's chains do not leave their targets invariant.
	z, err := SteppingStone(context.Background(), m, mcmc.DULA{StepSize: 2}, SteppingStoneConfig{Seed: 3})
	require.NoError(t, err)
	assert.Greater(t, math.Abs(z.Value-logZ), fourPointNine*z.StdErr)
}

func TestSteppingStoneOnAFlatModel(t *testing.T) {
	flat := energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 { return 7 }}
	z, err := SteppingStone(context.Background(), flat, mcmc.Gibbs{}, SteppingStoneConfig{Chains: 2, Stages: 3, Warmup: -1, Draws: 6})
	require.NoError(t, err)
	assert.InDelta(t, 3*math.Ln2-7, z.Value, 1e-12)
	assert.InDelta(t, 0, z.StdErr, 1e-12)
}

func TestSteppingStoneErrors(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	never := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return math.Inf(1) }}
	broken := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return math.NaN() }}
	for want, c := range map[string]struct {
		m      energy.Model
		method sampler.Method
		cfg    SteppingStoneConfig
	}{
		"method = nil":                                   {m, nil, SteppingStoneConfig{}},
		"SteppingStone: model = nil":                     {nil, mcmc.Gibbs{}, SteppingStoneConfig{}},
		"Chains = -1":                                    {m, mcmc.Gibbs{}, SteppingStoneConfig{Chains: -1}},
		"Stages = -1":                                    {m, mcmc.Gibbs{}, SteppingStoneConfig{Stages: -1}},
		"Draws = 5, want ≥ 6":                            {m, mcmc.Gibbs{}, SteppingStoneConfig{Draws: 5}},
		"Warmup = -2":                                    {m, mcmc.Gibbs{}, SteppingStoneConfig{Warmup: -2}},
		"SteppingStone: Schedule(0) = 1":                 {m, mcmc.Gibbs{}, SteppingStoneConfig{Schedule: Linear(1, 0)}},
		"states of probability zero":                     {never, mcmc.Gibbs{}, SteppingStoneConfig{}},
		"a draw from the base: energy = NaN":             {broken, mcmc.Gibbs{}, SteppingStoneConfig{}},
		"Scan = chromatic, want an energy.Graphical one": {m, mcmc.Gibbs{Scan: mcmc.Chromatic}, SteppingStoneConfig{}},
	} {
		_, err := SteppingStone(context.Background(), c.m, c.method, c.cfg)
		assert.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := SteppingStone(ctx, m, mcmc.Gibbs{}, SteppingStoneConfig{})
	assert.ErrorIs(t, err, context.Canceled)
}

// Steep energies stay in log space.
func TestLogZOfSteepEnergies(t *testing.T) {
	exact.SkipRepeated(t)
	m := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 { return -1e6 * float64(x[0]+x[1]) }}
	ais, err := AIS(context.Background(), m, mcmc.Gibbs{}, AISConfig{})
	require.NoError(t, err)
	assert.InDelta(t, 2e6, ais.Value, 10)
	z, err := SteppingStone(context.Background(), m, mcmc.Gibbs{}, SteppingStoneConfig{})
	require.NoError(t, err)
	assert.InDelta(t, 2e6, z.Value, fourPointNine*z.StdErr)
	assert.Less(t, z.StdErr, 0.1)
}

func TestLogMeanExp(t *testing.T) {
	inf := math.Inf(-1)
	v, r := logMeanExp([]float64{inf, 1000 + math.Log(3), 1000 + math.Log(1)})
	assert.InDelta(t, 1000+math.Log(4.0/3), v, 1e-12)
	// Weights 0, 3, 1 around 4/3: Σ d² = (4/3)² + (5/3)² + (1/3)² = 42/9.
	assert.InDelta(t, math.Sqrt(42.0/9/6)/(4.0/3), r, 1e-12)
	v, _ = logMeanExp([]float64{inf, inf})
	assert.Equal(t, inf, v)
	assert.Equal(t, []float64{0, 0.25, 1}, []float64{Power(2)(0), Power(2)(0.5), Power(2)(1)})
}

// base fits independent sites to the conditionals of a model from afar.
func base(t *testing.T, logits ...float64) energy.Model {
	m, err := model.NewBernoulli(logits)
	require.NoError(t, err)
	return m
}

func testRBM(t *testing.T) (*model.RBM, float64) {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, 6*4+6+4)
	for i := range v {
		v[i] = float32(1.5 * r.NormFloat64())
	}
	m, err := model.NewRBM(v[:24], v[24:28], v[28:])
	require.NoError(t, err)
	_, logZ := exact.Law(m)
	return m, logZ
}

// From any base, along the tempered way of an RBM or by scaling, by kernels of every
// kind, both estimates agree with the sum over states; those with the wrong normaliser
// of the base (a twin) do not.
func TestLogZFromABase(t *testing.T) {
	exact.SkipRepeated(t)
	ising, isingZ := isingLogZ(t)
	rbm, rbmZ := testRBM(t)
	_, clampedZ := exact.Law(exact.Must(energy.Clamp(rbm, map[int]int32{2: 1})))
	near := base(t, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4)
	holed := exact.NewRugged(4, 3, 1, 0.5, 6).Holed()
	_, holedZ := exact.Law(holed)
	levels, err := model.NewIndependent([]float64{0, 1, 2, 0, 0, 0, 1, 0, 1, 3, 2, 1}, 3)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		m, base energy.Model
		method  sampler.Method
		logZ    float64
	}{
		"ising":               {ising, near, mcmc.Gibbs{}, isingZ},
		"ising, table":        {ising, near, mcmc.DMALA{StepSize: 0.3}, isingZ},
		"rbm, hidden units":   {rbm, nil, mcmc.BlockGibbs{}, rbmZ},
		"rbm, units and base": {rbm, base(t, 1, -1, 0, 2, -2, 0.5), mcmc.BlockGibbs{}, rbmZ},
		"ising, chain":        {ising, exact.Must(model.NewIsing(model.FreeLattice{9}, 0.2, 0.1)), mcmc.Gibbs{}, isingZ},
		"rbm, clamped chain":  {exact.Must(energy.Clamp(rbm, map[int]int32{2: 1})), exact.Must(energy.Clamp(exact.Must(model.NewIsing(model.FreeLattice{6}, 0.3, 0)), map[int]int32{2: 1})), mcmc.Gibbs{}, clampedZ},
		"levels with holes":   {holed, levels, mcmc.Metropolis{}, holedZ},
	} {
		ais, err := AIS(context.Background(), c.m, c.method, AISConfig{Chains: 300, Seed: 4, Stages: 40, Base: c.base})
		require.NoError(t, err, name)
		assert.InDelta(t, c.logZ, ais.Value, fourPointNine*ais.StdErr, name)
		assert.Less(t, ais.StdErr, 0.2, name)
		z, err := SteppingStone(context.Background(), c.m, c.method, SteppingStoneConfig{Chains: 4, Seed: 4, Stages: 6, Warmup: 50, Draws: 300, Base: c.base})
		require.NoError(t, err, name)
		assert.InDelta(t, c.logZ, z.Value, fourPointNine*z.StdErr, name)
		if c.base != nil {
			_, baseZ := exact.Law(c.base)
			sites, l := c.m.Shape()
			wrong := ais.Value - baseZ + float64(sites)*math.Log(float64(l))
			assert.Greater(t, math.Abs(wrong-c.logZ), fourPointNine*ais.StdErr, "%s: the twin", name)
		}
	}
	// A base that is the model leaves nothing to estimate.
	same := base(t, 0.3, -1, 2)
	_, sameZ := exact.Law(same)
	ais, err := AIS(context.Background(), same, mcmc.Gibbs{}, AISConfig{Stages: 3, Base: same})
	require.NoError(t, err)
	assert.InDelta(t, sameZ, ais.Value, 1e-12)
	assert.InDelta(t, 0, ais.StdErr, 1e-12)
	whole, err := AIS(context.Background(), ising, mcmc.Gibbs{}, AISConfig{Stages: 3, Base: ising})
	require.NoError(t, err)
	assert.InDelta(t, isingZ, whole.Value, 1e-12)
}

// Backwards from exact draws the error has the other sign; the two brackets meet.
func TestAISBackwards(t *testing.T) {
	m, logZ := isingLogZ(t)
	p, _ := exact.Law(m)
	states, r := exact.States(9, 2), rand.New(rand.NewPCG(3, 4))
	draws := make([]int32, 0, 300*9)
	for range 300 {
		u, k := r.Float64(), 0
		for u -= p[0]; u > 0 && k < len(p)-1; u -= p[k] {
			k++
		}
		draws = append(draws, states[k]...)
	}
	cfg := AISConfig{Chains: 300, Seed: 5, Stages: 20, Exact: draws}
	back, err := AIS(context.Background(), m, mcmc.Gibbs{}, cfg)
	require.NoError(t, err)
	assert.InDelta(t, logZ, back.Value, fourPointNine*back.StdErr)
	assert.Less(t, back.StdErr, 0.05)
	// Two stages of a few chains are rough: the mean of the logarithms then errs
	// downwards forwards and upwards backwards.
	down, up := 0.0, 0.0
	for k := range 40 {
		c := AISConfig{Chains: 2, Seed: uint64(k), Stages: 2}
		f, err := AIS(context.Background(), m, mcmc.Gibbs{}, c)
		require.NoError(t, err)
		c.Exact = draws[k*18 : (k+1)*18]
		b, err := AIS(context.Background(), m, mcmc.Gibbs{}, c)
		require.NoError(t, err)
		down, up = down+f.Value/40, up+b.Value/40
	}
	assert.Less(t, down, logZ)
	assert.Greater(t, up, logZ)
	hole := energy.Func{Sites: 1, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) / float64(1-x[0]) }}
	_, err = AIS(context.Background(), hole, mcmc.Metropolis{}, AISConfig{Chains: 2, Exact: []int32{0, 1}})
	require.ErrorIs(t, err, sampler.ErrZero)
}

// The weights of populations are unbiased, forwards and backwards, and their last states,
// weighted, follow the model.
func TestPopulations(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	glass := exact.Must(model.NewIsing(exact.Must(model.NewGraph(6, []model.Edge{
		{I: 0, J: 1, W: 1.5}, {I: 1, J: 2, W: -2}, {I: 2, J: 0, W: 1.7}, {I: 3, J: 4, W: 2}, {I: 4, J: 5, W: 1}, {I: 5, J: 0, W: -1},
	})), 1, 0.2))
	p, logZ := exact.Law(glass)
	states := exact.States(6, 2)
	cfg := AISConfig{Population: 5, Chains: 4000 * 5, Seed: 3, Stages: 4}
	forth := exact.Must(AIS(ctx, glass, mcmc.Gibbs{}, cfg))
	assert.InDelta(t, logZ, forth.Value, fourPointNine*forth.StdErr)
	assert.Less(t, forth.StdErr, 0.03)
	assert.Less(t, forth.ESS, 4000.0)
	assert.Greater(t, forth.ESS, 400.0)
	assert.Len(t, forth.Populations(), 4000)
	apart := cfg
	apart.Population = 0
	without := exact.Must(AIS(ctx, glass, mcmc.Gibbs{}, apart))
	assert.NotEqual(t, without.LogWeights, forth.LogWeights)
	total, up, want := 0.0, 0.0, 0.0
	for i, w := range forth.LogWeights {
		total += math.Exp(w - logZ)
		up += math.Exp(w-logZ) * float64(forth.States[6*i]*forth.States[6*i+3])
	}
	for i, x := range states {
		want += p[i] * float64(x[0]*x[3])
	}
	assert.InDelta(t, want, up/total, 0.03)

	r := rand.New(rand.NewPCG(3, 4))
	for range cfg.Chains {
		u, k := r.Float64(), 0
		for u -= p[0]; u > 0 && k < len(p)-1; u -= p[k] {
			k++
		}
		cfg.Exact = append(cfg.Exact, states[k]...)
	}
	back := exact.Must(AIS(ctx, glass, mcmc.Gibbs{}, cfg))
	assert.InDelta(t, logZ, back.Value, fourPointNine*back.StdErr)
	assert.Less(t, back.StdErr, 0.03)

	for want, c := range map[string]AISConfig{
		"AISConfig.Population = -1, want ≥ 0":                        {Population: -1},
		"AISConfig.Chains = 64, want a multiple of Population = 5":   {Population: 5, Chains: 64},
		"AISConfig.Chains = 5, want a multiple of Population = 5, a": {Population: 5, Chains: 5},
		"AISConfig.First = 1, want a multiple of the block of 5":     {Population: 5, First: 1},
	} {
		_, err := NewAIS(glass, mcmc.Gibbs{}, c)
		require.ErrorContains(t, err, want)
	}
	part := exact.Must(AISConfig{Population: 40}.Part(3, 16))
	assert.Equal(t, [3]int{640, 120, 40}, [3]int{part.Chains, part.First, part.Count})
	_, err := AISConfig{Population: -1}.Part(0, 1)
	require.ErrorContains(t, err, "Population = -1")
}

// The 99 % interval of log Z covers it for at least 95 of 100 random models.
func TestPopulationsCover(t *testing.T) {
	exact.SkipRepeated(t)
	covered := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 46))
		var edges []model.Edge
		for i := range 10 {
			for j := range i {
				if r.IntN(3) == 0 {
					edges = append(edges, model.Edge{I: i, J: j, W: r.NormFloat64()})
				}
			}
		}
		m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(10, edges)), 0.5+r.Float64(), r.NormFloat64()))
		_, logZ := exact.Law(m)
		res := exact.Must(AIS(context.Background(), m, mcmc.Gibbs{}, AISConfig{Population: 20, Chains: 1000, Seed: seed, Stages: 15}))
		if math.Abs(res.Value-logZ) <= 2.58*res.StdErr {
			covered++
		}
	}
	t.Logf("%d of 100", covered)
	assert.GreaterOrEqual(t, covered, 95)
}

func TestBaseErrors(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	chain, err := model.NewIsing(model.FreeLattice{3}, 1, 0)
	require.NoError(t, err)
	never := exact.Must(energy.Clamp(exact.Must(energy.Clamp(chain, map[int]int32{0: 0})), map[int]int32{0: 1}))
	wide := exact.Must(model.NewIsing(model.Lattice{60, 60}, 0.1, 0))
	_, err = NewAIS(wide, mcmc.Gibbs{}, AISConfig{Base: wide})
	require.ErrorContains(t, err, "anneal: AIS: Base is *model.Ising: a graph of 3600 variables and width ≥")
	for want, cfg := range map[string]AISConfig{
		"Base has 2 sites and 2 levels, want 3 and 2": {Base: base(t, 0, 0)},
		"Base is *exact.Quadratic: want a model of":   {Base: m},
		"Base is *energy.Affine: every state has":     {Base: never},
		"len(AISConfig.Exact) = 3, want 192":          {Exact: make([]int32, 3)},
		"AISConfig.Exact[1] = 2, want 0 … 1":          {Chains: 2, Exact: []int32{0, 2, 0, 0, 0, 0}},
		"energy = -Inf":                               {Base: base(t, math.Inf(1), 0, 0)},
	} {
		_, err := AIS(context.Background(), m, mcmc.Gibbs{}, cfg)
		if want == "energy = -Inf" {
			require.NoError(t, err, "the base never leads where it has no probability")
			continue
		}
		assert.ErrorContains(t, err, want)
	}
}

// Within a language, Z is the sum over its states, forward, backward from draws, in populations and
// by stepping stones, even if no kernel makes a step.
func TestLogZWithinALanguage(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	within := constraint.Count{Levels: []int32{1}, Min: 1, Max: 4}
	method := mcmc.DMALA{StepSize: 1, Within: within}
	e := exact.Energies(m)
	logZ, inside := math.Inf(-1), 0.0
	p := make([]float64, len(e))
	for k, x := range exact.States(9, 2) {
		if p[k] = math.Inf(-1); constraint.Accepts(within, x) {
			p[k] = -e[k]
			inside += 1 / float64(len(e))
			logZ = math.Max(logZ, -e[k]) + math.Log1p(math.Exp(-math.Abs(logZ+e[k])))
		}
	}
	exact.Normalize(p)
	const chains = 512
	r, draws := rand.New(rand.NewPCG(1, 2)), make([]int32, 0, chains*9)
	for range chains {
		u, k := r.Float64(), 0
		for k < len(p)-1 && u >= p[k] {
			u -= p[k]
			k++
		}
		draws = append(draws, exact.States(9, 2)[k]...)
	}
	for name, c := range map[string]struct {
		cfg  AISConfig
		want float64
	}{
		"forward":      {AISConfig{Stages: 10}, logZ},
		"one stage":    {AISConfig{Stages: 1}, logZ},
		"populations":  {AISConfig{Stages: 10, Population: 8}, logZ},
		"backward":     {AISConfig{Stages: 10, Exact: draws}, logZ - math.Log(inside)},
		"one backward": {AISConfig{Stages: 1, Exact: draws}, logZ - math.Log(inside)},
	} {
		c.cfg.Chains, c.cfg.Seed = chains, 1
		got, err := AIS(t.Context(), m, method, c.cfg)
		require.NoError(t, err, name)
		require.InDelta(t, c.want, got.Value, 5*got.StdErr, "%s: ± %v", name, got.StdErr)
		require.Less(t, got.StdErr, 0.2, name)
		for s, w := range got.LogWeights {
			require.True(t, math.IsInf(w, -1) || constraint.Accepts(within, got.States[s*9:(s+1)*9]), "%s: state %v", name, got.States[s*9:(s+1)*9])
		}
	}
	z, err := SteppingStone(t.Context(), m, method, SteppingStoneConfig{Stages: 4, Warmup: 20, Draws: 100, Seed: 1})
	require.NoError(t, err)
	require.InDelta(t, logZ, z.Value, 5*z.StdErr, "± %v", z.StdErr)
	_, err = AIS(t.Context(), m, mcmc.DMALA{Within: constraint.Count{Levels: []int32{1}, Min: 9, Max: 9}}, AISConfig{Chains: 4, Stages: 3})
	require.ErrorIs(t, err, sampler.ErrZero)
}
