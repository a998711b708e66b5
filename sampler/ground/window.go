package ground

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// lattice is a model on a torus without fields, with sites numbered row by row. Missing bonds
// have weight 0.
type lattice struct {
	rows, columns int
	// per site: weight of the bond to the next site in its row (right) and in its column (down)
	right, down []int64
}

// lattice returns the model as a lattice on a torus, or nil if the model has another graph or has
// fields.
func (q *quantised) lattice() *lattice {
	for _, h := range q.h {
		if h != 0 {
			return nil
		}
	}
	g := q.frame().torus()
	if g == nil {
		return nil
	}
	l := &lattice{columns: int(g.ends[1][1]), right: make([]int64, g.n), down: make([]int64, g.n)}
	l.rows = g.n / l.columns
	for i := range l.right {
		l.right[i], l.down[i] = g.w[2*i], g.w[2*i+1]
	}
	return l
}

// at returns the site in the given row and column, both taken modulo the size of the torus.
func (l *lattice) at(row, column int) int32 {
	return int32(row%l.rows*l.columns + column%l.columns)
}

// Bounds on a window. A matching cannot be interrupted; with these bounds it takes at most about
// 0.2 s.
const (
	mostRows   = 64      // maximum number of rows of a window
	mostWindow = 1 << 12 // maximum number of sites of a window
)

// improve minimises the energy of x over a window whose position is drawn from r.
func (l *lattice) improve(x []int32, r *sampler.Stream) error {
	rows := min(l.rows-1, mostRows)
	columns := min(l.columns-1, mostWindow/rows)
	return l.minimise(x, r.IntN(l.rows), r.IntN(l.columns), rows, columns, r)
}

// minimise stores in x a state of lowest energy among those with the same levels outside a window.
// If there are several such states, r selects one. A window has at least two rows and two columns,
// and omits at least one row and one column. The levels outside act as a single spin. Together with
// this spin, the window is a planar graph.
func (l *lattice) minimise(x []int32, row, column, rows, columns int, r *sampler.Stream) error {
	g := l.window(x, row, column, rows, columns)
	if g.total <= math.MaxInt64/4/(noise*int64(len(g.w))) {
		g = g.noisy(r)
	}
	_, bad, err := g.solve(context.Background(), nil)
	if err != nil {
		return err
	}
	y := g.state(bad, g.n-1)
	if y == nil {
		return fmt.Errorf("ground: no state of a window of %d × %d sites has the unsatisfied bonds of its matching", rows, columns)
	}
	for k, v := range y {
		x[l.at(row+k/columns, column+k%columns)] = v
	}
	return nil
}

// window returns the planar graph of a window. Its vertices are the sites, row by row, and a last
// spin that represents all other sites and points up.
func (l *lattice) window(x []int32, row, column, rows, columns int) *frame {
	n := rows * columns
	g := &frame{n: n + 1}
	bond := func(i, j int32, w int64) int32 {
		g.ends, g.w, g.total = append(g.ends, [2]int32{i, j}), append(g.w, w), g.total+max(w, -w)
		return int32(len(g.w) - 1)
	}
	right, down, out := make([]int32, n), make([]int32, n), make([]int32, n)
	for k := range n {
		a, b := k/columns, k%columns
		i := l.at(row+a, column+b)
		h := int64(0)
		outside := func(j int32, w int64) { h += w * int64(2*x[j]-1) }
		if b+1 < columns {
			right[k] = bond(int32(k), int32(k+1), l.right[i])
		} else {
			outside(l.at(row+a, column+columns), l.right[i])
		}
		if a+1 < rows {
			down[k] = bond(int32(k), int32(k+columns), l.down[i])
		} else {
			outside(l.at(row+rows, column+b), l.down[i])
		}
		if b == 0 {
			j := l.at(row+a, column+l.columns-1)
			outside(j, l.right[j])
		}
		if a == 0 {
			j := l.at(row+l.rows-1, column+b)
			outside(j, l.down[j])
		}
		if a == 0 || b == 0 || a+1 == rows || b+1 == columns {
			out[k] = bond(int32(k), int32(n), h)
		}
		if a > 0 && b > 0 {
			g.faces = append(g.faces, []int32{right[k-columns-1], down[k-columns], right[k-1], down[k-columns-1]})
		}
	}
	side := func(i, j int, between int32) { g.faces = append(g.faces, []int32{out[i], between, out[j]}) }
	for b := range columns - 1 {
		side(b, b+1, right[b])
		side(n-columns+b, n-columns+b+1, right[n-columns+b])
	}
	for a := range rows - 1 {
		k := a * columns
		side(k, k+columns, down[k])
		side(k+columns-1, k+2*columns-1, down[k+columns-1])
	}
	return g
}
