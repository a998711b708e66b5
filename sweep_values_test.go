package gibbsite_test

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"sync"
	"testing/fstest"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

var nan, inf = math.NaN(), math.Inf(1)

// sweptValues are valid arguments of the sweep: models, denoisers, languages,
// recipes and what runs them, all of nine sites and two or three levels.
var sweptValues = sync.OnceValue(func() []any {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.2, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.2, nil))
	broken := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 { return []float64{0, nan, inf, -inf}[(x[0]+x[1])&3] }}
	plain := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 { return float64(x[0] * x[1]) }}
	gauss := exact.Must(continuous.NewDiagonal([]float64{1}, make([]float64, 9), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}))
	vocab := text.Runes("ab")
	letters := exact.Must(text.Regexp(ctx, "[ab]*", vocab, constraint.Limits{}))
	count := constraint.Count{Levels: []int32{1}, Min: 2, Max: 5}
	table := exact.Must(denoise.NewTable(ising, 0))
	normal := exact.Must(denoise.NewMixture(gauss))
	chains := exact.Must(sampler.NewChains(ising, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1}))
	reals := exact.Must(langevin.New(gauss, langevin.Config{Chains: 2, StepSize: 0.1, Warmup: -1}))
	return []any{
		ising, potts, broken, plain, gauss, vocab, letters, count, chains, reals,
		projection.Path{Language: count}, table, normal, neural.Config{}, dual.Config{}, diagnose.NewTrace(),
		diffusion.Masked{Mask: 1}, noise.Cosine{}, fstest.MapFS{}, bytes.NewReader([]byte("3 2\n1 2 1\n2 3 1\n")), &bytes.Buffer{},
	}
})

// fitting returns the values of the pool that a variable of the type can hold.
func (g *generator) fitting(t reflect.Type) (fit []reflect.Value) {
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil
		}
	case reflect.Struct, reflect.Pointer:
	default:
		return nil
	}
	for _, v := range g.pool {
		if v.Type().AssignableTo(t) {
			fit = append(fit, v)
		}
	}
	return fit
}

func simple(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }
