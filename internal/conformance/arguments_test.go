package conformance_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// opening is a value that users write, and what takes it.
type opening struct {
	value any
	open  func(v any) error
}

// openings are the configurations, by the functions that take them, and every recipe
// of the registry.
func openings() (all []opening) {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.2, 0.1))
	masked := exact.Must(denoise.NewMarkov(exact.Must(model.NewMarkov(9, 2, 1, []float64{.5, .5}, []float64{.9, .1, .2, .8})), denoise.Absorbing))
	gauss := exact.Must(continuous.NewDiagonal([]float64{1}, make([]float64, 9), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}))
	normal := exact.Must(denoise.NewMixture(gauss))
	few := constraint.Count{Levels: []int32{1}, Max: 3}
	small := projection.Path{Language: exact.Must(constraint.Intersect(few, constraint.Count{Levels: []int32{2}, Max: 0}))}
	add := func(value any, open func(v any) error) { all = append(all, opening{value, open}) }
	learns := func(cfg fit.Config) error {
		p := exact.Must(ising.Learn())
		if cfg.Chains == nil {
			cfg.Chains = exact.Must(sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Warmup: -1}))
		}
		return exact.Error(fit.New(context.Background(), p, make([]int32, 18), cfg))
	}
	add(dual.Config{}, func(v any) error {
		l := exact.Must(dual.NewLagrangian(ising, few))
		c := exact.Must(sampler.NewChains(context.Background(), l, mcmc.Gibbs{}, sampler.Config{Warmup: -1}))
		return exact.Error(dual.NewInference(context.Background(), l, c, v.(dual.Config)))
	})
	add(fit.Config{}, func(v any) error { return learns(v.(fit.Config)) })
	add(pdi.Config{}, func(v any) error {
		p := exact.Must(pdi.NewMixture(gauss, 1, dual.AtMost(exact.Must(continuous.NewLinear(make([]float64, 9), .5)), 0)))
		return exact.Error(pdi.New(context.Background(), p, v.(pdi.Config)))
	})
	add(anneal.AISConfig{}, func(v any) error { return exact.Error(anneal.NewAIS(ising, mcmc.Gibbs{}, v.(anneal.AISConfig))) })
	add(diffusion.Config{}, func(v any) error {
		return exact.Error(diffusion.New(ctx, masked, diffusion.Masked{Mask: 2}, v.(diffusion.Config)))
	})
	add(diffusion.ParticlesConfig{Config: diffusion.Config{Projector: small}}, func(v any) error {
		return exact.Error(diffusion.NewParticles(ctx, masked, diffusion.Masked{Mask: 2}, v.(diffusion.ParticlesConfig)))
	})
	add(twisted.Config{}, func(v any) error {
		set := constraint.Slabs{A: constraint.Rows(make([]float64, 9), 9), Lower: []float64{-1}, Upper: []float64{1}}
		return exact.Error(twisted.New(ctx, normal, set, v.(twisted.Config)))
	})
	add(unmask.BacktrackConfig{Config: unmask.Config{Projector: small}, Mask: 2}, func(v any) error {
		return exact.Error(unmask.NewBacktrack(ctx, masked, v.(unmask.BacktrackConfig)))
	})
	add(unmask.RejectionConfig{Config: unmask.Config{Projector: small}}, func(v any) error {
		return exact.Error(unmask.NewRejection(ctx, masked, diffusion.Masked{Mask: 2}, v.(unmask.RejectionConfig)))
	})
	add(shard.Chains{Model: ising, Method: mcmc.Gibbs{}, Draws: 2}, func(v any) error {
		_, _, err := v.(shard.Chains).Part(context.Background(), 0, 4)
		return err
	})
	add(shard.AIS{Model: ising, Method: mcmc.Gibbs{}}, func(v any) error {
		_, _, err := v.(shard.AIS).Part(context.Background(), 0, 64)
		return err
	})
	for kind, k := range recipeKinds {
		levels := 2
		if kind == "linear" {
			levels = 1
		}
		for _, r := range k.recipes() {
			if v := reflect.ValueOf(r.forms[0]); v.Kind() != reflect.Struct || !isOpen(v.Type()) {
				continue
			}
			add(r.forms[0], func(v any) error {
				if set, ok := v.(constraint.Smooth); ok && kind == "linear" {
					return exact.Error(proximal.Projector{Set: set}.Compile(ctx, 9))
				}
				switch v := v.(type) {
				case sampler.Method:
					return exact.Error(v.Kernel(ctx, ising, 2))
				case diffusion.Process[int32]:
					return exact.Error(v.Bind(ctx, 9, 3))
				case diffusion.Process[float32]:
					return exact.Error(v.Bind(ctx, 9, 1))
				case diffusion.Projector:
					return exact.Error(v.Bind(ctx, 9, levels, 1))
				case dual.Rule:
					return exact.Error(v.Bind(ctx, 2))
				case fit.Objective:
					return learns(fit.Config{Objective: v})
				case constraint.Language:
					return exact.Error(projection.Path{Language: v}.Bind(ctx, 9, 2, 1))
				}
				return nil
			})
		}
	}
	return all
}

// Every field of a configuration or recipe that is an interface: what holds a nil
// pointer is refused by a message that names nil, and no nil of any kind is a raw
// panic.
func TestNilFields(t *testing.T) {
	fields := 0
	for _, d := range openings() {
		require.NoError(t, d.open(d.value), "%T", d.value)
		var walk func(at reflect.Value, name string)
		v := reflect.New(reflect.TypeOf(d.value)).Elem()
		walk = func(at reflect.Value, name string) {
			for i := range at.NumField() {
				f, field := at.Field(i), at.Type().Field(i)
				if !f.CanSet() {
					continue
				}
				if field.Anonymous && f.Kind() == reflect.Struct {
					walk(f, name)
					continue
				}
				before := reflect.New(f.Type()).Elem()
				before.Set(f)
				switch f.Kind() {
				case reflect.Interface, reflect.Pointer, reflect.Func, reflect.Map:
					f.SetZero()
					if raw, err := tryOpening(d.open, v.Interface()); assert.Empty(t, raw, "%s.%s = nil", name, field.Name) && err != nil {
						assert.Contains(t, err.Error(), "nil", "%s.%s = nil", name, field.Name)
					}
				}
				if f.Kind() == reflect.Interface && f.NumMethod() > 0 {
					for _, none := range nilsOf(f.Type()) {
						f.Set(none)
						fields++
						raw, err := tryOpening(d.open, v.Interface())
						assert.Empty(t, raw, "%s.%s = (%v)(nil)", name, field.Name, none.Type())
						if assert.Error(t, err, "%s.%s = (%v)(nil)", name, field.Name, none.Type()) {
							assert.Contains(t, err.Error(), "nil", "%s.%s = (%v)(nil)", name, field.Name, none.Type())
						}
					}
				}
				f.Set(before)
			}
		}
		v.Set(reflect.ValueOf(d.value))
		walk(v, v.Type().String())
	}
	t.Logf("%d typed nils", fields)
	require.Greater(t, fields, 20)
}

// nilTypes are the types of what is opened, of recipes and of the sweep's values.
var nilTypes = sync.OnceValue(func() (types []reflect.Type) {
	add := func(v any) {
		t := reflect.TypeOf(v)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for _, v := range sweptValues() {
		add(v)
	}
	for _, kind := range sortedNames(recipeKinds) {
		for _, r := range recipeKinds[kind].recipes() {
			add(r.forms[0])
		}
	}
	for _, o := range openings() {
		add(o.value)
	}
	return types
})

// nilsOf returns two nil pointers that have the methods of an interface: to a value
// with methods of its own and to one with those of pointers, if there are such.
func nilsOf(t reflect.Type) (nils []reflect.Value) {
	kinds := map[bool]bool{}
	for _, s := range nilTypes() {
		p := reflect.PointerTo(s)
		if byValue := s.Implements(t); p.Implements(t) && !kinds[byValue] {
			kinds[byValue] = true
			nils = append(nils, reflect.Zero(p))
		}
	}
	return nils
}

// tryOpening calls open and says which panic is not the library's own.
func tryOpening(open func(any) error, v any) (raw string, err error) {
	defer func() {
		if p := recover(); p != nil {
			if message := fmt.Sprint(p); !ownPanic.MatchString(message) || strings.HasPrefix(message, "runtime error") {
				raw = message
			} else {
				err = fmt.Errorf("%v", p)
			}
		}
	}()
	return "", open(v)
}

// Sizes that no memory holds are errors which name them. A sweep found these.
func TestSizesBeyondMemoryAreRefused(t *testing.T) {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3}, 0.2, 0))
	chains := exact.Must(sampler.NewChains(context.Background(), ising, mcmc.Gibbs{}, sampler.Config{}))
	learner := exact.Must(exact.Must(model.NewIndependent(make([]float64, 6), 2)).Learn())
	masked := exact.Must(denoise.NewIndependent(exact.Must(model.NewIndependent(make([]float64, 6), 2)), denoise.Absorbing))
	for name, c := range map[string]func(n int) error{
		"AISConfig.Stages": func(n int) error {
			_, err := anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Stages: n})
			return err
		},
		"AISConfig.Chains": func(n int) error {
			_, err := anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Chains: n})
			return err
		},
		"SteppingStoneConfig.Stages": func(n int) error {
			_, err := anneal.NewSteppingStone(ising, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Stages: n})
			return err
		},
		"Period": func(n int) error { _, err := mcmc.Cyclical{Period: n}.Kernel(ctx, ising, 1); return err },
		"Rungs":  func(n int) error { _, err := mcmc.Tempering{Rungs: n}.Kernel(ctx, ising, 1); return err },
		"Batch": func(n int) error {
			_, err := diffusion.New(ctx, masked, diffusion.Masked{Mask: 2}, diffusion.Config{Batch: n})
			return err
		},
		"Count": func(n int) error {
			_, err := diagnose.NewTally(diagnose.TallyConfig{Chains: n, Draws: 1}, func([]int32) float64 { return 0 })
			return err
		},
		"Buffer": func(n int) error {
			_, err := fit.Persistent{Buffer: n}.Bind(ctx, learner, make([]int32, 3), chains)
			return err
		},
	} {
		for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt/2 + 2, math.MaxInt / 4} {
			assert.ErrorContains(t, c(n), name, "%d", n)
		}
	}
}

// Arguments that fit nothing are named where an index would fail.
func TestArgumentsOfMethodsAreChecked(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{3}, 0.2, 0))
	rbm := exact.Must(model.NewRBM([]float32{1, 2}, []float32{0}, []float32{0, 1}))
	row := []constraint.Row{{Index: []int32{4}, Value: []float64{1}}}
	words := exact.Must(constraint.Contains([]int32{1, 0}, []int32{1, 1}))
	for want, call := range map[string]func(){
		"model: site = -1":       func() { ising.Conditional(make([]float64, 2), -1, make([]int32, 3)) },
		"model: site = 2":        func() { rbm.Conditional(make([]float64, 2), 2, make([]int32, 2)) },
		"constraint: state = -7": func() { words.Next(-7, 0) },
		"constraint: Linear: A[0].Index[0] = 4": func() {
			constraint.Linear{A: row, B: []float64{0}}.Pull(make([]float32, 2), make([]float32, 2), []float64{1})
		},
		"layer: Residual: Kept = nil, ": func() { layer.Residual{}.Forward(nil, nil, nil) },
		"layer: Residual: Kept = nil":   func() { layer.Residual{}.Backward(nil, layer.Residual{}, nil, nil) },
		"constraint: len(Lower) = 0":    func() { constraint.Slabs{A: row, Upper: []float64{1}}.Pull(nil, nil, []float64{1}) },
	} {
		func() {
			defer func() { assert.Contains(t, recover(), want) }()
			call()
		}()
	}
	require.NotPanics(t, func() {
		energy.Func{Sites: math.MaxInt, Levels: 2, E: func([]int32) float64 { return 0 }}.Energy(nil, nil)
	})
}
