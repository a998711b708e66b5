package subgraph

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Limits on exponents, as defined by math.Frexp: 2^(e−1) ≤ |v| < 2^e. Consider operands whose low
// exponents add up to at least lowest and whose high exponents add up to at most highest. Products
// of these operands are normal numbers, and so are sums of the products over fewer than 2^20
// levels.
const (
	lowest  = -1000 // least sum of low exponents
	highest = 1000  // greatest sum of high exponents
	even    = 300   // messages whose exponents are bounded by this are not inspected
)

// mode is the arithmetic of a run.
type mode int

const (
	linear      mode = iota // arithmetic with scaled weights
	logarithmic             // arithmetic with logarithms of weights
)

// Run holds the messages (intermediate tables of the elimination) for one plan at a time. It must
// be used by one goroutine at a time.
type Run struct {
	messages, tables []float64
	low, high        []int     // in linear mode: bounds on the exponents of each message
	w                []float64 // weights of the levels of a site
	tmp              []float64 // product of the operands at one level
	mode             mode
	at               int // index of the next bucket to process
}

// NewRun returns a Run with enough memory for any of the plans.
func NewRun(plans []*Plan) *Run {
	var entries, small, sites, most, largest int
	for _, p := range plans {
		for k := range p.buckets {
			largest = max(largest, p.buckets[k].size)
		}
		entries, small = max(entries, p.entries), max(small, p.small)
		sites, most = max(sites, len(p.buckets)), max(most, p.most)
	}
	return &Run{
		messages: make([]float64, entries), tables: make([]float64, small),
		low: make([]int, sites), high: make([]int, sites), w: make([]float64, most), tmp: make([]float64, largest),
	}
}

// Begin discards the progress of a [Run.Forward] that was stopped, so that the next Forward
// starts anew.
func (r *Run) Begin() { r.at = 0 }

// Forward computes the messages of plan p given the levels x of the sites outside the set. The
// function stop may be nil. Otherwise Forward calls it from time to time with the number of entries
// computed since the last call. If stop returns true, Forward returns false, and the next Forward
// continues at that point.
//
// If a product of weights is too large or too small for a float64, Forward starts again with
// logarithms.
func (r *Run) Forward(p *Plan, x []int32, stop func(work int) bool) (done bool) {
	if r.at == 0 {
		r.mode = linear
		if !p.linear {
			r.mode = logarithmic
		}
	}
	return r.forward(p, x, stop)
}

func (r *Run) forward(p *Plan, x []int32, stop func(work int) bool) (done bool) {
	for r.at < len(p.buckets) {
		b := &p.buckets[r.at]
		r.fill(b, x)
		if r.mode == linear && !r.bound(b) {
			r.mode, r.at = logarithmic, 0
			continue
		}
		r.contract(p, b)
		if r.mode == linear && !r.level(b) {
			r.mode, r.at = logarithmic, 0
			continue
		}
		r.at++
		if stop != nil && stop((b.size+b.rows+1)*int(b.card)) && r.at < len(p.buckets) {
			return false
		}
	}
	r.at = 0
	return true
}

// fill computes the small table of a bucket.
func (r *Run) fill(b *bucket, x []int32) {
	t := r.tables[b.table : b.table+b.rows*int(b.card)]
	first := 1.0
	if r.mode != linear {
		first = 0
	}
	if len(b.pieces) == 0 {
		for i := range t {
			t[i] = first
		}
	}
	for k := range b.pieces {
		q := &b.pieces[k]
		at := int32(0)
		for _, o := range q.outside {
			at += x[o.site] * o.stride
		}
		off := q.offsets[:len(t)]
		switch {
		case r.mode == linear && k == 0:
			w := q.weights[at:]
			for i, o := range off {
				t[i] = w[o]
			}
		case r.mode == linear:
			w := q.weights[at:]
			for i, o := range off {
				t[i] *= w[o]
			}
		case k == 0:
			w := q.energies[at:]
			for i, o := range off {
				t[i] = 0 - w[o]
			}
		default:
			w := q.energies[at:]
			for i, o := range off {
				t[i] -= w[o]
			}
		}
	}
}

// bound computes bounds on the exponents of the message of bucket r.at. It returns false if
// products may be out of range.
func (r *Run) bound(b *bucket) bool {
	low, high := b.low, len(b.pieces)+bits.Len(uint(b.card-1))
	for k := range b.kids {
		c := b.kids[k].bucket
		low, high = low+r.low[c]-1, high+r.high[c]
	}
	r.low[r.at], r.high[r.at] = low, high
	return low >= lowest && high <= highest
}

// level divides the message by a power of two if its exponents may be far from 0. It returns
// false if the message is all zero or remains out of range.
func (r *Run) level(b *bucket) bool {
	if r.low[r.at] > -even && r.high[r.at] < even {
		return true
	}
	m := r.messages[b.at : b.at+b.size]
	low, high := elimination.Exponents(m)
	if high == math.MinInt {
		return false
	}
	c := math.Ldexp(1, -high)
	for i := range m {
		m[i] *= c
	}
	r.low[r.at], r.high[r.at] = low-high, 0
	return low-high >= lowest
}

// contract computes the message of a bucket.
func (r *Run) contract(p *Plan, b *bucket) {
	out := r.messages[b.at : b.at+b.size]
	t := r.tables[b.table : b.table+b.rows*int(b.card)]
	switch {
	case len(b.scope) == 0 && r.mode == linear:
		out[0] = 1 // nobody reads it
		return
	case b.walk.middle > 0 && r.mode != logarithmic:
		m := p.buckets[b.kids[0].bucket]
		r.pairs(out, r.messages[m.at:m.at+m.size], t, &b.walk)
		return
	}
	for l := range int(b.card) {
		row := t[l*b.rows : (l+1)*b.rows]
		switch {
		case r.mode == logarithmic:
			for o := range out {
				v := r.entry(p, b, row, l, o)
				if l > 0 {
					v = simd.LogAdd(out[o], v)
				}
				out[o] = v
			}
		case l == 0:
			r.product(out, p, b, row, l)
		default:
			v := r.tmp[:len(out)]
			r.product(v, p, b, row, l)
			if r.mode == linear {
				for o, w := range v {
					out[o] += w
				}
				continue
			}
			for o, w := range v {
				out[o] = max(out[o], w)
			}
		}
	}
}

// entry returns the logarithm of the product at a level and an entry of the message.
func (r *Run) entry(p *Plan, b *bucket, row []float64, level, o int) float64 {
	at := o
	if b.offsets != nil {
		at = int(b.offsets[o])
	} else if b.walk.middle > 0 {
		at = b.walk.near0(o)
	}
	v := row[at]
	for k := range b.kids {
		c := &b.kids[k]
		at := 0
		if c.offsets != nil {
			at = int(c.offsets[o])
		} else {
			at = o / b.walk.fresh
		}
		v += r.messages[p.buckets[c.bucket].at+level*c.step+at]
	}
	return v
}

// near0 returns the position in the small table for entry o of the message.
func (w *pattern) near0(o int) int {
	outer, fresh := o/(w.middle*w.fresh), o%w.fresh
	return int(w.near[outer*w.fresh+fresh])
}

// product stores in out the products of the small table and the messages at one level, or the
// sums of their logarithms.
func (r *Run) product(out []float64, p *Plan, b *bucket, row []float64, level int) {
	if b.offsets == nil {
		copy(out, row)
	} else {
		for o, a := range b.offsets[:len(out)] {
			out[o] = row[a]
		}
	}
	for k := range b.kids {
		c := &b.kids[k]
		m := r.messages[p.buckets[c.bucket].at+level*c.step:]
		off := c.offsets[:len(out)]
		if r.mode == linear {
			for o, a := range off {
				out[o] *= m[a]
			}
			continue
		}
		for o, a := range off {
			out[o] += m[a]
		}
	}
}

// pairs sums or maximises over two levels, using a pattern.
func (r *Run) pairs(out, message, t []float64, w *pattern) {
	n, half, rows := w.middle, len(message)/2, len(t)/2
	for at, block := 0, 0; at < half; at, block = at+n, block+1 {
		a, b := message[at:at+n], message[half+at:half+at+n]
		near := w.near[block*w.fresh : (block+1)*w.fresh]
		dst := out[at*w.fresh : (at+n)*w.fresh]
		b = b[:len(a)]
		switch {
		case w.fresh == 2 && r.mode == linear:
			p0, p1, q0, q1 := t[near[0]], t[near[1]], t[rows+int(near[0])], t[rows+int(near[1])]
			for j, v := range a {
				u := b[j]
				d := dst[2*j : 2*j+2 : 2*j+2]
				d[0] = float64(v*p0) + float64(u*q0)
				d[1] = float64(v*p1) + float64(u*q1)
			}
		case w.fresh == 2:
			p0, p1, q0, q1 := t[near[0]], t[near[1]], t[rows+int(near[0])], t[rows+int(near[1])]
			for j, v := range a {
				u := b[j]
				d := dst[2*j : 2*j+2 : 2*j+2]
				d[0] = max(v+p0, u+q0)
				d[1] = max(v+p1, u+q1)
			}
		default:
			for i, k := range near {
				p, q := t[k], t[rows+int(k)]
				if r.mode == linear {
					for j, v := range a {
						dst[j*len(near)+i] = float64(v*p) + float64(b[j]*q)
					}
					continue
				}
				for j, v := range a {
					dst[j*len(near)+i] = max(v+p, b[j]+q)
				}
			}
		}
	}
}

// conditional returns the weights of the levels of a bucket's site given the later sites' levels
// in x, or their logarithms unless the mode is linear.
func (r *Run) conditional(p *Plan, b *bucket, x []int32) []float64 {
	w := r.w[:b.card]
	at := int32(0)
	for k, i := range b.scope {
		at += x[i] * b.strides[k]
	}
	for l := range w {
		w[l] = r.tables[b.table+l*b.rows+int(at)]
	}
	for k := range b.kids {
		c := &b.kids[k]
		at := 0
		for j, i := range b.scope {
			at += int(x[i] * c.strides[j])
		}
		m := r.messages[p.buckets[c.bucket].at+at:]
		for l := range w {
			if r.mode == linear {
				w[l] *= m[l*c.step]
			} else {
				w[l] += m[l*c.step]
			}
		}
	}
	return w
}

// Draw draws the levels of the set given the levels outside it, and stores them in x. Forward must
// have completed before. Sites are drawn in reverse order of elimination. The k-th draw, counted
// from 0, uses the uniform number u[k] in [0, 1). Draw returns the number of sites whose level
// changed.
func (r *Run) Draw(p *Plan, x []int32, u []float64) (moved int) {
	for k := len(p.buckets) - 1; k >= 0; k-- {
		b := &p.buckets[k]
		w := r.conditional(p, b, x)
		if r.mode != linear {
			top := slices.Max(w)
			for l := range w {
				w[l] = simd.Exp(w[l] - top)
			}
		}
		sum := 0.0
		for _, v := range w {
			sum += v
		}
		z, level := float64(u[len(p.buckets)-1-k]*sum), x[b.site]
		for l, v := range w {
			if v > 0 {
				if level = int32(l); z < v {
					break
				}
			}
			z -= v
		}
		if x[b.site] != level {
			x[b.site] = level
			moved++
		}
	}
	return moved
}
