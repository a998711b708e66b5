package elimination

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// walker steps through the states of some variables, the last one varying fastest. It tracks the
// position in a table with other strides.
type walker struct {
	dims, strides, x []int
	at               int
}

func (w *walker) set(cards, vars []int32, strides []int) {
	w.dims = w.dims[:0]
	for _, v := range vars {
		w.dims = append(w.dims, int(cards[v]))
	}
	w.strides = strides
	w.x = append(w.x[:0], make([]int, len(vars))...)
	w.at = 0
}

func (w *walker) next() {
	for k := len(w.x) - 1; k >= 0; k-- {
		if w.x[k]++; w.x[k] < w.dims[k] {
			w.at += w.strides[k]
			return
		}
		w.at -= w.strides[k] * (w.x[k] - 1)
		w.x[k] = 0
	}
}

// blockSize is the maximum number of entries of a message that are computed at a time: 32 KiB.
const blockSize = 1 << 12

// layout describes how the message of a bucket is computed: by a loop over the outer dimensions,
// around blocks of the inner ones.
type layout struct {
	outer int   // number of outer dimensions
	block int   // number of entries of a block
	each  int   // number of blocks
	dims  []int // sizes of the outer dimensions
	steps [][]int
}

// lay chooses the layout of a bucket and prepares the offsets of the operands within a block of
// inner dimensions. These are the dimensions of the scope from outer on.
func (r *Run) lay(b *bucket) (l layout) {
	cards := r.p.cards
	l.outer, l.block = len(b.scope), 1
	for l.outer > 0 && l.block*int(cards[b.scope[l.outer-1]]) <= blockSize {
		l.outer--
		l.block *= int(cards[b.scope[l.outer]])
	}
	l.each = b.size / l.block
	l.steps = r.outer(b, l.outer, &l.dims)
	for len(r.offs) < len(b.ops) {
		r.offs = append(r.offs, nil)
	}
	inner := b.scope[l.outer:]
	for i := range b.ops {
		r.walk.set(cards, inner, r.p.strides(inner, b.ops[i].vars))
		off := slices.Grow(r.offs[i][:0], l.block)[:l.block]
		for o := range off {
			off[o] = int32(r.walk.at)
			r.walk.next()
		}
		r.offs[i] = off
	}
	r.begin(b, l.outer)
	return l
}

// outer returns the strides of the operands in the first n dimensions of the scope, and appends
// the sizes of these dimensions to dims.
func (r *Run) outer(b *bucket, n int, dims *[]int) (steps [][]int) {
	for _, v := range b.scope[:n] {
		*dims = append(*dims, int(r.p.cards[v]))
	}
	for i := range b.ops {
		steps = append(steps, r.p.strides(b.scope[:n], b.ops[i].vars))
	}
	return steps
}

// begin starts a loop over the outer dimensions.
func (r *Run) begin(b *bucket, outer int) {
	r.x = append(r.x[:0], make([]int, outer)...)
	r.base = append(r.base[:0], make([]int, len(b.ops))...)
}

// advance moves to the next state of the outer dimensions.
func (r *Run) advance(dims []int, steps [][]int) {
	for k := len(dims) - 1; k >= 0; k-- {
		if r.x[k]++; r.x[k] < dims[k] {
			for i := range steps {
				r.base[i] += steps[i][k]
			}
			return
		}
		for i := range steps {
			r.base[i] -= steps[i][k] * (r.x[k] - 1)
		}
		r.x[k] = 0
	}
}

// product stores in dst the product of the operands, or the sum of their logarithms, for the
// current block and one level of the variable.
func (r *Run) product(dst []float64, b *bucket, level int) {
	card := int(r.p.cards[b.v])
	for i, d := range r.ops {
		d = d[r.base[i]+level*(len(d)/card):]
		off := r.offs[i][:len(dst)]
		switch {
		case i == 0:
			for o, a := range off {
				dst[o] = d[a]
			}
		case r.mode == linear:
			for o, a := range off {
				dst[o] *= d[a]
			}
		default:
			for o, a := range off {
				dst[o] += d[a]
			}
		}
	}
}

// buffer returns scratch memory for n numbers.
func (r *Run) buffer(n int) []float64 {
	r.tmp = slices.Grow(r.tmp[:0], n)[:n]
	return r.tmp
}

// contract sums the product of the operands over the bucket's variable, or maximises over it.
func (r *Run) contract(b *bucket, out []float64) {
	largest := r.mode == maximal && !r.p.summed(b.v)
	if r.fast(b, out, largest) {
		return
	}
	l := r.lay(b)
	card := int(r.p.cards[b.v])
	tmp := r.buffer(l.block * card)
	for at := range l.each {
		dst := out[at*l.block : (at+1)*l.block]
		if r.mode == linear && card == 2 && len(r.ops) == 2 {
			c, d := r.ops[0][r.base[0]:], r.ops[1][r.base[1]:]
			e, f := c[len(r.ops[0])/2:], d[len(r.ops[1])/2:]
			off := r.offs[1][:len(dst)]
			for o, i := range r.offs[0][:len(dst)] {
				j := off[o]
				dst[o] = float64(c[i]*d[j]) + float64(e[i]*f[j])
			}
		} else if r.mode == linear {
			r.product(dst, b, 0)
			for level := 1; level < card; level++ {
				r.product(tmp[:l.block], b, level)
				for o, v := range tmp[:l.block] {
					dst[o] += v
				}
			}
		} else {
			for level := range card {
				r.product(tmp[level*l.block:(level+1)*l.block], b, level)
			}
			r.reduce(dst, tmp, card, largest)
		}
		r.advance(l.dims, l.steps)
	}
}

// reduce stores in dst the maximum over the levels in tmp, or the logarithm of their sum.
func (r *Run) reduce(dst, tmp []float64, card int, largest bool) {
	copy(dst, tmp)
	n := len(dst)
	for level := 1; level < card; level++ {
		v := tmp[level*n : (level+1)*n]
		if !largest {
			simd.LogAdds(dst, v)
			continue
		}
		for o, w := range v {
			if w > dst[o] {
				dst[o] = w
			}
		}
	}
}

// pattern is the product of a message and a small table in which the middle dimensions occur
// only in the message:
//
//	out[outer, m, i] = Σ_v message[v, outer, m, near[i]]·table[v, outer, i].
type pattern struct {
	message, table int // indices of the operands; table −1: none
	// index of the first dimension that is not outer, and of the first that is inner
	outer, middle int
	m, inner      int // numbers of entries of the middle and of the inner dimensions
	near          []int32
	step          int // distance in the message from one m to the next
}

// largestInner is the maximum number of inner entries of a pattern, so that they fit in the
// cache.
const largestInner = 256

// pattern finds the pattern with the most middle entries. It returns ok = false if that pattern has
// only few of them.
func (r *Run) pattern(b *bucket) (q pattern, ok bool) {
	n := len(b.ops)
	if n == 0 || n > 2 || !b.ops[n-1].alone || n == 2 && b.ops[0].alone || len(b.scope) == 0 {
		return q, false
	}
	q.message, q.table = n-1, n-2
	of := r.p.strides(b.scope, b.ops[q.message].vars)
	table := make([]int, len(b.scope))
	if q.table >= 0 {
		table = r.p.strides(b.scope, b.ops[q.table].vars)
	}
	inner, best := 1, 0
	for t := len(b.scope); t >= 0 && inner <= largestInner; t-- {
		m, s := 1, t
		for s > 0 && of[s-1] > 0 && table[s-1] == 0 {
			s--
			m *= int(r.p.cards[b.scope[s]])
		}
		if m > best {
			best = m
			q.outer, q.middle, q.m, q.inner = s, t, m, inner
		}
		if t > 0 {
			inner *= int(r.p.cards[b.scope[t-1]])
		}
	}
	if q.m < 4 {
		return q, false
	}
	vars := b.scope[q.middle:]
	r.walk.set(r.p.cards, vars, of[q.middle:])
	q.near = make([]int32, q.inner)
	for i := range q.near {
		q.near[i] = int32(r.walk.at)
		r.walk.next()
	}
	q.step = of[q.middle-1]
	return q, true
}

// values stores the small table at a level, for all inner entries.
func (r *Run) values(dst []float64, b *bucket, q *pattern, level int) {
	if q.table < 0 {
		one := 1.0
		if r.mode != linear {
			one = 0
		}
		for i := range dst {
			dst[i] = one
		}
		return
	}
	d := r.ops[q.table]
	d = d[r.base[q.table]+level*(len(d)/int(r.p.cards[b.v])):]
	vars := b.scope[q.middle:]
	r.walk.set(r.p.cards, vars, r.p.strides(vars, b.ops[q.table].vars))
	for i := range dst {
		dst[i] = d[r.walk.at]
		r.walk.next()
	}
}

// fast contracts a bucket that has a pattern, and reports whether it has one.
func (r *Run) fast(b *bucket, out []float64, largest bool) bool {
	q, ok := r.pattern(b)
	if !ok {
		return false
	}
	var dims []int
	steps := r.outer(b, q.outer, &dims)
	r.begin(b, q.outer)
	card := int(r.p.cards[b.v])
	d := r.ops[q.message]
	block := q.m * q.inner
	p := r.buffer(card*q.inner + min(block, blockSize))
	tmp := p[card*q.inner:]
	for at := 0; at < len(out); at += block {
		dst := out[at : at+block]
		for level := range card {
			r.values(p[level*q.inner:(level+1)*q.inner], b, &q, level)
		}
		first := d[r.base[q.message]:]
		switch {
		case largest:
			for level := range card {
				raise(dst, first[level*(len(d)/card):], p[level*q.inner:(level+1)*q.inner], &q, level == 0)
			}
		case r.mode != linear:
			part := q
			for m := 0; m < q.m; m += part.m {
				part.m = min(max(1, blockSize/q.inner), q.m-m)
				sums := dst[m*q.inner : (m+part.m)*q.inner]
				for level := range card {
					to := sums
					if level > 0 {
						to = tmp[:len(sums)]
					}
					raise(to, first[level*(len(d)/card)+m*q.step:], p[level*q.inner:(level+1)*q.inner], &part, true)
					if level > 0 {
						simd.LogAdds(sums, to)
					}
				}
			}
		case card == 2:
			pairs(dst, first, first[len(d)/2:], p, &q)
		default:
			for level := range card {
				scatter(dst, first[level*(len(d)/card):], p[level*q.inner:(level+1)*q.inner], &q, level == 0)
			}
		}
		r.advance(dims, steps)
	}
	return true
}

// pairs sums over two levels: a and b are the message at these levels, p is the small table.
func pairs(dst, a, b, p []float64, q *pattern) {
	a, b = a[:q.m*q.step], b[:q.m*q.step]
	switch {
	case q.inner == 1:
		p0, p1 := p[0], p[1]
		dst, b = dst[:len(a)], b[:len(a)]
		for j, v := range a {
			dst[j] = float64(v*p0) + float64(b[j]*p1)
		}
	case q.inner == 2 && q.step == 1:
		p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
		b = b[:len(a)]
		for j, v := range a {
			w := b[j]
			d := dst[2*j : 2*j+2 : 2*j+2]
			d[0] = float64(v*p0) + float64(w*p2)
			d[1] = float64(v*p1) + float64(w*p3)
		}
	case q.inner == 4 && q.step == 2 && q.near[1] == 0 && q.near[2] == 1:
		p = p[:8]
		for j := range q.m {
			d := dst[4*j : 4*j+4 : 4*j+4]
			v, w := a[2*j:2*j+2:2*j+2], b[2*j:2*j+2:2*j+2]
			v0, v1, w0, w1 := v[0], v[1], w[0], w[1]
			d[0] = float64(v0*p[0]) + float64(w0*p[4])
			d[1] = float64(v0*p[1]) + float64(w0*p[5])
			d[2] = float64(v1*p[2]) + float64(w1*p[6])
			d[3] = float64(v1*p[3]) + float64(w1*p[7])
		}
	default:
		n := q.inner
		p0, p1, near := p[:n], p[n:2*n], q.near[:n]
		for j := range q.m {
			d, v, w := dst[j*n:(j+1)*n], a[j*q.step:], b[j*q.step:]
			d, p0, p1 = d[:len(near)], p0[:len(near)], p1[:len(near)]
			for i, k := range near {
				d[i] = float64(v[k]*p0[i]) + float64(w[k]*p1[i])
			}
		}
	}
}

// scatter stores the contribution of one level in dst, or adds it.
func scatter(dst, a, p []float64, q *pattern, store bool) {
	n := q.inner
	for j := range q.m {
		d, v := dst[j*n:(j+1)*n], a[j*q.step:]
		if store {
			for i, k := range q.near {
				d[i] = float64(v[k] * p[i])
			}
			continue
		}
		for i, k := range q.near {
			d[i] += float64(v[k] * p[i])
		}
	}
}

// raise stores the contribution of one level in dst, or replaces smaller entries by it, in
// logarithms.
func raise(dst, a, p []float64, q *pattern, store bool) {
	n := q.inner
	for j := range q.m {
		d, v := dst[j*n:(j+1)*n], a[j*q.step:]
		for i, k := range q.near {
			if t := v[k] + p[i]; store || t > d[i] {
				d[i] = t
			}
		}
	}
}
