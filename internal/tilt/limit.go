package tilt

import (
	"context"
	"math"
	"math/big"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// deepest is the number of nested calls of limit allowed beyond one per dimension. It stops a
// recursion that does not reduce the dimension.
const deepest = 8

// dead lists the thresholds on the probability of a state, relative to the largest probability,
// that limit tries in turn. A state below a threshold may lose all probability as λ goes to
// infinity. At a residual of [concave.Accepted], such states have a probability of about 10⁻²⁰.
// After a climb that stopped early, they have more.
var dead = [...]float64{1e-17, 1e-12, 1e-7, 1e-4}

// limit looks for a direction u along which the dual function grows for ever (Stiemke's
// alternative to an optimum). Such a u has uᵀg ≥ 0 in every state and uᵀg > 0 in at least one,
// with u_j ≥ 0 at inequalities. limit returns nil if it finds none.
//
// The states that still have probability at the end of a climb must have uᵀg = 0. Choosing among
// the directions with that property, so that the other states have uᵀg ≥ 0, is the same problem
// in fewer dimensions. The direction found is checked in rational arithmetic. The problem
// restricted to the states with uᵀg = 0 then tells whether the constraints can be satisfied
// (facial reduction).
func (t *List) limit(ctx context.Context, lambda []float64) (*Optimum, error) {
	if t.depth > t.n+deepest {
		return nil, nil
	}
	t.weigh(lambda)
	p := slices.Clone(t.p)
	largest := slices.Max(p)
	for k := range p {
		p[k] /= largest
	}
	for _, low := range dead {
		u, err := t.recession(ctx, lambda, p, low)
		if err != nil {
			return nil, err
		}
		if u == nil {
			continue
		}
		face := New(t.beta, t.n, t.free)
		face.depth = t.depth + 1
		ok := true
		for k := range t.f0 {
			switch s := t.sign(u, k); {
			case s < 0:
				ok = false
			case s == 0:
				face.Append(t.f0[k], t.row(k))
			}
		}
		if !ok || face.Len() == t.Len() {
			continue
		}
		direction := floats(u)
		if face.Len() == 0 {
			return t.infeasible(direction), nil
		}
		on, err := face.Maximize(ctx, make([]float64, t.n))
		t.values += face.values
		if err != nil {
			return nil, err
		}
		switch on.Outcome {
		case Attained, Limit:
			return &Optimum{Outcome: Limit, Lambda: lambda, Direction: direction}, nil
		case Infeasible:
			if o := t.lifted(on.Direction, direction); o != nil {
				return o, nil
			}
		}
		return &Optimum{Lambda: lambda}, nil
	}
	return nil, nil
}

// lifted combines two directions into a proof for all states. v has vᵀg > 0 on the states of a
// face, and u has uᵀg > 0 on all other states. lifted returns the first v + f·u, for f = 1, 16,
// 256, …, whose product with g is positive in every state. It returns nil if rounding prevents
// that.
func (t *List) lifted(v, u []float64) *Optimum {
	sum := make([]float64, t.n)
	for factor := 1.0; factor < 0x1p100; factor *= 16 {
		for j := range sum {
			sum[j] = v[j] + float64(factor*u[j])
		}
		exact, proven := rationals(sum), true
		for k := range t.f0 {
			proven = proven && t.sign(exact, k) > 0
		}
		if proven {
			return t.infeasible(sum)
		}
	}
	return nil
}

// recession returns a combination u of rows with the signs that multipliers may have. uᵀg is 0 in
// every state whose relative probability is at least low, and positive in at least one other state.
// It returns nil if it finds none.
func (t *List) recession(ctx context.Context, lambda, p []float64, low float64) ([]*big.Rat, error) {
	// rows with a nonzero multiplier; states above low; states below low
	var rows, alive, others []int
	for j, l := range lambda {
		if l != 0 {
			rows = append(rows, j)
		}
	}
	for k, v := range p {
		if v >= low {
			alive = append(alive, k)
		} else {
			others = append(others, k)
		}
	}
	if len(rows) == 0 || len(others) == 0 || t.regular(rows, alive, p) {
		return nil, nil
	}
	e := elimination{cols: len(rows)}
	for _, k := range alive {
		if err := poll.Err(ctx); err != nil {
			return nil, err
		}
		if e.add(t.exact(k, rows)); len(e.rows) == len(rows) || e.work > mostExact {
			return nil, nil
		}
	}
	null := e.null()
	if float64(len(others)*len(null))*e.price() > mostExact {
		return nil, nil
	}
	// Find u = Σ c_i null_i with uᵀg ≥ 0 in every other state and u_j ≥ 0 at every
	// inequality.
	var want [][]*big.Rat
	for _, k := range others {
		g, y := t.exact(k, rows), make([]*big.Rat, len(null))
		for i, v := range null {
			y[i] = inner(v, g)
		}
		want = append(want, y)
	}
	signs := make([]bool, len(rows)) // rows of inequalities whose sign in u is not yet right
	for i, j := range rows {
		signs[i] = t.free == nil || !t.free[j]
	}
	u := rationals(make([]float64, len(rows)))
	for {
		c, err := positive(ctx, want, null, signs, t.depth+1)
		if c == nil || err != nil {
			return nil, err
		}
		step := rationals(make([]float64, len(rows)))
		for i, v := range null {
			subtract(step, v, new(big.Rat).Neg(c[i]))
		}
		useful := slices.ContainsFunc(want, func(y []*big.Rat) bool { return inner(y, c).Sign() > 0 })
		// Adding enough of an earlier direction keeps the signs that it made positive.
		u = joined(step, u, func(v []*big.Rat) bool {
			for i, j := range rows {
				if v[i].Sign() < 0 && (t.free == nil || !t.free[j]) {
					return false
				}
			}
			return true
		})
		if u == nil {
			return nil, nil
		}
		if useful {
			full := rationals(make([]float64, t.n))
			for i, j := range rows {
				full[j] = u[i]
			}
			return full, nil
		}
		done := true
		for i := range rows {
			if signs[i] && step[i].Sign() > 0 {
				signs[i], done = false, false
			}
		}
		if done {
			return nil, nil
		}
	}
}

// joined returns v + f·u for the first f = 0, 1, 2, 4, … for which accepts returns true. It returns
// nil if there is no such f up to 2⁶⁴.
func joined(v, u []*big.Rat, accepts func([]*big.Rat) bool) []*big.Rat {
	f := new(big.Rat)
	for range 66 {
		sum := make([]*big.Rat, len(v))
		for i := range sum {
			sum[i] = new(big.Rat).Set(v[i])
		}
		subtract(sum, u, new(big.Rat).Neg(f))
		if accepts(sum) {
			return sum
		}
		if f.Sign() == 0 {
			f.SetInt64(1)
		} else {
			f.Add(f, f)
		}
	}
	return nil
}

// positive returns a vector c whose inner products with the vectors in want are ≥ 0 and not all 0.
// The inner products of c with the columns of null that signs marks are also ≥ 0 and not all 0. It
// returns nil if it finds none. Such a c proves that no convex combination of these vectors, with
// all weights positive, is 0.
func positive(ctx context.Context, want, null [][]*big.Rat, signs []bool, depth int) ([]*big.Rat, error) {
	n := len(null)
	free := slices.Repeat([]bool{true}, n)
	list := New(1, n, free)
	list.depth = depth
	row := make([]float64, n)
	add := func(v func(i int) *big.Rat) {
		largest := 0.0
		for i := range row {
			row[i], _ = v(i).Float64()
			largest = max(largest, math.Abs(row[i]))
		}
		if largest > 0 && !math.IsInf(largest, 1) {
			list.Append(0, row)
		}
	}
	for _, y := range want {
		add(func(i int) *big.Rat { return y[i] })
	}
	for j, on := range signs {
		if on {
			add(func(i int) *big.Rat { return null[i][j] })
		}
	}
	if list.Len() == 0 {
		return nil, nil
	}
	o, err := list.Maximize(ctx, make([]float64, n))
	if err != nil || o.Direction == nil {
		return nil, err
	}
	return rationals(o.Direction), nil
}

// inner returns Σ a_i b_i.
func inner(a, b []*big.Rat) *big.Rat {
	sum, p := new(big.Rat), new(big.Rat)
	for i, v := range a {
		if v.Sign() != 0 && b[i].Sign() != 0 {
			sum.Add(sum, p.Mul(v, b[i]))
		}
	}
	return sum
}

// exact returns the values of g in state k at the given rows, as rational numbers.
func (t *List) exact(k int, rows []int) []*big.Rat {
	v := make([]*big.Rat, len(rows))
	for i, j := range rows {
		v[i] = new(big.Rat).SetFloat64(t.row(k)[j])
	}
	return v
}

// regular reports whether the given rows are certainly linearly independent on the listed states,
// alive. p holds the weights of the states.
func (t *List) regular(rows, alive []int, p []float64) bool {
	n := len(rows)
	a, size := make([]float64, n*n), make([]float64, n)
	for _, k := range alive {
		g := t.row(k)
		for x, i := range rows {
			for y, j := range rows[:x+1] {
				a[x*n+y] += float64(float64(p[k]*g[i]) * g[j])
			}
		}
	}
	for x := range n {
		size[x] = math.Sqrt(a[x*n+x])
		if !(size[x] > 0) {
			return false
		}
	}
	for x := range n {
		for y := range x + 1 {
			a[x*n+y] /= float64(size[x] * size[y])
			a[y*n+x] = a[x*n+y]
		}
	}
	if !concave.SolvePositive(a, make([]float64, n)) {
		return false
	}
	for x := range n {
		// part of row x that is not explained by earlier rows
		if !(a[x*n+x] > independent) {
			return false
		}
	}
	return true
}

// independent is the smallest part of a unit row, perpendicular to the other rows, that cannot be
// a rounding error.
const independent = 1e-5

// elimination is a matrix of rational numbers in reduced row echelon form, built row by row.
type elimination struct {
	cols  int
	rows  [][]*big.Rat
	pivot []int
	work  float64 // work of all calls of add so far, in products of one-word numbers
}

// mostExact is the largest work of an elimination, in products of one-word numbers. It takes about
// ten seconds. Numbers grow by a word per row, so eighty rows of 16 digits would take minutes. A
// search that exceeds the limit stays undecided.
const mostExact = 1 << 25

// price estimates the work of adding a multiple of one row to another, in products of one-word
// numbers. It uses the size of the largest number in the last row.
func (e *elimination) price() float64 {
	words := 1
	if n := len(e.rows); n > 0 {
		for _, v := range e.rows[n-1] {
			words = max(words, (v.Num().BitLen()+v.Denom().BitLen())/64)
		}
	}
	return float64(e.cols * words * words)
}

// add reduces a row by the existing rows and appends the remainder, scaled to pivot 1, if it is
// not zero.
func (e *elimination) add(row []*big.Rat) {
	e.work += float64(float64(2*len(e.rows)+1) * e.price())
	v := make([]*big.Rat, e.cols)
	for c := range v {
		v[c] = new(big.Rat).Set(row[c])
	}
	for i, r := range e.rows {
		subtract(v, r, new(big.Rat).Set(v[e.pivot[i]]))
	}
	at := slices.IndexFunc(v, func(x *big.Rat) bool { return x.Sign() != 0 })
	if at < 0 {
		return
	}
	inverse := new(big.Rat).Inv(v[at])
	for _, x := range v {
		x.Mul(x, inverse)
	}
	for _, r := range e.rows {
		subtract(r, v, new(big.Rat).Set(r[at]))
	}
	e.rows, e.pivot = append(e.rows, v), append(e.pivot, at)
}

// subtract subtracts f·b from a, in place.
func subtract(a, b []*big.Rat, f *big.Rat) {
	if f.Sign() == 0 {
		return
	}
	p := new(big.Rat)
	for c, v := range b {
		if v.Sign() != 0 {
			a[c].Sub(a[c], p.Mul(f, v))
		}
	}
}

// null returns a basis of the vectors perpendicular to all rows of e.
func (e *elimination) null() [][]*big.Rat {
	var basis [][]*big.Rat
	for c := range e.cols {
		if slices.Contains(e.pivot, c) {
			continue
		}
		v := rationals(make([]float64, e.cols))
		v[c].SetInt64(1)
		for i, r := range e.rows {
			v[e.pivot[i]].Neg(r[c])
		}
		basis = append(basis, v)
	}
	return basis
}

// sign returns the sign of uᵀg in state k, computed exactly.
func (t *List) sign(u []*big.Rat, k int) int {
	sum, p, g := new(big.Rat), new(big.Rat), new(big.Rat)
	for j, v := range t.row(k) {
		if v != 0 && u[j].Sign() != 0 {
			sum.Add(sum, p.Mul(u[j], g.SetFloat64(v)))
		}
	}
	return sum.Sign()
}

// rationals returns the exact values of v as rational numbers.
func rationals(v []float64) []*big.Rat {
	r := make([]*big.Rat, len(v))
	for j, x := range v {
		r[j] = new(big.Rat).SetFloat64(x)
	}
	return r
}

// floats returns u/Σ|u|, rounded to float64.
func floats(u []*big.Rat) []float64 {
	sum, a := new(big.Rat), new(big.Rat)
	for _, v := range u {
		sum.Add(sum, a.Abs(v))
	}
	f := make([]float64, len(u))
	for j, v := range u {
		if sum.Sign() > 0 {
			f[j], _ = a.Quo(v, sum).Float64()
		}
	}
	return f
}
