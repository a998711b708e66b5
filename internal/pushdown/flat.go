package pushdown

import "slices"

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
	f := &flattener{Machine: m, recurs: recurs, frames: []frame{{}}, stacks: map[frame]int32{}, places: map[place]int32{}, symbols: map[symbol]int32{}}
	f.to.Class, f.to.Classes = m.Class, m.Classes
	f.to.Rows = m.Rows // of the same shapes
	f.to.Rows.known = nil
	f.to.Rows.list, f.to.Rows.moves = make([]row, 0, len(m.Rows.list)), make([]Move, 0, len(m.Rows.moves))
	f.levels = map[int32]int32{}
	f.at(place{root: m.Level[m.Start], q: m.Start})
	for i := 0; i < len(f.list); i++ {
		x := f.list[i]
		r := &f.to.Rows
		r.list = append(r.list, row{m.Rows.list[x.q].slots, int32(len(r.moves))})
		for _, a := range m.Rows.of(x.q) {
			r.moves = append(r.moves, f.move(x, a))
		}
		if len(f.list) > flatStates {
			return m
		}
	}
	if len(f.frames) == 1 {
		return m
	}
	f.to.Levels = len(f.levels)
	return &f.to
}

// place identifies a state of the flattened machine: the machine state q, the stack of expanded
// calls below it, and the level root that was entered by an actual call, or the top level.
type place struct{ root, stack, q int32 }

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
	list    []place
	places  map[place]int32
	symbols map[symbol]int32
	levels  map[int32]int32
}

// at returns the state number of a place, and assigns one if necessary.
func (f *flattener) at(x place) int32 {
	i, ok := f.places[x]
	if !ok {
		i = int32(len(f.list))
		f.places[x], f.list = i, append(f.list, x)
		lv, ok := f.levels[x.root]
		if !ok {
			lv = int32(len(f.levels))
			f.levels[x.root] = lv
		}
		f.to.Level = append(f.to.Level, lv)
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
	edges := [2]map[[2]int32]bool{{}, {}} // calls and the other way round
	for q, from := range m.Level {
		for _, a := range m.Rows.of(int32(q)) {
			if a.Kind == Call {
				to := m.Level[a.To]
				edges[0][[2]int32{from, to}], edges[1][[2]int32{to, from}] = true, true
			}
		}
	}
	for i := range left {
		left[i] = true
	}
	for _, edge := range edges {
		next, count := make([][]int32, n), make([]int, n)
		for e := range edge {
			if left[e[0]] && left[e[1]] {
				next[e[1]] = append(next[e[1]], e[0])
				count[e[0]]++
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
			for _, from := range next[lv] {
				if count[from]--; count[from] == 0 {
					list = append(list, from)
				}
			}
		}
	}
	return left
}
