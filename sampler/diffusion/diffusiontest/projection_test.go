package diffusiontest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
)

// notAll keeps two tokens of two levels from being both 1: the rows of (1, 1) change so
// that the site whose change costs less is 0 as likely as 1.
type notAll struct {
	broken string
	calls  *int
	kept   []float32
}

func feasible(x []int32) bool { return x[0] != 1 || x[1] != 1 }

func (p notAll) Bind(_ context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	if (sites != 2 || levels != 2 || samples < 1) && p.broken != "any shape" {
		return nil, fmt.Errorf("sites = %d, levels = %d, samples = %d", sites, levels, samples)
	}
	return &notAll{broken: p.broken, calls: new(int)}, nil
}

// cost is min KL(p‖y) over rows that do not prefer level 1.
func cost(row []float32) float64 {
	a, b := math.Exp(float64(row[0])), math.Exp(float64(row[1]))
	a, b = a/(a+b), b/(a+b)
	return a*math.Log(2*a) + b*math.Log(2*b)
}

func (p *notAll) Project(_ context.Context, sample int, v []float32, _, _ float64, _ rand.Source) (float64, error) {
	*p.calls++
	first, second := v[:2], v[2:]
	if p.broken == "keeps" {
		if p.kept != nil {
			v[0] += p.kept[0] / 64
		}
		p.kept = append([]float32(nil), v...)
	}
	if p.broken == "moves" {
		v[0] += 0.25
	}
	if p.broken == "lazy" || first[1] <= first[0] || second[1] <= second[0] {
		return 0, nil
	}
	to := first
	if (cost(second) < cost(first)) != (p.broken == "the other") {
		to = second
	}
	switch p.broken {
	case "NaN":
		to[0] = float32(math.NaN())
	case "too far":
		to[0] = to[1] + 1
	case "half":
		to[0] += (to[1] - to[0]) / 2
	case "violates":
		return 1, nil
	case "slots":
		to[0] = to[1] + float32(sample)
	default:
		to[0] = to[1]
	}
	return 0, nil
}

// weights lists the feasible pairs.
func (p *notAll) weights(v []float32) (w [4]float64, logZ float64) {
	sum := 0.0
	for k := range 4 {
		if k == 3 && p.broken != "draws all" {
			continue
		}
		w[k] = math.Exp(float64(v[k&1]) + float64(v[2+k>>1]))
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w, math.Log(sum)
}

var _ diffusion.Drawer = (*notAll)(nil)

func (p *notAll) LogZ(ctx context.Context, v []float32) (float64, error) {
	_, logZ := p.weights(v)
	if math.IsInf(logZ, -1) {
		if p.broken == "another error" {
			return logZ, fmt.Errorf("nothing is left")
		}
		return logZ, fmt.Errorf("not all: %w", constraint.ErrInfeasible)
	}
	if p.broken == "log P" {
		w := 0.0
		for k := range 4 {
			w += math.Exp(float64(v[k&1]) + float64(v[2+k>>1]))
		}
		logZ -= math.Log(w)
	}
	return logZ, nil
}

func (p *notAll) Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (float64, error) {
	logZ, err := p.LogZ(ctx, v)
	if err != nil {
		return logZ, err
	}
	w, _ := p.weights(v)
	r := rand.New(src)
	u, k := r.Float64(), 0
	for ; k < 3 && u >= w[k]; k++ {
		u -= w[k]
	}
	x0[0], x0[1] = int32(k&1), int32(k>>1)
	switch p.broken {
	case "independent": // right in every site, no dependence
		if r.IntN(2) == 0 {
			u, k = r.Float64(), 0
			for ; k < 3 && u >= w[k]; k++ {
				u -= w[k]
			}
			if x := [2]int32{x0[0], int32(k >> 1)}; feasible(x[:]) {
				x0[1] = x[1]
			}
		}
	case "writes v":
		v[0] = 0
	}
	return logZ, nil
}

func TestProjector(t *testing.T) {
	o := diffusiontest.ProjectionOptions{Sites: 2, Levels: 2, Accepts: feasible, Nearest: true, Tables: 60, Draws: 4000}
	require.NoError(t, diffusiontest.TestProjector(ctx, notAll{}, o))
	for broken, want := range map[string]string{
		"any shape":     "bind: Bind(0, 2, 1) returns no error",
		"lazy":          "feasible: ",
		"half":          "feasible: ",
		"violates":      "feasible: Project(",
		"NaN":           "feasible: ",
		"too far":       "nearest: ",
		"the other":     "nearest: ",
		"moves":         ": ",
		"keeps":         ": ",
		"slots":         "slots: ",
		"draws all":     "infeasible: Draw where [1 1] alone has weight",
		"another error": "infeasible: ",
		"log P":         "draw: Draw(",
		"independent":   "draw: draws from",
		"writes v":      "draw: ",
	} {
		t.Run(broken, func(t *testing.T) {
			err := diffusiontest.TestProjector(ctx, notAll{broken: broken}, o)
			require.ErrorContains(t, err, "diffusiontest: ")
			require.ErrorContains(t, err, want)
		})
	}
	require.EqualError(t, diffusiontest.TestProjector(ctx, nil, o), "diffusiontest: p = nil")
	require.ErrorContains(t, diffusiontest.TestProjector(ctx, notAll{}, diffusiontest.ProjectionOptions{}), "Options.Accepts = nil")
}

// A projector of one's own, with what it is meant to do.
func ExampleProjectionOptions() {
	o := diffusiontest.ProjectionOptions{Sites: 2, Levels: 2, Nearest: true, Accepts: func(x []int32) bool { return x[0] != 1 || x[1] != 1 }}
	fmt.Println(diffusiontest.TestProjector(ctx, notAll{}, o))
	// Output: <nil>
}
