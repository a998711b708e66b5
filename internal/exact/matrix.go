package exact

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// maxMatrix is the maximum number of states of a [Matrix]. With 1024² float64 entries it takes 8
// MiB, and [Matrix.Stationary] costs n³.
const maxMatrix = 1024

// Matrix is the dense transition matrix P of a Markov chain. Its entry (x, y) is the probability
// P(x → y) of moving from state x to state y in one step. If the row vector π is the distribution
// of a state, πP is the distribution one step later.
type Matrix struct {
	n int
	p []float64
}

// NewMatrix returns an n × n matrix. For each x from 0 to n−1, it calls row(x, dst), which must
// store P(x → y) in dst[y]. All entries of dst are zero at first. NewMatrix panics unless 1 ≤ n ≤
// 1024 and every entry is ≥ 0 and not NaN. It does not check that rows sum to 1; see
// [Matrix.RowError].
func NewMatrix(n int, row func(x int, dst []float64)) *Matrix {
	if n < 1 || n > maxMatrix {
		panic(fmt.Sprintf("exact: NewMatrix: n = %d, want 1…%d", n, maxMatrix))
	}
	m := &Matrix{n: n, p: make([]float64, n*n)}
	for x := range n {
		r := m.Row(x)
		row(x, r)
		for y, v := range r {
			if !(v >= 0) {
				panic(fmt.Sprintf("exact: NewMatrix: P(%d → %d) = %v, want ≥ 0", x, y, v))
			}
		}
	}
	return m
}

// Len returns the number of states.
func (m *Matrix) Len() int { return m.n }

// At returns P(x → y).
func (m *Matrix) At(x, y int) float64 { return m.p[x*m.n+y] }

// Row returns the distribution of the next state after x. The slice is part of the matrix.
func (m *Matrix) Row(x int) []float64 { return m.p[x*m.n : (x+1)*m.n : (x+1)*m.n] }

// Mul returns the matrix product m·b: one step of m followed by one step of b.
func (m *Matrix) Mul(b *Matrix) *Matrix {
	if m.n != b.n {
		panic(fmt.Sprintf("exact: Mul: %d states and %d states, want the same", m.n, b.n))
	}
	c := &Matrix{n: m.n, p: make([]float64, m.n*m.n)}
	for x := range m.n {
		dst := c.Row(x)
		for k, a := range m.Row(x) {
			if a == 0 {
				continue
			}
			for y, v := range b.Row(k) {
				dst[y] += a * v
			}
		}
	}
	return c
}

// Apply returns the distribution one step after the distribution pi: the product of the row vector
// pi and the matrix.
func (m *Matrix) Apply(pi []float64) []float64 {
	m.check(pi)
	s := make([]laws.Accumulator, m.n)
	for x, a := range pi {
		if a == 0 {
			continue
		}
		for y, v := range m.Row(x) {
			s[y].Add(a * v)
		}
	}
	out := make([]float64, m.n)
	for y := range out {
		out[y] = s[y].Value()
	}
	return out
}

// MaxDiff returns max_y |(πP − π)_y| for the distribution π = pi. It is 0 if π is stationary.
func (m *Matrix) MaxDiff(pi []float64) float64 {
	worst := 0.0
	for y, v := range m.Apply(pi) {
		worst = max(worst, math.Abs(v-pi[y]))
	}
	return worst
}

// RowError returns the largest error of a row sum, max_x |Σ_y P(x → y) − 1|.
func (m *Matrix) RowError() float64 {
	worst := 0.0
	for x := range m.n {
		worst = max(worst, math.Abs(Sum(m.Row(x))-1))
	}
	return worst
}

// DetailedBalance returns max_{x,y} |π_x P(x → y) − π_y P(y → x)| for π = pi. It is 0 if the chain
// is reversible with respect to π.
func (m *Matrix) DetailedBalance(pi []float64) float64 {
	m.check(pi)
	worst := 0.0
	for x := range m.n {
		for y := range x {
			worst = max(worst, math.Abs(pi[x]*m.At(x, y)-pi[y]*m.At(y, x)))
		}
	}
	return worst
}

// check panics unless pi has one entry per state.
func (m *Matrix) check(pi []float64) {
	if len(pi) != m.n {
		panic(fmt.Sprintf("exact: len(pi) = %d, want %d", len(pi), m.n))
	}
}

// Stationary returns the distribution π with πP = π. It panics if there is more than one, that is,
// if the chain has two or more closed communicating classes. The chain may be periodic.
//
// It eliminates states one by one without a subtraction (Grassmann, Taksar and Heyman 1985). For n
// states, every entry of π is therefore accurate to a relative error of about n³ roundings. If a
// row sum differs from 1, the difference goes to the diagonal entry.
func (m *Matrix) Stationary() []float64 {
	n, root := m.n, m.root()
	// Censoring removes the states from the last to the first, so the one that
	// is left must belong to the closed class: exchange it with state 0.
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	at[0], at[root] = root, 0
	a := make([]float64, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = m.At(at[i], at[j])
		}
	}
	for k := n - 1; k > 0; k-- {
		rk := a[k*n : k*n+k]
		out := Sum(rk) // > 0: state 0 can be reached from k
		for i := range k {
			f := a[i*n+k] / out
			a[i*n+k] = f
			if f == 0 {
				continue
			}
			ri := a[i*n : i*n+k]
			for j, v := range rk {
				ri[j] += f * v
			}
		}
	}
	w := make([]float64, n)
	w[0] = 1
	for k := 1; k < n; k++ {
		var s laws.Accumulator
		for i := range k {
			s.Add(w[i] * a[i*n+k])
		}
		w[k] = s.Value()
	}
	total := Sum(w)
	pi := make([]float64, n)
	for i, v := range w {
		pi[at[i]] = v / total
	}
	return pi
}

// root returns a state that can be reached from every state. It panics if there is no such state.
func (m *Matrix) root() int {
	// Search backwards from one unseen state after the other. If some state is
	// reached from everywhere, the start of the last search is such a state.
	seen := make([]bool, m.n)
	last := 0
	for x := range m.n {
		if !seen[x] {
			m.ancestors(x, seen)
			last = x
		}
	}
	seen = make([]bool, m.n)
	m.ancestors(last, seen)
	for _, s := range seen {
		if !s {
			panic("exact: Stationary: two closed classes, want one")
		}
	}
	return last
}

// ancestors marks every unseen state from which y can be reached through unseen states.
func (m *Matrix) ancestors(y int, seen []bool) {
	seen[y] = true
	todo := []int{y}
	for len(todo) > 0 {
		y = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for x := range m.n {
			if !seen[x] && m.At(x, y) > 0 {
				seen[x] = true
				todo = append(todo, x)
			}
		}
	}
}
