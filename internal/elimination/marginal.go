package elimination

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Marginals computes the marginal probabilities of p ∝ e^−E, where E is the sum of the tables. It
// returns log Σ_x exp(−E(x)) like [Run.Sum]. For every table k it calls factor(k, p), where p holds
// the probabilities of the table's entries. For every variable v it calls variable(v, p), where p
// holds the probabilities of its levels. Both functions may be nil; p is valid only during the
// call.
func (r *Run) Marginals(ctx context.Context, tables [][]float64, factor func(k int, p []float64), variable func(v int32, p []float64)) (logZ float64, err error) {
	logZ, err = r.start(ctx, tables, linear, true)
	if err != nil {
		return 0, err
	}
	r.meter.Watch(ctx)
	defer r.meter.Unwatch()
	adjoint := make([][]float64, len(r.p.buckets))
	for s := len(r.p.cuts) - 2; s >= 0; s-- {
		if err := r.segment(s); err != nil {
			return 0, err
		}
		for k := r.p.cuts[s+1] - 1; k >= r.p.cuts[s]; k-- {
			if err := r.backwards(k, adjoint, factor, variable); err != nil {
				return 0, err
			}
			r.put(&adjoint[k])
		}
	}
	for k, scope := range r.p.scopes {
		if len(scope) == 0 && factor != nil {
			factor(k, []float64{1})
		}
	}
	return logZ, nil
}

// put returns the memory *m to the free list and sets *m to nil.
func (r *Run) put(m *[]float64) {
	if *m != nil {
		r.free[len(*m)] = append(r.free[len(*m)], *m)
		*m = nil
	}
}

// backwards computes the probabilities in bucket k from its adjoint, and the adjoints of the
// buckets below it. For a state of the bucket's scope, the adjoint is the total weight of
// everything that is not below the bucket. The probability of the state is adjoint times
// message.
func (r *Run) backwards(k int, adjoint [][]float64, factor func(k int, p []float64), variable func(v int32, p []float64)) error {
	b := &r.p.buckets[k]
	card := int(r.p.cards[b.v])
	if r.meter.Done(2 * card * b.size) {
		return r.meter.Poll()
	}
	if _, _, err := r.operands(b, false); err != nil {
		return err
	}
	defer r.drop(b)
	above := adjoint[k]
	if above == nil { // a root
		above = []float64{0 - r.out[k][0]}
		if r.mode == linear {
			above = []float64{1 / r.out[k][0]}
		}
	}
	site := make([]float64, card)
	sums := make([][]float64, len(b.ops)) // probabilities of the operands
	for i := range b.ops {
		sums[i] = r.take(b.ops[i].size)
		clear(sums[i])
	}
	if len(b.ops) == 0 {
		for l := range site {
			site[l] = 1
		}
	} else if r.mode != linear || !r.fastBack(b, above, r.scale[k], sums, site) {
		r.slowBack(b, above, r.scale[k], sums, site)
		for i := range b.ops {
			if b.ops[i].alone {
				r.adjoin(sums[i], r.out[b.ops[i].parts[0].child])
			}
		}
	}
	total := 0.0
	for _, v := range site {
		total += v
	}
	for l := range site {
		site[l] /= total
	}
	if variable != nil {
		variable(b.v, site)
	}
	for i := range b.ops {
		r.share(&b.ops[i], sums[i], total, adjoint, factor)
	}
	return nil
}

// slowBack adds up the probabilities of each operand's states in sums, and those of the
// variable's levels in site.
func (r *Run) slowBack(b *bucket, above []float64, scale int, sums [][]float64, site []float64) {
	l := r.lay(b)
	card := len(site)
	c := math.Ldexp(1, -scale)
	tmp := r.buffer(l.block)
	for at := range l.each {
		adj := above[at*l.block : (at+1)*l.block]
		for level := range card {
			r.product(tmp, b, level)
			s := 0.0
			if r.mode == linear {
				for o, a := range adj {
					tmp[o] = float64(tmp[o] * c * a)
					s += tmp[o]
				}
			} else {
				for o, a := range adj {
					tmp[o] = simd.Exp(tmp[o] + a)
					s += tmp[o]
				}
			}
			site[level] += s
			for i, m := range sums {
				m = m[r.base[i]+level*(len(m)/card):]
				off := r.offs[i][:len(tmp)]
				for o, v := range tmp {
					m[off[o]] += v
				}
			}
		}
		r.advance(l.dims, l.steps)
	}
}

// fastBack does the work of slowBack for a bucket with a pattern, and reports whether it has
// one. For the message it stores the adjoint instead of the probabilities.
func (r *Run) fastBack(b *bucket, above []float64, scale int, sums [][]float64, site []float64) bool {
	q, ok := r.pattern(b)
	if !ok || scale > even || scale < -even || q.table >= 0 && !r.wide(r.ops[q.table]) {
		return false
	}
	var dims []int
	steps := r.outer(b, q.outer, &dims)
	r.begin(b, q.outer)
	card, n := len(site), q.inner
	buf := r.buffer((1 + card) * n)
	got := buf[card*n:]
	c := math.Ldexp(1, -scale)
	d, m := r.ops[q.message], sums[q.message]
	block := q.m * n
	vars := b.scope[q.middle:]
	for at := 0; at < b.size; at += block {
		for level := range card {
			p := buf[level*n : (level+1)*n]
			r.values(p, b, &q, level)
			for i, v := range p {
				p[i] = v * c
			}
			from := r.base[q.message] + level*(len(d)/card)
			v, w := d[from:from+q.m*q.step], m[from:from+q.m*q.step]
			clear(got)
			pull(w, got, v, p, above[at:at+block], &q)
			for i := range got {
				site[level] += got[i]
			}
			if q.table >= 0 {
				t := sums[q.table]
				t = t[r.base[q.table]+level*(len(t)/card):]
				r.walk.set(r.p.cards, vars, r.p.strides(vars, b.ops[q.table].vars))
				for _, g := range got {
					t[r.walk.at] += g
					r.walk.next()
				}
			}
		}
		r.advance(dims, steps)
	}
	return true
}

// pull adds contributions of above, the bucket's adjoint. It adds to w, the adjoint of the message
// v below, and to got, the sums over the small table p.
func pull(w, got, v, p, above []float64, q *pattern) {
	n := q.inner
	near := q.near[:n]
	if n == 4 && q.step == 2 && near[1] == 0 && near[2] == 1 {
		p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
		var g0, g1, g2, g3 float64
		for j := range q.m {
			a := above[4*j : 4*j+4 : 4*j+4]
			x, y := v[2*j:2*j+2:2*j+2], w[2*j:2*j+2:2*j+2]
			t0, t1, t2, t3 := float64(p0*a[0]), float64(p1*a[1]), float64(p2*a[2]), float64(p3*a[3])
			y[0] += t0 + t1
			y[1] += t2 + t3
			g0 += float64(x[0] * t0)
			g1 += float64(x[0] * t1)
			g2 += float64(x[1] * t2)
			g3 += float64(x[1] * t3)
		}
		got[0], got[1], got[2], got[3] = got[0]+g0, got[1]+g1, got[2]+g2, got[3]+g3
		return
	}
	for j := range q.m {
		a, x, y := above[j*n:(j+1)*n], v[j*q.step:], w[j*q.step:]
		a, pp, gg := a[:len(near)], p[:len(near)], got[:len(near)]
		for i, k := range near {
			t := float64(pp[i] * a[i])
			y[k] += t
			gg[i] += float64(x[k] * t)
		}
	}
}

// share distributes the probabilities of an operand to its parts: those of factors to the
// function factor, those of messages to adjoint. It takes ownership of sums.
func (r *Run) share(op *operand, sums []float64, total float64, adjoint [][]float64, factor func(k int, p []float64)) {
	if op.alone && r.mode != linear { // logarithms of an adjoint
		shift := simd.Log(total)
		for i := range sums {
			sums[i] -= shift
		}
	} else {
		for i := range sums {
			sums[i] /= total
		}
	}
	for _, q := range op.parts {
		if q.child < 0 && factor == nil {
			continue
		}
		m := sums
		if !op.alone {
			m = r.take(q.size)
			clear(m)
			r.walk.set(r.p.cards, op.vars, q.strides)
			for _, v := range sums {
				m[r.walk.at] += v
				r.walk.next()
			}
		}
		if q.child < 0 {
			factor(q.factor, m)
			r.put(&m)
			continue
		}
		if !op.alone {
			r.adjoin(m, r.out[q.child])
		}
		adjoint[q.child] = m
	}
	if !op.alone {
		r.put(&sums)
	}
}

// adjoin divides the probabilities of a message's states by the message, which gives its
// adjoint.
func (r *Run) adjoin(p, message []float64) {
	for i, w := range message {
		switch {
		case r.mode != linear && p[i] > 0:
			p[i] = simd.Log(p[i]) - w
		case r.mode != linear:
			p[i] = math.Inf(-1)
		case w > 0:
			p[i] /= w
		default:
			p[i] = 0
		}
	}
}

// wide reports whether a table can be scaled by 2^±even without leaving the range.
func (r *Run) wide(table []float64) bool {
	low, _ := Exponents(table)
	return low > lowest+2*even
}
