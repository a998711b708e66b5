package main

import (
	"errors"
	"math/cmplx"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// autoregression is a stationary Gaussian series of several channels with mean 0,
//
//	y_t = Σ_k A_k·y_{t−k} + e_t,  e_t ~ N(0, Q).
//
// It is conditioned exactly on any of its entries or weighted sums of entries of a row. A Kalman
// filter processes one number after the other; the smoother is that of de Jong 1989 and Durbin
// and Koopman 2002. Neither inverts a matrix. The state consists of the last lags+1 rows, the
// newest first.
type autoregression struct {
	c, lags, d int
	coef       []float64 // A_1 … A_lags side by side, c × c·lags
	noise      []float64 // noise covariance Q, c × c
	start      []float64 // covariance of the first state, d × d
}

// seen is a known number: Σ_i weight_i·y_{index_i} = value.
type seen struct {
	index  []int
	weight []float64
	value  float64
}

// pass holds the results of the filter for a range of rows that the smoother needs.
type pass struct {
	rows [][]seen
	p    [][]float64 // predicted covariances by row
	// Kalman gains by row and number; nil for a number that is already determined
	gain [][][]float64
	f    [][]float64 // variances of the numbers by row and number
}

// known is the variance below which a number is already determined by the others. Numbers have
// variance 1. The threshold is less than the noise of every channel, ridge, and more than the
// rounding error.
const known = 1e-7

// filter runs the Kalman filter over rows, starting from the stationary distribution.
func (m *autoregression) filter(rows [][]seen) *pass {
	w := &pass{rows: rows}
	p := append([]float64(nil), m.start...)
	for t := range rows {
		if t > 0 {
			p = m.predict(p)
		}
		w.p = append(w.p, append([]float64(nil), p...))
		gains, fs := make([][]float64, len(rows[t])), make([]float64, len(rows[t]))
		for k, s := range rows[t] {
			g, f, size := make([]float64, m.d), 0.0, 0.0
			for i, j := range s.index {
				for x := range g {
					g[x] += s.weight[i] * p[x*m.d+j]
				}
			}
			for i, j := range s.index {
				f += s.weight[i] * g[j]
				size += s.weight[i] * s.weight[i]
			}
			if fs[k] = f; !(f > known*size) {
				continue
			}
			for x := range m.d {
				for y := range m.d {
					p[x*m.d+y] -= g[x] * g[y] / f
				}
			}
			for x := range g {
				g[x] /= f
			}
			if len(s.index) == 1 { // known exactly: what rounding leaves would grow
				j := s.index[0]
				for x := range m.d {
					p[x*m.d+j], p[j*m.d+x] = 0, 0
				}
			}
			gains[k] = g
		}
		w.gain, w.f = append(w.gain, gains), append(w.f, fs)
	}
	return w
}

// predict returns F·P·Fᵀ + Q for the companion matrix F.
func (m *autoregression) predict(p []float64) []float64 {
	c, d, n := m.c, m.d, m.c*m.lags
	top := make([]float64, c*d)
	for i := range c {
		for k := range n {
			a := m.coef[i*n+k]
			for j := range d {
				top[i*d+j] += a * p[k*d+j]
			}
		}
	}
	out := make([]float64, d*d)
	for i := range c {
		for j := range c {
			v := m.noise[i*c+j]
			for k := range n {
				v += top[i*d+k] * m.coef[j*n+k]
			}
			out[i*d+j] = v
		}
		for j := range d - c {
			out[i*d+c+j], out[(c+j)*d+i] = top[i*d+j], top[i*d+j]
		}
	}
	for i := range d - c {
		copy(out[(c+i)*d+c:(c+i)*d+d], p[i*d:i*d+d-c])
	}
	return out
}

// advance stores F·a in a.
func (m *autoregression) advance(a []float64) {
	n := m.c * m.lags
	top := make([]float64, m.c)
	for i := range top {
		for k := range n {
			top[i] += m.coef[i*n+k] * a[k]
		}
	}
	copy(a[m.c:], a[:m.d-m.c])
	copy(a, top)
}

// means returns the expected states given the numbers. The function value(t, k) provides the
// numbers, which may differ from those of the pass.
func (m *autoregression) means(w *pass, value func(t, k int) float64) [][]float64 {
	a := make([]float64, m.d)
	predicted, miss := make([][]float64, len(w.rows)), make([][]float64, len(w.rows))
	for t := range w.rows {
		if t > 0 {
			m.advance(a)
		}
		predicted[t] = append([]float64(nil), a...)
		miss[t] = make([]float64, len(w.rows[t]))
		for k, s := range w.rows[t] {
			if w.gain[t][k] == nil {
				continue
			}
			v := value(t, k)
			for i, j := range s.index {
				v -= s.weight[i] * a[j]
			}
			miss[t][k] = v
			for x, g := range w.gain[t][k] {
				a[x] += g * v
			}
		}
	}
	r := make([]float64, m.d)
	for t := len(w.rows) - 1; t >= 0; t-- {
		for k := len(w.rows[t]) - 1; k >= 0; k-- {
			g := w.gain[t][k]
			if g == nil {
				continue
			}
			u := miss[t][k] / w.f[t][k]
			for x := range g {
				u -= g[x] * r[x]
			}
			for i, j := range w.rows[t][k].index {
				r[j] += u * w.rows[t][k].weight[i]
			}
		}
		for x := range m.d {
			for y := range m.d {
				predicted[t][x] += w.p[t][x*m.d+y] * r[y]
			}
		}
		r = m.back(r)
	}
	return predicted
}

// back returns Fᵀ·r.
func (m *autoregression) back(r []float64) []float64 {
	n := m.c * m.lags
	out := make([]float64, m.d)
	copy(out, r[m.c:])
	for k := range n {
		for i := range m.c {
			out[k] += m.coef[i*n+k] * r[i]
		}
	}
	return out
}

// covariances returns the covariances of the states given the numbers.
func (m *autoregression) covariances(w *pass) [][]float64 {
	d := m.d
	out := make([][]float64, len(w.rows))
	n := mat.NewDense(d, d, nil)
	f := m.companion()
	var left, right mat.Dense
	for t := len(w.rows) - 1; t >= 0; t-- {
		for k := len(w.rows[t]) - 1; k >= 0; k-- {
			g := w.gain[t][k]
			if g == nil {
				continue
			}
			s := w.rows[t][k]
			ng, both := make([]float64, d), 1/w.f[t][k]
			for x := range d {
				for y := range d {
					ng[x] += n.At(x, y) * g[y]
				}
			}
			for x := range d {
				both += g[x] * ng[x]
			}
			for i, a := range s.index {
				for x := range d {
					n.Set(a, x, n.At(a, x)-s.weight[i]*ng[x])
					n.Set(x, a, n.At(x, a)-s.weight[i]*ng[x])
				}
				for j, b := range s.index {
					n.Set(a, b, n.At(a, b)+s.weight[i]*s.weight[j]*both)
				}
			}
		}
		p := mat.NewDense(d, d, append([]float64(nil), w.p[t]...))
		left.Mul(p, n)
		right.Mul(&left, p)
		p.Sub(p, &right)
		out[t] = p.RawMatrix().Data
		left.Mul(n, f)
		n.Mul(f.T(), &left)
	}
	return out
}

// companion returns the matrix that maps a state to the expected next state.
func (m *autoregression) companion() *mat.Dense {
	f := mat.NewDense(m.d, m.d, nil)
	n := m.c * m.lags
	for i := range m.c {
		for k := range n {
			f.Set(i, k, m.coef[i*n+k])
		}
	}
	for i := range m.d - m.c {
		f.Set(m.c+i, i, 1)
	}
	return f
}

// sampler draws series given known numbers.
type sampler struct {
	m           *autoregression
	start, root *mat.TriDense // Cholesky factors of the covariance of the first state and of Q
}

func (m *autoregression) sampler() (*sampler, error) {
	s := &sampler{m: m}
	var err error
	if s.start, err = lowerRoot(m.start, m.d); err != nil {
		return nil, err
	}
	s.root, err = lowerRoot(m.noise, m.c)
	return s, err
}

var errCovariance = errors.New("the covariance of rows is not positive definite: columns are linearly dependent")

// lowerRoot returns a Cholesky factor of a. It adds as much to the diagonal as rounding
// requires.
func lowerRoot(a []float64, n int) (*mat.TriDense, error) {
	sym := mat.NewSymDense(n, nil)
	for more := 1e-9; more < 1e-2; more *= 10 {
		for i := range n {
			for j := i; j < n; j++ {
				sym.SetSym(i, j, (a[i*n+j]+a[j*n+i])/2)
			}
			sym.SetSym(i, i, sym.At(i, i)+more)
		}
		var c mat.Cholesky
		if c.Factorize(sym) {
			l := mat.NewTriDense(n, mat.Lower, nil)
			c.LTo(l)
			return l, nil
		}
	}
	return nil, errCovariance
}

// draw returns a series, rows × channels, given the numbers of a pass. It draws a series from
// the model and adds the expected difference given the numbers (Durbin and Koopman 2002).
func (s *sampler) draw(w *pass, r *rand.Rand) []float64 {
	m := s.m
	c := m.c
	free := make([]float64, len(w.rows)*c)
	a := s.normal(s.start, m.d, r)
	for t := range w.rows {
		if t > 0 {
			m.advance(a)
			for i, e := range s.normal(s.root, c, r) {
				a[i] += e
			}
		}
		copy(free[t*c:], a[:c])
	}
	states := m.means(w, func(t, k int) float64 {
		v := w.rows[t][k].value
		for i, j := range w.rows[t][k].index {
			v -= w.rows[t][k].weight[i] * free[t*c+j]
		}
		return v
	})
	for t, x := range states {
		for i := range c {
			free[t*c+i] += x[i]
		}
	}
	return free
}

func (s *sampler) normal(l *mat.TriDense, n int, r *rand.Rand) []float64 {
	z, x := make([]float64, n), make([]float64, n)
	for i := range z {
		z[i] = r.NormFloat64()
		for j := 0; j <= i; j++ {
			x[i] += l.At(i, j) * z[j]
		}
	}
	return x
}

// ridge is the variance added to the regressors, which have variance 1. It determines
// coefficients that the data leave open.
const ridge = 1e-5

// emRounds is the number of rounds of expectation and maximisation.
const emRounds = 8

// fitAutoregression estimates A and Q by maximum likelihood from the known numbers of several
// ranges of rows, by expectation and maximisation. The argument whole holds the same ranges with
// gaps filled by straight lines, from which the estimation starts.
func fitAutoregression(stretches [][][]seen, whole [][]float64, c, lags int) (*autoregression, error) {
	m := &autoregression{c: c, lags: lags, d: c * (lags + 1)}
	sum, count := mat.NewDense(m.d, m.d, nil), 0
	for _, x := range whole {
		for t := lags; t < len(x)/c; t++ {
			s := make([]float64, 0, m.d)
			for k := range lags + 1 {
				s = append(s, x[(t-k)*c:(t-k+1)*c]...)
			}
			sum.RankOne(sum, 1, mat.NewVecDense(m.d, s), mat.NewVecDense(m.d, s))
			count++
		}
	}
	if count <= m.d {
		return nil, errors.New("too few rows to learn how one follows another")
	}
	if err := m.maximise(sum, count); err != nil {
		return nil, err
	}
	gaps := false
	for _, rows := range stretches {
		for _, s := range rows {
			gaps = gaps || len(s) < c
		}
	}
	for range emRounds {
		if !gaps {
			break
		}
		sum.Zero()
		count = 0
		for _, rows := range stretches {
			w := m.filter(rows)
			means, covs := m.means(w, func(t, k int) float64 { return rows[t][k].value }), m.covariances(w)
			for t := lags; t < len(rows); t++ {
				v := mat.NewVecDense(m.d, means[t])
				sum.RankOne(sum, 1, v, v)
				sum.Add(sum, mat.NewDense(m.d, m.d, covs[t]))
				count++
			}
		}
		if err := m.maximise(sum, count); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// positive removes negative eigenvalues of a covariance that are due to rounding.
func positive(a *mat.Dense) error {
	n, _ := a.Dims()
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	var e mat.EigenSym
	if !e.Factorize(sym, true) {
		return errCovariance
	}
	var u, half mat.Dense
	e.VectorsTo(&u)
	values := e.Values(nil)
	half.Apply(func(_, j int, v float64) float64 { return v * max(values[j], 0) }, &u)
	a.Mul(&half, u.T())
	return nil
}

// steady is the maximum modulus of the eigenvalues of the companion matrix.
const steady = 0.999

// stabilise shrinks the coefficients if an eigenvalue is larger than steady.
func (m *autoregression) stabilise() error {
	var e mat.Eigen
	if !e.Factorize(m.companion(), mat.EigenNone) {
		return errCovariance
	}
	radius := 0.0
	for _, v := range e.Values(nil) {
		radius = max(radius, cmplx.Abs(v))
	}
	if radius <= steady {
		return nil
	}
	n, shrink := m.c*m.lags, 1.0
	for k := range m.lags {
		shrink *= steady / radius
		for i := range m.c {
			for j := range m.c {
				m.coef[i*n+k*m.c+j] *= shrink
			}
		}
	}
	return nil
}

// maximise computes the parameters from the sums of products of states.
func (m *autoregression) maximise(sum *mat.Dense, count int) error {
	c, d, n := m.c, m.d, m.c*m.lags
	sum.Scale(1/float64(count), sum)
	if err := positive(sum); err != nil {
		return err
	}
	past := mat.NewSymDense(n, nil)
	var chol mat.Cholesky
	var coef mat.Dense
	for more := ridge; ; more *= 10 { // what is nearly a function of others takes more
		for i := range n {
			for j := i; j < n; j++ {
				past.SetSym(i, j, (sum.At(c+i, c+j)+sum.At(c+j, c+i))/2)
			}
			past.SetSym(i, i, past.At(i, i)+more)
		}
		if chol.Factorize(past) && chol.SolveTo(&coef, sum.Slice(c, d, 0, c)) == nil {
			break
		}
		if more > 1e-2 {
			return errCovariance
		}
	}
	m.coef, m.noise, m.start = make([]float64, c*n), make([]float64, c*c), make([]float64, d*d)
	for i := range c {
		for k := range n {
			m.coef[i*n+k] = coef.At(k, i)
		}
	}
	if err := m.stabilise(); err != nil {
		return err
	}
	// Q = (I −A)·S·(I −A)ᵀ is never negative, whatever the ridge.
	lead := mat.NewDense(c, d, nil)
	for i := range c {
		lead.Set(i, i, 1)
		for k := range n {
			lead.Set(i, c+k, -m.coef[i*n+k])
		}
	}
	var half, q mat.Dense
	half.Mul(lead, sum)
	q.Mul(&half, lead.T())
	for i := range c {
		for j := range c {
			m.noise[i*c+j] = (q.At(i, j) + q.At(j, i)) / 2
		}
		m.noise[i*c+i] += ridge
	}
	for i := range d {
		for j := range d {
			m.start[i*d+j] = (sum.At(i, j) + sum.At(j, i)) / 2
		}
		m.start[i*d+i] += ridge
	}
	return nil
}
