package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// market holds the names of assets and the mean and covariance of their returns.
type market struct {
	names []string
	mean  []float64
	cov   covariance
}

// covariance is a symmetric, positive semidefinite matrix Σ.
type covariance interface {
	// times stores Σx in y. If v is not nil, it also stores Σv in u, in the same pass.
	times(y, x, u, v []float64)

	// variance returns the diagonal entry i.
	variance(i int) float64
}

// Parameters of the market of Hadou, Uslu and Ribeiro (2026), section on portfolios. Sectors
// have their own factors and share a market factor. Two sectors have high risks. Mean and
// covariance follow from the factors exactly; the paper estimates both from 1000 scenarios.
const (
	sectors = 10         // number of sectors
	risky   = 2          // number of risky sectors, the first ones
	within  = 5          // number of factors per sector
	loads   = within + 1 // loadings of an asset: on the factors of its sector and of the market
)

// factors is the covariance LLᵀ + D. Asset i belongs to sector i mod sectors. Its row of L holds
// the loadings on the sector's factors and then on the market factor, all multiplied by the
// factor's standard deviation.
type factors struct {
	load []float64 // loadings L, assets × loads
	own  []float64 // variances of the assets' own returns, the diagonal of D
}

func newMarket(assets int, seed uint64) *market {
	r := rand.New(rand.NewPCG(seed, uint64(assets)))
	between := func(low, high float64) float64 { return low + (high-low)*r.Float64() }
	var deviation [sectors][within]float64
	var centre [sectors]float64
	for s := range sectors {
		risk := between(0.5, 2)
		centre[s] = between(0.02, 0.15)
		if s < risky {
			risk, centre[s] = between(4, 6), between(0.15, 0.35)
		}
		for k := range within {
			deviation[s][k] = math.Sqrt(risk * between(0.01, 0.1))
		}
	}
	all := math.Sqrt(between(0.02, 0.08))
	m := &market{}
	f := &factors{}
	for i := range assets {
		s := i % sectors
		load, share, low, high := 0.3, 0.15, 0.005, 0.05
		if s < risky {
			load, share, low, high = 0.5, 0.05, 0.02, 0.15
		}
		for k := range within {
			f.load = append(f.load, load*math.Abs(r.NormFloat64())*deviation[s][k])
		}
		f.load = append(f.load, share*math.Abs(r.NormFloat64())*all)
		f.own = append(f.own, between(low, high))
		m.mean = append(m.mean, min(max(centre[s]+between(-0.06, 0.06), 0.005), 0.4))
		m.names = append(m.names, fmt.Sprintf("sector %d, asset %d", s+1, i/sectors+1))
	}
	m.cov = f
	return m
}

func (f *factors) times(y, x, u, v []float64) {
	var a, b [sectors*within + 1]float64
	f.gather(&a, x)
	if v != nil {
		f.gather(&b, v)
	}
	s := 0
	for i := range x {
		l := f.load[i*loads : i*loads+loads : i*loads+loads]
		g := a[s*within : s*within+within : s*within+within]
		y[i] = l[0]*g[0] + l[1]*g[1] + l[2]*g[2] + l[3]*g[3] + l[4]*g[4] + l[5]*a[sectors*within] + f.own[i]*x[i]
		if v != nil {
			g = b[s*within : s*within+within : s*within+within]
			u[i] = l[0]*g[0] + l[1]*g[1] + l[2]*g[2] + l[3]*g[3] + l[4]*g[4] + l[5]*b[sectors*within] + f.own[i]*v[i]
		}
		if s++; s == sectors {
			s = 0
		}
	}
}

// gather stores Lᵀx in a.
func (f *factors) gather(a *[sectors*within + 1]float64, x []float64) {
	s := 0
	for i, v := range x {
		l := f.load[i*loads : i*loads+loads : i*loads+loads]
		g := a[s*within : s*within+within : s*within+within]
		g[0] += l[0] * v
		g[1] += l[1] * v
		g[2] += l[2] * v
		g[3] += l[3] * v
		g[4] += l[4] * v
		a[sectors*within] += l[5] * v
		if s++; s == sectors {
			s = 0
		}
	}
}

func (f *factors) variance(i int) float64 {
	sum := f.own[i]
	for _, l := range f.load[i*loads : i*loads+loads] {
		sum += l * l
	}
	return sum
}

// dense is a covariance stored as a matrix, assets × assets.
type dense struct {
	n int
	c []float64
}

func (d *dense) times(y, x, u, v []float64) {
	for i := range d.n {
		row := d.c[i*d.n : (i+1)*d.n]
		y[i] = simd.Dot64(row, x)
		if v != nil {
			u[i] = simd.Dot64(row, v)
		}
	}
}

func (d *dense) variance(i int) float64 { return d.c[i*d.n+i] }

// dot returns the dot product of a and b. It uses four partial sums to shorten the chain of
// dependent additions.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	s0, s1, s2, s3 := 0.0, 0.0, 0.0, 0.0
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return s0 + s1 + (s2 + s3)
}
