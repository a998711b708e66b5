package momentum

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

var kite = []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 0, J: 2, W: -1}, {I: 2, J: 3, W: 1}}

// spaces are small models of two levels and of ordinal ones, quadratic and not, some
// with tables that are wrong and with states of probability zero.
func spaces() map[string]energy.Model {
	return map[string]energy.Model{
		"ising":         exact.Must(model.NewIsing(exact.Must(model.NewGraph(4, kite)), 0.6, 0.3)),
		"quadratic":     exact.NewQuadratic(4, 3),
		"rugged":        exact.NewRugged(3, 2, 1, 0.7, 5),
		"holed":         exact.NewRugged(3, 2, 1, 0.3, 6).Holed(),
		"closure":       energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) - 1.5*float64(x[1]*x[2]) }},
		"ordinal":       exact.Ordinal{Rugged: exact.NewRugged(2, 4, 1, 0.4, 7)},
		"ordinal-holed": exact.Ordinal{Rugged: exact.NewRugged(2, 3, 1, 0, 8).Holed()},
		"ordinal-bowl":  bowl{},
	}
}

// bowl is quadratic on uneven ordinal levels.
type bowl struct{}

func (bowl) Shape() (int, int) { return 2, 4 }
func (bowl) Values() []float32 { return []float32{-1, 0, 0.5, 2} }
func (m bowl) Energy(e []float64, x []int32) {
	v := m.Values()
	for s := range e {
		a, b := float64(v[x[2*s]]), float64(v[x[2*s+1]])
		e[s] = 0.4*a*a + 0.3*b*b - 0.5*a*b + 0.2*a
	}
}

func methods() map[string]sampler.Method {
	return map[string]sampler.Method{
		"plain":      DHAMS{StepSize: 0.7},
		"corrected":  DHAMS{StepSize: 0.7, Correction: -0.3},
		"reflecting": DHAMS{StepSize: 1.3, Relaxation: 1},
		"mixed":      DHAMS{StepSize: 0.4, Relaxation: 0.4, Correction: 0.2, Persistence: 0.9},
		"curved":     PDHAMS{StepSize: 1.5, Persistence: -1, Relaxation: -1},
		"defaults":   PDHAMS{},
		"curved-all": PDHAMS{StepSize: 1, Relaxation: 0.6, Correction: 0.1, Persistence: 0.5},
	}
}

// newTestKernel is a kernel of one chain; PDHAMS has a curvature of its own where the
// model has none at its lowest state.
func newTestKernel(t *testing.T, m energy.Model, method sampler.Method) *kernel {
	k, err := method.Kernel(context.Background(), m, 1)
	if p, curved := method.(PDHAMS); err != nil && curved {
		sites, _ := m.Shape()
		p.Curvature = make([]float64, sites*sites)
		p.Curvature[1], p.Curvature[sites] = 0.8, 0.8
		k, err = p.Kernel(context.Background(), m, 1)
	}
	require.NoError(t, err)
	return k.(*kernel)
}

// normality is the density of a momentum, up to a constant.
func normality(u []float64) float64 {
	sum := 0.0
	for _, v := range u {
		sum += v * v
	}
	return math.Exp(-sum / 2)
}

// proposal returns the probability of proposing y from (x, u) and that of accepting
// it; the momentum of the proposal is in k.next.
func (k *kernel) proposal(y, x []int32, u []float64) (q, a float64) {
	if k.Reset(sampler.Control{}, x) != nil {
		return 0, 0
	}
	copy(k.now, u)
	k.propose(0, x)
	k.logq[0] = k.logProb(y, x)
	if math.IsInf(k.logq[0], -1) {
		return 0, 0
	}
	q = math.Exp(k.logq[0])
	k.load(0, 1, k.f, y)
	a, _ = k.judge(0, y, x)
	return q, a
}

// origin returns the momentum at x that a proposal of y turns to u.
func (k *kernel) origin(y, x []int32, u []float64) []float64 {
	v := make([]float64, len(u))
	for i := range u {
		v[i] = -u[i]
	}
	k.displace(k.d, y, x)
	k.frame.push(v, k.d)
	if k.correction != 0 {
		from, to := make([]float64, len(u)), make([]float64, len(u))
		k.load(0, 1, k.e, x)
		k.slope(from, 0, true, x)
		k.load(0, 1, k.e, y)
		k.slope(to, 0, true, y)
		for i := range v {
			v[i] += k.correction * (to[i] - from[i])
		}
	}
	return v
}

// imbalance returns how far the density at (y, u) after a step is from the one before,
// as a share of that: what flows in from every state, from the one momentum there that
// leads here, and what is rejected. turn is −1; a momentum that is kept is a mistake.
func (k *kernel) imbalance(pi []float64, all [][]int32, u []float64, at int, turn float64) float64 {
	here := pi[at] * normality(u)
	in := 0.0
	for x, state := range all {
		if pi[x] == 0 {
			continue
		}
		from := k.origin(all[at], state, u)
		q, a := k.proposal(all[at], state, from)
		in += pi[x] * normality(from) * q * a
	}
	back := make([]float64, len(u))
	for i := range u {
		back[i] = turn * u[i]
	}
	stays := 1.0
	for _, to := range all {
		q, a := k.proposal(to, all[at], back)
		stays -= q * a
	}
	return math.Abs(in+here*stays-here) / here
}

func worst(k *kernel, m energy.Model, turn float64, each int) float64 {
	sites, levels := m.Shape()
	all := exact.States(sites, levels)
	pi, _ := exact.Law(m)
	r := rand.New(rand.NewPCG(1, 2))
	largest := 0.0
	for at := range all {
		if pi[at] == 0 {
			continue
		}
		for range each {
			u := make([]float64, sites)
			for i := range u {
				u[i] = r.NormFloat64()
			}
			largest = max(largest, k.imbalance(pi, all, u, at, turn))
		}
	}
	return largest
}

// The density of (x, u) after a step is the one before, at every state and at drawn
// momenta: the map of momenta has determinant −1, so that sums over the states from
// which a point is reached are all there is to it.
func TestTheJointDensityIsInvariant(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range spaces() {
		for name, method := range methods() {
			t.Run(name+"/"+space, func(t *testing.T) {
				assert.LessOrEqual(t, worst(newTestKernel(t, m, method), m, -1, 4), 1e-12)
			})
		}
	}
}

// forgetful leaves the way back, every second question, out of the acceptance.
type forgetful struct {
	conditional
	back bool
}

func (f *forgetful) logProb(y, x []int32) float64 {
	if f.back = !f.back; !f.back {
		return 0
	}
	return f.conditional.logProb(y, x)
}

// A kernel that keeps its momentum where it rejects, and one that forgets the way
// back, must be found out.
func TestBrokenKernelsAreFoundOut(t *testing.T) {
	for space, m := range spaces() {
		if space == "closure" { // nearly always accepted
			continue
		}
		k := newTestKernel(t, m, DHAMS{StepSize: 0.7})
		assert.Greater(t, worst(k, m, 1, 1), 1e-3, "%s: momentum kept", space)
		sites, levels := m.Shape()
		all := exact.States(sites, levels)
		pi, _ := exact.Law(m)
		off, u := 0.0, make([]float64, sites)
		u[0] = 0.5
		for at := range all {
			if pi[at] == 0 {
				continue
			}
			twin := newTestKernel(t, m, DHAMS{StepSize: 0.7})
			twin.conditional = &forgetful{conditional: twin.conditional}
			off = max(off, twin.imbalance(pi, all, u, at, -1))
		}
		assert.Greater(t, off, 1e-3, "%s: way back forgotten", space)
	}
}

// A linear energy is never rejected, and a quadratic one not with its curvature.
func TestLinearAndQuadraticEnergiesAreNotRejected(t *testing.T) {
	linear := energy.Func{Sites: 5, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) - 2*float64(x[3]) + 0.5*float64(x[4]) }}
	for name, c := range map[string]struct {
		m      energy.Model
		method sampler.Method
	}{
		"linear":     {linear, DHAMS{StepSize: 1}},
		"reflecting": {linear, DHAMS{StepSize: 1, Relaxation: 1, Persistence: 0.9}},
		"quadratic":  {exact.NewQuadratic(8, 2), PDHAMS{}},
		"vanilla":    {exact.NewQuadratic(8, 2), PDHAMS{Relaxation: -1, Persistence: -1}},
		"bowl":       {bowl{}, PDHAMS{StepSize: 3}},
	} {
		sites, _ := c.m.Shape()
		k := exact.Must(c.method.Kernel(context.Background(), c.m, 1))
		x, info, r := make([]int32, sites), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		moved := 0
		for range 500 {
			k.Step(sampler.Control{}, info, x, r)
			require.InDelta(t, 1, info[0].Accept, 1e-5, name)
			moved += info[0].Moved
		}
		require.Greater(t, moved, 100, name)
	}
}

// Chains that start from π are distributed as π after some steps.
func TestStepsKeepTheDistribution(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range spaces() {
		for name, method := range methods() {
			if testing.Short() && (name != "mixed" && name != "curved-all" || space != "ising" && space != "ordinal") {
				continue
			}
			t.Run(name+"/"+space, func(t *testing.T) {
				if p, curved := method.(PDHAMS); curved {
					sites, _ := m.Shape()
					p.Curvature = make([]float64, sites*sites)
					p.Curvature[1], p.Curvature[sites] = 0.8, 0.8
					method = p
				}
				const chains, steps, draws = sampler.BlockSize, 3, 1920
				sites, levels := m.Shape()
				all, counts := exact.States(sites, levels), make([]int, exact.Size(sites, levels))
				pi, _ := exact.Law(m)
				k := exact.Must(method.Kernel(context.Background(), m, chains))
				streams, info := make([]sampler.Stream, chains), make([]sampler.Info, chains)
				for s := range streams {
					streams[s] = *sampler.NewStream(11, uint64(s))
				}
				x, e := make([]int32, chains*sites), make([]float64, chains)
				for range draws / chains {
					for s := range chains {
						u, at := streams[s].Float64(), 0
						for u -= pi[0]; u >= 0; u -= pi[at] {
							at++
						}
						copy(x[s*sites:], all[at])
					}
					require.NoError(t, k.Reset(sampler.Control{}, x))
					for range steps {
						k.Step(sampler.Control{}, info, x, streams)
					}
					exact.Tally(counts, x, sites, levels)
					m.Energy(e, x)
					for s := range info {
						require.Equal(t, e[s], info[s].Energy)
					}
				}
				exact.Counts(t, counts, pi, exact.Rate)
			})
		}
	}
}

func TestStepsAllocateNothing(t *testing.T) {
	for space, m := range spaces() {
		if space == "closure" { // its differences are evaluated
			continue
		}
		for name, method := range methods() {
			k := newTestKernel(t, m, method)
			sites, _ := m.Shape()
			x, info, r := make([]int32, sites), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
			if k.Reset(sampler.Control{}, x) != nil {
				continue
			}
			exact.Steady(t, name+"/"+space, func() { k.Step(sampler.Control{}, info, x, r) })
		}
	}
}

// A run that is saved and resumed has the bits of one that is not.
func TestRunsResume(t *testing.T) {
	for _, m := range []energy.Model{exact.NewQuadratic(6, 1), bowl{}} {
		for _, method := range []sampler.Method{DHAMS{}, DHAMS{Persistence: 0.8, Relaxation: 0.5, Correction: 0.1}, PDHAMS{}} {
			for _, cut := range []int{0, 3, 15} {
				run := func(n int, from []byte) (*sampler.Chains, []byte) {
					c := exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 5, Seed: 3, Warmup: 8}))
					if from != nil {
						require.NoError(t, c.Load(context.Background(), bytes.NewReader(from)))
					}
					require.NoError(t, c.Run(context.Background(), n))
					var b bytes.Buffer
					require.NoError(t, c.Save(&b))
					return c, b.Bytes()
				}
				whole, _ := run(20, nil)
				_, half := run(cut, nil)
				rest, _ := run(20-cut, half)
				require.Equal(t, whole.States(), rest.States(), fmt.Sprintf("%T%+v", method, method))
			}
		}
	}
}

// Warm-up comes to the acceptance that it aims at.
func TestWarmupFindsTheStepSize(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{8, 8}, 0.3, 0.1))
	sum, n := 0.0, 0
	c := exact.Must(sampler.NewChains(context.Background(), m, DHAMS{}, sampler.Config{Chains: 8, Seed: 1, Warmup: 400, Workers: 1, Observe: func(_, _ int, _ []int32, info *sampler.Info) {
		sum, n = sum+info.Accept, n+1
	}}))
	require.NoError(t, c.Run(context.Background(), 400))
	require.InDelta(t, 0.574, sum/float64(n), 0.1)
	require.Empty(t, c.Warnings())
	k := exact.Must(DHAMS{}.Kernel(context.Background(), m, 1)).(*kernel)
	for i := range 400 {
		k.Adapt([]sampler.Info{{Accept: 0.001}}, i, 400)
	}
	require.Contains(t, k.Warning(), "down to its bound")
}

// asked counts the states that a model with a field is asked about.
type asked struct {
	*exact.Quadratic
	states int
}

func (m *asked) Energy(e []float64, x []int32) { m.states += len(e); m.Quadratic.Energy(e, x) }
func (m *asked) Field(e []float64, h []float32, x []int32) {
	m.states += len(e)
	m.Quadratic.Field(e, h, x)
}

// A step evaluates the model once for every chain.
func TestEvaluationsAStep(t *testing.T) {
	for name, method := range methods() {
		m := &asked{Quadratic: exact.NewQuadratic(6, 1)}
		k := exact.Must(method.Kernel(context.Background(), m, 3))
		x, info, r := make([]int32, 18), make([]sampler.Info, 3), make([]sampler.Stream, 3)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		m.states = 0
		for range 20 {
			k.Step(sampler.Control{}, info, x, r)
		}
		require.Equal(t, 3*20, m.states, name)
	}
}
