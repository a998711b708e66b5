package mcmc

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// What wrappers around methods may look like in a user's code.
type (
	anyMethod struct{ sampler.Method }
	pointed   struct{ *DMALA }
	inner     struct{ DMALA }
	twice     struct{ inner }
	louder    struct {
		DMALA
		Volume int
	}
	other struct{ DMALA }
)

func (other) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	return DMALA{StepSize: 3}.Kernel(ctx, m, chains)
}

// Name makes it another method.
func (other) Name() string { return "other" }

// A wrapper that adds nothing is the same run: its checkpoints load, both ways.
// One that adds a field, or has a name of its own, is another.
func TestWrappersAreTheSameRun(t *testing.T) {
	m := exact.NewQuadratic(6, 1)
	d := DMALA{StepSize: 0.3, Within: constraint.Count{Levels: []int32{1}, Max: 5}}
	forms := []sampler.Method{d, &d, struct{ DMALA }{d}, &struct{ DMALA }{d}, anyMethod{d}, &anyMethod{&d}, pointed{&d}, twice{inner{d}}, anyMethod{struct{ DMALA }{d}}}
	cfg := sampler.Config{Chains: 5, Warmup: 4}
	load := func(saved, here sampler.Method) error {
		var file bytes.Buffer
		require.NoError(t, runs.Run(t, m, saved, cfg, 3).Save(&file))
		return exact.Must(sampler.NewChains(context.Background(), m, here, cfg)).Load(context.Background(), &file)
	}
	for i, a := range forms {
		for j, b := range forms {
			assert.NoError(t, load(a, b), "%d %T into %d %T", i, a, j, b)
		}
	}
	for _, a := range []sampler.Method{louder{d, 3}, other{d}, struct{ DMALA }{DMALA{StepSize: 0.2, Within: d.Within}}} {
		assert.ErrorContains(t, load(d, a), "settings differ", "%T", a)
		assert.ErrorContains(t, load(a, d), "settings differ", "%T", a)
	}
	assert.NoError(t, load(Tempering{Base: d}, Tempering{Base: anyMethod{d}}), "bases too")
	assert.NoError(t, load(Tempering{Base: d}, struct{ Tempering }{Tempering{Base: struct{ DMALA }{d}}}), "bases too")
}
