package lagrange

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A score means the same as a value, by its pointer and inside a struct, with
// its own judge or without one.
func TestAnyFormOfAScoreIsTheSame(t *testing.T) {
	const sites = 8
	judged := atLeast(3, 0)
	bare := judged
	bare.Decide = nil
	blind := constraint.Score{Decide: judged.Decide}
	type wrapped struct{ constraint.Score }
	for _, score := range []constraint.Score{judged, bare} {
		v, want := tilted(sites), make([]int32, sites)
		value, err := Projector{Constraint: score}.Compile(t.Context(), sites, 3)
		require.NoError(t, err)
		_, _, err = value.Nearest(t.Context(), want, v, rand.NewPCG(1, 1))
		require.NoError(t, err)
		for _, form := range []constraint.Smooth{&score, wrapped{score}, &wrapped{score}} {
			a, err := Projector{Constraint: form}.Compile(t.Context(), sites, 3)
			require.NoError(t, err)
			w, x := tilted(sites), make([]int32, sites)
			_, _, err = a.Nearest(t.Context(), x, w, rand.NewPCG(1, 1))
			require.NoError(t, err)
			assert.Equal(t, want, x, "%T", form)
			assert.Equal(t, v, w, "%T", form)
		}
	}
	for _, form := range []constraint.Smooth{blind, &blind, wrapped{blind}, &wrapped{blind}} {
		_, err := Projector{Constraint: form}.Compile(t.Context(), sites, 3)
		assert.ErrorContains(t, err, "without derivatives", "%T", form)
	}
}

// What Compile returns projects, resets and copies as what Bind returns.
func TestKLCompiledProjects(t *testing.T) {
	const sites = 8
	recipe := Projector{Constraint: atLeast(3, 0)}
	compiled, err := recipe.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	bound, err := recipe.Bind(t.Context(), sites, 3, 1)
	require.NoError(t, err)
	v, w := tilted(sites), tilted(sites)
	a, err := compiled.Project(t.Context(), 0, v, 1, .5, rand.NewPCG(1, 1))
	require.NoError(t, err)
	b, err := bound.Project(t.Context(), 0, w, 1, .5, rand.NewPCG(1, 1))
	require.NoError(t, err)
	assert.Equal(t, a, b)
	assert.Equal(t, v, w)
	compiled.Copy(0, 0)
	compiled.Reset(0)
}
