package exact

import "github.com/gibbsite-go/gibbsite/internal/laws"

// Stationary returns the law π with πP = π. It panics if there is more than
// one, that is if the chain has two closed classes. Periodic chains are fine.
//
// It eliminates states one by one without a subtraction (Grassmann, Taksar and
// Heyman 1985), so every entry of π is accurate to a relative error of about
// n³ roundings, however small it is. Rows are read as proportions: a row sum
// that differs from 1 is absorbed into the diagonal.
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

// root returns a state that can be reached from every state. It panics if there
// is none.
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

// ancestors marks every unseen state from which y can be reached through unseen
// states.
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
