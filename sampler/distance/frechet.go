package distance

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// FrechetGaussian returns the squared Fréchet distance between two Gaussian distributions a and b.
// It is also their squared 2-Wasserstein distance (Dowson and Landau 1982). With means m and
// covariances C it is
//
//	‖m_a − m_b‖² + tr(C_a + C_b − 2(C_a^½·C_b·C_a^½)^½).
//
// Covariances are n × n, row-major, with n = len(meanA); they may be singular. FrechetGaussian
// panics if lengths do not match. It returns an error if a covariance is not symmetric (to 1e-9 of
// its largest entry), or if eigenvalues do not converge.
//
// For equal singular distributions, rounding gives about 1e-7 of the trace instead of 0.
func FrechetGaussian(meanA, covA, meanB, covB []float64) (float64, error) {
	n := len(meanA)
	if len(meanB) != n || len(covA) != n*n || len(covB) != n*n {
		panic(fmt.Sprintf("distance: FrechetGaussian: lengths %d, %d, %d, %d, want n, n², n, n²", n, len(covA), len(meanB), len(covB)))
	}
	distance := 0.0
	for i, m := range meanA {
		distance += float64((m - meanB[i]) * (m - meanB[i]))
	}
	if n == 0 {
		return 0, nil
	}
	root, trace, err := squareRoot("covA", covA, n)
	if err != nil {
		return 0, err
	}
	b, err := symmetric("covB", covB, n)
	if err != nil {
		return 0, err
	}
	var half, product mat.Dense
	half.Mul(root, b)
	product.Mul(&half, root)
	inner, err := symmetric("", product.RawMatrix().Data, n)
	if err != nil {
		return 0, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(inner, false) {
		return 0, fmt.Errorf("distance: FrechetGaussian: eigenvalues do not converge")
	}
	for _, l := range eigen.Values(nil) {
		distance -= 2 * math.Sqrt(max(l, 0))
	}
	return max(0, distance+trace+mat.Trace(b)), nil
}

// squareRoot returns the symmetric square root of the covariance cov, and the trace of cov.
func squareRoot(name string, cov []float64, n int) (*mat.Dense, float64, error) {
	c, err := symmetric(name, cov, n)
	if err != nil {
		return nil, 0, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(c, true) {
		return nil, 0, fmt.Errorf("distance: FrechetGaussian: eigenvalues of %s do not converge", name)
	}
	var q, scaled, root mat.Dense
	eigen.VectorsTo(&q)
	values := eigen.Values(nil)
	for i, l := range values {
		values[i] = math.Sqrt(max(l, 0))
	}
	scaled.Mul(&q, mat.NewDiagDense(n, values))
	root.Mul(&scaled, q.T())
	return &root, mat.Trace(c), nil
}

// symmetric returns the symmetric part of the matrix cov. If name is not empty and cov is not
// symmetric up to rounding, it returns an error.
func symmetric(name string, cov []float64, n int) (*mat.SymDense, error) {
	s, scale := mat.NewSymDense(n, nil), 0.0
	for _, v := range cov {
		scale = max(scale, math.Abs(v))
	}
	for i := range n {
		for j := i; j < n; j++ {
			a, b := cov[i*n+j], cov[j*n+i]
			if name != "" && !(math.Abs(a-b) <= 1e-9*scale) {
				return nil, fmt.Errorf("distance: FrechetGaussian: %s has %v at (%d, %d) and %v at (%d, %d), want equal", name, a, i, j, b, j, i)
			}
			s.SetSym(i, j, (a+b)/2)
		}
	}
	return s, nil
}

// Frechet returns the squared Fréchet distance between Gaussians fitted to two sets of series. Each
// set is row-major, samples × sites. This is the Fréchet distance of Heusel et al. 2017 with the
// series themselves as features. It is biased upwards by about tr(C)·sites/samples, where C is the
// covariance, so compare sets of equal size. Frechet returns an error if sites does not divide the
// length of a set, or if a set has fewer than two series.
func Frechet(a, b []float32, sites int) (float64, error) {
	meanA, covA, err := seriesMoments("a", a, sites)
	if err != nil {
		return 0, err
	}
	meanB, covB, err := seriesMoments("b", b, sites)
	if err != nil {
		return 0, err
	}
	return FrechetGaussian(meanA, covA, meanB, covB)
}

// seriesMoments returns the mean and the (biased) covariance of a set of series.
func seriesMoments(name string, x []float32, sites int) (mean, cov []float64, err error) {
	if sites < 1 || len(x)%sites != 0 || len(x)/2 < sites {
		return nil, nil, fmt.Errorf("distance: Frechet: len(%s) = %d, want a multiple of sites = %d ≥ 1, at least twice", name, len(x), sites)
	}
	count := len(x) / sites
	mean = make([]float64, sites)
	for i, v := range x {
		mean[i%sites] += float64(v) / float64(count)
	}
	data := mat.NewDense(count, sites, nil)
	for i, v := range x {
		data.Set(i/sites, i%sites, float64(v)-mean[i%sites])
	}
	var c mat.SymDense
	c.SymOuterK(1/float64(count), data.T())
	cov = make([]float64, sites*sites)
	for i := range sites {
		for j := range sites {
			cov[i*sites+j] = c.At(i, j)
		}
	}
	return mean, cov, nil
}
