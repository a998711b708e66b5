package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

var notANumber, infinity = math.NaN(), math.Inf(1)

// sweptValues are valid arguments of the sweep: models, denoisers, languages,
// recipes and what runs them, all of nine sites and two or three levels.
var sweptValues = sync.OnceValue(func() []any {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.2, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.2, nil))
	broken := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 { return []float64{0, notANumber, infinity, -infinity}[(x[0]+x[1])&3] }}
	plain := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 { return float64(x[0] * x[1]) }}
	gauss := exact.Must(continuous.NewDiagonal([]float64{1}, make([]float64, 9), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}))
	vocab := text.Runes("ab")
	letters := exact.Must(text.Regexp(ctx, "[ab]*", vocab, constraint.Limits{}))
	count := constraint.Count{Levels: []int32{1}, Min: 2, Max: 5}
	table := exact.Must(denoise.NewTable(ising, 0))
	normal := exact.Must(denoise.NewMixture(gauss))
	chains := exact.Must(sampler.NewChains(context.Background(), ising, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1}))
	reals := exact.Must(langevin.New(context.Background(), gauss, langevin.Config{Chains: 2, StepSize: 0.1, Warmup: -1}))
	all := []any{
		ising, potts, broken, plain, gauss, vocab, letters, count, chains, reals,
		projection.Path{Language: count}, table, normal, neural.Config{}, dual.Config{}, diagnose.NewTrace(),
		diffusion.Masked{Mask: 1}, noise.Cosine{}, fstest.MapFS{}, bytes.NewReader([]byte("3 2\n1 2 1\n2 3 1\n")), &bytes.Buffer{},
	}
	return append(all, sweptRuns(ising, gauss)...)
})

// sweptRuns are runs, and what learns and searches, ready to start. The sweep calls
// their methods, too.
func sweptRuns(ising *model.Ising, gauss *continuous.Mixture) []any {
	ctx := context.Background()
	few := constraint.Count{Levels: []int32{1}, Max: 3}
	lagrangian := exact.Must(dual.NewLagrangian(ising, few))
	multiplied := exact.Must(sampler.NewChains(context.Background(), lagrangian, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1}))
	small := exact.Must(constraint.Intersect(few, constraint.Count{Levels: []int32{2}, Max: 0}))
	learner := exact.Must(ising.Learn())
	net := exact.Must(neural.New(neural.Config{Length: 9, Levels: 3, Width: 4, Heads: 1, Blocks: 1, Hidden: 4}, rand.NewPCG(1, 1)))
	rows := []int32{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1}
	normal := exact.Must(denoise.NewMixture(gauss))
	linear := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 0, 0, 0, 0, 0, 0}, 9), Lower: []float64{0}, Upper: []float64{1}}
	masked := exact.Must(denoise.NewMarkov(exact.Must(model.NewMarkov(9, 2, 1, []float64{.5, .5}, []float64{.9, .1, .2, .8})), denoise.Absorbing))
	pushed := exact.Must(exact.Must(grammar.Parse(ctx, `root ::= "a" root | "b"`, constraint.Limits{})).Over(ctx, text.Runes("ab")))
	return []any{
		lagrangian, exact.Must(dual.NewInference(context.Background(), lagrangian, multiplied, dual.Config{})),
		learner, exact.Must(fit.New(context.Background(), learner, rows, fit.Config{Objective: fit.Pseudo{}})),
		net, exact.Must(train.New(net, train.Masked{Mask: 2}, rows, train.Config{Steps: 3, Batch: 2})),
		exact.Must(ground.New(ising, ground.Config{})),
		exact.Must(anneal.New(context.Background(), ising, mcmc.Metropolis{}, anneal.Config{Stages: 3, Chains: 2})),
		exact.Must(anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Stages: 3, Chains: 2})),
		exact.Must(anneal.NewSteppingStone(ising, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Stages: 3, Chains: 2, Draws: 6})),
		exact.Must(diffusion.New(ctx, masked, diffusion.Masked{Mask: 2}, diffusion.Config{Steps: 3})),
		exact.Must(diffusion.NewParticles(ctx, masked, diffusion.Masked{Mask: 2}, diffusion.ParticlesConfig{Particles: 2, Config: diffusion.Config{Steps: 3, Projector: projection.Path{Language: small}}})),
		exact.Must(diffusion.New(ctx, normal, diffusion.Gaussian{}, diffusion.Config{Steps: 3})),
		exact.Must(twisted.New(ctx, normal, linear, twisted.Config{Steps: 3, Particles: 4})),
		shard.Chains{Model: ising, Method: mcmc.Gibbs{}, Draws: 2},
		shard.AIS{Model: ising, Method: mcmc.Gibbs{}},
		pushed, linear, new(constraint.Lexicon), diagnose.NewStreamingTrace(func(x []int32) float64 { return float64(len(x)) }),
		exact.Must(diagnose.NewTally(diagnose.TallyConfig{Draws: 2}, func(x []int32) float64 { return float64(len(x)) })),
		onDisk(slices.Values([][]int32{{1, 0, 1, 0, 1, 0, 1, 0, 0}})),
	}
}

// fitting returns the values of the pool that a variable of the type can hold.
func (g *argumentGenerator) fitting(t reflect.Type) (fit []reflect.Value) {
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

func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// lastWords returns the part of the output of a process that says why it ended.
func lastWords(out string) string {
	for _, mark := range []string{"fatal error", "panic: ", "runtime: "} {
		if i := strings.Index(out, mark); i >= 0 {
			return out[i:min(i+1500, len(out))]
		}
	}
	return out[max(0, len(out)-300):]
}

// mostMapped is what a child may have mapped when it begins with a function: memory
// comes back from the collector in pieces, and a call is judged by what it takes
// itself, not by what earlier ones left of the address space.
const mostMapped = 2 << 30

// mapped returns the bytes of memory that the process has mapped.
func mapped() uint64 {
	total := [1]metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(total[:])
	return total[0].Value.Uint64()
}

// sweepUp collects garbage if calls have left half a GiB of it: a call is judged by its
// own memory, not by what others have left behind.
func (g *argumentGenerator) sweepUp() {
	heap := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap[:]); heap[0].Value.Uint64() > g.heap+1<<29 {
		runtime.GC()
		metrics.Read(heap[:])
		g.heap = heap[0].Value.Uint64()
	}
}

func oneLine(p any) string {
	s, _, _ := strings.Cut(fmt.Sprint(p), "\n")
	return s
}
