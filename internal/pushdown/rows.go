package pushdown

import "slices"

// Rows are the rows of a machine's table, one for each state. A row gives the move for each byte
// class, and most classes have the same move. A row is therefore stored in two parts: a shape, and
// a list of moves. The shape divides the classes into slots, and the list has one move for each
// slot. Many rows share a shape. Two slots of a row may have the same move.
type Rows struct {
	Shapes
	rows  []row
	moves []Move // moves of the slots of one state after another
}

// row is the row of a state: its shape, and where its moves begin.
type row struct{ shape, moves int32 }

// NewRows returns an empty table with the given shapes, which it takes over. It reserves memory for the
// given numbers of states and moves.
func NewRows(shapes Shapes, states, moves int) Rows {
	return Rows{Shapes: shapes, rows: make([]row, 0, states), moves: make([]Move, 0, moves)}
}

// Add adds the row of the next state, with the given shape and one move for each slot of the shape.
func (r *Rows) Add(shape int32, moves ...Move) {
	r.rows = append(r.rows, row{shape, int32(len(r.moves))})
	r.moves = append(r.moves, moves...)
}

// at returns the move of state q on a byte of the given class.
func (r *Rows) at(q int32, class uint8) *Move {
	x := r.rows[q]
	return &r.moves[x.moves+int32(r.slots[int(x.shape)*r.classes+int(class)])]
}

// of returns the moves of state q, one for each slot.
func (r *Rows) of(q int32) []Move {
	x := r.rows[q]
	return r.moves[x.moves : x.moves+r.list[x.shape].width]
}

// with returns rows with the given classes only, in the given order. The classes must meet every slot of
// every shape. The rows r must not be used any more.
func (r *Rows) with(classes []uint8) Rows {
	if r.known = nil; len(classes) == r.classes && slices.IsSorted(classes) { // all as they are
		return *r
	}
	to := Rows{rows: r.rows, moves: r.moves}
	n := r.Len()
	shapes, order := make([]int32, n), make([][]uint8, n) // the slots of r in the order of those of the result
	var s Splitter[uint8]
	row := make([]uint8, len(classes))
	for shape := range shapes {
		of := r.Slots(int32(shape))
		for i, c := range classes {
			row[i] = of[c]
		}
		slots, values := s.Split(row)
		if shapes[shape] = to.Find(slots); !slices.IsSorted(values) {
			order[shape] = slices.Clone(values)
		}
	}
	var was []Move
	for q, x := range r.rows {
		if of := order[x.shape]; of != nil {
			row := r.moves[x.moves:][:len(of)]
			was = append(was[:0], row...)
			for i, k := range of {
				row[i] = was[k]
			}
		}
		to.rows[q].shape = shapes[x.shape]
	}
	to.known = nil
	return to
}

// fit reports whether the rows are those of n states with classes that all tables know.
func (r *Rows) fit(n, classes int) bool {
	if r.classes != classes || len(r.rows) != n {
		return false
	}
	total := int32(0)
	for _, x := range r.rows {
		if x.moves != total {
			return false
		}
		total += r.list[x.shape].width
	}
	return int(total) == len(r.moves)
}

// Splitter assigns the classes of a row to slots, so that classes with equal entries share a slot. Its
// zero value is ready.
type Splitter[E comparable] struct {
	slots  []uint8
	values []E
}

// Split divides the classes of a row into slots: classes with equal values share a slot. It returns
// the slot of every class, as for [Shapes.Find], and the value of every slot. The results are valid
// until the next call.
func (s *Splitter[E]) Split(row []E) (slots []uint8, values []E) {
	s.slots, s.values = scratch(s.slots, len(row)), s.values[:0]
	slots, k := s.slots, 0
	for c, v := range row {
		if c == 0 || v != row[c-1] {
			if k = slices.Index(s.values, v); k < 0 {
				k = len(s.values)
				s.values = append(s.values, v)
			}
		}
		slots[c] = uint8(k)
	}
	return s.slots, s.values
}
