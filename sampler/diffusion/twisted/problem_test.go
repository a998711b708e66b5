package twisted_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// mixture is a random mixture of full Gaussians, and rows: the means differ across
// the rows more than along them, so that the rows leave several components in play.
type mixture struct {
	n, rows     int
	weight      []float64
	mean, cov   [][]float64
	law         *continuous.Mixture
	a           *mat.Dense
	value       []float64
	set         constraint.Slabs
	conditional *continuous.Mixture
}

// newMixture draws a mixture and, of 100 points of it, takes the values of the one
// that leaves most components in play.
func newMixture(t testing.TB, seed uint64, n, components, rows int, apart float64) *mixture {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	m := &mixture{n: n, rows: rows, a: mat.NewDense(rows, n, nil)}
	for i := range rows {
		for j := range n {
			m.a.Set(i, j, rng.NormFloat64())
		}
	}
	total := 0.0
	for range components {
		mean := mat.NewVecDense(n, nil)
		for i := range n {
			mean.SetVec(i, apart*rng.NormFloat64())
		}
		var gram, pull mat.Dense
		var am, in, back mat.VecDense
		gram.Mul(m.a, m.a.T())
		am.MulVec(m.a, mean)
		require.NoError(t, in.SolveVec(&gram, &am))
		back.MulVec(m.a.T(), &in)
		mean.AddScaledVec(mean, -0.7, &back)
		pull.CloneFrom(m.a)
		w := 0.0
		for range 3 { // Dirichlet(3, …, 3)
			w += rng.ExpFloat64()
		}
		total += w
		m.weight = append(m.weight, w)
		m.mean = append(m.mean, mean.RawVector().Data)
		m.cov = append(m.cov, covariance(rng, n))
	}
	for k := range m.weight {
		m.weight[k] /= total
	}
	var err error
	m.law, err = continuous.NewMixture(m.weight, m.mean, m.cov)
	require.NoError(t, err)
	best := math.Inf(-1)
	x := make([]float32, n)
	for range 100 {
		m.law.Draw(x, rng)
		values := m.values(x)
		given, _, err := m.law.Where(m.a.RawMatrix().Data, values)
		require.NoError(t, err)
		entropy := 0.0
		for k := range given.Components() {
			w := given.Component(k, make([]float64, n))
			entropy -= w * math.Log(w+1e-300)
		}
		if entropy > best {
			best, m.value, m.conditional = entropy, values, given
		}
	}
	m.set = constraint.Slabs{A: constraint.Rows(m.a.RawMatrix().Data, n), Lower: m.value, Upper: m.value}
	return m
}

// covariance has eigenvalues from .05 to 1 and random eigenvectors.
func covariance(rng *rand.Rand, n int) []float64 {
	g := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			g.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(g)
	var q, scaled, c mat.Dense
	qr.QTo(&q)
	scaled.CloneFrom(&q)
	for j := range n {
		v := math.Exp(math.Log(0.05) * rng.Float64())
		for i := range n {
			scaled.Set(i, j, v*q.At(i, j))
		}
	}
	c.Mul(&scaled, q.T())
	for i := range n {
		for j := range i {
			c.Set(i, j, c.At(j, i))
		}
	}
	return c.RawMatrix().Data
}

// values returns A·x.
func (m *mixture) values(x []float32) []float64 {
	out := make([]float64, m.rows)
	for j := range out {
		for i, v := range x {
			out[j] += m.a.At(j, i) * float64(v)
		}
	}
	return out
}

// bound adds inequalities to the rows, each of which the given share of what is left
// satisfies.
func (m *mixture) bound(count int, share float64) {
	rng := rand.New(rand.NewPCG(uint64(count), 5))
	for range count {
		row := make([]float64, m.n)
		for i := range row {
			row[i] = rng.NormFloat64()
		}
		const sample = 20000
		x, at := m.exactly(make([]float32, sample*m.n), 999), make([]float64, sample)
		for k := range at {
			for i, a := range row {
				at[k] += a * float64(x[k*m.n+i])
			}
		}
		slices.Sort(at)
		m.set.A = append(m.set.A, constraint.Rows(row, m.n)...)
		m.set.Lower, m.set.Upper = append(m.set.Lower, math.Inf(-1)), append(m.set.Upper, at[int(share*sample)])
	}
}

// holds reports whether x satisfies the inequalities.
func (m *mixture) holds(x []float32) bool {
	for j := m.rows; j < len(m.set.A); j++ {
		sum := 0.0
		for k, i := range m.set.A[j].Index {
			sum += m.set.A[j].Value[k] * float64(x[i])
		}
		if sum > m.set.Upper[j] {
			return false
		}
	}
	return true
}

// exactly fills x with exact draws that satisfy the inequalities.
func (m *mixture) exactly(x []float32, seed uint64) []float32 {
	src := rand.NewPCG(seed, 77)
	for at := 0; at < len(x); at += m.n {
		for {
			m.conditional.Draw(x[at:at+m.n], src)
			if m.holds(x[at : at+m.n]) {
				break
			}
		}
	}
	return x
}

// spread returns the mean distance between the points of x and those of y.
func spread(x, y []float32, n int) float64 {
	const block = 256
	square := func(x []float32) []float32 {
		out := make([]float32, len(x)/n)
		for i, v := range x {
			out[i/n] += v * v
		}
		return out
	}
	xx, yy := square(x), square(y)
	g := make([]float32, block*len(yy))
	sum := 0.0
	for from := 0; from < len(xx); from += block {
		to := min(from+block, len(xx))
		clear(g)
		simd.GemmT(g[:(to-from)*len(yy)], x[from*n:to*n], y, to-from, len(yy), n)
		for i := from; i < to; i++ {
			part := float32(0)
			for j, v := range g[(i-from)*len(yy) : (i-from+1)*len(yy)] {
				part += float32(math.Sqrt(float64(max(0, xx[i]+yy[j]-2*v))))
				if j&255 == 255 {
					sum += float64(part)
					part = 0
				}
			}
			sum += float64(part)
		}
	}
	return sum / float64(len(xx)) / float64(len(yy))
}

// truth is a set of exact draws that samples are compared with.
type truth struct {
	n    int
	y    []float32
	self float64
}

func newTruth(y []float32, n int) *truth { return &truth{n, y, spread(y, y, n)} }

// distance is the energy distance 2E|X−Y| − E|X−X′| − E|Y−Y′|.
func (t *truth) distance(x []float32) float64 {
	return 2*spread(x, t.y, t.n) - spread(x, x, t.n) - t.self
}

// truly returns the weights of the components of the conditional mixture or, under
// inequalities, what they are in exact draws.
func (m *mixture) truly(t testing.TB) []float64 {
	t.Helper()
	if len(m.set.A) > m.rows {
		mean, _ := m.shares(t, m.exactly(make([]float32, 200000*m.n), 98))
		return mean
	}
	_, weights := m.shares(t, make([]float32, m.n))
	return weights
}

// apart returns the total variation between two distributions.
func apart(p, q []float64) float64 {
	off := 0.0
	for c, w := range p {
		off += math.Abs(q[c]-w) / 2
	}
	return off
}

// shares returns the mean responsibilities of the components of the conditional
// mixture, and its weights. They are taken in the null space of the rows, where it has
// densities.
func (m *mixture) shares(t testing.TB, x []float32) (mean, weights []float64) {
	t.Helper()
	var svd mat.SVD
	require.True(t, svd.Factorize(m.a, mat.SVDFullV))
	var v mat.Dense
	svd.VTo(&v)
	free := m.n - m.rows
	null := v.Slice(0, m.n, m.rows, m.n)
	down := func(x []float64) []float64 {
		var y mat.VecDense
		y.MulVec(null.T(), mat.NewVecDense(m.n, x))
		return y.RawVector().Data
	}
	k := m.conditional.Components()
	weights = make([]float64, k)
	parts := make([]*continuous.Mixture, k)
	for c := range k {
		mean, cov := make([]float64, m.n), make([]float64, free*free)
		weights[c] = m.conditional.Component(c, mean)
		for j := range free {
			col, out := make([]float64, m.n), make([]float64, m.n)
			for i := range m.n {
				col[i] = null.At(i, j)
			}
			m.conditional.Covariance(c, out, col)
			for i, w := range down(out) {
				cov[i*free+j] = w
			}
		}
		for i := range free {
			for j := range i {
				cov[i*free+j] = cov[j*free+i]
			}
		}
		var err error
		parts[c], err = continuous.NewMixture([]float64{1}, [][]float64{down(mean)}, [][]float64{cov})
		require.NoError(t, err)
	}
	mean = make([]float64, k)
	p, e := make([]float64, k), make([]float64, 1)
	wide, y := make([]float64, m.n), make([]float32, free)
	for at := 0; at < len(x); at += m.n {
		for i := range wide {
			wide[i] = float64(x[at+i])
		}
		for i, w := range down(wide) {
			y[i] = float32(w)
		}
		total := 0.0
		for c, part := range parts {
			part.Energy(e, y)
			p[c] = weights[c] * math.Exp(-e[0])
			total += p[c]
		}
		for c := range p {
			mean[c] += p[c] / total * float64(m.n) / float64(len(x))
		}
	}
	return mean, weights
}
