package continuous

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"gonum.org/v1/gonum/mat"
)

// component is the full covariance of one mixture component, conditioned on the known entries. It
// describes the distribution of the free entries given the known ones.
type component struct {
	free, known []int
	gain        *mat.Dense   // regression matrix C_fk·C_kk⁻¹ of the free entries on the known ones
	chol        mat.Cholesky // Cholesky factorisation of C_kk, the covariance of the known entries
	lambda      []float64    // eigenvalues of the conditional covariance of the free entries
	vector      *mat.Dense   // eigenvectors of that covariance, as columns
}

// newComponent conditions the covariance whole on the entries marked in known; nil means that no
// entry is known. It returns an error if the covariance of the known entries is singular.
func newComponent(whole *mat.SymDense, known []bool) (*component, error) {
	c := new(component)
	for i := range whole.SymmetricDim() {
		if known != nil && known[i] {
			c.known = append(c.known, i)
		} else {
			c.free = append(c.free, i)
		}
	}
	if len(c.free) == 0 {
		return c, nil
	}
	cov := submatrix(whole, c.free, c.free)
	if len(c.known) > 0 {
		kk := mat.NewSymDense(len(c.known), nil)
		for a, i := range c.known {
			for b, j := range c.known {
				kk.SetSym(a, b, whole.At(i, j))
			}
		}
		if !c.chol.Factorize(kk) {
			return nil, fmt.Errorf("the covariance of the %d known entries is singular", len(c.known))
		}
		kf := submatrix(whole, c.known, c.free)
		var solved mat.Dense
		if err := c.chol.SolveTo(&solved, kf); err != nil {
			return nil, err
		}
		c.gain = mat.DenseCopyOf(solved.T())
		var explained mat.Dense
		explained.Mul(c.gain, kf)
		cov.Sub(cov, &explained)
	}
	return c, c.diagonalise(cov)
}

// diagonalise stores the eigenvalues and eigenvectors of the covariance cov.
func (c *component) diagonalise(cov *mat.Dense) error {
	sym := mat.NewSymDense(len(c.free), nil)
	for i := range c.free {
		for j := i; j < len(c.free); j++ {
			sym.SetSym(i, j, (cov.At(i, j)+cov.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, true) {
		return fmt.Errorf("the eigenvalues of the covariance do not converge")
	}
	c.lambda = eigen.Values(nil)
	c.vector = new(mat.Dense)
	eigen.VectorsTo(c.vector)
	for j, l := range c.lambda {
		// Rounding may make an eigenvalue of 0 negative; the tolerance is 1e-9 of the largest.
		if l < -1e-9*c.lambda[len(c.lambda)-1] || l < 0 && c.lambda[len(c.lambda)-1] <= 0 {
			return fmt.Errorf("the covariance has the eigenvalue %v, want ≥ 0", l)
		}
		c.lambda[j] = max(l, 0)
	}
	return nil
}

// submatrix returns the submatrix of a with the given rows and columns.
func submatrix(a *mat.SymDense, rows, cols []int) *mat.Dense {
	d := mat.NewDense(len(rows), len(cols), nil)
	for i, r := range rows {
		for j, c := range cols {
			d.Set(i, j, a.At(r, c))
		}
	}
	return d
}

// halfLogDet returns ½ log det 2πC, or NaN if C is singular to rounding.
func (c *component) halfLogDet() float64 {
	// The error of each eigenvalue is at most about n roundings of the largest.
	least := float64(len(c.lambda)) * 0x1p-52 * c.lambda[len(c.lambda)-1]
	sum := 0.0
	for _, l := range c.lambda {
		if !(l > least) {
			return math.NaN()
		}
		sum += float64(0.5 * simd.Log(2*math.Pi*l))
	}
	return sum
}

// along returns the coordinate of x − mean along eigenvector j. It requires that no entry is known.
func (c *component) along(j int, x []float32, mean []float64) float64 {
	y := 0.0
	for i, v := range x {
		y += float64(c.vector.At(i, j) * (float64(v) - mean[i]))
	}
	return y
}

// posterior stores in dst the mean of x_0 given x_t = x for one component with mean m. alpha is the
// signal level ᾱ. It returns the log-density of x under the component, up to a constant. work has
// 2·sites entries.
func (c *component) posterior(dst, m []float64, x []float32, alpha float64, work []float64) float64 {
	n, signal := len(c.free), math.Sqrt(alpha)
	prior, along := work[:n], work[n:2*n]
	logp := c.condition(prior, m, x)
	for i := range dst {
		dst[i] = float64(x[i])
	}
	if n == 0 {
		return logp
	}
	// In the eigenbasis the entries are independent: y_j ~ N(0, ᾱλ_j + 1−ᾱ).
	basis := c.vector.RawMatrix()
	clear(along)
	for a, i := range c.free {
		d := float64(x[i]) - float64(signal*prior[a])
		for j, v := range basis.Data[a*basis.Stride : a*basis.Stride+n] {
			along[j] += float64(v * d)
		}
	}
	for j, l := range c.lambda {
		y := along[j]
		s := float64(alpha*l) + (1 - alpha)
		logp -= float64((simd.Log(s) + float64(y*y)/s) / 2)
		along[j] = y * (float64(signal*l) / s)
	}
	for a, i := range c.free {
		shrunk := 0.0
		for j, v := range basis.Data[a*basis.Stride : a*basis.Stride+n] {
			shrunk += float64(v * along[j])
		}
		dst[i] = prior[a] + shrunk
	}
	return logp
}

// condition stores in dst the mean of the free entries given the known entries of x. m is the mean
// of the component. It returns the log-density of the known entries, up to a constant.
func (c *component) condition(dst, m []float64, x []float32) float64 {
	for a, i := range c.free {
		dst[a] = m[i]
	}
	if len(c.known) == 0 || len(c.free) == 0 {
		return 0
	}
	off := mat.NewVecDense(len(c.known), nil)
	for a, i := range c.known {
		off.SetVec(a, float64(x[i])-m[i])
	}
	for a := range c.free {
		for b := range c.known {
			dst[a] += float64(c.gain.At(a, b) * off.AtVec(b))
		}
	}
	var solved mat.VecDense
	if err := c.chol.SolveVecTo(&solved, off); err != nil {
		return math.Inf(-1)
	}
	return -(c.chol.LogDet() + mat.Dot(off, &solved)) / 2
}
