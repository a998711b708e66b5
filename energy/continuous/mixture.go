package continuous

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"gonum.org/v1/gonum/mat"
)

// Mixture is a mixture of Gaussians with weights w_k, means m_k and covariances C_k. Its density is
// Σ_k w_k N(m_k, C_k) on ℝⁿ. The energy is −log density, so log Z = 0.
//
// The tilted mixture ([Mixture.Tilt]), the posterior mean given a noisy state ([Mixture.Posterior])
// and conditioning ([Mixture.Given]) are exact. Evaluating a component takes n operations if its
// covariance is diagonal ([NewDiagonal]), and n² if it is full ([NewMixture]). Results with full
// covariances may differ in the last bits between GOARCHs.
//
// A full covariance may be singular. Such a mixture has no density: Energy and Score are NaN, and
// all other methods work.
//
// A Mixture is an [energy.Scored]. It is immutable and safe for concurrent use.
type Mixture struct {
	sites      int
	logw       []float64       // log-weight of each component
	mean       []float64       // means, components × sites
	v          []float64       // diagonals of the covariances, components × sites
	halfLogDet []float64       // ½ log det 2πC per component; NaN if C is singular
	cov        []*mat.SymDense // full covariance of each component; nil if covariances are diagonal
	// Diagonalised covariance of each component; nil if covariances are diagonal.
	full []*component
	rows padded // padded means and variances; used if covariances are diagonal
}

var _ energy.Scored = (*Mixture)(nil)

// NewDiagonal returns the mixture of Gaussians with the given weights, means and diagonal
// covariances. Weights must be > 0 and need not add up to 1. The means are components × sites
// numbers, row-major. The variances have the same layout, or there is one per component. The
// arguments are copied.
//
// NewDiagonal returns an error if lengths do not fit, a weight or variance is not positive, or a
// number is not finite.
func NewDiagonal(weights, means, variances []float64) (*Mixture, error) {
	const name = "NewDiagonal"
	k := len(weights)
	if k == 0 || len(means) == 0 || len(means)%k != 0 {
		return nil, fmt.Errorf("continuous: %s: %d weights and %d means, want a positive multiple", name, k, len(means))
	}
	if len(variances) != k && len(variances) != len(means) {
		return nil, fmt.Errorf("continuous: %s: len(variances) = %d, want %d or %d", name, len(variances), k, len(means))
	}
	if err := checkFinite(name, "means", means); err != nil {
		return nil, err
	}
	for i, v := range variances {
		if !(v > 0) || !check.Finite(v) {
			return nil, fmt.Errorf("continuous: %s: variances[%d] = %v, want a finite number > 0", name, i, v)
		}
	}
	m, err := newMixture(name, weights, len(means)/k)
	if err != nil {
		return nil, err
	}
	copy(m.mean, means)
	for at := range m.v {
		m.v[at] = variances[at*len(variances)/len(means)]
		m.halfLogDet[at/m.sites] += float64(0.5 * simd.Log(2*math.Pi*m.v[at]))
	}
	m.rows = newPadded(m.mean, m.v, m.sites)
	return m, nil
}

// NewMixture returns the mixture of Gaussians Σ_k w_k N(means[k], covs[k]). Each covariance is an n
// × n matrix, row-major. The weights w_k must be > 0 and need not add up to 1. All arguments are
// copied.
//
// NewMixture returns an error if there is no component, a length does not fit, or a number is not
// finite. It also returns an error if a covariance is not symmetric up to rounding, or has an
// eigenvalue below −1e-9 times the largest.
func NewMixture(weights []float64, means, covs [][]float64) (*Mixture, error) {
	const name = "NewMixture"
	if len(weights) == 0 || len(means) != len(weights) || len(covs) != len(weights) {
		return nil, fmt.Errorf("continuous: %s: %d weights, %d means and %d covariances, want the same number ≥ 1", name, len(weights), len(means), len(covs))
	}
	n := len(means[0])
	if n == 0 {
		return nil, fmt.Errorf("continuous: %s: len(means[0]) = 0, want ≥ 1", name)
	}
	m, err := newMixture(name, weights, n)
	if err != nil {
		return nil, err
	}
	for k, mean := range means {
		if len(mean) != n || len(covs[k]) != n*n {
			return nil, fmt.Errorf("continuous: %s: component %d has %d means and %d covariances, want %d and %d", name, k, len(mean), len(covs[k]), n, n*n)
		}
		if err := checkFinite(name, fmt.Sprintf("means[%d]", k), mean); err != nil {
			return nil, err
		}
		copy(m.mean[k*n:], mean)
		cov, err := symmetric(covs[k], n)
		if err != nil {
			return nil, fmt.Errorf("continuous: %s: covs[%d] %w", name, k, err)
		}
		c, err := newComponent(cov, nil)
		if err != nil {
			return nil, fmt.Errorf("continuous: %s: component %d: %w", name, k, err)
		}
		for i := range n {
			m.v[k*n+i] = cov.At(i, i)
		}
		m.cov, m.full = append(m.cov, cov), append(m.full, c)
		m.halfLogDet[k] = c.halfLogDet()
	}
	return m, nil
}

// newMixture returns a mixture with the given weights and space for means and variances.
func newMixture(caller string, weights []float64, sites int) (*Mixture, error) {
	k := len(weights)
	m := &Mixture{sites: sites, logw: make([]float64, k), mean: make([]float64, k*sites), v: make([]float64, k*sites), halfLogDet: make([]float64, k)}
	sum := 0.0
	for i, w := range weights {
		if !(w > 0) || !check.Finite(w) {
			return nil, fmt.Errorf("continuous: %s: weights[%d] = %v, want a finite number > 0", caller, i, w)
		}
		sum += w
	}
	for c, w := range weights {
		m.logw[c] = simd.Log(w / sum)
	}
	return m, nil
}

// symmetric returns the n × n matrix a, or an error if it is not symmetric up to rounding.
func symmetric(a []float64, n int) (*mat.SymDense, error) {
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range n {
			v, w := a[i*n+j], a[j*n+i]
			// A product that is computed in two orders may be asymmetric by rounding; the
			// tolerance is 1e-12 of the variances.
			if tol := 1e-12 * math.Sqrt(math.Abs(a[i*n+i]*a[j*n+j])); !check.Finite(v) || math.Abs(v-w) > tol {
				return nil, fmt.Errorf("has %v at (%d, %d) and %v at (%d, %d), want finite and equal", v, i, j, w, j, i)
			}
			s.SetSym(i, j, v)
		}
	}
	return s, nil
}

// Sites returns the number of coordinates.
func (m *Mixture) Sites() int { return m.sites }

// Components returns the number of Gaussians in the mixture.
func (m *Mixture) Components() int { return len(m.logw) }

// Component stores the mean of component k in the slice mean and returns the component's weight. It
// panics if k is out of range or mean does not have one entry per coordinate.
func (m *Mixture) Component(k int, mean []float64) (weight float64) {
	check.Index("continuous", "component", k, len(m.logw))
	check.Len("continuous", "mean", len(mean), m.sites)
	copy(mean, m.mean[k*m.sites:(k+1)*m.sites])
	return simd.Exp(m.logw[k])
}

// Covariance stores in dst the product C_k·v, where C_k is the covariance of component k. The
// slices must not overlap. Covariance panics if k is out of range or a slice does not have one
// entry per coordinate.
func (m *Mixture) Covariance(k int, dst, v []float64) {
	check.Index("continuous", "component", k, len(m.logw))
	check.Len("continuous", "dst", len(dst), m.sites)
	check.Len("continuous", "v", len(v), m.sites)
	for i := range dst {
		dst[i] = m.product(k, i, v)
	}
}

// product returns entry i of C_k·v.
func (m *Mixture) product(k, i int, v []float64) float64 {
	if m.cov == nil {
		return float64(m.v[k*m.sites+i] * v[i])
	}
	sum := 0.0
	for j, vj := range v {
		sum += float64(m.cov[k].At(i, j) * vj)
	}
	return sum
}

// Tilt returns the distribution ∝ p(x)·exp(tᵀx), where p is the density of the mixture. It is a
// mixture with the same covariances, the means m_k + C_k·t and the weights
//
//	w_k·exp(tᵀm_k + ½tᵀC_k·t),
//
// where w_k, m_k and C_k are the weights, means and covariances of p. The result logZ is log
// E_p[exp(tᵀx)]. The entries of t must be finite. Tilt panics unless t has one entry per
// coordinate.
func (m *Mixture) Tilt(t []float64) (tilted *Mixture, logZ float64) {
	check.Len("continuous", "t", len(t), m.sites)
	c := *m
	c.mean, c.logw = slices.Clone(m.mean), slices.Clone(m.logw)
	logZ = m.tilt(c.logw, c.mean, t)
	for k := range c.logw {
		c.logw[k] -= logZ
	}
	if c.full == nil {
		c.rows = newPadded(c.mean, c.v, c.sites)
	}
	return &c, logZ
}

// tilt changes log-weights and means to those of the mixture tilted by t, without normalising the
// weights. It returns the log of the sum of the weights.
func (m *Mixture) tilt(logw, mean, t []float64) float64 {
	top := math.Inf(-1)
	for k := range logw {
		sum := 0.0
		for i, ti := range t {
			at, shift := k*m.sites+i, m.product(k, i, t)
			sum += float64(ti * (m.mean[at] + float64(0.5*shift)))
			mean[at] += shift
		}
		logw[k] += sum
		top = max(top, logw[k])
	}
	sum := 0.0
	for _, w := range logw {
		sum += simd.Exp(w - top)
	}
	return top + simd.Log(sum)
}

// Mean stores the mean E[x] in dst. It panics unless dst has one entry per coordinate.
func (m *Mixture) Mean(dst []float64) {
	check.Len("continuous", "dst", len(dst), m.sites)
	clear(dst)
	for k, w := range m.logw {
		p := simd.Exp(w)
		for i := range dst {
			dst[i] += float64(p * m.mean[k*m.sites+i])
		}
	}
}

// Draw stores in x a random draw from the mixture. It panics if src is nil or len(x) is not the
// number of coordinates. It uses the normal variates of math/rand/v2, whose last bits may differ
// between GOARCHs.
func (m *Mixture) Draw(x []float32, src rand.Source) {
	n := m.sites
	check.Len("continuous", "x", len(x), n)
	check.Must("continuous: Mixture: Draw", "src", src)
	r := rand.New(src)
	u := r.Float64()
	k := 0
	for ; k < len(m.logw)-1; k++ {
		if u -= simd.Exp(m.logw[k]); u < 0 {
			break
		}
	}
	if m.full != nil {
		m.drawFull(x, k, r)
		return
	}
	for i := range x {
		at := k*n + i
		x[i] = float32(m.mean[at] + float64(math.Sqrt(m.v[at])*r.NormFloat64()))
	}
}

// drawFull stores in x a draw of component k, with a normal variate along each eigenvector.
func (m *Mixture) drawFull(x []float32, k int, r *rand.Rand) {
	b := scratch.Float64s.Get(m.sites)
	defer scratch.Float64s.Put(b)
	sum, c := *b, m.full[k]
	copy(sum, m.mean[k*m.sites:(k+1)*m.sites])
	for j, l := range c.lambda {
		z := math.Sqrt(l) * r.NormFloat64()
		for i := range sum {
			sum[i] += float64(c.vector.At(i, j) * z)
		}
	}
	for i, v := range sum {
		x[i] = float32(v)
	}
}

// density is the workspace for one state: log-weights or probabilities p of the components, the
// state x and a sum over the components. x and sum are padded if covariances are diagonal.
type density struct {
	from   *[]float64
	p      []float64
	x, sum []float64
}

func (m *Mixture) density() density {
	k, w := len(m.logw), m.rows.width
	if m.full != nil {
		w = m.sites
	}
	b := scratch.Float64s.Get(k + 2*w)
	clear(*b)
	return density{b, (*b)[:k], (*b)[k : k+w], (*b)[k+w:]}
}

func (d density) done() { scratch.Float64s.Put(d.from) }

// Energy stores in e the energy −log density of every state of x; it implements [energy.Real].
func (m *Mixture) Energy(e []float64, x []float32) {
	check.Len("continuous", "x", len(x), len(e)*m.sites)
	d := m.density()
	defer d.done()
	for s := range e {
		m.logDensities(d, x[s*m.sites:(s+1)*m.sites])
		e[s] = 0 - logSum(d.p)
	}
}

// logDensities stores log w_k N(x; m_k, C_k) for every component k in d.p, and x in d.x.
func (m *Mixture) logDensities(d density, x []float32) {
	for i, v := range x {
		d.x[i] = float64(v)
	}
	if m.full == nil {
		simd.Squares(d.p, d.x, m.rows.mean, m.rows.scale)
	}
	for k, sum := range d.p {
		if m.full != nil {
			sum = 0
			for j, l := range m.full[k].lambda {
				y := m.full[k].along(j, x, m.mean[k*m.sites:(k+1)*m.sites])
				sum += float64(y*y) / l
			}
		}
		d.p[k] = m.logw[k] - m.halfLogDet[k] - float64(0.5*sum)
	}
}

// Score stores in s the score of every state x of the batch; it implements [energy.Scored]. The
// score is Σ_k p(k|x)·C_k⁻¹(m_k − x) for components N(m_k, C_k), where p(k|x) is the probability
// that x comes from component k.
func (m *Mixture) Score(s, x []float32) {
	n := m.sites
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), n)
	d := m.density()
	defer d.done()
	for at := 0; at < len(x); at += n {
		state := x[at : at+n]
		m.logDensities(d, state)
		softmax(d.p)
		clear(d.sum)
		for k, p := range d.p {
			if p != 0 {
				m.addScore(d, k, p, state)
			}
		}
		for i := range state {
			s[at+i] = float32(d.sum[i])
		}
	}
}

// addScore adds p·C_k⁻¹(m_k − x) to d.sum.
func (m *Mixture) addScore(d density, k int, p float64, x []float32) {
	if m.full == nil {
		row := k * m.rows.width
		simd.Attract(d.sum, d.x, m.rows.mean[row:row+m.rows.width], m.rows.scale[row:row+m.rows.width], p)
		return
	}
	c, mean := m.full[k], m.mean[k*m.sites:(k+1)*m.sites]
	for j, l := range c.lambda {
		y := float64(p*c.along(j, x, mean)) / l
		for i := range d.sum {
			d.sum[i] -= float64(c.vector.At(i, j) * y)
		}
	}
}

// softmax replaces log-weights by probabilities and returns the logarithm of the sum of the
// weights. If all log-weights are −Inf or one is NaN, the results are NaN.
func softmax(w []float64) float64 {
	top, sum := weights(w)
	for k := range w {
		w[k] /= sum
	}
	return top + simd.Log(sum)
}

// logSum returns the logarithm of the sum of the weights whose logarithms are w. It overwrites w.
func logSum(w []float64) float64 {
	top, sum := weights(w)
	return top + simd.Log(sum)
}

// weights replaces each log-weight w by exp(w − top), where top is the largest, and returns top and
// the sum of the results.
func weights(w []float64) (top, sum float64) {
	top = math.Inf(-1)
	for _, v := range w {
		if v > top {
			top = v
		}
	}
	for k, v := range w {
		w[k] = 1
		if d := v - top; d != 0 { // d is NaN if all weights are −Inf
			w[k] = simd.Exp(d)
		}
		sum += w[k]
	}
	return top, sum
}

// padded holds diagonal components in the layout that package simd requires: rows whose length is a
// multiple of 16, padded with zeros.
type padded struct {
	width int
	mean  []float64
	scale []float64 // inverse variances 1/v, at most the largest finite number
}

// newPadded returns components with the given means and variances, in rows of n entries.
func newPadded(mean, v []float64, n int) padded {
	w, rows := (n+15)&^15, len(mean)/n
	p := padded{w, make([]float64, rows*w), make([]float64, rows*w)}
	for c := range rows {
		copy(p.mean[c*w:], mean[c*n:(c+1)*n])
		for i, v := range v[c*n : (c+1)*n] {
			p.scale[c*w+i] = min(1/v, math.MaxFloat64)
		}
	}
	return p
}

// Moments computes the mean and the covariance C of the clean state x_0 given the noisy state
//
//	x_t = √ᾱ·x_0 + √(1−ᾱ)·ε,
//
// where ε is standard normal and the argument alpha is ᾱ, 0 ≤ ᾱ < 1. It stores E[x_0 | x_t] in mean
// and returns the trace of C. The slice rows holds any number of vectors r_j, each with one entry
// per coordinate. Moments stores the vectors C·r_j in product, which has the length of rows.
//
// Moments panics if lengths do not fit. For n coordinates, a component takes 2n² operations per
// row, or n with diagonal covariances.
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

// negligible is the weight below which a component is lost in the rounding error of the others.
const negligible = 0x1p-70

// DrawPosterior stores in x0, for every noisy state x_t of x, a random draw of the clean state x_0
// given x_t. The noise is
//
//	x_t = √ᾱ·x_0 + √(1−ᾱ)·ε,
//
// where ε is standard normal and ᾱ = alpha[s] for state s. State s draws from src[s]. DrawPosterior
// panics if lengths do not fit or a source is nil. The slices x0 and x may be the same.
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

// explain stores in centre the mean of x_0 given x_t and each component, and the posterior
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
		// Log-densities are relative to the first component. Far from all components, the absolute
		// terms would round away the differences between them.
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

// remaining stores the variances of x_0 given x_t and component k in dst: along the eigenvectors of
// the component or, if covariances are diagonal, along the coordinates.
func (m *Mixture) remaining(dst []float64, k int, alpha float64) {
	prior := m.v[k*m.sites : (k+1)*m.sites]
	if m.full != nil {
		prior = m.full[k].lambda
	}
	for i, v := range prior {
		dst[i] = float64((1-alpha)*v) / (float64(alpha*v) + (1 - alpha))
	}
}

// spread adds w·C·row to dst, where C has the axes of component k and the given variances along
// them. along is scratch.
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

// scatter stores in x a draw of the normal distribution with mean centre and the given variances
// along the axes of component k. It overwrites centre.
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

// Where returns the distribution of x given the equations R·x = y. The argument rows holds the
// matrix R, row-major, and the argument values holds y. Let w_k, m_k and C_k be the weights, means
// and covariances of the mixture. The result has weights ∝ w_k·N(y; Rm_k, RC_kRᵀ) and components
//
//	N(m_k + G_k(y − Rm_k), C_k − G_kRC_k),  G_k = C_kRᵀ(RC_kRᵀ)⁻¹.
//
// Components whose weight is below e⁻⁷⁰⁰ of the largest are omitted. The result logp is the
// log-density of R·x at the value y under the original mixture, in nats.
//
// The new covariances are singular, so the result has no density: Energy and Score are NaN. All
// other methods work. [Mixture.Draw] makes exact draws. [Mixture.Posterior] and
// [Mixture.DrawPosterior] condition on both x_t and the equations.
//
// Where returns an error if R has no row, if lengths do not fit, or if a number is not finite. It
// also returns an error if RC_kRᵀ is singular for a component k.
func (m *Mixture) Where(rows, values []float64) (given *Mixture, logp float64, err error) {
	n, q := m.sites, len(values)
	switch {
	case q == 0 || len(rows) != q*n:
		return nil, 0, fmt.Errorf("continuous: Where: len(rows) = %d and len(values) = %d, want %d numbers for each value, and one or more", len(rows), q, n)
	case q > n:
		return nil, 0, fmt.Errorf("continuous: Where: %d equations for %d coordinates, want at most as many", q, n)
	}
	if err := checkFinite("Where", "rows", rows); err != nil {
		return nil, 0, err
	}
	if err := checkFinite("Where", "values", values); err != nil {
		return nil, 0, err
	}
	r := mat.NewDense(q, n, rows)
	logw := make([]float64, len(m.logw))
	means, covs := make([][]float64, len(logw)), make([][]float64, len(logw))
	top := math.Inf(-1)
	for k := range logw {
		means[k], covs[k] = make([]float64, n), make([]float64, n*n)
		density, ok := m.where(k, r, values, means[k], mat.NewDense(n, n, covs[k]))
		if !ok {
			return nil, 0, fmt.Errorf("continuous: Where: the rows are dependent, or component %d has no variance along one of them", k)
		}
		logw[k] = m.logw[k] + density
		top = max(top, logw[k])
	}
	weights, kept := make([]float64, 0, len(logw)), 0
	sum := 0.0
	for k, w := range logw {
		if w-top < leastComponent {
			continue
		}
		e := simd.Exp(w - top)
		sum += e
		weights = append(weights, e)
		means[kept], covs[kept] = means[k], covs[k]
		kept++
	}
	if given, err = NewMixture(weights, means[:kept], covs[:kept]); err != nil {
		return nil, 0, err
	}
	return given, top + simd.Log(sum), nil
}

// leastComponent is the log of the smallest weight of a component, relative to the largest. A
// float64 can hold it, with a margin.
const leastComponent = -700

// where stores the mean and covariance of component k given the equations, and returns log N(y;
// Rm_k, RC_kRᵀ). ok is false if RC_kRᵀ is singular.
func (m *Mixture) where(k int, r *mat.Dense, values, mean []float64, cov *mat.Dense) (logp float64, ok bool) {
	n, q := m.sites, len(values)
	rc, rcr := mat.NewDense(q, n, nil), mat.NewSymDense(q, nil)
	for j := range q {
		m.Covariance(k, rc.RawRowView(j), r.RawRowView(j))
		for i := range j + 1 {
			rcr.SetSym(i, j, simd.Dot64(r.RawRowView(i), rc.RawRowView(j)))
		}
	}
	var chol mat.Cholesky
	// If a row depends on others, rounding leaves a pivot of about 1e-13 instead of 0.
	if !chol.Factorize(rcr) || !(chol.Cond() < 1e13) {
		return 0, false
	}
	miss, pull := mat.NewVecDense(q, nil), mat.NewVecDense(q, nil)
	own := m.mean[k*n : (k+1)*n]
	for j, y := range values {
		miss.SetVec(j, y-simd.Dot64(r.RawRowView(j), own))
	}
	if chol.SolveVecTo(pull, miss) != nil {
		return 0, false
	}
	var gain mat.Dense // (RC_kRᵀ)⁻¹RC_k
	if chol.SolveTo(&gain, rc) != nil {
		return 0, false
	}
	for i := range mean {
		mean[i] = own[i]
		for j := range q {
			mean[i] += float64(rc.At(j, i) * pull.AtVec(j))
		}
		for l := range i + 1 {
			c := m.entry(k, i, l)
			for j := range q {
				c -= float64(rc.At(j, i) * gain.At(j, l))
			}
			cov.Set(i, l, c)
			cov.Set(l, i, c)
		}
	}
	return -(chol.LogDet() + mat.Dot(miss, pull) + float64(float64(q)*simd.Log(2*math.Pi))) / 2, true
}

// entry returns entry (i, j) of the covariance C_k.
func (m *Mixture) entry(k, i, j int) float64 {
	switch {
	case m.cov != nil:
		return m.cov[k].At(i, j)
	case i == j:
		return m.v[k*m.sites+i]
	}
	return 0
}
