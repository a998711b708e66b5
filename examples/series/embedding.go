package main

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/sampler/distance"
	"gonum.org/v1/gonum/mat"
)

// Shape of the embedding.
const (
	embedFilters = 48  // convolutions of the hidden layer
	embedSpan    = 5   // rows that a convolution reads
	embedSize    = 8   // maximum number of coordinates of a window and of a condition
	embedRidge   = 0.1 // added to the unit variances of standardised inputs
)

// embedding maps windows and the conditions on them to vectors, for the Fréchet distances FTSD
// and J-FTSD of Narasimhan et al. 2024 (Time Weaver). Those authors train two encoders so that a
// window and its condition have similar vectors. Here, the hidden layer of the window's encoder
// consists of random convolutions with a rectifier, averaged and maximised over time, and the
// output layers are the canonical correlations of the hidden layer with the condition on the
// training windows. They are the best linear layers for that task and have a closed form.
type embedding struct {
	length, n int
	filters   []float64   // embedFilters × (span·n + 1)
	x, c      standardise // of the hidden layer and of the conditions
	a, b      *mat.Dense  // output layers for windows and for conditions
}

// standardise subtracts a mean and multiplies by a scale, per entry.
type standardise struct{ mean, scale []float64 }

var errEmbedding = errors.New("embedding: covariance of windows is not positive definite: windows are not finite")

// hiddenLayer returns the pooled convolutions of a window.
func (e *embedding) hiddenLayer(x []float32) []float64 {
	span := min(embedSpan, e.length)
	out := make([]float64, 2*embedFilters)
	for f := range embedFilters {
		w := e.filters[f*(span*e.n+1) : (f+1)*(span*e.n+1)]
		for t := 0; t+span <= e.length; t++ {
			v := w[span*e.n]
			for i, u := range x[t*e.n : (t+span)*e.n] {
				v += w[i] * float64(u)
			}
			v = max(0, v)
			out[2*f] += v / float64(e.length-span+1)
			out[2*f+1] = max(out[2*f+1], v)
		}
	}
	return out
}

// conditionOf returns the numbers that describe a window's limits: per channel its mean, change
// and the positions of its extremes, or, for imputation, its first and last numbers and the mean.
func conditionOf(x []float32, length, n int, impute bool) (out []float64) {
	one := make([]float64, length)
	for c := range n {
		for t := range one {
			one[t] = float64(x[t*n+c])
		}
		if impute {
			out = append(out, one[0], one[length-1], mean(one))
			continue
		}
		out = append(out, mean(one), one[length-1]-one[0], float64(extreme(one, 1)), float64(extreme(one, -1)))
	}
	return out
}

// newEmbedding trains the embedding on the training windows.
func newEmbedding(p *problem, seed uint64) (*embedding, error) {
	e := &embedding{length: p.length, n: p.channels()}
	r := rand.New(rand.NewPCG(seed, 31))
	size := min(embedSpan, e.length)*e.n + 1
	e.filters = make([]float64, embedFilters*size)
	for i := range e.filters {
		if e.filters[i] = r.NormFloat64(); i%size != size-1 {
			e.filters[i] /= math.Sqrt(float64(size - 1))
		}
	}
	var in, conditions [][]float64
	for at := 0; at < len(p.training); at += p.sites() {
		x := p.training[at : at+p.sites()]
		in, conditions = append(in, e.hiddenLayer(x)), append(conditions, conditionOf(x, e.length, e.n, p.impute))
	}
	x, c := fitStandard(&e.x, in), fitStandard(&e.c, conditions)
	lx, err := factor(x)
	if err != nil {
		return nil, err
	}
	lc, err := factor(c)
	if err != nil {
		return nil, err
	}
	var cross, half, m mat.Dense
	cross.Mul(x.T(), c)
	cross.Scale(1/float64(len(in)), &cross)
	if err := half.Solve(lx, &cross); err != nil {
		return nil, errEmbedding
	}
	if err := m.Solve(lc, half.T()); err != nil { // conditions × hidden layer
		return nil, errEmbedding
	}
	var svd mat.SVD
	if !svd.Factorize(&m, mat.SVDThin) {
		return nil, errEmbedding
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	k := min(embedSize, len(e.c.mean))
	e.a, e.b = new(mat.Dense), new(mat.Dense)
	if e.a.Solve(lx.T(), v.Slice(0, len(e.x.mean), 0, k)) != nil || e.b.Solve(lc.T(), u.Slice(0, len(e.c.mean), 0, k)) != nil {
		return nil, errEmbedding
	}
	return e, nil
}

// fitStandard standardises the rows of in and returns them as a matrix.
func fitStandard(s *standardise, in [][]float64) *mat.Dense {
	n, count := len(in[0]), float64(len(in))
	s.mean, s.scale = make([]float64, n), make([]float64, n)
	for _, row := range in {
		for j, v := range row {
			s.mean[j] += v / count
		}
	}
	for _, row := range in {
		for j, v := range row {
			s.scale[j] += (v - s.mean[j]) * (v - s.mean[j]) / count
		}
	}
	for j, square := range s.scale {
		if s.scale[j] = 0; square > 0 { // an entry that does not vary tells nothing
			s.scale[j] = 1 / math.Sqrt(square)
		}
	}
	out := mat.NewDense(len(in), n, nil)
	for i, row := range in {
		for j, v := range row {
			out.Set(i, j, (v-s.mean[j])*s.scale[j])
		}
	}
	return out
}

// factor returns the lower Cholesky factor of the covariance of rows plus the ridge.
func factor(x *mat.Dense) (*mat.TriDense, error) {
	count, n := x.Dims()
	var cov mat.SymDense
	cov.SymOuterK(1/float64(count), x.T())
	for i := range n {
		cov.SetSym(i, i, cov.At(i, i)+embedRidge)
	}
	var chol mat.Cholesky
	if !chol.Factorize(&cov) {
		return nil, errEmbedding
	}
	l := new(mat.TriDense)
	chol.LTo(l)
	return l, nil
}

// apply appends the vector of in by an output layer to dst.
func (s *standardise) apply(dst []float32, in []float64, layer *mat.Dense) []float32 {
	_, k := layer.Dims()
	for j := range k {
		sum := 0.0
		for i, v := range in {
			sum += (v - s.mean[i]) * s.scale[i] * layer.At(i, j)
		}
		dst = append(dst, float32(sum))
	}
	return dst
}

// distances returns FTSD, the squared Fréchet distance between the vectors of samples and of
// held-out windows, and J-FTSD, the distance between these vectors joined to those of the
// conditions. The samples are those of the held-out windows in order, several for each.
func (e *embedding) distances(x, held []float32, samples int, impute bool) (ftsd, joint float64, err error) {
	sites := e.length * e.n
	_, k := e.a.Dims()
	var windows, real, windowsJoint, realJoint []float32
	for i := 0; i*sites < len(held); i++ {
		h := held[i*sites : (i+1)*sites]
		condition := e.c.apply(nil, conditionOf(h, e.length, e.n, impute), e.b)
		z := e.x.apply(nil, e.hiddenLayer(h), e.a)
		real, realJoint = append(real, z...), append(append(realJoint, z...), condition...)
		for s := i * samples; s < (i+1)*samples; s++ {
			z := e.x.apply(nil, e.hiddenLayer(x[s*sites:(s+1)*sites]), e.a)
			windows, windowsJoint = append(windows, z...), append(append(windowsJoint, z...), condition...)
		}
	}
	if ftsd, err = distance.Frechet(windows, real, k); err != nil {
		return 0, 0, err
	}
	joint, err = distance.Frechet(windowsJoint, realJoint, 2*k)
	return ftsd, joint, err
}
