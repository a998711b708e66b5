package elimination

import "math"

// Reduced describes what remains of a product of tables if forbidden levels are removed. A level is
// forbidden if its entry in some table of one variable is +Inf. Variables keep their other levels,
// and a variable with a single remaining level is removed.
type Reduced struct {
	Cards  []int32     // number of levels of each remaining variable
	Scopes [][]int32   // remaining variables of each table, by their new numbers
	Tables [][]float64 // remaining entries of each table

	Var    []int32   // original number of each remaining variable
	Levels [][]int32 // remaining levels of each original variable
	now    []int32   // new number of each original variable; −1 if it was removed
}

// Reduce removes the levels to which a table of a single variable gives the energy +Inf. It returns
// [ErrZero] if some variable has no level left.
func Reduce(cards []int32, scopes [][]int32, tables [][]float64) (*Reduced, error) {
	n := len(cards)
	r := &Reduced{Levels: make([][]int32, n), now: make([]int32, n)}
	forbidden := make([][]bool, n)
	for k, scope := range scopes {
		if len(scope) != 1 {
			continue
		}
		for l, e := range tables[k] {
			if math.IsInf(e, 1) {
				if v := scope[0]; forbidden[v] == nil {
					forbidden[v] = make([]bool, cards[v])
				}
				forbidden[scope[0]][l] = true
			}
		}
	}
	for v, c := range cards {
		for l := range c {
			if forbidden[v] == nil || !forbidden[v][l] {
				r.Levels[v] = append(r.Levels[v], l)
			}
		}
		if len(r.Levels[v]) == 0 {
			return nil, ErrZero
		}
		if r.now[v] = -1; len(r.Levels[v]) > 1 {
			r.now[v] = int32(len(r.Var))
			r.Var, r.Cards = append(r.Var, int32(v)), append(r.Cards, int32(len(r.Levels[v])))
		}
	}
	r.Scopes, r.Tables = make([][]int32, len(scopes)), make([][]float64, len(scopes))
	for k, scope := range scopes {
		r.Scopes[k], r.Tables[k] = r.Scope(scope), r.Table(cards, scope, tables[k])
	}
	return r, nil
}

// States converts n states y of the remaining variables to states x of the original variables. The
// slice y has a row for each remaining variable v, with one entry per state: an index into the
// remaining levels of v. The slice x has a row for each state, with the levels of the first
// len(x)/n original variables.
func (r *Reduced) States(x, y []int32, n int) {
	sites := len(x) / n
	for from := 0; from < n; from += tile {
		size := min(tile, n-from)
		rows := x[from*sites : (from+size)*sites]
		for i := range sites {
			levels, v := r.Levels[i], int(r.now[i])
			if v < 0 {
				for s := range size {
					rows[s*sites+i] = levels[0]
				}
				continue
			}
			for s, l := range y[v*n+from:][:size] {
				rows[s*sites+i] = levels[l]
			}
		}
	}
}

// tile is the number of states converted together, one cache line of each at a time.
const tile = 32

// Scope returns the variables of the given scope that remain after the reduction, by their new
// numbers.
func (r *Reduced) Scope(scope []int32) []int32 {
	left := make([]int32, 0, len(scope))
	for _, v := range scope {
		if r.now[v] >= 0 {
			left = append(left, r.now[v])
		}
	}
	return left
}

// Table returns those entries of a table that remain after the reduction. If all of them remain, it
// returns the table itself. The arguments cards and scope are those of the original variables.
func (r *Reduced) Table(cards, scope []int32, table []float64) []float64 {
	whole := true
	for _, v := range scope {
		whole = whole && len(r.Levels[v]) == int(cards[v])
	}
	if whole {
		return table
	}
	var left []float64
	r.each(cards, scope, func(_, at int) { left = append(left, table[at]) })
	return left
}

// Spread undoes the reduction of a table. It returns a table over the whole original scope, with
// the given entries in their original positions. All other entries are 0.
func (r *Reduced) Spread(cards, scope []int32, entries []float64) []float64 {
	size := 1
	for _, v := range scope {
		size *= int(cards[v])
	}
	table := make([]float64, size)
	r.each(cards, scope, func(k, at int) { table[at] = entries[k] })
	return table
}

// each calls f for every remaining state of a scope, with the state's index and its position in the
// table over the original scope.
func (r *Reduced) each(cards, scope []int32, f func(k, at int)) {
	x := make([]int, len(scope))
	for k := 0; ; k++ {
		at := 0
		for j, v := range scope {
			at = at*int(cards[v]) + int(r.Levels[v][x[j]])
		}
		f(k, at)
		j := len(scope) - 1
		for ; j >= 0; j-- {
			if x[j]++; x[j] < len(r.Levels[scope[j]]) {
				break
			}
			x[j] = 0
		}
		if j < 0 {
			return
		}
	}
}
