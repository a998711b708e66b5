package main

import (
	"errors"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"gonum.org/v1/gonum/mat"
)

// posterior knows the covariance of a clean window given a noisy one, as if
// windows were Gaussian with the covariance C of the training set,
//
//	P = (1−ᾱ)·C·(ᾱC + (1−ᾱ)I)⁻¹.
//
// It is immutable and safe for concurrent use.
type posterior struct {
	n      int
	mean   []float64
	cov    *mat.SymDense // C
	basis  *mat.Dense    // eigenvectors of C
	values []float64     // and eigenvalues
}

// newPosterior takes windows of n entries that are blurred by noise of the
// given standard deviation.
func newPosterior(windows []float32, n int, blur float64) (*posterior, error) {
	count := len(windows) / n
	centre := make([]float64, n)
	for i, v := range windows {
		centre[i%n] += float64(v) / float64(count)
	}
	data := mat.NewDense(count, n, nil)
	for i, v := range windows {
		data.Set(i/n, i%n, float64(v)-centre[i%n])
	}
	cov := mat.NewSymDense(n, nil)
	cov.SymOuterK(1/float64(count), data.T())
	for i := range n {
		cov.SetSym(i, i, cov.At(i, i)+blur*blur)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		return nil, errors.New("eigenvalues of the covariance of windows do not converge")
	}
	p := &posterior{n: n, mean: centre, cov: cov, basis: &mat.Dense{}, values: eigen.Values(nil)}
	eigen.VectorsTo(p.basis)
	return p, nil
}

// apply stores P·v in dst, for signal level ᾱ.
func (p *posterior) apply(dst, v []float64, alpha float64) {
	var w mat.VecDense
	w.MulVec(p.basis.T(), mat.NewVecDense(p.n, v))
	for i, l := range p.values {
		w.SetVec(i, w.AtVec(i)*(1-alpha)*l/(alpha*l+1-alpha))
	}
	mat.NewVecDense(p.n, dst).MulVec(p.basis, &w)
}

// gaussian is the exact denoiser of that Gaussian.
func (p *posterior) gaussian() (*denoise.Mixture, error) {
	return denoise.NewGaussian(p.mean, p.full())
}

// full is the covariance C, row-major.
func (p *posterior) full() []float64 {
	full := make([]float64, 0, p.n*p.n)
	for i := range p.n {
		for j := range p.n {
			full = append(full, p.cov.At(i, j))
		}
	}
	return full
}
