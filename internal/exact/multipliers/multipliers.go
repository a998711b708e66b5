// Package multipliers is a test oracle for Lagrange multipliers. The problems have constraints E[g]
// ≤ 0 or E[g] = 0 on a distribution over a finite list of states. By linear programming in rational
// numbers, the package decides whether a problem has an optimum. In 50-digit arithmetic, it
// measures how far multipliers are from the optimum. It shares no code with the solvers and treats
// the float64 numbers of a problem as exact.
package multipliers

import (
	"math"
	"math/big"
)

// Outcome tells whether finite optimal multipliers λ* exist for constraints on the mean of g over a
// list of states. A constraint is E[g] ≤ 0, or E[g] = 0 for an equality.
type Outcome int

// The outcomes of [Decide].
const (
	Infeasible Outcome = iota // no distribution satisfies the constraints
	// only distributions without full support satisfy the constraints, so no finite λ* exists
	Limit
	Attained // a distribution with full support satisfies the constraints, so λ* exists
)

func (v Outcome) String() string { return [...]string{"infeasible", "limit", "attained"}[v] }

// Decide returns the outcome for n constraints with the values g (states × n, row-major). The slice
// equal marks the equalities; nil means there are none. Among the distributions that satisfy the
// constraints, Decide maximises the smallest probability, by the simplex method with Bland's rule.
func Decide(g []float64, n int, equal []bool) Outcome {
	states := len(g) / n
	// Columns: one per state (its probability above the least, t), t, one slack per
	// inequality. Rows: one per constraint, and the sum of probabilities.
	slacks := 0
	for j := range n {
		if equal == nil || !equal[j] {
			slacks++
		}
	}
	cols := states + 1 + slacks
	t := &tableau{cols: cols, rows: n + 1}
	slack := states + 1
	for j := range n {
		row, sum := make([]*big.Rat, cols+1), new(big.Rat)
		for k := range row {
			row[k] = new(big.Rat)
		}
		for k := range states {
			row[k].SetFloat64(g[k*n+j])
			sum.Add(sum, row[k])
		}
		row[states].Set(sum)
		if equal == nil || !equal[j] {
			row[slack].SetInt64(1)
			slack++
		}
		t.a = append(t.a, row)
	}
	row := make([]*big.Rat, cols+1)
	for k := range row {
		row[k] = new(big.Rat)
		if k < states || k == cols {
			row[k].SetInt64(1)
		}
	}
	row[states].SetInt64(int64(states))
	t.a = append(t.a, row)
	if !t.feasible() {
		return Infeasible
	}
	if t.raise(states).Sign() > 0 {
		return Attained
	}
	return Limit
}

// tableau is a linear program Ax = b, x ≥ 0, whose last column is b ≥ 0.
type tableau struct {
	rows, cols int
	a          [][]*big.Rat
	basis      []int // basic column of each row; cols + i is the artificial variable of row i
}

// feasible minimises the sum of the artificial variables and reports whether it reaches 0.
func (t *tableau) feasible() bool {
	t.basis = make([]int, t.rows)
	for i := range t.basis {
		t.basis[i] = t.cols + i
	}
	for {
		// The reduced cost of a column is minus the sum of its entries in artificial rows.
		enter := -1
		cost := new(big.Rat)
		for k := 0; k < t.cols && enter < 0; k++ {
			cost.SetInt64(0)
			for i, b := range t.basis {
				if b >= t.cols {
					cost.Add(cost, t.a[i][k])
				}
			}
			if cost.Sign() > 0 {
				enter = k
			}
		}
		if enter < 0 {
			break
		}
		t.pivot(t.leaving(enter), enter)
	}
	for i, b := range t.basis {
		if b < t.cols {
			continue
		}
		if t.a[i][t.cols].Sign() != 0 {
			return false
		}
		for k := range t.cols { // an artificial at 0 leaves if anything can enter
			if t.a[i][k].Sign() != 0 {
				t.pivot(i, k)
				break
			}
		}
	}
	return true
}

// raise maximises variable v and returns its value, which is bounded because probabilities sum
// to 1.
func (t *tableau) raise(v int) *big.Rat {
	for {
		at := -1
		for i, b := range t.basis {
			if b == v {
				at = i
			}
		}
		enter := -1
		if at < 0 {
			enter = v
		} else {
			for k := 0; k < t.cols && enter < 0; k++ {
				if t.a[at][k].Sign() < 0 {
					enter = k
				}
			}
		}
		if enter < 0 {
			return t.a[at][t.cols]
		}
		i := t.leaving(enter)
		if i < 0 || i == at {
			if at < 0 {
				return new(big.Rat)
			}
			return t.a[at][t.cols]
		}
		t.pivot(i, enter)
	}
}

// leaving returns the row of the ratio test for column k, or −1 if there is none. Ties are
// resolved by the smallest column.
func (t *tableau) leaving(k int) int {
	best, row := new(big.Rat), -1
	r := new(big.Rat)
	for i, b := range t.basis {
		if t.a[i][k].Sign() <= 0 {
			continue
		}
		r.Quo(t.a[i][t.cols], t.a[i][k])
		if c := r.Cmp(best); row < 0 || c < 0 || c == 0 && b < t.basis[row] {
			best.Set(r)
			row = i
		}
	}
	return row
}

func (t *tableau) pivot(i, k int) {
	inv := new(big.Rat).Inv(t.a[i][k])
	for _, v := range t.a[i] {
		v.Mul(v, inv)
	}
	f, p := new(big.Rat), new(big.Rat)
	for r := range t.a {
		if r == i || t.a[r][k].Sign() == 0 {
			continue
		}
		f.Set(t.a[r][k])
		for c, v := range t.a[i] {
			if v.Sign() != 0 {
				t.a[r][c].Sub(t.a[r][c], p.Mul(f, v))
			}
		}
	}
	t.basis[i] = k
}

// bits is the precision of sums: 50 digits plus those lost to exponents of 10⁹.
const bits = 256

// Num returns v with 50 digits of precision.
func Num(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }

// Zero returns 0 with 50 digits of precision.
func Zero() *big.Float { return Num(0) }

// Exp returns e^x.
func Exp(x *big.Float) *big.Float {
	v, _ := x.Float64()
	if v < -1e5 {
		return Zero()
	}
	halvings := 0
	for math.Abs(v) > 1.0/256 {
		v /= 2
		halvings++
	}
	y := Zero().SetMantExp(x, -halvings)
	sum, term := Num(1), Num(1)
	for i := 1; i < 60; i++ {
		term.Mul(term, y)
		term.Quo(term, Num(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// Log returns log x for x > 0, by Newton's method for e^y = x.
func Log(x *big.Float) *big.Float {
	m := Zero()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := Num(math.Log(f))
	for range 4 { // digits double: 16, 32, 64, 128
		d := Zero().Quo(m, Exp(y))
		d.Sub(d, Num(1))
		h := Zero().Mul(d, d)
		y.Add(y, d)
		y.Sub(y, h.Quo(h, Num(2)))
	}
	return y.Add(y, Zero().Mul(Num(float64(e)), ln2()))
}

var cachedLn2 *big.Float

func ln2() *big.Float {
	if cachedLn2 == nil {
		// log 2 = Σ 1/(k·2^k)
		sum, p := Zero(), Num(1)
		for k := 1; k < bits+16; k++ {
			p.Quo(p, Num(2))
			sum.Add(sum, Zero().Quo(p, Num(float64(k))))
		}
		cachedLn2 = sum
	}
	return cachedLn2
}

// Weights returns e^logw, normalised to sum 1.
func Weights(logw []*big.Float) []*big.Float {
	top := logw[0]
	for _, v := range logw {
		if v.Cmp(top) > 0 {
			top = v
		}
	}
	p, sum := make([]*big.Float, len(logw)), Zero()
	for k, v := range logw {
		p[k] = Exp(Zero().Sub(v, top))
		sum.Add(sum, p[k])
	}
	for _, v := range p {
		v.Quo(v, sum)
	}
	return p
}

// Moments returns the mean and the standard deviation of f under p.
func Moments(p, f []*big.Float) (mean, sd float64) {
	m := Zero()
	for k, v := range p {
		m.Add(m, Zero().Mul(v, f[k]))
	}
	s := Zero()
	for k, v := range p {
		d := Zero().Sub(f[k], m)
		s.Add(s, d.Mul(d, d).Mul(d, v))
	}
	mean, _ = m.Float64()
	sd, _ = s.Sqrt(s).Float64()
	return mean, sd
}

// Optimum measures how far multipliers violate the optimality conditions (Karush, Kuhn and Tucker)
// of a dual problem. The problem has the energies f0, the constraint values g and the temperature
// beta. The multipliers λ are the argument lambda, and p_λ is the distribution of the states,
//
//	p_λ ∝ exp(−(f0 + λᵀg)/beta).
//
// The result is the largest violation of a constraint, in standard deviations of g_j under p_λ (see
// [Residual]). A negative multiplier of an inequality gives +Inf.
func Optimum(f0, g []float64, beta float64, equal []bool, lambda []float64) float64 {
	n := len(lambda)
	logw := make([]*big.Float, len(f0))
	for k, f := range f0 {
		w := Num(f)
		for j, l := range lambda {
			w.Add(w, Zero().Mul(Num(l), Num(g[k*n+j])))
		}
		w.Quo(w, Num(beta))
		logw[k] = w.Neg(w)
	}
	p := Weights(logw)
	worst := 0.0
	column := make([]*big.Float, len(f0))
	for j, l := range lambda {
		for k := range column {
			column[k] = Num(g[k*n+j])
		}
		mean, sd := Moments(p, column)
		worst = max(worst, Residual(mean, sd, l, equal != nil && equal[j]))
	}
	return worst
}

// Residual measures how far one constraint violates its optimality condition, in standard
// deviations of the constraint. It returns
//
//	|mean|/sd         for an equality, or if lambda > 0,
//	max(mean, 0)/sd   for an inequality with lambda = 0,
//	+Inf              for an inequality with lambda < 0,
//
// where 0/0 counts as 0.
func Residual(mean, sd, lambda float64, equal bool) float64 {
	if !equal && lambda < 0 {
		return math.Inf(1)
	}
	if equal || lambda != 0 {
		mean = math.Abs(mean)
	}
	switch {
	case mean <= 0:
		return 0
	case sd == 0:
		return math.Inf(1)
	}
	return mean / sd
}
