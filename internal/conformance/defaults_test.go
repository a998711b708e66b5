package conformance_test

import (
	"context"
	"fmt"
	"go/types"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// known is a problem whose multipliers are known by construction: λ* is chosen, and the
// bounds are the means at it.
type known struct {
	star  []float64
	unit  []float64 // of λ: β over the standard deviation of g
	draws int       // whose mean, met to rounding, decides λ; 0 where loops draw on and on
}

// allowed returns by how much multipliers may be off: two percent, and four standard errors
// of the draws.
func (k known) allowed() float64 {
	if k.draws == 0 {
		return 0.02
	}
	return 0.02 + 4/math.Sqrt(float64(k.draws))
}

// off returns how far multipliers are from λ*, relative to it.
func (k known) off(lambda []float64) (most float64) {
	for j, l := range lambda {
		most = max(most, math.Abs(l-k.star[j])/max(math.Abs(k.star[j]), k.unit[j]))
	}
	return most
}

// knownTokens is a problem on 81 states: one to three rows in units from 10⁻³ to 10³, among
// them equalities and rows that hold anyway.
type knownTokens struct {
	known
	*allStates
	lag *dual.Lagrangian
}

func newKnownTokens(seed uint64) *knownTokens {
	r := rand.New(rand.NewPCG(seed, 12))
	m := 1 + int(seed%3)
	base := exact.NewRugged(dualSites, dualLevels, 1, 0, 100+seed)
	beta := []float64{1, 0.5, 2}[seed/3%3]
	k := &knownTokens{known: known{star: make([]float64, m), unit: make([]float64, m)}}
	var set joinedSets
	row := func(j int, low, high float64) dual.Constraint[int32] {
		h := exact.NewRugged(dualSites, dualLevels, 1, 0, 200+10*seed+uint64(j))
		unit := []float64{1, 1e-3, 1e3}[(int(seed)+j)%3]
		return dual.Constraint[int32]{Of: []dual.Energetic[int32]{h}, Coef: []float64{unit}, Low: low, High: high}
	}
	for j := range m {
		set = append(set, row(j, math.Inf(-1), 0))
	}
	_, _, variance, _ := listAll(base, set, beta, nil).at(make([]float64, m))
	for j, v := range variance {
		k.unit[j] = beta / math.Sqrt(v)
		k.star[j] = (0.3 + r.Float64()) * k.unit[j]
		switch (int(seed) + 2*j) % 5 {
		case 3: // an equality
			k.star[j] = -k.star[j]
		case 4: // holds anyway
			k.star[j] = 0
		}
	}
	_, mean, _, _ := listAll(base, set, beta, nil).at(k.star)
	for j, b := range mean {
		low := math.Inf(-1)
		switch {
		case k.star[j] < 0:
			low = b
		case k.star[j] == 0:
			b += 0.5 * beta / k.unit[j]
		}
		set[j] = row(j, low, b)
	}
	sets := []constraint.Set{}
	for _, s := range set {
		sets = append(sets, s)
	}
	k.lag = exact.Must(exact.Must(dual.NewLagrangian(base, sets...)).AtTemperature(beta))
	k.allStates = listAll(base, set, beta, nil)
	return k
}

// independent returns a primal of draws from p, which is asked at every draw.
func independent(states [][]int32, p func() []float64, seed uint64) *dual.Resampler[int32] {
	r := rand.New(rand.NewPCG(seed, 13))
	return exact.Must(dual.NewResampler(len(states[0]), 64, func(_ context.Context, x []int32) error {
		p := p()
		for at := 0; at < len(x); at += len(states[0]) {
			copy(x[at:], states[drawn(r, p)])
		}
		return nil
	}))
}

// drawn returns a number drawn with the probabilities p.
func drawn(r *rand.Rand, p []float64) int {
	u, k := r.Float64(), 0
	for k < len(p)-1 && u >= p[k] {
		u -= p[k]
		k++
	}
	return k
}

// knownReals is a mixture of two normal distributions in the plane under linear bounds.
type knownReals struct {
	known
	base *continuous.Mixture
	rows []dual.Constraint[float32]
}

// newKnownReals returns a problem of one or two rows. A mixture with the weights w_k, means μ_k
// and the variance s in all directions becomes one with the weights ∝ w_k exp(−dᵀμ_k + s‖d‖²/2)
// and means μ_k − s·d under exp(−dᵀx), d = Aᵀλ.
func newKnownReals(seed uint64) *knownReals {
	r := rand.New(rand.NewPCG(seed, 14))
	m := 1 + int(seed%2)
	const s = 0.5
	mu := [][2]float64{{-0.6, r.Float64()}, {0.7, -r.Float64()}}
	k := &knownReals{known: known{star: make([]float64, m), unit: make([]float64, m)}}
	k.base = exact.Must(continuous.NewDiagonal([]float64{1, 2}, []float64{mu[0][0], mu[0][1], mu[1][0], mu[1][1]}, []float64{s, s, s, s}))
	unit := []float64{1, 1e-3, 1e3}[seed/2%3]
	a := [][2]float64{{unit * math.Cos(float64(seed)), unit * math.Sin(float64(seed))}, {-1.5 * math.Sin(float64(seed)), 1.5 * math.Cos(float64(seed))}}[:m]
	var d [2]float64
	for j := range a {
		k.unit[j] = 1 / math.Hypot(a[j][0], a[j][1])
		k.star[j] = (0.4 + r.Float64()) * k.unit[j]
		for i := range d {
			d[i] += k.star[j] * a[j][i]
		}
	}
	w := []float64{math.Log(1) - d[0]*mu[0][0] - d[1]*mu[0][1], math.Log(2) - d[0]*mu[1][0] - d[1]*mu[1][1]}
	exact.Normalize(w)
	for j := range a {
		mean := 0.0
		for i := range d {
			mean += a[j][i] * (w[0]*mu[0][i] + w[1]*mu[1][i] - s*d[i])
		}
		k.rows = append(k.rows, dual.AtMost(exact.Must(continuous.NewLinear(a[j][:], 0)), mean))
	}
	return k
}

// knownLaws is a problem of unlearning with two distributions to move away from.
type knownLaws struct {
	known
	q    []float64
	away [][]float64
	b    []float64
}

// newKnownLaws returns a problem on nine states: bounds are what p_λ* has.
func newKnownLaws(f unlearn.Formulation, seed uint64) *knownLaws {
	r := rand.New(rand.NewPCG(seed, 15))
	law := func() []float64 {
		p := make([]float64, 9)
		for i := range p {
			p[i] = math.Log(0.2 + r.Float64())
			if f == unlearn.ReverseKL || f == unlearn.DiscreteSafe {
				p[i] = 1.2 * r.NormFloat64()
			}
		}
		exact.Normalize(p)
		return p
	}
	k := &knownLaws{known: known{star: []float64{0.2 + 0.2*r.Float64(), 0.2 + 0.2*r.Float64()}, unit: []float64{0.2, 0.2}}, q: law(), away: [][]float64{law(), law()}}
	if f == unlearn.ForwardKL { // and q − Σ λ_i q_i must be positive
		k.star = []float64{0.03 + 0.04*r.Float64(), 0.03 + 0.04*r.Float64()}
		k.unit = []float64{0.03, 0.03}
	}
	h := func(i, x int) float64 {
		switch ratio := k.away[i][x] / k.q[x]; f {
		case unlearn.Likelihood:
			return k.away[i][x]
		case unlearn.LikelihoodRatio:
			return ratio
		default:
			return math.Log(ratio)
		}
	}
	p, rest := make([]float64, len(k.q)), 1-k.star[0]-k.star[1]
	for x := range p {
		p[x] = math.Log(k.q[x])
		switch f {
		case unlearn.ForwardKL:
			p[x] = math.Log(k.q[x] - k.star[0]*k.away[0][x] - k.star[1]*k.away[1][x])
		case unlearn.ReverseKL:
			p[x] -= (k.star[0]*h(0, x) + k.star[1]*h(1, x)) / rest
		default:
			p[x] -= k.star[0]*h(0, x) + k.star[1]*h(1, x)
		}
	}
	exact.Normalize(p)
	for i, a := range k.away {
		b := 0.0
		for x := range p {
			switch f {
			case unlearn.ReverseKL:
				b += p[x] * math.Log(p[x]/a[x])
			case unlearn.ForwardKL:
				b += a[x] * math.Log(a[x]/p[x])
			case unlearn.DiscreteSafe:
				b -= p[x] * h(i, x)
			default:
				b += p[x] * h(i, x)
			}
		}
		k.b = append(k.b, b)
	}
	return k
}

// table is a model of one site whose log-weights are those of p.
func table(p []float64) energy.Model {
	return energy.Func{Sites: 1, Levels: len(p), E: func(x []int32) float64 { return -math.Log(p[x[0]]) }}
}

// byDefault is a way to multipliers that leaves every option at its zero value.
type byDefault struct {
	name    string
	of      string // the constructors that it judges, by spaces
	refusal string // what errors say; "" where there are none
	solve   func(ctx context.Context, seed uint64) (k known, lambda []float64, err error)
}

// defaultSteps are those of loops, by 64 draws each: their mean leaves λ an error of about
// .003 in the units of known.
const (
	defaultSteps = 3000
	defaultDraws = 64 * defaultSteps
)

func byDefaults() (all []byDefault) {
	add := func(name, of, refusal string, solve func(ctx context.Context, seed uint64) (known, []float64, error)) {
		all = append(all, byDefault{name, of, refusal, solve})
	}
	add("Solve", "dual.NewLagrangian dual.Solve", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownTokens(seed)
		s, err := dual.Solve(ctx, k.lag)
		if err != nil {
			return k.known, nil, err
		}
		return k.known, s.Lambda, nil
	})
	add("SolveStates", "dual.SolveStates", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownTokens(seed)
		rows := make([]dual.Row, len(k.star))
		for j, equal := range k.equal {
			rows[j].Equal = equal
		}
		s, err := dual.SolveStates(ctx, k.f0, slices.Concat(k.g...), k.beta, rows)
		if err != nil {
			return k.known, nil, err
		}
		return k.known, s.Lambda, nil
	})
	for _, rule := range zeroRules() {
		name, refusal := fmt.Sprintf("%T", rule), ""
		if rule != nil {
			refusal = "neither G nor Cov"
		}
		add("Inference by "+name, "dual.NewInference dual.NewResampler", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
			k := newKnownTokens(seed)
			p := independent(k.x, func() []float64 { p, _, _, _ := k.at(k.lag.Lambda()); return p }, seed)
			return loops(ctx, k.known, dual.Target[int32](k.lag), dual.Primal[int32](p), dual.Config{Rule: rule})
		})
		add("pdi by "+name, "pdi.New pdi.NewMixture", refusal, func(ctx context.Context, seed uint64) (known, []float64, error) {
			k := newKnownReals(seed)
			d, err := pdi.New(ctx, exact.Must(pdi.NewMixture(k.base, 1, k.rows...)), pdi.Config{Rule: rule})
			if err != nil {
				return k.known, nil, err
			}
			const samples = 1 << 13
			k.draws = samples
			diff := exact.Must(diffusion.New(ctx, d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}), diffusion.Config{Steps: 100, Batch: samples, Seed: seed}))
			err = diff.Sample(ctx, make([]float32, 2*samples))
			return k.known, d.Average(), err
		})
	}
	add("Langevin", "dual.NewRealLagrangian", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownReals(seed)
		lag := exact.Must(dual.NewRealLagrangian(k.base, 1, k.rows...))
		chains := exact.Must(langevin.New(ctx, lag, langevin.Config{Chains: 64, Seed: seed}))
		return loops(ctx, k.known, dual.Target[float32](lag), dual.Primal[float32](chains), dual.Config{})
	})
	add("GibbsScore", "pdi.NewGibbsScore", "Center and Spread = nil", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownReals(seed)
		_, err := pdi.NewGibbsScore(exact.Must(dual.NewRealLagrangian(k.base, 1, k.rows...)), pdi.GibbsOptions{})
		return k.known, nil, err
	})
	add("network", "network.New", "Config.Rounds = 0", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownReals(seed)
		_, err := network.New(ctx, exact.Must(pdi.NewMixture(k.base, 1, k.rows...)), network.Config{})
		return k.known, nil, err
	})
	for f := unlearn.ReverseKL; f <= unlearn.DiscreteSafe; f++ {
		add("unlearn by "+f.String(), "unlearn.New", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
			k := newKnownLaws(f, seed)
			s, err := exact.Must(unlearn.New(k.q, k.away...)).Solve(ctx, f, k.b)
			if err != nil {
				return k.known, nil, err
			}
			return k.known, s.Lambda, nil
		})
	}
	add("ratios", "unlearn.FromRatios", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownLaws(unlearn.LikelihoodRatio, seed)
		r, list := rand.New(rand.NewPCG(seed, 16)), make([][]float64, 2)
		for range 100_000 {
			x := drawn(r, k.q)
			for i := range list {
				list[i] = append(list[i], k.away[i][x]/k.q[x])
			}
		}
		s, err := exact.Must(unlearn.FromRatios(list...)).Solve(ctx, unlearn.LikelihoodRatio, k.b)
		if err != nil {
			return k.known, nil, err
		}
		k.draws, k.unit = len(list[0]), []float64{1, 1}
		return k.known, s.Lambda, nil
	})
	add("experts", "unlearn.NewExperts", "",
		func(ctx context.Context, seed uint64) (known, []float64, error) {
			k := newKnownLaws(unlearn.ReverseKL, seed)
			e := exact.Must(unlearn.NewExperts(table(k.q), []energy.Model{table(k.away[0]), table(k.away[1])}, k.b, func(m energy.Model) (float64, error) {
				_, z, err := dual.Tabulate(ctx, m)
				return z, err
			}))
			k.draws = defaultDraws
			p := independent(exact.States(1, len(k.q)), func() []float64 { p, _, _ := dual.Tabulate(ctx, e); return p }, seed)
			// Its multipliers begin near the edge of what it accepts, and take longer.
			return loopsFor(ctx, 4*defaultSteps, k.known, dual.Target[int32](e), dual.Primal[int32](p), dual.Config{})
		})
	add("rejection", "unlearn.NewRejection", "", func(ctx context.Context, seed uint64) (known, []float64, error) {
		k := newKnownLaws(unlearn.LikelihoodRatio, seed)
		lag := exact.Must(dual.NewLagrangian(table(k.q), exact.Must(unlearn.Ratio(table(k.q), table(k.away[0]), 0, 0, k.b[0])), exact.Must(unlearn.Ratio(table(k.q), table(k.away[1]), 0, 0, k.b[1]))))
		r := rand.New(rand.NewPCG(seed, 20))
		p, err := unlearn.NewRejection(1, 256, func(_ context.Context, x []int32) error {
			for i := range x {
				x[i] = int32(drawn(r, k.q))
			}
			return nil
		}, func(x []int32) float64 {
			return unlearn.AcceptLikelihood(lag.Lambda(), []float64{k.away[0][x[0]] / k.q[x[0]], k.away[1][x[0]] / k.q[x[0]]})
		}, 0, rand.NewPCG(seed, 21))
		if err != nil {
			return k.known, nil, err
		}
		k.unit = []float64{1, 1}
		return loops(ctx, k.known, dual.Target[int32](lag), dual.Primal[int32](p), dual.Config{})
	})
	return all
}

// zeroRules are the zero values of all rules, and nil.
func zeroRules() []dual.Rule {
	all := []dual.Rule{nil}
	for _, r := range rules() {
		if reflect.ValueOf(r.part).IsZero() {
			all = append(all, r.part)
		}
	}
	return all
}

// loops returns the multipliers of a loop.
func loops[S energy.Site](ctx context.Context, k known, target dual.Target[S], primal dual.Primal[S], cfg dual.Config) (known, []float64, error) {
	return loopsFor(ctx, defaultSteps, k, target, primal, cfg)
}

// loopsFor returns the multipliers of a loop of the given number of steps.
func loopsFor[S energy.Site](ctx context.Context, steps int, k known, target dual.Target[S], primal dual.Primal[S], cfg dual.Config) (known, []float64, error) {
	inf, err := dual.NewInference(ctx, target, primal, cfg)
	if err != nil {
		return k, nil, err
	}
	if err := inf.Run(ctx, steps); err != nil {
		return k, nil, err
	}
	return k, inf.Average(), nil
}

// Every constructor of multipliers on four problems, with -long on twelve, with no option set:
// within two percent of λ*, or an error.
func TestDefaults(t *testing.T) {
	exact.SkipUnderRace(t)
	registered := map[string]bool{}
	for _, d := range byDefaults() {
		for _, of := range strings.Fields(d.of) {
			registered[of] = true
		}
		problems := uint64(4)
		switch {
		case exact.Long():
			problems = 12
		case testing.Short():
			problems = 2
		}
		worst, refused := 0.0, 0
		for seed := range problems {
			k, lambda, err := d.solve(t.Context(), seed)
			if err != nil {
				refused++
				require.NotEmpty(t, d.refusal, "%s: problem %d: %v", d.name, seed, err)
				require.ErrorContains(t, err, d.refusal, "%s: problem %d", d.name, seed)
				continue
			}
			off := k.off(lambda)
			worst = max(worst, off)
			if !(off <= k.allowed()) {
				t.Errorf("%s: problem %d: λ = %.5g, want %.5g: off by %.3g, want ≤ %.3g", d.name, seed, lambda, k.star, off, k.allowed())
			}
		}
		t.Logf("%s: off by %.2g at the most, %d refusals", d.name, worst, refused)
	}
	var found []string
	m, err := loaded()
	require.NoError(t, err)
	for _, at := range []string{"dual", "dual/pdi", "dual/pdi/network", "dual/unlearn", "dual/fit"} {
		p, err := m.Import("github.com/gibbsite-go/gibbsite/" + at)
		require.NoError(t, err)
		for _, name := range p.Scope().Names() {
			if f, ok := p.Scope().Lookup(name).(*types.Func); ok && f.Exported() && (strings.HasPrefix(name, "New") || strings.HasPrefix(name, "Solve") || strings.HasPrefix(name, "From")) {
				found = append(found, p.Name()+"."+name)
			}
		}
	}
	complete(t, "constructor of multipliers", "defaults_test.go", registered, map[string]string{
		"fit.New":                "learns the parameters of an energy, without multipliers",
		"unlearn.NewAvoiding":    "never draws some tokens, without multipliers",
		"unlearn.NewRealErasure": "a heuristic on one path, like unlearn.NewErasure",
		"unlearn.NewErasure":     "a heuristic on one path, whose multipliers are not those of an optimum",
	}, found)
}
