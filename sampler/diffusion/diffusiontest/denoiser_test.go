package diffusiontest_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
)

// pairs are two tokens of two levels, behind which the mask 2 is.
var pairs = []float64{0.4, 0.1, 0, 0.2, 0.3, 0, 0, 0, 0}

// twoTokens predicts pairs, in a way that may be broken.
type twoTokens struct {
	broken string
	calls  int
}

func (d *twoTokens) Shape() (int, int) { return 2, 3 }
func (d *twoTokens) MaskLevel() int32  { return 2 }
func (d *twoTokens) TimeFree() bool    { return true }

func (d *twoTokens) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	n := q.States(2)
	if len(v) != 6*n && d.broken != "any length" {
		panic("diffusiontest: len(v)")
	}
	d.calls++
	if ctx.Err() != nil && d.broken == "another error" {
		return fmt.Errorf("stopped")
	}
	for s := range n {
		x := q.X[2*s : 2*s+2]
		for i := range 2 {
			row := v[6*s+3*i : 6*s+3*i+3]
			var p [3]float64
			for l := range 2 {
				for o := range 2 {
					at := [2]int{l, o}
					if i == 1 {
						at = [2]int{o, l}
					}
					w := pairs[at[0]+3*at[1]]
					if d.broken == "marginals only" {
						w = []float64{pairs[0] + pairs[3], pairs[1] + pairs[4]}[at[0]] * []float64{pairs[0] + pairs[1], pairs[3] + pairs[4]}[at[1]]
					}
					if j := x[1-i]; j != 2 && int(j) != o {
						w = 0
					}
					if j := x[i]; j != 2 && int(j) != l && d.broken != "leaves out" {
						w = 0
					}
					p[l] += w
				}
			}
			for l := range row {
				row[l] = float32(math.Log(p[l])) + 2
			}
		}
		switch d.broken {
		case "NaN":
			if x[0] == 1 {
				v[6*s] = float32(math.NaN())
			}
		case "neighbours":
			if s > 0 {
				v[6*s] += float32(q.X[2*s-2]) / 8
			}
		case "slots":
			v[6*s+1] += float32(q.Sample[s]) / 1000
		case "time":
			v[6*s+1] += float32(q.Time[s]) / 8
		case "noise":
			v[6*s+1] += float32(q.Src[s].Uint64()>>60) / 64 * float32(d.calls)
		case "writes x":
			x[0] = 2
		case "off":
			v[6*s+1] += 2e-4
		case "size of the batch":
			v[6*s+1] += float32(min(n, 2)) * 1e-5
		case "mask":
			v[6*s+2] = 0
		}
	}
	return nil
}

func TestDenoiser(t *testing.T) {
	o := diffusiontest.DenoiserOptions{Joint: pairs}
	require.NoError(t, diffusiontest.TestDenoiser(ctx, &twoTokens{}, o))
	for broken, want := range map[string]string{
		"any length":     "shape: slices of a wrong length do not panic",
		"NaN":            "number: state [1 0]",
		"neighbours":     "batch: state",
		"slots":          "batch: state",
		"time":           "timeless: state",
		"noise":          "pure: state",
		"writes x":       "pure: Denoise changes its batch",
		"mask":           "posterior: p(x_0,0 = ",
		"marginals only": "posterior: ",
		"leaves out":     "posterior: ",
		"another error":  "context: ",
	} {
		t.Run(broken, func(t *testing.T) {
			require.ErrorContains(t, diffusiontest.TestDenoiser(ctx, &twoTokens{broken: broken}, o), want)
		})
	}
	require.EqualError(t, diffusiontest.TestDenoiser(ctx, nil, o), "diffusiontest: d = nil")
}

// A denoiser may be as far off as its options say, and no further.
func TestErrorsOfDenoisersAreBounded(t *testing.T) {
	test := func(broken string, o diffusiontest.DenoiserOptions) error {
		o.Joint = pairs
		return diffusiontest.TestDenoiser(ctx, &twoTokens{broken: broken}, o)
	}
	require.ErrorContains(t, test("off", diffusiontest.DenoiserOptions{}), "posterior: ")
	require.ErrorContains(t, test("off", diffusiontest.DenoiserOptions{Tolerance: 1e-5}), "posterior: ")
	require.NoError(t, test("off", diffusiontest.DenoiserOptions{Tolerance: 1e-3}))
	require.ErrorContains(t, test("size of the batch", diffusiontest.DenoiserOptions{}), "batch: ")
	require.ErrorContains(t, test("size of the batch", diffusiontest.DenoiserOptions{Rounding: 1e-7}), "batch: ")
	require.NoError(t, test("size of the batch", diffusiontest.DenoiserOptions{Rounding: 1e-4}))
	reals := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for i, x := range q.X {
			v[i] = x/2 + float32(len(q.Time))*1e-6
		}
		return nil
	}}
	require.ErrorContains(t, diffusiontest.TestRealDenoiser(ctx, reals, diffusiontest.RealDenoiserOptions{}), "batch: ")
	require.NoError(t, diffusiontest.TestRealDenoiser(ctx, reals, diffusiontest.RealDenoiserOptions{Rounding: 1e-3}))
}

// halves predicts x_0 = x_t/2, or something else.
func halves(shift float32) energy.DenoiserFunc[float32] {
	return energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for i, x := range q.X {
			v[i] = x/2 + shift
		}
		return nil
	}}
}

func half(x []float32, _ float64) []float64 {
	out := make([]float64, len(x))
	for i, y := range x {
		out[i] = float64(y) / 2
	}
	return out
}

func TestRealDenoiser(t *testing.T) {
	require.NoError(t, diffusiontest.TestRealDenoiser(ctx, halves(0), diffusiontest.RealDenoiserOptions{Mean: half}))
	require.ErrorContains(t, diffusiontest.TestRealDenoiser(ctx, halves(0.01), diffusiontest.RealDenoiserOptions{Mean: half}), "posterior: ")
	require.ErrorContains(t, diffusiontest.TestRealDenoiser(ctx, halves(float32(math.Inf(-1))), diffusiontest.RealDenoiserOptions{}), "number: ")
}

// A denoiser of one's own, and the distribution that it knows.
func ExampleDenoiserOptions() {
	fmt.Println(diffusiontest.TestDenoiser(ctx, &twoTokens{}, diffusiontest.DenoiserOptions{Joint: pairs}))
	// Output: <nil>
}

// Means of reals are compared with a formula.
func ExampleRealDenoiserOptions() {
	fmt.Println(diffusiontest.TestRealDenoiser(ctx, halves(0), diffusiontest.RealDenoiserOptions{Mean: half}))
	// Output: <nil>
}
