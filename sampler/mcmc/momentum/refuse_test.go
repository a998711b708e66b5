package momentum

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func TestMethodsRefuseWhatTheyCannotDo(t *testing.T) {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.2, 0))
	potts := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.2, nil))
	nan := math.NaN()
	hard := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if x[0] == x[1] {
			return math.Inf(1)
		}
		return 0
	}}
	for _, c := range []struct {
		m      energy.Model
		method sampler.Method
		says   string
	}{
		{potts, DHAMS{}, "want two levels or an energy.Ordinal one"},
		{nil, DHAMS{}, "momentum: DHAMS"},
		{ising, DHAMS{StepSize: -1}, "StepSize = -1, want positive and finite"},
		{ising, DHAMS{StepSize: nan}, "StepSize = NaN"},
		{ising, DHAMS{Target: 1}, "Target = 1, want within (0, 1)"},
		{ising, DHAMS{Persistence: 1}, "Persistence = 1, want within [0, 1)"},
		{ising, DHAMS{Persistence: nan}, "Persistence = NaN"},
		{ising, DHAMS{Correction: math.Inf(1)}, "Correction = +Inf, want a finite number"},
		{ising, DHAMS{Relaxation: 1.5}, "Relaxation = 1.5, want within [0, 1]"},
		{ising, PDHAMS{StepSize: nan}, "momentum: PDHAMS: StepSize = NaN"},
		{ising, PDHAMS{Relaxation: -2}, "momentum: PDHAMS: Relaxation = -2"},
		{ising, PDHAMS{Curvature: make([]float64, 3)}, "len(Curvature) = 3, want 81 (sites × sites)"},
		{ising, PDHAMS{Curvature: []float64{0, 1}}, "want 81"},
		{exact.NewQuadratic(2, 1), PDHAMS{Curvature: []float64{0, 1, 2, 0}}, "Curvature[1][0] = 2 and [0][1] = 1, want equal and finite"},
		{exact.NewQuadratic(2, 1), PDHAMS{Curvature: []float64{nan, 0, 0, 0}}, "Curvature[0][0] = NaN"},
		{exact.NewQuadratic(2, 1), PDHAMS{Curvature: []float64{0, 1e20, 1e20, 0}}, "too ill-conditioned for StepSize"},
		{hard, PDHAMS{}, "set Curvature"},
		{exact.Must(model.NewIsing(model.Lattice{50, 50}, 0.2, 0)), PDHAMS{}, "2500 sites, want at most 2048"},
	} {
		_, err := c.method.Kernel(ctx, c.m, 1)
		require.ErrorContains(t, err, c.says)
	}
	_, err := DHAMS{}.Kernel(ctx, ising, sampler.BlockSize+1)
	require.Error(t, err)
	k := exact.Must(DHAMS{}.Kernel(ctx, ising, 2))
	b := exact.Must(k.AppendBinary(nil))
	for n := range len(b) {
		require.Error(t, k.UnmarshalBinary(b[:n]))
	}
	require.Error(t, k.UnmarshalBinary(append(b, 0)))
	bad := bytes.Clone(b)
	for i := 8; i < 16; i++ {
		bad[i] = 0xff
	}
	require.ErrorContains(t, k.UnmarshalBinary(bad), "StepSize = NaN")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = PDHAMS{}.Kernel(stopped, exact.NewQuadratic(4, 1), 1)
	require.ErrorIs(t, err, context.Canceled)
}

// A model that loses its energies: the proposal is rejected and counted.
func TestEnergiesThatAreNotNumbersAreRejected(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		for _, levels := range []int{2, 3} {
			m := spoilt{levels, bad}
			k := exact.Must(DHAMS{StepSize: 5}.Kernel(context.Background(), m, 1))
			x, info, r := make([]int32, 2), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
			require.NoError(t, k.Reset(sampler.Control{}, x))
			invalid := 0
			for range 50 {
				k.Step(sampler.Control{}, info, x, r)
				invalid += info[0].Invalid
				require.Zero(t, x[0])
			}
			require.Positive(t, invalid)
			require.Error(t, k.Reset(sampler.Control{}, []int32{1, 0}))
		}
	}
}

// spoilt has a bad energy wherever site 0 is not at level 0, and says nothing of that
// in its table.
type spoilt struct {
	levels int
	bad    float64
}

func (m spoilt) Shape() (int, int) { return 2, m.levels }
func (m spoilt) Values() []float32 { return []float32{0, 1, 2}[:m.levels] }
func (m spoilt) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = 0
		if x[2*s] != 0 {
			e[s] = m.bad
		}
	}
}
func (m spoilt) Gradient(e []float64, g []float32, x []int32) {
	m.Energy(e, x)
	clear(g)
}
