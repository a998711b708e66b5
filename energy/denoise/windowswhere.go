package denoise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// Where returns the kernel density given the equations R·x = y: that of the
// windows, each moved to the nearest point where they hold, with weights
// ∝ exp(−(distance moved)²/2h²) and no noise along the rows. rows holds R row by
// row, one row of sites numbers for every value of y. The result denoises and
// draws like any other, exactly given the equations, and logp is log p(Rx = y) in
// nats. Windows whose weight is below e⁻⁷⁰⁰ of the largest are left out.
//
// The error says that h = 0, that there is no row, that lengths do not fit, that
// a number is not finite or that rows are dependent.
func (w *Windows) Where(rows, values []float64) (given *Windows, logp float64, err error) {
	n, q, before := w.sites, len(values), len(w.target)
	switch {
	case w.bandwidth == 0:
		return nil, 0, fmt.Errorf("denoise: Windows: Where with Bandwidth = 0, want > 0")
	case q == 0 || len(rows) != q*n:
		return nil, 0, fmt.Errorf("denoise: Windows: Where: len(rows) = %d and len(values) = %d, want %d numbers for each value, and one or more", len(rows), q, n)
	}
	for _, x := range [][]float64{rows, values} {
		for i, v := range x {
			if !check.Finite(v) {
				return nil, 0, fmt.Errorf("denoise: Windows: Where: number %d = %v, want finite", i, v)
			}
		}
	}
	b := span.New(append(append([]float64(nil), w.basis...), rows...), n)
	if b.Rank() < before+q {
		return nil, 0, fmt.Errorf("denoise: Windows: Where: the rows have rank %d, want %d: leave out those that depend on others", b.Rank()-before, q)
	}
	target, _ := b.Solve(append(append([]float64(nil), w.target...), values...))
	g := &Windows{sites: n, bandwidth: w.bandwidth, top: w.top, basis: b.U, target: target}
	top := math.Inf(-1)
	all := make([]float64, len(w.square))
	for j := range all {
		moved := 0.0
		for k := before; k < len(target); k++ {
			e := target[k] - simd.Inner(b.U[k*n:(k+1)*n], w.window(j))
			moved += float64(e * e)
		}
		all[j] = w.prior(j) - moved/(2*w.bandwidth*w.bandwidth)
		top = max(top, all[j])
	}
	if !check.Finite(top) {
		return nil, 0, fmt.Errorf("denoise: Windows: Where: the values are so far from every window that log-weights overflow")
	}
	sum, total := 0.0, 0.0
	for j, l := range all {
		total += simd.Exp(w.prior(j))
		if l-top < leastPrior {
			continue
		}
		sum += simd.Exp(l - top)
		g.logw = append(g.logw, l-top)
		at := len(g.data)
		g.data = append(g.data, w.window(j)...)
		g.hold(g.data[at:], 1)
		for i, x := range g.data[at:] {
			if !check.Finite(float64(x)) {
				return nil, 0, fmt.Errorf("denoise: Windows: Where: window %d moves to %v at site %d, want a float32", j, x, i)
			}
		}
	}
	g.measure()
	spread := float64(float64(q) * (float64(simd.Log(2*math.Pi)/2) + simd.Log(w.bandwidth)))
	return g, top + simd.Log(sum) - simd.Log(total) - spread - b.LogVolume(), nil
}

// leastPrior is the log of the least weight that can be written as a double
// beside 1, with room to spare.
const leastPrior = -700

// Draw stores in x an exact draw from the kernel density. It panics unless
// len(x) is the number of sites and src is given.
func (w *Windows) Draw(x []float32, src rand.Source) {
	n := w.sites
	check.Len("denoise", "x", len(x), n)
	check.Must("denoise: Windows: Draw", "src", src)
	u, total := float64(src.Uint64()>>11)*0x1p-53, 0.0
	for j := range w.square {
		total += simd.Exp(w.prior(j))
	}
	u *= total
	k := 0
	for ; k < len(w.square)-1; k++ {
		if u -= simd.Exp(w.prior(k)); u < 0 {
			break
		}
	}
	normal.Fill(x, src)
	for i, v := range w.window(k) {
		x[i] = float32(float64(v) + float64(w.bandwidth*float64(x[i])))
	}
	w.hold(x, 1)
}

// Moments describes x_0 given x_t as [continuous.Mixture.Moments] does: it stores
// E[x_0 | x_t] in mean, the products of Cov[x_0 | x_t] with rows of sites numbers
// in product, and returns the trace of that covariance. It costs the sites for
// each row and each window that matters.
func (w *Windows) Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error) {
	n, h2 := w.sites, w.bandwidth*w.bandwidth
	check.Len("denoise", "mean", len(mean), n)
	check.Len("denoise", "product", len(product), len(rows))
	check.Len("denoise", "x", len(x), n)
	q := check.Rows("denoise", "rows", len(rows), n)
	u := float64(alpha*h2) + 1 - alpha
	if !(u > 0) {
		return 0, fmt.Errorf("denoise: Windows: Moments: alpha = %v, want < 1", alpha)
	}
	near := scratch.Int32s.Get(len(w.square))
	weight := scratch.Float64s.Get(len(w.square) + q)
	state := scratch.Float32s.Get(n)
	defer scratch.Int32s.Put(near)
	defer scratch.Float64s.Put(weight)
	defer scratch.Float32s.Put(state)
	w.place(*state, x, alpha)
	list, p, total, err := w.explain(*near, (*weight)[:len(w.square)], *state, nil, alpha, u)
	if err != nil {
		return 0, err
	}
	w.average(mean, list, p, total)
	along := (*weight)[len(w.square):]
	own := float64(h2*(1-alpha)) / u // variance of a component
	for j := range q {
		row, dst := rows[j*n:(j+1)*n], product[j*n:(j+1)*n]
		along[j] = span.Dot(mean, row)
		for i, v := range row {
			dst[i] = float64(own * v)
		}
		for k := range w.target {
			b := w.basis[k*n : (k+1)*n]
			s := float64(own * span.Dot(b, row))
			for i, v := range b {
				dst[i] -= float64(s * v)
			}
		}
	}
	trace = own * float64(n-len(w.target))
	shrink := (1 - alpha) / u // of distances between windows
	for k, j := range list {
		d := w.window(int(j))
		part := float64(p[k] / total * float64(shrink*shrink))
		for i, v := range d {
			e := float64(v) - mean[i]
			trace += float64(part * float64(e*e))
		}
		for j := range q {
			s := float64(part * (simd.Inner(rows[j*n:(j+1)*n], d) - along[j]))
			for i, v := range d {
				product[j*n+i] += float64(s * (float64(v) - mean[i]))
			}
		}
	}
	signal := math.Sqrt(alpha)
	gain := float64(signal*h2) / u
	for i, m := range mean {
		mean[i] = m + float64(gain*(float64((*state)[i])-float64(signal*m)))
	}
	return trace, nil
}
