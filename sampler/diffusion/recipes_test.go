package diffusion

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// wrappedProcess hides everything about a recipe but its one method.
type wrappedProcess[S energy.Site] struct{ Process[S] }

// wrappedSchedule and wrappedClassifier do so too.
type (
	wrappedSchedule   struct{ noise.Schedule }
	wrappedClassifier struct{ Classifier }
)

// wrappedDenoiser passes questions on.
type wrappedDenoiser struct{ energy.Denoiser[int32] }

func (w wrappedDenoiser) As(target any) bool { return energy.AsInto(w.Denoiser, target) }

// opaque does not.
type opaque struct{ energy.Denoiser[int32] }

// sampled returns a few samples.
func sampled[S energy.Site](t *testing.T, m energy.Denoiser[S], p Process[S], cfg Config) []S {
	t.Helper()
	cfg.Steps, cfg.Seed, cfg.Batch, cfg.Workers = 4, 3, 7, 1
	d, err := New(context.Background(), m, p, cfg)
	require.NoError(t, err)
	sites, _ := m.Shape()
	x := make([]S, 300*sites)
	require.NoError(t, d.Sample(context.Background(), x))
	return x
}

// tried are the recipes that the tests of this file walk over.
var tried = map[string]bool{}

func try(recipe any) string {
	name := fmt.Sprintf("%T", recipe)
	tried[name[strings.LastIndexByte(name, '.')+1:]] = true
	return name
}

// same checks that all forms of a process draw the same samples.
func same[S energy.Site](t *testing.T, m energy.Denoiser[S], forms ...Process[S]) {
	t.Helper()
	name := try(forms[0])
	want := sampled(t, m, forms[0], Config{})
	for _, p := range forms[1:] {
		assert.Equal(t, want, sampled(t, m, p, Config{}), "%s as %T", name, p)
	}
}

// A pointer, a value and a wrapper of every recipe mean the same.
func TestRecipesMeanTheSameInEveryForm(t *testing.T) {
	masked, uniform := newJoint(3, 2, true, 5), newJoint(3, 3, false, 5)
	for _, p := range []Masked{{Mask: 2}, {Mask: 2, FirstHitting: true}} {
		same[int32](t, masked, Process[int32](p), &p, wrappedProcess[int32]{p}, wrappedProcess[int32]{&p})
	}
	for _, p := range []Remask{{Mask: 2}, {Mask: 2, Rule: RemaskConfidence, Eta: 0.5}, {Mask: 2, Rule: RemaskLoop, Eta: 0.5}} {
		same[int32](t, masked, Process[int32](p), &p, wrappedProcess[int32]{p}, wrappedProcess[int32]{&p})
	}
	for _, p := range []Ordered{{Mask: 2}, {Mask: 2, Block: 2, Score: ScoreMargin}} {
		same[int32](t, masked, Process[int32](p), &p, wrappedProcess[int32]{p}, wrappedProcess[int32]{&p})
	}
	u := Uniform{Schedule: noise.Cosine{}}
	same[int32](t, uniform, Process[int32](u), &u, wrappedProcess[int32]{u}, wrappedProcess[int32]{&u})

	reals, err := denoise.NewGaussian([]float64{1, 0}, []float64{1, 0.5, 0.5, 1})
	require.NoError(t, err)
	g := Gaussian{Eta: 0.5}
	same[float32](t, reals, Process[float32](g), &g, wrappedProcess[float32]{g}, wrappedProcess[float32]{&g})
	eci := ECI{Mix: 2}
	same[float32](t, reals, Process[float32](eci), &eci, wrappedProcess[float32]{eci}, wrappedProcess[float32]{&eci})
	moved := Corrected{Process: &g}
	same[float32](t, reals, Process[float32](moved), &moved, Process[float32](Corrected{Process: wrappedProcess[float32]{g}}), wrappedProcess[float32]{&moved})
	set := constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{2}, Upper: []float64{3}}
	for _, inside := range []Process[float32]{nil, Gaussian{}, &Gaussian{}, wrappedProcess[float32]{Gaussian{}}} {
		p := Penalised{Process: inside, Set: set}
		same[float32](t, reals, Process[float32](Penalised{Set: &set}), p, &p, wrappedProcess[float32]{&p})
	}
}

// So do the schedules inside them.
func TestSchedulesMeanTheSameInEveryForm(t *testing.T) {
	m := newJoint(3, 2, true, 5)
	for _, f := range [][2]noise.Schedule{
		{noise.LogLinear{}, &noise.LogLinear{}}, {noise.Cosine{}, &noise.Cosine{}}, {noise.CosineSquared{}, &noise.CosineSquared{}},
		{noise.LinearSigma{}, &noise.LinearSigma{}}, {noise.GeometricSigma{}, &noise.GeometricSigma{}},
		{noise.LinearBeta{}, &noise.LinearBeta{}}, {noise.CosineBar{}, &noise.CosineBar{}}, {noise.SigmoidBar{}, &noise.SigmoidBar{}}, {noise.PolynomialSNR{}, &noise.PolynomialSNR{}}, {noise.Straight{}, &noise.Straight{}},
	} {
		try(f[0])
		want := sampled[int32](t, m, Masked{Mask: 2, Schedule: f[0]}, Config{})
		for _, c := range []noise.Schedule{f[1], wrappedSchedule{f[0]}, &wrappedSchedule{f[1]}} {
			assert.Equal(t, want, sampled[int32](t, m, Masked{Mask: 2, Schedule: c}, Config{}), "%T as %T", f[0], c)
		}
	}
}

// And denoisers that guide: nobody loses the guidance, and nobody escapes the
// refusal of a projector.
func TestGuidesMeanTheSameInEveryForm(t *testing.T) {
	cond, free := guidanceModels(true, 20)
	even := evenSum(3, 3)
	e := exact.NewRugged(3, 3, 1, 0, 4)
	for _, at := range []bool{false, true} {
		cf := ClassifierFree{Conditional: cond, Unconditional: free, Scale: 2.5, AtPosterior: at}
		ec := ClassifierGuided{Denoiser: cond, Classifier: ExactClassifier{e}, Scale: 1.5, AtPosterior: at}
		fc := ec
		fc.Classifier = FirstOrderClassifier{e}
		for _, c := range [][]energy.Denoiser[int32]{
			{cf, &cf, wrappedDenoiser{cf}, &wrappedDenoiser{&cf}, struct{ ClassifierFree }{cf}, wrappedDenoiser{wrappedDenoiser{cf}}},
			{ec, &ec, wrappedDenoiser{ec}, &wrappedDenoiser{&ec}, struct{ ClassifierGuided }{ec},
				ClassifierGuided{Denoiser: &cond2{cond}, Classifier: &ExactClassifier{e}, Scale: 1.5, AtPosterior: at}},
			{fc, &fc, ClassifierGuided{Denoiser: cond, Classifier: &FirstOrderClassifier{e}, Scale: 1.5, AtPosterior: at},
				ClassifierGuided{Denoiser: cond, Classifier: wrappedClassifier{fc.Classifier}, Scale: 1.5, AtPosterior: at}},
		} {
			try(c[0])
			p := Remask{Mask: 2, Rule: RemaskRescale, Eta: 0.3}
			want := sampled[int32](t, c[0], p, Config{})
			unguided := sampled[int32](t, cond, p, Config{})
			assert.NotEqual(t, unguided, want, "%T has no effect", c[0])
			for _, m := range c {
				assert.Equal(t, want, sampled(t, m, Process[int32](p), Config{}), "%T as %T, at the posterior: %v", c[0], m, at)
				_, err := New[int32](context.Background(), m, p, Config{Projector: even})
				if at {
					assert.ErrorContains(t, err, "a projection needs guidance at the prediction", "%T", m)
				} else {
					assert.NoError(t, err, "%T", m)
				}
			}
			// A wrapper that answers no questions cannot have the step led: then
			// samples are refused rather than drawn without guidance.
			d, err := New[int32](context.Background(), opaque{c[0]}, p, Config{Steps: 4})
			require.NoError(t, err)
			err = d.Sample(context.Background(), make([]int32, 3))
			if at {
				assert.ErrorContains(t, err, "guidance at the posterior is not seen by the caller")
			} else {
				assert.NoError(t, err)
			}
		}
	}
	try(ExactClassifier{})
	try(FirstOrderClassifier{})
	// A guide inside another would be lost, too.
	at := ClassifierFree{Conditional: cond, Unconditional: free, Scale: 2, AtPosterior: true}
	for _, inside := range []energy.Denoiser[int32]{at, &at, wrappedDenoiser{at}} {
		for _, m := range []energy.Denoiser[int32]{
			ClassifierFree{Conditional: inside, Unconditional: free}, &ClassifierFree{Conditional: free, Unconditional: inside},
			wrappedDenoiser{ClassifierGuided{Denoiser: inside, Classifier: ExactClassifier{e}}},
		} {
			_, err := New[int32](context.Background(), m, Masked{Mask: 2}, Config{})
			assert.ErrorContains(t, err, "inside is guided at the posterior", "%T in %T", inside, m)
		}
	}
	// What a wrapper holds is checked.
	_, err := New[int32](context.Background(), wrappedDenoiser{&ClassifierFree{Conditional: cond, Unconditional: free, Scale: -1}}, Masked{Mask: 2}, Config{})
	assert.ErrorContains(t, err, "Scale = -1")
	_, err = New[int32](context.Background(), ClassifierGuided{
		Denoiser: wrappedDenoiser{ClassifierFree{Conditional: cond, Unconditional: free, Scale: -1}}, Classifier: ExactClassifier{e},
	}, Masked{Mask: 2}, Config{})
	assert.ErrorContains(t, err, "ClassifierFree: Scale = -1")
}

// cond2 is a joint by another name.
type cond2 struct{ *joint }

// The tests above leave out no exported struct that is a recipe.
func TestEveryRecipeIsTried(t *testing.T) {
	if len(tried) == 0 {
		t.Skip("runs after the tests that try them")
	}
	for _, dir := range []string{".", "noise"} {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), dir+"/"+f.Name(), nil, 0)
			require.NoError(t, err)
			ast.Inspect(tree, func(n ast.Node) bool {
				s, ok := n.(*ast.TypeSpec)
				if !ok || !s.Name.IsExported() {
					return true
				}
				switch s.Name.Name {
				case "Config", "ParticlesConfig", "Runner", "Particles", "Snapshot", "PredictionError", "Unfinished", "Weights":
					return true // no recipes
				}
				if _, ok := s.Type.(*ast.StructType); ok {
					assert.True(t, tried[s.Name.Name], "%s is not among the recipes that are tried", s.Name)
				}
				return true
			})
		}
	}
}

type contextKey struct{}

// witness is a projector that checks who calls it.
type witness struct {
	t     *testing.T
	calls *int
}

func (w witness) Bind(ctx context.Context, _, _, samples int) (Projection, error) {
	assert.Equal(w.t, "new", ctx.Value(contextKey{}))
	assert.Equal(w.t, 5, samples, "one projection for the batch")
	return w, nil
}

func (w witness) Project(ctx context.Context, _ int, v []float32, _, _ float64, src rand.Source) (float64, error) {
	assert.Equal(w.t, "sample", ctx.Value(contextKey{}))
	require.NotNil(w.t, src)
	v[0] = float32(src.Uint64()>>40) / (1 << 24)
	*w.calls++
	return 0.5, nil
}

// bindsUnder checks the context of Bind.
type bindsUnder struct {
	t *testing.T
	Process[float32]
}

func (b bindsUnder) Bind(ctx context.Context, sites, levels int) (Steps[float32], error) {
	assert.Equal(b.t, "new", ctx.Value(contextKey{}))
	return b.Process.Bind(ctx, sites, levels)
}

// Wherever a step is projected, the projection has the runner's context and the
// sample's randomness.
func TestProjectionsHaveContextAndRandomness(t *testing.T) {
	m, err := denoise.NewGaussian([]float64{0, 0}, []float64{1, 0, 0, 1})
	require.NoError(t, err)
	first := context.WithValue(context.Background(), contextKey{}, "new")
	then := context.WithValue(context.Background(), contextKey{}, "sample")
	for name, c := range map[string]struct {
		cfg   Config
		calls int // in 4 steps of 7 samples
	}{
		"prediction":      {Config{}, 28},
		"state":           {Config{ProjectState: true}, 28},
		"part of the way": {Config{ProjectState: true, ProjectPower: 2}, 28},
		"finished sample": {Config{ProjectState: true, ProjectEvery: -1}, 7},
		"last prediction": {Config{ProjectEvery: -1}, 7},
		"second half":     {Config{ProjectState: true, ProjectStart: 0.5}, 14},
	} {
		calls, seen := 0, 0
		c.cfg.Steps, c.cfg.Batch, c.cfg.Workers, c.cfg.Projector = 4, 5, 1, witness{t, &calls}
		c.cfg.Observe = func(s *Snapshot) {
			if s.Projected {
				seen++
				assert.Equal(t, 0.5, s.Violation, name)
			}
		}
		d, err := New[float32](first, m, bindsUnder{t, Gaussian{}}, c.cfg)
		require.NoError(t, err)
		x := make([]float32, 14)
		require.NoError(t, d.Sample(then, x))
		assert.Equal(t, c.calls, calls, name)
		assert.Equal(t, c.calls, seen, name)
		for i := 0; i < len(x); i += 2 { // the number that the projection drew
			assert.True(t, x[i] >= 0 && x[i] < 1, name)
		}
	}
}
