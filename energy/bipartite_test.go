package energy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBipartiteWrappers compares the fields of a clamped machine and of a sum
// with a product of sites with the joint energy
// −b_vᵀv − b_hᵀh − hᵀWv + Σ_i u_i(v_i).
func TestBipartiteWrappers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const hidden, visible = 3, 4
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(eighth(r))
		}
		return v
	}
	w, bh, bv := draw(hidden*visible), draw(hidden), draw(visible)
	machine, err := model.NewRBM(w, bh, bv)
	require.NoError(t, err)
	sites := newDouble(r, visible, 2)
	clear(sites.w) // no edges: a product of sites
	odds := func(j int, h []int32, clampAt int32) float64 {
		f := float64(bv[j]) - sites.u[j][1] + sites.u[j][0]
		for k, v := range h {
			f += float64(float32(v) * w[k*visible+j])
		}
		if j == 2 {
			f = math.Inf(int(2*clampAt - 1))
		}
		return f
	}
	both, err := energy.Sum(without{sites, "Bipartite"}, machine)
	require.NoError(t, err)
	for _, at := range []int32{0, 1} {
		m, err := energy.Clamp(both, map[int]int32{2: at})
		require.NoError(t, err)
		b, ok := energy.As[energy.Bipartite](m)
		require.True(t, ok)
		require.Equal(t, hidden, b.Hidden())
		var all []int32
		for _, h := range exact.States(hidden, 2) {
			all = append(all, h...)
		}
		f := make([]float32, len(all)/hidden*visible)
		b.VisibleField(f, all)
		for k := range f {
			s, j := k/visible, k%visible
			require.Equal(t, float32(odds(j, all[s*hidden:(s+1)*hidden], at)), f[k], "eighths are exact")
		}
		x := []int32{1, 0, at, 1}
		g := make([]float32, hidden)
		b.HiddenField(g, x)
		for k := range g {
			want := bh[k]
			for i, v := range x {
				want += float32(v) * w[k*visible+i]
			}
			require.Equal(t, want, g[k])
		}
	}
}

func TestBipartiteIsNotClaimedFalsely(t *testing.T) {
	machine, err := model.NewRBM([]float32{1, 2}, []float32{1}, []float32{0, 0})
	require.NoError(t, err)
	ring := newDouble(rand.New(rand.NewPCG(2, 2)), 2, 2)
	ring.w[0] = 1
	forbidden := newDouble(rand.New(rand.NewPCG(3, 3)), 2, 2)
	clear(forbidden.w)
	forbidden.u[0][1] = math.Inf(1)
	for name, other := range map[string]energy.Model{
		"two machines": machine, "edges": ring, "no graph": energyOnly{ring}, "a forbidden level": forbidden,
	} {
		m, err := energy.Sum(machine, other)
		require.NoError(t, err)
		assert.False(t, has[energy.Bipartite](m), name)
	}
	m, err := energy.Scale(machine, 2)
	require.NoError(t, err)
	assert.False(t, has[energy.Bipartite](m), "a scaled free energy has no binary hidden units")
}
