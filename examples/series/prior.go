package main

import (
	"errors"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"gonum.org/v1/gonum/mat"
)

// maxLevels is 256 MB.
const maxLevels = 1 << 25

// posterior knows the covariance of a clean window given a noisy one, as if
// windows were Gaussian with the covariance C of the training set,
//
//	P = (1−ᾱ)·C·(ᾱC + (1−ᾱ)I)⁻¹.
//
// It is safe for concurrent use.
type posterior struct {
	n      int
	mean   []float64
	cov    *mat.SymDense // C
	basis  *mat.Dense    // eigenvectors of C
	values []float64     // and eigenvalues

	capacity int // numbers that all P together may be
	lock     sync.Mutex
	levels   map[float64][]float64 // P by signal level, row-major
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
	p := &posterior{n: n, mean: centre, cov: cov, basis: &mat.Dense{}, values: eigen.Values(nil), capacity: maxLevels}
	eigen.VectorsTo(p.basis)
	return p, nil
}

// apply stores P·v in dst, for signal level ᾱ. P is made once for a
// level, and where nearly all of v is zero, as in rows of limits, only the rest counts.
func (p *posterior) apply(dst, v []float64, alpha float64) {
	full := p.level(alpha)
	if full == nil {
		var w mat.VecDense
		w.MulVec(p.basis.T(), mat.NewVecDense(p.n, v))
		for i := range p.values {
			w.SetVec(i, w.AtVec(i)*p.share(i, alpha))
		}
		mat.NewVecDense(p.n, dst).MulVec(p.basis, &w)
		return
	}
	zeros := 0
	for _, a := range v {
		if a == 0 {
			zeros++
		}
	}
	if zeros < p.n-p.n/8 {
		mat.NewVecDense(p.n, dst).MulVec(mat.NewDense(p.n, p.n, full), mat.NewVecDense(p.n, v))
		return
	}
	clear(dst)
	for j, a := range v {
		if a == 0 {
			continue
		}
		for i, c := range full[j*p.n : (j+1)*p.n] { // P is symmetric
			dst[i] += a * c
		}
	}
}

// share is eigenvalue i of P.
func (p *posterior) share(i int, alpha float64) float64 {
	l := p.values[i]
	return (1 - alpha) * l / (alpha*l + 1 - alpha)
}

// level returns P, or nil where there is no capacity left for another.
func (p *posterior) level(alpha float64) []float64 {
	p.lock.Lock()
	defer p.lock.Unlock()
	if full, ok := p.levels[alpha]; ok {
		return full
	}
	if (len(p.levels)+1)*p.n*p.n > p.capacity {
		return nil
	}
	var half, full mat.Dense
	half.Apply(func(_, j int, v float64) float64 { return v * p.share(j, alpha) }, p.basis)
	full.Mul(&half, p.basis.T())
	if p.levels == nil {
		p.levels = map[float64][]float64{}
	}
	p.levels[alpha] = full.RawMatrix().Data
	return p.levels[alpha]
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
