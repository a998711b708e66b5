package mcmc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// unmatched is a Potts model whose engines do not know that it is one.
type unmatched struct{ *model.Potts }

func (unmatched) Matching() (float64, []float64, bool) { return 0, nil, false }

// What a table of rows draws is what the rows themselves draw, on regular graphs and others, with
// every balance, and whatever the step size was before.
func TestMatchesDrawAsRows(t *testing.T) {
	field := []float64{0.1, -0.2, 0.3}
	for name, m := range map[string]*model.Potts{
		"torus":     exact.Must(model.NewPotts(model.Lattice{4, 5}, 3, 0.5, field)),
		"open":      exact.Must(model.NewPotts(model.FreeLattice{3, 4}, 3, -0.7, field)),
		"five":      exact.Must(model.NewPotts(model.Lattice{4, 4}, 5, 0.4, nil)),
		"one level": exact.Must(model.NewPotts(model.Lattice{3, 3}, 1, 0.4, nil)),
	} {
		for _, method := range []sampler.Method{DMALA{}, DMALA{Balance: Barker}, DMALA{Exact: true}, DULA{StepSize: 0.4}, DLMC{}, Cyclical{Period: 4}} {
			run := func(m energy.Model) []sampler.Info {
				const chains = 3
				sites, _ := m.Shape()
				k := exact.Must(method.Kernel(context.Background(), m, chains))
				x, info, r := make([]int32, chains*sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
				for s := range r {
					r[s] = *sampler.NewStream(1, uint64(s))
				}
				require.NoError(t, k.Reset(sampler.Control{}, x))
				var all []sampler.Info
				for step := range 30 {
					k.Step(sampler.Control{}, info, x, r)
					if a, ok := sampler.As[sampler.Adaptive](k); ok && step < 20 {
						a.Adapt(info, step, 20)
					}
					all = append(all, info...)
				}
				return all
			}
			want, got := run(unmatched{m}), run(m)
			for i := range want {
				require.InDelta(t, want[i].Energy, got[i].Energy, 1e-9, "%s, %T, %d", name, method, i)
				require.InDelta(t, want[i].Accept, got[i].Accept, 1e-6)
				require.Equal(t, want[i].Moved, got[i].Moved)
			}
		}
	}
}

// A site whose neighbours cannot be those of its row is no checkpoint.
func TestMatchesRefuse(t *testing.T) {
	m := exact.Must(model.NewPotts(model.FreeLattice{3, 4}, 3, 0.5, nil))
	p := newMatches(m, 1, langevin{alpha: 0.2})
	require.NotNil(t, p)
	n, right := make([]float64, 3), 0
	for place := range p.bound {
		if _, ok := p.counts(n, place); ok {
			right++
		}
	}
	assert.Equal(t, 3*(6+10+15), right, "multisets of two, three and four neighbours, and the level of the site")
	assert.Nil(t, newMatches(exact.Must(model.NewPotts(model.Lattice{4, 4}, 9, 0.5, nil)), 1, langevin{alpha: 0.2}), "too many levels")
}
