package activeset_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/activeset"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// covariance returns the covariance of a sum of a few smooth random curves plus
// independent noise of the given variance, which may be 0.
func covariance(rng *rand.Rand, n, curves int, noise float64) []float64 {
	p := make([]float64, n*n)
	for range curves {
		f, phase := rng.Float64(), 2*math.Pi*rng.Float64()
		for i := range n {
			for k := range n {
				p[i*n+k] += math.Sin(f*float64(i)+phase) * math.Sin(f*float64(k)+phase)
			}
		}
	}
	for i := range n {
		p[i*n+i] += noise
	}
	return p
}

// times returns the product with a matrix as a function.
func times(p []float64, n int) func(dst, src []float64) {
	return func(dst, src []float64) {
		for i := range dst {
			dst[i] = 0
			for k, x := range src {
				dst[i] += p[i*n+k] * x
			}
		}
	}
}

// inMetric is what both solvers in a metric do.
type inMetric interface {
	Factor(apply func(dst, src []float64))
	Solve(change, u, v, limit []float64, m int, least float64) activeset.Status
	Conflict() (rows []int, weights []float64)
	Steps() int
}

// metrics are the solvers in a metric.
var metrics = []struct {
	name string
	make func(a activeset.Rows) inMetric
}{
	{"metric", func(a activeset.Rows) inMetric { return activeset.NewMetric(a) }},
	{"gram", func(a activeset.Rows) inMetric { return activeset.NewGram(a) }},
}

func eachMetric(t *testing.T, test func(t *testing.T, create func(a activeset.Rows) inMetric)) {
	for _, m := range metrics {
		t.Run(m.name, func(t *testing.T) { test(t, m.make) })
	}
}

// In any metric the answer satisfies z = v − PAᵀu with multipliers of the right
// sign and rows that hold; also from a neighbour's multipliers, and after P has
// changed.
func TestMetric(t *testing.T) { eachMetric(t, testMetric) }

func testMetric(t *testing.T, create func(a activeset.Rows) inMetric) {
	for number, c := range classes {
		if c.soft || c.name == "scaled" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for k := range 25 {
				rng := rand.New(rand.NewPCG(uint64(number), uint64(k)))
				p := c.make(rng, 2+rng.IntN(40))
				n, m := p.N, len(p.Lo)
				f := create(p.Rows)
				u, change, want := make([]float64, m), make([]float64, n), make([]float64, n)
				for _, noise := range []float64{0.1, 10, 0.01} {
					apply := times(covariance(rng, n, 1+rng.IntN(n), noise), n)
					f.Factor(apply)
					for range 2 {
						what := fmt.Sprintf("problem %d of %d variables, noise %v", k, n, noise)
						require.Equal(t, activeset.Solved, f.Solve(change, u, p.v, p.limit, m, 1), what)
						pull, scale := make([]float64, n), 1.0
						for j, y := range u {
							scale = max(scale, math.Abs(y))
							for e := p.Start[j]; e < p.End[j]; e++ {
								pull[p.Index[e]] -= y * p.Value[e]
							}
						}
						apply(want, pull)
						for i := range change {
							require.InDelta(t, want[i], change[i], 1e-9*scale, what)
							change[i] += p.v[i]
						}
						for j, y := range u {
							at := p.at(j, change)
							require.LessOrEqual(t, at, p.Hi[j]+1e-9, what)
							require.GreaterOrEqual(t, at, p.Lo[j]-1e-9, what)
							if y > 0 {
								require.InDelta(t, p.Hi[j], at, 1e-9, what)
							} else if y < 0 {
								require.InDelta(t, p.Lo[j], at, 1e-9, what)
							}
						}
						for i := range p.v {
							p.v[i] += 0.1 * rng.NormFloat64()
						}
					}
				}
			}
		})
	}
}

// With P = 4I and caps a quarter of what they were the answer is that of the
// identity; with P of rank 1 the point stays on a line.
func TestMetricOfKnownAnswer(t *testing.T) { eachMetric(t, testMetricOfKnownAnswer) }

func testMetricOfKnownAnswer(t *testing.T, create func(a activeset.Rows) inMetric) {
	rng := rand.New(rand.NewPCG(8, 8))
	p := infeasible(rng, 20)
	n, m := p.N, len(p.Lo)
	for j := range p.limit {
		p.limit[j] = 0.8
	}
	x, u := make([]float64, n), make([]float64, m)
	require.Equal(t, activeset.Solved, activeset.New(p.Rows).Solve(x, u, p.v, p.limit, m, 0))
	quarter, change, y := make([]float64, m), make([]float64, n), make([]float64, m)
	for j := range quarter {
		quarter[j] = 0.2
	}
	f := create(p.Rows)
	identity := make([]float64, n*n)
	for i := range n {
		identity[i*n+i] = 4
	}
	f.Factor(times(identity, n))
	require.Equal(t, activeset.Solved, f.Solve(change, y, p.v, quarter, m, 0))
	full := 0
	for j := range u {
		assert.LessOrEqual(t, math.Abs(y[j]), 0.2)
		if math.Abs(y[j]) == 0.2 {
			full++
		}
	}
	assert.Positive(t, full)
	for i := range x {
		assert.InDelta(t, x[i], p.v[i]+change[i], 1e-12)
	}
	apply := times(identity, n)
	assert.Zero(t, testing.AllocsPerRun(5, func() {
		f.Factor(apply)
		f.Solve(change, y, p.v, quarter, m, 0)
	}))

	line := &problem{Rows: activeset.Rows{N: 3}, v: []float64{0, 0, 0}}
	line.row([]int32{0}, []float64{1}, 1, math.Inf(1), math.Inf(1))
	f = create(line.Rows)
	f.Factor(times([]float64{1, 2, 3, 2, 4, 6, 3, 6, 9}, 3))
	require.Equal(t, activeset.Solved, f.Solve(change[:3], y[:1], line.v, line.limit, 1, 0))
	assert.InDeltaSlice(t, []float64{1, 2, 3}, change[:3], 1e-14)
	line.row([]int32{1}, []float64{1}, math.Inf(-1), 1, math.Inf(1))
	f = create(line.Rows)
	f.Factor(times([]float64{1, 2, 3, 2, 4, 6, 3, 6, 9}, 3))
	require.Equal(t, activeset.Infeasible, f.Solve(change[:3], make([]float64, 2), line.v, line.limit, 2, 0))
	rows, weights := f.Conflict()
	assert.ElementsMatch(t, []int{0, 1}, rows)
	for k, j := range rows { // on the line the second entry is twice the first
		assert.InDelta(t, []float64{-2, 1}[j], weights[k]/max(weights[0], weights[1]), 1e-12)
	}
}
