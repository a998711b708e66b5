package conformance_test

import (
	"encoding"
	"fmt"
	"go/ast"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// spoken is a value of an enumeration, and what a flag or a file needs of it.
type spoken interface {
	fmt.Stringer
	encoding.TextMarshaler
	comparable
}

type heard[E any] interface {
	encoding.TextUnmarshaler
	*E
}

// goesThroughText tests the names of all values of an enumeration, and returns its type.
func goesThroughText[E spoken, P heard[E]](t *testing.T, values ...E) string {
	t.Helper()
	for _, v := range values {
		name, err := v.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, v.String(), string(name))
		assert.NotContains(t, string(name), "(", "a name, not a number")
		var back E
		require.NoError(t, P(&back).UnmarshalText(name))
		assert.Equal(t, v, back)
	}
	var other E
	assert.ErrorContains(t, P(&other).UnmarshalText([]byte("no such name")), values[len(values)-1].String())
	return fmt.Sprintf("%T", other)
}

// Every enumeration can stand in a flag or a file under the names of its values.
func TestEnumerationsGoThroughText(t *testing.T) {
	tested := map[string]bool{}
	for _, name := range []string{
		goesThroughText(t, grammar.Free, grammar.Canonical),
		goesThroughText(t, unlearn.ReverseKL, unlearn.ForwardKL, unlearn.Likelihood, unlearn.LikelihoodRatio, unlearn.DiscreteSafe),
		goesThroughText(t, energy.RevealsOtherwise, energy.RevealsEach, energy.RevealsOne),
		goesThroughText(t, denoise.Absorbing, denoise.Noisy),
		goesThroughText(t, layer.GELU, layer.SiLU),
		goesThroughText(t, projection.Forward, projection.Reverse),
		goesThroughText(t, sampler.Philox4x32, sampler.ARS4x32),
		goesThroughText(t, diffusion.DecodeLast, diffusion.DecodeRows, diffusion.DecodeGreedy),
		goesThroughText(t, diffusion.ScoreProbability, diffusion.ScoreMargin, diffusion.ScoreEntropy),
		goesThroughText(t, diffusion.RemaskCap, diffusion.RemaskRescale, diffusion.RemaskConfidence, diffusion.RemaskLoop),
		goesThroughText(t, mcmc.Automatic, mcmc.Systematic, mcmc.Random, mcmc.Chromatic),
		goesThroughText(t, mcmc.Sqrt, mcmc.Barker, mcmc.Min, mcmc.Max),
	} {
		tested[name] = true
	}
	integers, found := map[string]bool{"int": true, "uint8": true}, 0
	publicFiles(t, func(dir string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if base, ok := spec.Type.(*ast.Ident); ok && integers[base.Name] {
					found++
					assert.True(t, tested[path.Base(dir)+"."+spec.Name.Name], "%s.%s is an enumeration without a row here", dir, spec.Name)
				}
			}
			return true
		})
	})
	assert.Equal(t, len(tested), found)
}
