package resample_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/stretchr/testify/assert"
)

// Every particle gets its expected number of copies rounded up or down, whatever
// the point, and on average just that; weight zero gets none.
func TestSystematic(t *testing.T) {
	w := []float64{0, math.Log(2), math.Inf(-1), math.Log(0.5), math.Log(1.5)}
	want := []float64{1, 2, 0, 0.5, 1.5}
	mean, picks := make([]float64, 5), make([]float64, 5)
	const points = 1000
	for k := range points {
		u := (float64(k) + 0.5) / points
		count := make([]int, 5)
		resample.Systematic(count, w, u)
		sum := 0
		for j, c := range count {
			assert.LessOrEqual(t, math.Abs(float64(c)-want[j]), 0.999999)
			mean[j] += float64(c) / points
			sum += c
		}
		assert.Equal(t, 5, sum)
		picks[resample.ByWeight(w, u)] += 5.0 / points
	}
	assert.InDeltaSlice(t, want, mean, 1e-9)
	assert.InDeltaSlice(t, want, picks, 5.0/points+1e-9)
	top, sum, squares := resample.Moments(w)
	assert.Equal(t, math.Log(2), top)
	assert.InDelta(t, 2.5, sum, 1e-15)
	assert.InDelta(t, (1+4+0.25+2.25)/4, squares, 1e-15)
}

// The cap leaves exactly the excess that is allowed.
func TestLeastCap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		w := make([]float64, 1+r.IntN(40))
		total := 0.0
		for i := range w {
			w[i] = 3 * r.NormFloat64()
			if r.IntN(3) == 0 && i > 0 {
				w[i] = math.Inf(-1)
			}
			total += math.Exp(w[i])
		}
		allowed := r.Float64()
		c := math.Exp(resample.LeastCap(w, allowed))
		over := 0.0
		for _, l := range w {
			over += max(0, math.Exp(l)-c)
		}
		assert.InEpsilon(t, allowed*total, over, 1e-9)
	}
	logs := []float64{math.Log(5), math.Inf(-1), math.Log(3), math.Log(2)}
	assert.InDelta(t, math.Log(2), resample.LeastCap(logs, .4), 1e-12)
	assert.InDelta(t, math.Log(4.9), resample.LeastCap(logs, .01), 1e-12)
	assert.InDelta(t, 0, resample.LeastCap([]float64{0, 0, 0}, 1e-12), 1e-9)
	assert.Equal(t, math.Log(5), logs[0], "in the order that they were given in")
}

// Every particle that is to be none takes the place of one that is to be more.
func TestSpread(t *testing.T) {
	count, particles := []int{0, 3, 0, 1, 2, 0}, []int{10, 11, 12, 13, 14, 15}
	resample.Spread(count, func(none, more int) { particles[none] = particles[more] })
	assert.Equal(t, []int{0, 1, 0, 1, 1, 0}, count, "what is left of the copies")
	assert.Equal(t, []int{11, 11, 11, 13, 14, 14}, particles)
}
