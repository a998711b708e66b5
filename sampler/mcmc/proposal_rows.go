package mcmc

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// rows is the discrete Langevin proposal of models with any number of levels: each site draws from
// a row of weights, either for all levels or for a window of 2w+1 levels around the site's own
// level. δ² is 2 between different categories and (v_l − v_k)² between the values of ordinal
// levels.
type rows struct {
	sites, levels, cols int
	window              int    // w, or −1 for whole rows
	table               *table // nil with a window
	windows             energy.Windowed
	prec                []float32
	values              []float32 // of ordinal models
	unconfined

	jumps  *jumps      // weighs rows in place of the Langevin proposal, if not nil
	barker *barkerRows // multiplies the weights of distances, if not nil

	balance Balance
	alpha   float64
	apart   float64              // δ² between different categories
	beta    float32              // balance: ½ for the Langevin proposal
	g, p    padded.Pair[float32] // differences and weights: chains × sites × cols
	sum     padded.Pair[float64] // totals of weights: chains × sites
}

func newRows(method string, m energy.Model, chains int, l langevin) (*rows, error) {
	sites, levels := m.Shape()
	r := padded.New(rows{sites: sites, levels: levels, cols: levels, window: -1, prec: l.preconditioner, balance: l.balance, alpha: l.alpha, apart: 2, beta: half})
	if o, ok := energy.As[energy.Ordinal](m); ok {
		r.values = o.Values()
	}
	if r.table = newTable(m); l.exact {
		r.table = newExactTable(m)
	}
	if l.window > 0 && 2*l.window+1 < levels {
		if err := r.useWindow(method, m, l); err != nil {
			return nil, err
		}
	}
	if l.balance == Barker {
		r.barker = newBarkerRows(r.cols)
	}
	r.g, r.p = padded.NewPair[float32](chains, sites*r.cols), padded.NewPair[float32](chains, sites*r.cols)
	r.sum = padded.NewPair[float64](chains, sites)
	return r, nil
}

func (p *rows) useWindow(method string, m energy.Model, l langevin) error {
	if l.minibatch {
		return fmt.Errorf("mcmc: %s: Window = %d with Minibatch: estimates have no windows", method, l.window)
	}
	if p.values == nil {
		return fmt.Errorf("mcmc: %s: Window = %d needs an energy.Ordinal model, %T is not", method, l.window, m)
	}
	w, ok := energy.As[energy.Windowed](m)
	if !ok {
		return fmt.Errorf("mcmc: %s: Window = %d needs an energy.Windowed model, %T is not", method, l.window, m)
	}
	p.window, p.cols = l.window, 2*l.window+1
	p.windows, p.table = w, nil
	return nil
}

// column returns the column of level l in the row of a site at level at, or −1 if the row has no
// such column.
func (p *rows) column(l, at int32) int {
	if p.window < 0 {
		return int(l)
	}
	c := int(l-at) + p.window
	if c < 0 || c >= p.cols {
		return -1
	}
	return c
}

// weightsUntil is weights for the chains lo … hi−1; it returns false if it was
// stopped in the middle of a chain.
func (p *rows) weightsUntil(lo, hi int, w []float32, sum []float64, g []float32, x []int32, at *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	if hi-lo > 1 || at.Stop == nil {
		p.weights(from, to, w, sum, g, x)
		at.Part = 0
		return true
	}
	each := max(1, p.sites/max(1, p.sites*p.cols/(sweep.PollWork/weighWork)))
	for at.Part < p.sites {
		if at.Stopped {
			return false
		}
		first := from + at.Part
		last := min(first+each, to)
		p.weights(first, last, w, sum, g, x)
		at.Part = last - from
		at.Done(sweep.Times(last-first, p.cols*weighWork))
	}
	at.Part = 0
	return true
}

// weights turns the rows from … to−1 of a table of differences at the states x
// into weights and their totals.
func (p *rows) weights(from, to int, w []float32, sum []float64, g []float32, x []int32) {
	w, sum, g, x = w[from*p.cols:to*p.cols], sum[from:to], g[from*p.cols:to*p.cols], x[from:to]
	if p.jumps != nil {
		p.jumps.weigh(w, sum, g, x, p.alpha)
		return
	}
	if p.barker != nil {
		clear(w)
		for i, at := range x {
			p.approach(w[i*p.cols:(i+1)*p.cols], at, p.kappa((from+i)%p.sites))
		}
		simd.Weights(w, sum, w, p.cols, leastWeight)
		p.barker.multiply(w, sum, g, p.cols)
		return
	}
	for i, at := range x {
		p.logits(w[i*p.cols:(i+1)*p.cols], g[i*p.cols:(i+1)*p.cols], at, p.kappa((from+i)%p.sites))
	}
	simd.Weights(w, sum, w, p.cols, leastWeight)
}

// kappa returns 1/(2α) of a site.
func (p *rows) kappa(site int) float64 {
	if p.prec == nil {
		return 1 / (2 * p.alpha)
	}
	return 1 / (2 * p.alpha) / float64(p.prec[site])
}

// logits stores in w the log-weights of one row at level at, where κ = 1/(2α).
func (p *rows) logits(w, g []float32, at int32, kappa float64) {
	if p.balance != Sqrt {
		p.balance.logs(w, g)
		p.approach(w, at, kappa)
		return
	}
	if p.values == nil {
		far := float32(p.apart * kappa)
		for l := range w {
			w[l] = -float32(p.beta*g[l]) - far
		}
		w[at] = -p.beta * g[at]
		return
	}
	for c := range w {
		w[c] = -float32(p.beta * g[c])
	}
	p.approach(w, at, kappa)
}

// approach subtracts the distances from the level at from the log-weights of a row.
func (p *rows) approach(w []float32, at int32, kappa float64) {
	if p.values == nil {
		own, far := w[at], float32(p.apart*kappa)
		for l := range w {
			w[l] -= far
		}
		w[at] = own
		return
	}
	first := int32(0)
	if p.window >= 0 {
		first = at - int32(p.window)
	}
	own := float64(p.values[at])
	for c := range w {
		l := first + int32(c)
		if l < 0 || int(l) >= p.levels {
			w[c] = float32(math.Inf(-1))
			continue
		}
		d := float64(p.values[l]) - own
		w[c] -= float32(kappa * float64(d*d))
	}
}

func (p *rows) work() int {
	work := sweep.Times(p.sites, p.cols)
	if p.jumps != nil {
		work = sweep.Times(work, weighWork)
	}
	if p.table != nil {
		work = max(work, p.table.work())
	}
	return work
}

// weighWork bounds the cost of jumps per level, in units of the cost of a level of a table.
const weighWork = 4

func (p *rows) evaluate(lo, hi int, e []float64, y, _ []int32, at *sweep.Cursor) bool {
	from, to := lo*p.sites, hi*p.sites
	if p.windows != nil {
		p.windows.Window(e[lo:hi], p.g.Next[from*p.cols:to*p.cols], y[from:to], p.window)
		return true
	}
	return p.table.evaluate(e[lo:hi], p.g.Next[from*p.cols:to*p.cols], y[from:to], at)
}

func (p *rows) weigh(lo, hi int, y []int32, at *sweep.Cursor) bool {
	return p.weightsUntil(lo, hi, p.p.Next, p.sum.Next, p.g.Next, y, at)
}

func (p *rows) loaded(lo, hi int) []float32 {
	n := p.sites * p.cols
	return p.g.Next[lo*n : hi*n]
}

func (p *rows) accept(lo, hi int) {
	p.g.Accept(lo, hi)
	p.p.Accept(lo, hi)
	p.sum.Accept(lo, hi)
}

func (p *rows) tune(alpha, beta float64) { p.alpha, p.beta = alpha, float32(beta) }

func (p *rows) rebuild(lo, hi int, x []int32, at *sweep.Cursor) bool {
	return p.weightsUntil(lo, hi, p.p.Now, p.sum.Now, p.g.Now, x, at)
}

func (p *rows) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	q := newProduct()
	for i, at := range x {
		row, sum := p.row(p.p.Now, p.sum.Now, s, i)
		c := simd.Pick(row, sum, r.Float64())
		if c < 0 {
			return 0, math.NaN()
		}
		l := int32(c)
		if p.window >= 0 {
			l += at - int32(p.window)
		}
		if l != at {
			moved++
		}
		y[i] = l
		q.mul(float64(row[c]) / sum)
	}
	return moved, q.log()
}

func (p *rows) logProb(y, x []int32, s int) float64 { return p.score(p.p.Next, p.sum.Next, y, x, s) }

func (p *rows) current(y, x []int32, s int) float64 { return p.score(p.p.Now, p.sum.Now, y, x, s) }

func (p *rows) score(w []float32, sums []float64, y, x []int32, s int) float64 {
	q := newProduct()
	for i, at := range x {
		row, sum := p.row(w, sums, s, i)
		c := p.column(y[i], at)
		if c < 0 {
			return math.Inf(-1)
		}
		q.mul(float64(row[c]) / sum)
	}
	return q.log()
}

func (p *rows) row(w []float32, sums []float64, s, site int) ([]float32, float64) {
	i := s*p.sites + site
	return w[i*p.cols : (i+1)*p.cols], sums[i]
}

func (p *rows) fields(f *wire.Fields) {
	f.Float32s(p.g.Now)
	f.Float32s(p.p.Now)
	f.Float64s(p.sum.Now)
}

// barkerRows multiplies weights by Barker's function g(e^(−d)) = σ(−d), without logarithms.
type barkerRows struct{ pull []float32 }

// barkerEntries is the number of entries multiplied at a time.
const barkerEntries = 1024

func newBarkerRows(cols int) *barkerRows {
	return &barkerRows{make([]float32, max(barkerEntries/cols, 1)*cols)}
}

// multiply multiplies the weights w for the distances of levels by g(e^(−d)) for the differences d
// in g, and stores the totals of rows in sum. w is 1 for the current level of a site, and otherwise
// 0 or at least leastWeight. The same holds for the products, which are 0 for a level that is known
// to have probability zero.
func (b *barkerRows) multiply(w []float32, sum []float64, g []float32, cols int) {
	for len(sum) > 0 {
		rows := min(len(sum), len(b.pull)/cols)
		n := rows * cols
		for i, d := range g[:n] {
			b.pull[i] = -d
		}
		simd.SigmoidTo(b.pull[:n], b.pull[:n])
		for i := range rows {
			total := 0.0
			for c := i * cols; c < (i+1)*cols; c++ {
				v := float32(w[c] * b.pull[c])
				if v < leastWeight && w[c] > 0 && g[c] <= math.MaxFloat32 {
					v = leastWeight
				}
				w[c] = v
				total += float64(v)
			}
			sum[i] = total
		}
		w, sum, g = w[n:], sum[rows:], g[n:]
	}
}
