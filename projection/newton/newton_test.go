package newton

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// system is equations of any kind; at and slope are those of equation j.
type system struct {
	m     int
	at    func(j int, z []float64) float64
	slope func(dst []float64, j int, z []float64)
}

func (s system) Len() int { return s.m }

func (s system) Eval(g, z []float64) {
	for j := range g {
		g[j] = s.at(j, z)
	}
}

func (s system) Gradient(dst []float64, j int, z []float64) { s.slope(dst, j, z) }

// linear is Az = b with random A, row-major.
func linear(m, n int, seed uint64) (s system, a, b []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	a, b = make([]float64, m*n), make([]float64, m)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	for j := range b {
		b[j] = r.NormFloat64()
	}
	return system{m,
		func(j int, z []float64) float64 { return simd.Dot64(a[j*n:(j+1)*n], z) - b[j] },
		func(dst []float64, j int, _ []float64) { copy(dst, a[j*n:(j+1)*n]) },
	}, a, b
}

// curved has the equations of energies and products that conservation laws lead to:
// Σz² = n, Σz³ = c, z_0·z_1 = ½ and a sum, as many as asked for.
func curved(m, n int) system {
	return system{m, func(j int, z []float64) float64 {
		s := 0.0
		for _, x := range z {
			s += [4]float64{x * x, 0, 0, x}[j]
			if j == 1 {
				s += x * x * x
			}
		}
		return s - [4]float64{float64(n), 0.3, 0, 0.7}[j] + [4]float64{0, 0, z[0]*z[1] - 0.5, 0}[j]
	}, func(dst []float64, j int, z []float64) {
		for i, x := range z {
			dst[i] = [4]float64{2 * x, 3 * x * x, 0, 1}[j]
		}
		if j == 2 {
			dst[0], dst[1] = z[1], z[0]
		}
	}}
}

// Of linear equations one step is the nearest solution, which leaves nothing along the
// rows and moves along nothing else; so is Solve.
func TestLinearEquations(t *testing.T) {
	for _, n := range []int{1, 5, 40} {
		for _, m := range []int{1, (n + 1) / 2, n} {
			f, a, _ := linear(m, n, uint64(100*n+m))
			s := exact.Must(Projector{Equations: f}.Compile(n))
			v, z, again := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range v {
				v[i] = 3 * math.Sin(float64(7*i+1))
			}
			_, err := s.Step(z, v)
			require.NoError(t, err)
			require.NoError(t, s.Solve(again, v))
			assert.InDeltaSlice(t, z, again, 1e-7)
			for j := range m {
				assert.InDelta(t, 0, f.at(j, again), 1e-10)
			}
			// v − z is a combination of the rows: projecting it onto them keeps it.
			b := newBasis(n, m)
			for j := range m {
				copy(b.next(), a[j*n:(j+1)*n])
				b.add(j)
			}
			move := make([]float64, n)
			for k := range b.pivot {
				q := b.q[k*n : (k+1)*n]
				c := 0.0
				for i := range v {
					c += q[i] * (v[i] - z[i])
				}
				for i := range move {
					move[i] += c * q[i]
				}
			}
			for i := range v {
				assert.InDelta(t, v[i]-z[i], move[i], 1e-9)
			}
		}
	}
}

// The nearest point of a sphere is where the ray meets it, however far it is.
func TestSphere(t *testing.T) {
	sphere := curved(1, 3) // radius √3
	s := exact.Must(Projector{Equations: sphere}.Compile(3))
	for _, v := range [][]float64{{1, 2, 2}, {-30, 0.1, 4}, {0.01, 0.02, -0.01}, {1, 1, 1}} {
		z := append([]float64(nil), v...)
		require.NoError(t, s.Solve(z, z), "%v", v)
		norm := math.Sqrt(simd.Dot64(v, v) / 3)
		for i := range v {
			assert.InDelta(t, v[i]/norm, z[i], 1e-6)
		}
		assert.InDelta(t, 3, simd.Dot64(z, z), 1e-9)
	}
}

// Curved equations hold to 1e-9, and the move is along their gradients: the answer is
// stationary. From the answer no random move along the set comes nearer.
func TestCurvedEquations(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n = 12
	for trial := range 300 {
		m := 1 + trial%4
		f := curved(m, n)
		s := exact.Must(Projector{Equations: f}.Compile(n))
		v, z := make([]float64, n), make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		require.NoError(t, s.Solve(z, v), "trial %d", trial)
		b := newBasis(n, m)
		for j := range m {
			require.InDelta(t, 0, f.at(j, z), 1e-9)
			f.slope(b.next(), j, z)
			b.add(j)
		}
		rest := make([]float64, n)
		for i := range v {
			rest[i] = v[i] - z[i]
		}
		for k := range b.pivot {
			q := b.q[k*n : (k+1)*n]
			c := simd.Dot64(q, rest)
			for i := range rest {
				rest[i] -= c * q[i]
			}
		}
		require.Less(t, math.Sqrt(simd.Dot64(rest, rest)), 1e-6, "trial %d: the move is not along the gradients", trial)
	}
}

// Equations said twice change nothing; those that exclude each other are an error.
func TestDependentAndImpossibleEquations(t *testing.T) {
	f, _, _ := linear(2, 6, 3)
	twice := system{4, func(j int, z []float64) float64 { return float64(1+j/2) * f.at(j%2, z) }, func(dst []float64, j int, z []float64) {
		f.slope(dst, j%2, z)
		for i := range dst {
			dst[i] *= float64(1 + j/2)
		}
	}}
	v := []float64{1, -2, 3, 0.5, 0, 1}
	one, two := make([]float64, 6), make([]float64, 6)
	require.NoError(t, exact.Must(Projector{Equations: f}.Compile(6)).Solve(one, v))
	require.NoError(t, exact.Must(Projector{Equations: twice}.Compile(6)).Solve(two, v))
	assert.InDeltaSlice(t, one, two, 1e-9)

	never := system{1, func(_ int, z []float64) float64 { return 1 + simd.Dot64(z, z) }, func(dst []float64, _ int, z []float64) {
		for i, x := range z {
			dst[i] = 2 * x
		}
	}}
	err := exact.Must(Projector{Equations: never}.Compile(6)).Solve(one, v)
	var not *projection.NotConverged
	require.ErrorAs(t, err, &not)
	assert.Equal(t, "newton", not.Method)
	both := system{2, func(j int, z []float64) float64 { return z[0] - float64(j) }, func(dst []float64, _ int, _ []float64) {
		clear(dst)
		dst[0] = 1
	}}
	assert.ErrorAs(t, exact.Must(Projector{Equations: both}.Compile(6)).Solve(one, v), &not)
}

func TestErrors(t *testing.T) {
	f, _, _ := linear(2, 3, 1)
	ctx := context.Background()
	var none constraint.Curved
	for want, err := range map[string]error{
		"newton: Projector.Equations is nil":                      exact.Error(Projector{Equations: none}.Compile(3)),
		"newton: n = 0, want ≥ 1":                                 exact.Error(Projector{Equations: f}.Compile(0)),
		"newton: 2 equations, want 1 … 1, the entries of a state": exact.Error(Projector{Equations: f}.Compile(1)),
		"newton: Projector.Tolerance = -1, want finite and ≥ 0":   exact.Error(Projector{Equations: f, Tolerance: -1}.Compile(3)),
		"newton: levels = 2, samples = 1, want 1 and ≥ 1":         exact.Error(Projector{Equations: f}.Bind(ctx, 3, 2, 1)),
		"newton: v[1] = NaN, want finite":                         exact.Must(Projector{Equations: f}.Compile(3)).Solve(make([]float64, 3), []float64{0, math.NaN(), 0}),
	} {
		assert.EqualError(t, err, want)
	}
	steep := system{1, func(_ int, z []float64) float64 { return z[0] }, func(dst []float64, _ int, _ []float64) { dst[0] = math.Inf(1) }}
	s := exact.Must(Projector{Equations: steep}.Compile(1))
	z := []float64{7}
	_, err := s.Step(z, []float64{1})
	assert.EqualError(t, err, "newton: entry 0 of the gradient of equation 0 is +Inf, want finite")
	assert.ErrorAs(t, s.Solve(z, []float64{1}), new(*projection.NotConverged))
	wild := system{1, func(int, []float64) float64 { return math.NaN() }, func(dst []float64, _ int, _ []float64) { dst[0] = 1 }}
	_, err = exact.Must(Projector{Equations: wild}.Compile(1)).Step(z, []float64{1})
	assert.EqualError(t, err, "newton: equation 0 is NaN at v, want finite")
}

// A projection makes a step on the way and solves at the end, allocating nothing.
func TestProjection(t *testing.T) {
	f := curved(2, 8)
	p := exact.Must(Projector{Equations: f}.Bind(context.Background(), 8, 1, 2))
	v := []float32{1, -2, 0.5, 1, 0.25, -1, 0, 1}
	one := append([]float32(nil), v...)
	was, err := p.Project(context.Background(), 0, one, 0.5, 0.25, nil)
	require.NoError(t, err)
	assert.Greater(t, was, 0.1)
	wide := make([]float64, 8)
	for i, x := range v {
		wide[i] = float64(x)
	}
	_, err = exact.Must(Projector{Equations: f}.Compile(8)).Step(wide, wide)
	require.NoError(t, err)
	for i, x := range wide {
		assert.Equal(t, float32(x), one[i])
	}
	left, err := p.Project(context.Background(), 1, v, 0.25, 0, nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, left, 1e-9)
	exact.Steady(t, "Project", func() { _, _ = p.Project(context.Background(), 1, v, 0.25, 0, nil) })
}
