package elimination

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// ErrZero is the error for a distribution in which no state has positive probability.
var ErrZero = errors.New("every state has energy +Inf")

// errRange is the error for products that are out of range in linear space.
var errRange = errors.New("products out of range")

// mode is the arithmetic of a run.
type mode int

const (
	linear      mode = iota // arithmetic with scaled weights
	logarithmic             // arithmetic with logarithms of weights
	maximal                 // logarithms, maximised over variables; early variables are summed out
)

// Run holds the tables and messages (intermediate tables) of a calculation with a plan. It must be
// used by one goroutine at a time.
type Run struct {
	p      *Plan
	tables [][]float64 // energies, the tables of the current call
	mode   mode
	meter  poll.Meter

	weights map[*float64]*weights // linear weights of tables, by the address of the first entry
	of      []*weights            // the same by table; nil if not computed
	out     [][]float64           // messages, by bucket; nil if not computed
	scale   []int                 // powers of two by which the messages were divided
	// in linear mode: exponents of the messages' smallest positive entries
	low  []int
	high []int               // in linear mode: exponents of their largest entries
	free map[int][][]float64 // unused memory, by length
	// segment whose messages are present; −1 for none
	ready int
	// logarithm of the sum over all states, without the power of two exp
	total sum
	exp   int // power of two of that sum

	ops  [][]float64 // operands of the current bucket
	tmp  []float64
	offs [][]int32
	base []int
	x    []int
	walk walker
	bits []stretch
}

// weights holds e^−E for the entries of a table, divided by the largest.
type weights struct {
	w   []float64
	log float64 // logarithm of the largest weight
	// exponent of the smallest positive weight; math.MinInt if a weight underflowed to 0
	low int
}

// NewRun returns a new Run of the plan, for one worker.
func (p *Plan) NewRun() *Run {
	n := len(p.buckets)
	return &Run{p: p, out: make([][]float64, n), scale: make([]int, n), low: make([]int, n), high: make([]int, n), free: map[int][][]float64{}}
}

// sum is a compensated sum (Neumaier 1974).
type sum struct{ s, c float64 }

func (a *sum) add(v float64) {
	t := a.s + v
	if math.Abs(a.s) >= math.Abs(v) {
		a.c += (a.s - t) + v
	} else {
		a.c += (v - t) + a.s
	}
	a.s = t
}

func (a *sum) value() float64 {
	if math.IsInf(a.s, 0) {
		return a.s
	}
	return a.s + a.c
}

// Sum returns log Σ_x exp(−E(x)). The sum is over the states x of all variables, and E(x) is the
// sum of the tables' entries at x. Sum returns [ErrZero] if no state has a finite energy.
func (r *Run) Sum(ctx context.Context, tables [][]float64) (logZ float64, err error) {
	return r.start(ctx, tables, linear, false)
}

// start runs the forward pass. If keep is set, it keeps the messages that a backward pass needs.
func (r *Run) start(ctx context.Context, tables [][]float64, m mode, keep bool) (float64, error) {
	r.meter.Watch(ctx)
	defer r.meter.Unwatch()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r.tables, r.mode, r.weights, r.of = tables, m, map[*float64]*weights{}, make([]*weights, len(tables))
	err := r.forwards(keep)
	if errors.Is(err, errRange) {
		r.mode = logarithmic
		err = r.forwards(keep)
	}
	if err != nil {
		return 0, err
	}
	total := r.total
	total.add(float64(float64(r.exp) * math.Ln2))
	return total.value(), nil
}

// forwards computes all messages.
func (r *Run) forwards(keep bool) error {
	p := r.p
	for k := range r.out {
		r.release(k)
	}
	r.total, r.exp, r.ready = sum{}, 0, -1
	for k, scope := range p.scopes {
		if len(scope) == 0 {
			r.total.add(0 - r.tables[k][0])
		}
	}
	last := len(p.cuts) - 2
	for s := range last + 1 {
		for k := p.cuts[s]; k < p.cuts[s+1]; k++ {
			if err := r.eliminate(k, true); err != nil {
				return err
			}
			for _, op := range p.buckets[k].ops {
				for _, t := range op.parts {
					if t.child >= 0 && (!keep || s < last && t.child >= p.cuts[s]) {
						r.release(t.child)
					}
				}
			}
		}
	}
	if math.IsInf(r.total.s, -1) {
		return ErrZero
	}
	if keep {
		r.ready = last
	}
	return nil
}

// segment recomputes the messages of a segment that were not kept.
func (r *Run) segment(s int) error {
	if r.ready == s {
		return nil
	}
	p := r.p
	for k := range r.out { // what an earlier walk left behind
		if p.buckets[k].parent < 0 || p.segmentOf(k) == p.segmentOf(p.buckets[k].parent) {
			r.release(k)
		}
	}
	for k := p.cuts[s]; k < p.cuts[s+1]; k++ {
		if r.out[k] == nil {
			if err := r.eliminate(k, false); err != nil {
				return err
			}
		}
	}
	r.ready = s
	return nil
}

// segmentOf returns the segment of bucket k.
func (p *Plan) segmentOf(k int) int {
	s, begins := slices.BinarySearch(p.cuts, k)
	if begins {
		return s
	}
	return s - 1
}

// take returns memory for n numbers, from the free list if possible.
func (r *Run) take(n int) []float64 {
	if f := r.free[n]; len(f) > 0 {
		r.free[n] = f[:len(f)-1]
		return f[len(f)-1]
	}
	return make([]float64, n)
}

// release returns the memory of message k to the free list.
func (r *Run) release(k int) {
	if m := r.out[k]; m != nil {
		r.free[len(m)] = append(r.free[len(m)], m)
		r.out[k] = nil
	}
}

// Limits on exponents, as defined by math.Frexp: 2^(e−1) ≤ |v| < 2^e. Consider operands whose
// low exponents add up to at least lowest and whose high ones add up to at most highest. Their
// products are normal numbers, as are sums of the products over fewer than 2^20 levels.
const (
	lowest  = -1000 // least sum of low exponents
	highest = 1000  // greatest sum of high exponents
	even    = 400   // messages whose exponents are bounded by this are not inspected
	near    = 64    // messages whose largest exponent is within this distance of 0 are not rescaled
)

// Exponents returns the binary exponents of the smallest positive entry of w (low) and of the
// largest entry (high), as defined by math.Frexp. All entries must be ≥ 0. If all are 0, high is
// math.MinInt.
func Exponents(w []float64) (low, high int) {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, v := range w { // numbers ≥ 0 are ordered as their bits are
		b := math.Float64bits(v)
		least, most = min(least, b-1), max(most, b) // 0 wraps around
	}
	if most == 0 {
		return 0, math.MinInt
	}
	_, low = math.Frexp(math.Float64frombits(least + 1))
	_, high = math.Frexp(math.Float64frombits(most))
	return low, high
}

// rescale multiplies by 2^−e.
func rescale(w []float64, e int) {
	c := math.Ldexp(1, -e)
	for i := range w {
		w[i] *= c
	}
}

// weigh returns the weights of table k, which it caches.
func (r *Run) weigh(k int) *weights {
	if r.of[k] != nil {
		return r.of[k]
	}
	table := r.tables[k]
	key := &table[0]
	if r.of[k] = r.weights[key]; r.of[k] != nil {
		return r.of[k]
	}
	least := math.Inf(1)
	for _, e := range table {
		least = min(least, e)
	}
	t := &weights{log: 0 - least, w: make([]float64, len(table))}
	lost := false
	for i, e := range table {
		if !math.IsInf(e, 1) {
			t.w[i] = simd.Exp(least - e)
			lost = lost || t.w[i] == 0
		}
	}
	if t.low, _ = Exponents(t.w); lost {
		t.low = math.MinInt
	}
	r.weights[key], r.of[k] = t, t
	return t
}

// operands prepares the operands of a bucket: it multiplies parts and uses single messages
// directly. It returns a lower bound on the exponent of the smallest positive product, and an
// upper bound on that of the largest. If first is set, it adds constants to the sum over all
// states.
func (r *Run) operands(b *bucket, first bool) (low, high int, err error) {
	r.ops = r.ops[:0]
	for k := range b.ops {
		op := &b.ops[k]
		if op.alone {
			c := op.parts[0].child
			r.ops = append(r.ops, r.out[c])
			low, high = low+r.low[c]-1, high+r.high[c]
			continue
		}
		t := r.take(op.size)
		r.ops = append(r.ops, t)
		if r.mode != linear {
			clear(t)
			for _, q := range op.parts {
				r.walk.set(r.p.cards, op.vars, q.strides)
				if q.child >= 0 {
					m := r.out[q.child]
					for i := range t {
						t[i] += m[r.walk.at]
						r.walk.next()
					}
					continue
				}
				e := r.tables[q.factor]
				for i := range t {
					t[i] -= e[r.walk.at]
					r.walk.next()
				}
			}
			continue
		}
		for i := range t {
			t[i] = 1
		}
		lo, hi := 1, 1
		for _, q := range op.parts {
			var m []float64
			var l, h int
			if q.child >= 0 {
				m, l, h = r.out[q.child], r.low[q.child], r.high[q.child]
			} else {
				w := r.weigh(q.factor)
				if first {
					r.total.add(w.log)
				}
				if w.low < lowest {
					return 0, 0, errRange
				}
				m, l, h = w.w, w.low, 1
			}
			if lo+l-2 < lowest || hi+h > highest {
				return 0, 0, errRange
			}
			r.walk.set(r.p.cards, op.vars, q.strides)
			for i := range t {
				t[i] *= m[r.walk.at]
				r.walk.next()
			}
			lo, hi = Exponents(t)
			if hi == math.MinInt {
				return 0, 0, ErrZero
			}
			rescale(t, hi)
			if first {
				r.exp += hi
			}
			lo, hi = lo-hi, 0
			if lo < lowest {
				return 0, 0, errRange
			}
		}
		low, high = low+lo-1, high+hi
	}
	if r.mode == linear && (low < lowest || high > highest) {
		return 0, 0, errRange
	}
	return low, high, nil
}

// drop returns the memory of the operands that operands allocated.
func (r *Run) drop(b *bucket) {
	for k, t := range r.ops {
		if !b.ops[k].alone {
			r.free[len(t)] = append(r.free[len(t)], t)
		}
	}
	r.ops = r.ops[:0]
}

// eliminate computes the message of bucket k. The argument initial must be true only in the first
// call for a bucket, which adds constants to the sum over all states.
func (r *Run) eliminate(k int, initial bool) error {
	b := &r.p.buckets[k]
	card := int(r.p.cards[b.v])
	if r.meter.Done(card*b.size + 16) {
		return r.meter.Poll()
	}
	low, high, err := r.operands(b, initial)
	if err != nil {
		return err
	}
	out := r.take(b.size)
	r.out[k] = out
	if len(b.ops) == 0 { // a variable in no table
		out[0] = float64(card)
		if r.mode == logarithmic || r.mode == maximal && r.p.summed(b.v) {
			out[0] = simd.Log(float64(card))
		} else if r.mode == maximal {
			out[0] = 0
		}
	} else {
		r.contract(b, out)
	}
	r.drop(b)
	if r.mode == linear {
		r.scale[k], r.low[k], r.high[k] = 0, low, high+bits.Len(uint(card-1))
		if low < -even || r.high[k] > even || b.size <= small || b.parent < 0 {
			return r.normalize(k, initial)
		}
		return nil
	}
	if b.parent < 0 && initial {
		r.total.add(out[0])
	}
	return nil
}

// normalize determines the exponents of message k and divides the message by a power of two if
// they are far from 0.
func (r *Run) normalize(k int, first bool) error {
	b, out := &r.p.buckets[k], r.out[k]
	low, high := Exponents(out)
	if high == math.MinInt {
		return ErrZero
	}
	if high > near || high < -near || b.size <= small || b.parent < 0 {
		rescale(out, high)
		r.scale[k], low, high = high, low-high, 0
		if first {
			r.exp += r.scale[k]
		}
	}
	if low < lowest {
		return errRange
	}
	r.low[k], r.high[k] = low, high
	if b.parent < 0 && first {
		r.total.add(simd.Log(out[0]))
	}
	return nil
}

// summed reports whether a variable is summed out in a search for the best state.
func (p *Plan) summed(v int32) bool { return p.late != nil && !p.late[v] }
