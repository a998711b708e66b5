package continuous

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Moments describes x_0 given x_t = √ᾱ·x_0 + √(1−ᾱ)·ε: it stores the mean
// E[x_0 | x_t] in mean, the products C·r_j of its covariance C = Cov[x_0 | x_t]
// with the rows of rows (any number × Sites, row-major) in product, of the same
// length, and returns the trace of C. It panics where lengths do not fit, and
// wants 0 ≤ ᾱ < 1. A call costs 2·Sites² operations per component and row with
// full covariances, Sites with diagonal ones.
func (m *Mixture) Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64) {
	n := m.sites
	check.Len("continuous", "mean", len(mean), n)
	check.Len("continuous", "product", len(product), len(rows))
	check.Len("continuous", "x", len(x), n)
	q := check.Rows("continuous", "rows", len(rows), n)
	b := scratch.Float64s.Get(len(m.mean) + len(m.logw) + 3*n)
	defer scratch.Float64s.Put(b)
	centre, p := (*b)[:len(m.mean)], (*b)[len(m.mean):len(m.mean)+len(m.logw)]
	work := (*b)[len(m.mean)+len(m.logw):]
	m.explain(centre, p, x, alpha, work)
	clear(mean)
	for k, w := range p {
		for i, c := range centre[k*n : (k+1)*n] {
			mean[i] += float64(w * c)
		}
	}
	clear(product)
	variance, along := work[:n], work[n:2*n]
	for k, w := range p {
		if w < negligible {
			continue
		}
		off := centre[k*n : (k+1)*n]
		m.remaining(variance, k, alpha)
		for i := range off {
			off[i] -= mean[i]
			trace += float64(w * (variance[i] + float64(off[i]*off[i])))
		}
		for j := range q {
			row, dst := rows[j*n:(j+1)*n], product[j*n:(j+1)*n]
			s := float64(w * simd.Dot64(off, row))
			for i, d := range off {
				dst[i] += float64(s * d)
			}
			m.spread(dst, row, along, variance, k, w)
		}
	}
	return trace
}

// negligible is the weight of a component that is below the rounding error of
// the others.
const negligible = 0x1p-70

// DrawPosterior stores in x0 a draw of x_0 given x_t for every state of x, under
// the noise of [Mixture.Posterior], with alpha[s] = ᾱ of state s and random
// numbers of src[s]. It panics where lengths do not fit or a source is nil. x0 may
// be x.
func (m *Mixture) DrawPosterior(x0, x []float32, alpha []float64, src []rand.Source) {
	n := m.sites
	check.Len("continuous", "x0", len(x0), len(x))
	check.Len("continuous", "x", len(x), len(alpha)*n)
	check.Len("continuous", "src", len(src), len(alpha))
	for s := range src {
		if check.Nil(src[s]) {
			check.Must("continuous: Mixture: DrawPosterior", fmt.Sprintf("src[%d]", s), src[s])
		}
	}
	b := scratch.Float64s.Get(len(m.mean) + len(m.logw) + 3*n)
	defer scratch.Float64s.Put(b)
	centre, p := (*b)[:len(m.mean)], (*b)[len(m.mean):len(m.mean)+len(m.logw)]
	work := (*b)[len(m.mean)+len(m.logw):]
	for s, a := range alpha {
		m.explain(centre, p, x[s*n:(s+1)*n], a, work)
		u := float64(src[s].Uint64()>>11) * 0x1p-53
		k := 0
		for ; k < len(p)-1; k++ {
			if u -= p[k]; u < 0 {
				break
			}
		}
		m.remaining(work[:n], k, a)
		m.scatter(x0[s*n:(s+1)*n], centre[k*n:(k+1)*n], work[:n], k, src[s])
	}
}

// explain stores the mean of x_0 given x_t and each component in centre, and the
// probabilities of the components in p. work has 3·sites entries.
func (m *Mixture) explain(centre, p []float64, x []float32, alpha float64, work []float64) {
	n, signal := m.sites, math.Sqrt(alpha)
	for k := range p {
		dst, own := centre[k*n:(k+1)*n], m.mean[k*n:(k+1)*n]
		p[k] = m.logw[k]
		if m.full != nil {
			p[k] += m.full[k].posterior(dst, own, x, alpha, work)
			continue
		}
		// Differences to the first component: far from all of them its own terms
		// would round away what tells components apart.
		first := work[:n]
		for i, v := range m.v[k*n : (k+1)*n] {
			d := float64(x[i]) - float64(signal*own[i])
			total := float64(alpha*v) + (1 - alpha)
			term := simd.Log(total) + float64(d*d)/total
			if k == 0 {
				first[i] = term
			}
			p[k] -= float64((term - first[i]) / 2)
			dst[i] = own[i] + float64(float64(signal*v)/total*d)
		}
	}
	softmax(p)
}

// remaining stores the variances of x_0 given x_t and component k, along its
// eigenvectors or, if covariances are diagonal, its coordinates.
func (m *Mixture) remaining(dst []float64, k int, alpha float64) {
	prior := m.v[k*m.sites : (k+1)*m.sites]
	if m.full != nil {
		prior = m.full[k].lambda
	}
	for i, v := range prior {
		dst[i] = float64((1-alpha)*v) / (float64(alpha*v) + (1 - alpha))
	}
}

// spread adds w·C·row to dst, with C the covariance of component k that has the
// given variances.
func (m *Mixture) spread(dst, row, along, variance []float64, k int, w float64) {
	if m.full == nil {
		for i, v := range variance {
			dst[i] += float64(float64(w*v) * row[i])
		}
		return
	}
	basis := m.full[k].vector.RawMatrix()
	clear(along)
	for i, x := range row {
		if x == 0 {
			continue
		}
		for j, v := range basis.Data[i*basis.Stride : i*basis.Stride+len(along)] {
			along[j] += float64(x * v)
		}
	}
	for j, v := range variance {
		along[j] *= float64(w * v)
	}
	for i := range dst {
		dst[i] += simd.Dot64(basis.Data[i*basis.Stride:i*basis.Stride+len(along)], along)
	}
}

// scatter stores in x a draw of the normal distribution around centre with the
// given variances along the axes of component k.
func (m *Mixture) scatter(x []float32, centre, variance []float64, k int, src rand.Source) {
	var basis []float64
	stride := 0
	if m.full != nil {
		raw := m.full[k].vector.RawMatrix()
		basis, stride = raw.Data, raw.Stride
	}
	spare := 0.0
	for j, v := range variance {
		z := spare
		if j%2 == 0 {
			z, spare = normal.Pair(src)
		}
		z = float64(math.Sqrt(v) * z)
		if basis == nil {
			centre[j] += z
			continue
		}
		for i := range centre {
			centre[i] += float64(basis[i*stride+j] * z)
		}
	}
	for i, c := range centre {
		x[i] = float32(c)
	}
}
