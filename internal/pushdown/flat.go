package pushdown

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// flatStates bounds the number of states of a machine in which calls have been expanded.
const flatStates = 1 << 12

// Flat returns a machine for the same language in which only recursive levels are called. A level
// is recursive if it can be called again while it is active. All other levels are expanded in
// place, with one copy for each chain of calls that leads to them. Without recursion the language
// is regular, and sums over it take linear time. Flat returns m itself if there is nothing to
// expand, or if the result would have more than 2¹² states.
func (m *Machine) Flat() *Machine {
	recurs := m.recursive()
	if !slices.ContainsFunc(m.Rows.moves, func(a Move) bool { return a.Kind == Call && !recurs[m.Level[a.To]] }) {
		return m
	}
	f := &flattener{Machine: m, recurs: recurs, frames: []frame{{}}, stacks: map[frame]int32{}, symbols: map[symbol]int32{},
		levels: slices.Repeat([]int32{-1}, m.Levels)}
	f.to.Class, f.to.Classes = m.Class, m.Classes
	f.to.Rows = m.Rows // of the same shapes
	f.to.Rows.known = nil
	f.to.Rows.rows, f.to.Rows.moves = make([]row, 0, len(m.Rows.rows)), make([]Move, 0, len(m.Rows.moves))
	f.to.Level, f.to.Accept = make([]int32, 0, len(m.Level)), make([]bool, 0, len(m.Level))
	f.places.Values = make([]place, 0, len(m.Level))
	f.at(place{root: m.Level[m.Start], q: m.Start})
	for i := 0; i < len(f.places.Values); i++ {
		x := f.places.Values[i]
		r := &f.to.Rows
		r.rows = append(r.rows, row{m.Rows.rows[x.q].shape, int32(len(r.moves))})
		for _, a := range m.Rows.of(x.q) {
			r.moves = append(r.moves, f.move(x, a))
		}
		if len(f.places.Values) > flatStates {
			return m
		}
	}
	if len(f.frames) == 1 {
		return m
	}
	return &f.to
}

// place identifies a state of the flattened machine: the machine state q, the stack of expanded
// calls below it, and the level root that was entered by an actual call, or the top level.
type place struct{ root, stack, q int32 }

// Hash returns a hash of the place.
func (x place) Hash() uint64 {
	h := uint64(uint32(x.root))<<32 | uint64(uint32(x.stack))
	return algebra.Mix(h*algebra.Golden, uint64(uint32(x.q)))
}

// frame is the symbol of an expanded call on top of a stack. Number 0 is the empty stack.
type frame struct{ below, symbol int32 }

// symbol identifies a stack symbol of the flattened machine: a symbol of the original machine,
// pushed at a place with the given root and stack.
type symbol struct{ root, stack, symbol int32 }

type flattener struct {
	*Machine
	recurs  []bool // whether each level is recursive
	to      Machine
	frames  []frame
	stacks  map[frame]int32
	places  algebra.Numbering[place]
	symbols map[symbol]int32
	levels  []int32 // numbers of the levels of roots, −1 for those that have none yet
}

// at returns the state number of a place, and assigns one if necessary.
func (f *flattener) at(x place) int32 {
	i := f.places.Find(x)
	if int(i) == len(f.to.Level) {
		if f.levels[x.root] < 0 {
			f.levels[x.root] = int32(f.to.Levels)
			f.to.Levels++
		}
		f.to.Level = append(f.to.Level, f.levels[x.root])
		f.to.Accept = append(f.to.Accept, x.stack == 0 && x.root == f.Level[f.Start] && f.Accept[x.q])
	}
	return i
}

func (f *flattener) move(x place, a Move) Move {
	switch a.Kind {
	case Inside:
		return Move{Kind: Inside, To: f.at(place{x.root, x.stack, a.To})}
	case Return:
		if x.stack == 0 {
			return a
		}
		top := f.frames[x.stack]
		q := f.Resume[top.symbol][a.Symbol]
		if q < 0 {
			return Move{}
		}
		return Move{Kind: Inside, To: f.at(place{x.root, top.below, q})}
	case Call:
		if level := f.Level[a.To]; f.recurs[level] {
			return Move{Kind: Call, Symbol: f.symbol(symbol{x.root, x.stack, a.Symbol}), To: f.at(place{level, 0, a.To})}
		}
		k := frame{x.stack, a.Symbol}
		stack, ok := f.stacks[k]
		if !ok {
			stack = int32(len(f.frames))
			f.stacks[k], f.frames = stack, append(f.frames, k)
		}
		return Move{Kind: Inside, To: f.at(place{x.root, stack, a.To})}
	}
	return Move{}
}

// symbol returns the number of a stack symbol. If the symbol is new, it also creates the row of
// Resume.
func (f *flattener) symbol(x symbol) int32 {
	g, ok := f.symbols[x]
	if !ok {
		g = int32(len(f.symbols))
		f.symbols[x] = g
		row := make([]int32, len(f.Resume[x.symbol]))
		for r, q := range f.Resume[x.symbol] {
			if row[r] = -1; q >= 0 {
				row[r] = f.at(place{x.root, x.stack, q})
			}
		}
		f.to.Resume = append(f.to.Resume, row)
	}
	return g
}

// recursive reports which levels may be recursive. It repeatedly removes levels that call no
// remaining level, and levels that no remaining level calls. The levels that remain are
// reported; they include every level that can call itself.
func (m *Machine) recursive() []bool {
	n := m.Levels
	left := make([]bool, n)
	var edges [2][]int32 // tails and heads of calls
	for q, from := range m.Level {
		for _, a := range m.Rows.of(int32(q)) {
			if a.Kind == Call {
				edges[0], edges[1] = append(edges[0], from), append(edges[1], m.Level[a.To])
			}
		}
	}
	for i := range left {
		left[i] = true
	}
	for way := range edges { // calls and the other way round
		tails, heads := edges[way], edges[1-way]
		first, into := algebra.Group(heads, n)
		count := make([]int, n)
		for i, lv := range tails {
			if left[lv] && left[heads[i]] {
				count[lv]++
			}
		}
		var list []int32
		for lv := range n {
			if left[lv] && count[lv] == 0 {
				list = append(list, int32(lv))
			}
		}
		for len(list) > 0 {
			lv := list[len(list)-1]
			list = list[:len(list)-1]
			left[lv] = false
			for _, e := range into[first[lv]:first[lv+1]] {
				from := tails[e]
				if count[from]--; count[from] == 0 {
					list = append(list, from)
				}
			}
		}
	}
	return left
}
