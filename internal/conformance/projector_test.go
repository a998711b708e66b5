package conformance_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/projection/newton"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
)

// projector is a line of the registry of projectors: a part, and what its doc claims.
type projector struct {
	name string
	part diffusion.Projector
	o    diffusiontest.ProjectionOptions
}

// The projectors of the module, for four sites of three levels or four reals. A new one
// adds a line.
func projectors() []projector {
	fewOnes := func(x []int32) bool { return times(x, 1) >= 1 && times(x, 1) <= 2 }
	path := projection.Path{Language: counted(1, 1, 2)}
	start, trans := []float64{.5, .3, .2}, []float64{.6, .3, .1, .2, .2, .6, .1, .8, .1}
	// A prior's weight is that of the chain times the rows.
	chained := func(v []float32, x []int32) float64 {
		w := math.Log(start[x[0]])
		for i, l := range x {
			w += float64(v[3*i+int(l)])
			if i > 0 {
				w += math.Log(trans[3*x[i-1]+l])
			}
		}
		return w
	}
	lexicon := new(constraint.Lexicon)
	known := [][]int32{{0, 0, 0, 0}, {1, 2, 1, 2}, {2, 2, 2, 2}, {0, 1, 2, 0}, {0, 1, 2, 1}}
	for _, x := range known {
		lexicon.Add(x)
	}
	isNew := func(x []int32) bool { return !lexicon.Contains(x) }
	slabs := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 1, 1, -1, 0, 0}, 4), Lower: []float64{0, -1}, Upper: []float64{1, 1}}
	within := func(x []float32) float64 {
		sum, gap := 0.0, float64(x[0])-float64(x[1])
		for _, y := range x {
			sum += float64(y)
		}
		return max(sum-1, -sum, gap-1, -1-gap)
	}
	onCircle := func(x []float32) float64 {
		sum := -4.0
		for _, y := range x {
			sum += float64(y) * float64(y)
		}
		return math.Abs(sum)
	}
	return []projector{
		{"projection.Path", path, diffusiontest.ProjectionOptions{Accepts: fewOnes, Nearest: true}},
		{"projection.Path", projection.Path{Language: path.Language, Margin: 1.5}, diffusiontest.ProjectionOptions{Accepts: fewOnes}},
		{"projection.Spans", projection.Spans{{From: 1, To: 3, Path: projection.Path{Language: counted(1, 1, 1)}}}, diffusiontest.ProjectionOptions{
			Accepts: func(x []int32) bool { return times(x[1:3], 1) == 1 }, Nearest: true,
		}},
		{"prior.Path", prior.Path{HMM: prior.Markov(start, trans), Language: path.Language}, diffusiontest.ProjectionOptions{Accepts: fewOnes, Weight: chained, Conditional: true}},
		{"novelty.Projector", novelty.Projector{Seen: lexicon}, diffusiontest.ProjectionOptions{Accepts: isNew, Nearest: true}},
		{"novelty.Projector", novelty.Projector{Seen: lexicon, Path: path}, diffusiontest.ProjectionOptions{Accepts: func(x []int32) bool { return isNew(x) && fewOnes(x) }, Nearest: true}},
		{"lagrange.Projector", lagrange.Projector{Constraint: weighed()}, diffusiontest.ProjectionOptions{
			Accepts: func(x []int32) bool { return float64(x[0]+x[1]+x[2]+x[3]) <= 3.5 }, Search: true,
		}},
		{"proximal.Projector", proximal.Projector{Set: slabs}, diffusiontest.ProjectionOptions{Levels: 1, Violation: within, Nearest: true}},
		{"newton.Projector", newton.Projector{Equations: sphere{}}, diffusiontest.ProjectionOptions{Levels: 1, Violation: onCircle, Last: true, Tolerance: 1e-5}},
	}
}

// sphere is the equation ‖z‖² = 4.
type sphere struct{}

func (sphere) Len() int { return 1 }

func (sphere) Eval(g, z []float64) {
	g[0] = -4
	for _, x := range z {
		g[0] += x * x
	}
}

func (sphere) Gradient(dst []float64, _ int, z []float64) {
	for i, x := range z {
		dst[i] = 2 * x
	}
}

func TestProjectors(t *testing.T) {
	registered := map[string]bool{}
	for i, p := range projectors() {
		registered[p.name] = true
		t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
			if err := diffusiontest.TestProjector(context.Background(), p.part, p.o); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "diffusion.Projector", "projector_test.go", registered, nil, parts(t, "sampler/diffusion", "Projector"))
}
