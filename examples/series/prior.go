package main

import (
	"errors"
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"gonum.org/v1/gonum/mat"
)

// maxLevels is the maximum number of cached matrix entries, 256 MB. It suffices for all 200
// levels of a schedule for windows of up to 579 entries.
const maxLevels = 1 << 26

// equalValues is the largest difference, relative to the largest eigenvalue, at which two eigenvalues
// of a covariance are treated as equal.
const equalValues = 1e-12

// logits is the range of the log-odds of signal levels in schedules.
const logits = 28

// posterior computes the covariance P of a clean window given a noisy one. It treats windows as
// Gaussian with the covariance C of the training set:
//
//	P = (1−ᾱ)·C·(ᾱC + (1−ᾱ)I)⁻¹.
//
// It is safe for concurrent use.
type posterior struct {
	n      int
	mean   []float64
	cov    *mat.SymDense // covariance C of the windows
	basis  *mat.Dense    // eigenvectors of C
	values []float64     // eigenvalues of C

	capacity int // maximum total number of entries of all cached P
	lock     sync.Mutex
	levels   map[float64][]float32 // P by signal level, row-major
}

// newPosterior computes the covariance of windows of n entries, blurred by noise of the given
// standard deviation.
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

// apply stores P·v in dst for the signal level ᾱ. P is computed once per level. Zeros in v,
// which rows of limits mostly contain, are skipped.
func (p *posterior) apply(dst, v []float64, alpha float64) {
	full := p.level(p.near(alpha))
	begun := false
	for j, a := range v {
		if a == 0 {
			continue
		}
		row := full[j*p.n : (j+1)*p.n] // P is symmetric
		if begun {
			for i, c := range row {
				dst[i] += a * float64(c)
			}
			continue
		}
		begun = true
		for i, c := range row {
			dst[i] = a * float64(c)
		}
	}
	if !begun {
		clear(dst)
	}
}

// near returns the level whose P is used for ᾱ. It is ᾱ itself if the capacity suffices for the
// whole schedule. Otherwise it is the nearest of a grid in log-odds that fits the capacity. An
// approximation is enough, because P only defines the metric of a projection.
func (p *posterior) near(alpha float64) float64 {
	most := max(p.capacity/(p.n*p.n), 1)
	if most >= schedule.Steps || !(alpha > 0 && alpha < 1) {
		return alpha
	}
	step := float64(logits) / float64(most)
	return 1 / (1 + math.Exp(-step*math.Round(math.Log(alpha/(1-alpha))/step)))
}

// share returns eigenvalue i of P.
func (p *posterior) share(i int, alpha float64) float64 {
	l := p.values[i]
	return (1 - alpha) * l / (alpha*l + 1 - alpha)
}

// level returns P for the given signal level and caches it. With fewer windows than entries, C has
// one smallest eigenvalue many times. There P is a multiple of the identity, and only the other
// eigenvectors need to be multiplied.
func (p *posterior) level(alpha float64) []float32 {
	p.lock.Lock()
	defer p.lock.Unlock()
	if full, ok := p.levels[alpha]; ok {
		return full
	}
	same := 0 // number of eigenvalues, which ascend, that equal the first but for rounding errors
	for same < p.n && p.values[same]-p.values[0] <= equalValues*p.values[p.n-1] {
		same++
	}
	least := p.share(0, alpha)
	sym := mat.NewSymDense(p.n, nil)
	if same < p.n {
		half := mat.DenseCopyOf(p.basis.Slice(0, p.n, same, p.n))
		for j := same; j < p.n; j++ {
			root := math.Sqrt(max(p.share(j, alpha)-least, 0))
			for i := range p.n {
				half.Set(i, j-same, half.At(i, j-same)*root)
			}
		}
		sym.SymOuterK(1, half)
	}
	full := make([]float32, p.n*p.n)
	for i := range p.n {
		full[i*p.n+i] = float32(sym.At(i, i) + least)
		for j := range i {
			c := float32(sym.At(j, i))
			full[i*p.n+j], full[j*p.n+i] = c, c
		}
	}
	if p.levels == nil {
		p.levels = map[float64][]float32{}
	}
	p.levels[alpha] = full
	return full
}

// gaussian returns the exact denoiser of the Gaussian with mean p.mean and covariance C.
func (p *posterior) gaussian() (*denoise.Mixture, error) {
	return denoise.NewGaussian(p.mean, p.full())
}

// full returns the covariance C, row-major.
func (p *posterior) full() []float64 {
	full := make([]float64, 0, p.n*p.n)
	for i := range p.n {
		for j := range p.n {
			full = append(full, p.cov.At(i, j))
		}
	}
	return full
}
