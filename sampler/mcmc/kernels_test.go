package mcmc

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// spaces are the small models that every kernel is judged on. Their energies are
// arbitrary and their tables wrong by up to half a nat.
func spaces() map[string]energy.Model {
	return map[string]energy.Model{
		"binary":    exact.NewRugged(6, 2, 1, 0.5, 1),
		"3-levels":  exact.NewRugged(4, 3, 1, 0.5, 2),
		"ordinal":   exact.Ordinal{Rugged: exact.NewRugged(3, 5, 1, 0.5, 3)},
		"two-value": exact.Ordinal{Rugged: exact.NewRugged(5, 2, 1, 0.5, 4)},
		"holes":     exact.NewRugged(6, 2, 1, 0.5, 5).Holed(),
		"3-holes":   exact.NewRugged(4, 3, 1, 0.5, 6).Holed(),
		"field":     fieldOnly{field{exact.NewRugged(5, 2, 1, 0.5, 7)}, new(int)},
		"window":    windowOnly{exact.Ordinal{Rugged: exact.NewRugged(3, 4, 1, 0.5, 8)}, new(int)},
	}
}

// metropolised are the methods whose invariance must hold to rounding.
func metropolised() map[string]sampler.Method {
	return map[string]sampler.Method{
		"DMALA":          DMALA{StepSize: 0.6},
		"DMALA-long":     DMALA{StepSize: 50},
		"GWG":            GWG{},
		"GWG-2":          GWG{Flips: 2},
		"BlockGibbs":     BlockGibbs{Blocks: [][]int{{0, 1}, {2}, {1, 2}}},
		"preconditioned": DMALA{StepSize: 0.5, Preconditioner: []float32{.3, 1, 2, 4, 1, .1}},
		"ordinal-window": DMALA{StepSize: 2, Window: 1},
		"LB":             LocallyBalanced{},
		"LB-Barker":      LocallyBalanced{Balance: Barker},
		"LB-Min-exact":   LocallyBalanced{Balance: Min, Exact: true},
		"LB-Max":         LocallyBalanced{Balance: Max},
		"HammingBall":    HammingBall{Block: 3, Radius: 1, Updates: 1},
		"HammingBall-2":  HammingBall{Block: 3, Radius: 2},
		"Paths":          Paths{Length: 1},
		"Paths-2":        Paths{Length: 2},
		"Paths-Barker":   Paths{Length: 2, Balance: Barker},
		"DLMC":           DLMC{StepSize: 0.3},
		"DLMC-long":      DLMC{StepSize: 50},
		"DLMC-Barker":    DLMC{StepSize: 1, Balance: Barker},
		"DMALA-exact":    DMALA{StepSize: 0.6, Exact: true},
		"DMALA-Barker":   DMALA{StepSize: 0.6, Balance: Barker},
		"DMALA-Min":      DMALA{StepSize: 2, Balance: Min, Exact: true},
		"DMALA-Max":      DMALA{StepSize: 0.6, Balance: Max},
		"DMAPS":          DMAPS{StepSize: 0.6},
		"DMAPS-long":     DMAPS{StepSize: 50},
		"DMAPS-exact":    DMAPS{StepSize: 0.3, Exact: true},
	}
}

// fits reports whether the method applies to the named space.
func fits(method, space string) bool {
	switch method {
	case "preconditioned":
		return space == "binary"
	case "ordinal-window":
		return space == "ordinal"
	}
	return true
}

func reversible(method string) bool {
	return method != "BlockGibbs"
}

func TestKernelsLeaveTheirTargetInvariant(t *testing.T) {
	exact.SkipRepeated(t)
	for space, m := range spaces() {
		pi, _ := exact.Law(m)
		sites, levels := m.Shape()
		for name, method := range metropolised() {
			if !fits(name, space) {
				continue
			}
			t.Run(name+"/"+space, func(t *testing.T) {
				k, err := method.Kernel(context.Background(), m, 1)
				require.NoError(t, err)
				p := transition(t, k, sites, levels)
				assert.LessOrEqual(t, p.RowError(), 1e-12)
				assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
				if reversible(name) {
					assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12)
				}
				exact.Transitions(t, sweeptest.Observed(t, m, method, sweeptest.Many(160), 7), p, exact.Rate)
			})
		}
	}
}

// A kernel whose draws are right but whose target is another one must be found
// out by both halves of the test above.
func TestBrokenTwinsFail(t *testing.T) {
	m := exact.NewRugged(6, 2, 1, 0.5, 1)
	pi, _ := exact.Law(m)
	right := transition(t, exact.Must(DMALA{StepSize: 0.6}.Kernel(context.Background(), m, 1)), 6, 2)

	// Twin 1: DULA, that is DMALA that forgets to reject.
	dula := transition(t, exact.Must(DULA{StepSize: 0.6}.Kernel(context.Background(), m, 1)), 6, 2)
	assert.Greater(t, dula.MaxDiff(pi), 1e-3)
	p, _ := exact.TransitionsPValue(sweeptest.Observed(t, m, DULA{StepSize: 0.6}, 640, 7), right)
	assert.Less(t, p, exact.Rate)

	// Twin 2: GWG-X on three levels that lets the last change of a site win.
	three := exact.NewRugged(3, 3, 1, 0.5, 2)
	pi3, _ := exact.Law(three)
	k := exact.Must(GWG{Flips: 2}.Kernel(context.Background(), three, 1)).(*hastings)
	lists := k.proposal.(*gwg)
	last := exact.NewMatrix(27, func(x int, dst []float64) {
		all := exact.States(3, 3)
		y := make([]int32, 3)
		for code := range 81 {
			require.NoError(t, k.Reset(sampler.Control{}, all[x]))
			lists.list[0], lists.list[1] = code%9, code/9
			copy(y, all[x])
			for _, c := range lists.list {
				y[c/3] = int32(c % 3)
			}
			q := float64(lists.w.Now[lists.list[0]]) * float64(lists.w.Now[lists.list[1]])
			if q == 0 {
				continue
			}
			load(lists, k.next, y, nil)
			forth, back := lists.current(y, all[x], 0), lists.logProb(all[x], y, 0)
			a, _ := sweep.Accept(k.e[0]-k.next[0], forth, back)
			dst[exact.Index(y, 3)] += math.Exp(forth) * a
		}
		sweeptest.Stay(dst, x)
	})
	assert.Greater(t, last.MaxDiff(pi3), 1e-4)
}

// TestDULAStationaryLaw holds DULA to the closed form of its documentation on a
// log-quadratic target.
func TestDULAStationaryLaw(t *testing.T) {
	m := exact.NewQuadratic(7, 5)
	pi, _ := exact.Law(m)
	for _, alpha := range []float64{0.1, 0.3, 1, 20} {
		t.Run(fmt.Sprint(alpha), func(t *testing.T) {
			p := transition(t, exact.Must(DULA{StepSize: alpha}.Kernel(context.Background(), m, 1)), 7, 2)
			law := make([]float64, len(pi))
			for k, x := range exact.States(7, 2) {
				law[k] = math.Log(pi[k])
				for i, l := range x {
					delta := 2 * m.Force(i, x) * float64(2*l-1)
					law[k] += math.Log1p(math.Exp(-delta/2 - 1/(2*alpha)))
				}
			}
			exact.Normalize(law)
			assert.LessOrEqual(t, p.RowError(), 1e-7)
			assert.LessOrEqual(t, p.MaxDiff(law), 1e-7)
			assert.LessOrEqual(t, p.DetailedBalance(law), 1e-7)
			assert.Greater(t, p.MaxDiff(pi), 1e-6, "DULA has no business with π itself")
		})
	}
}

func TestDULAObserved(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range spaces() {
		if strings.Contains(space, "holes") {
			continue // DULA stops there
		}
		t.Run(space, func(t *testing.T) {
			sites, levels := m.Shape()
			p := transition(t, exact.Must(DULA{StepSize: 0.7}.Kernel(context.Background(), m, 1)), sites, levels)
			require.LessOrEqual(t, p.RowError(), 1e-12)
			exact.Transitions(t, sweeptest.Observed(t, m, DULA{StepSize: 0.7}, 640, 11), p, exact.Rate)
		})
	}
}

// TestDULAProposal checks the proposal of every balance against its formula, in
// float64 from the model's own table or from its energies.
func TestDULAProposal(t *testing.T) {
	exact.SkipUnderRace(t)
	const alpha = 0.7
	for space, m := range spaces() {
		if strings.Contains(space, "holes") {
			continue
		}
		for _, method := range []DULA{{}, {Balance: Barker}, {Balance: Min}, {Balance: Max}, {Exact: true}, {Balance: Barker, Exact: true}} {
			if space == "window" && method.Exact {
				continue // has no more than the others
			}
			method.StepSize = alpha
			t.Run(fmt.Sprint(space, "/", method.Balance, "/", method.Exact), func(t *testing.T) {
				sites, levels := m.Shape()
				p := transition(t, exact.Must(method.Kernel(context.Background(), m, 1)), sites, levels)
				e, g := make([]float64, 1), make([]float32, sites*levels)
				d := make([]float64, levels)
				all := exact.States(sites, levels)
				for k, x := range all {
					energy.Differences(m).Gradient(e, g, x)
					for i := range x {
						if !method.Exact {
							break
						}
						energy.Conditionals(m).Conditional(d, i, x)
						for l := range d {
							g[i*levels+l] = float32(d[l] - d[x[i]])
						}
					}
					for j, y := range all {
						q := 1.0
						for i := range x {
							total, own := 0.0, 0.0
							for l := range levels {
								w := weight(method.Balance, math.Exp(-float64(g[i*levels+l]))) * math.Exp(-apartBy(m, l, int(x[i]))/(2*alpha))
								total += w
								if l == int(y[i]) {
									own = w
								}
							}
							q *= own / total
						}
						require.InDelta(t, q, p.At(k, j), 2e-6*q+1e-9)
					}
				}
			})
		}
	}
}

// weight returns g(t) of a balancing function.
func weight(b Balance, t float64) float64 {
	switch b {
	case Barker:
		return t / (1 + t)
	case Min:
		return min(1, t)
	case Max:
		return max(1, t)
	}
	return math.Sqrt(t)
}

func TestKernelsAllocateNothing(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range map[string]energy.Model{"binary": exact.NewQuadratic(9, 1)} {
		sites, _ := m.Shape()
		methods := metropolised()
		methods["DULA"] = DULA{}
		methods["DULA-Max"] = DULA{Balance: Max}
		methods["DUPS"] = DUPS{}
		methods["Cyclical"] = Cyclical{}
		methods["Tempering"] = Tempering{}
		for name, method := range methods {
			if !fits(name, space) || name == "preconditioned" {
				continue
			}
			k := exact.Must(method.Kernel(context.Background(), m, 8))
			x := make([]int32, 8*sites)
			info, streams := make([]sampler.Info, 8), make([]sampler.Stream, 8)
			require.NoError(t, k.Reset(sampler.Control{}, x))
			assert.Zero(t, testing.AllocsPerRun(50, func() { k.Step(sampler.Control{}, info, x, streams) }), name)
		}
	}
}
