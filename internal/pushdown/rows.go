package pushdown

import "slices"

// Rows are the rows of a machine's table, one for each state. A row gives the move for each byte
// class, and most classes have the same move. A row is therefore stored in two parts: a shape, and
// a list of moves. The shape divides the classes into slots, and the list has one move for each
// slot. Many rows share a shape. Slots are numbered in the order of their first classes. Two slots
// of a row may have the same move.
type Rows struct {
	classes int
	slots   []uint8          // slot of each class, for one shape after another
	width   []int32          // number of slots of each shape
	known   map[string]int32 // shapes by their slots
	list    []row
	moves   []Move // moves of the slots of one state after another
}

// row is the row of a state: where the slots of its shape begin, and where its moves begin.
type row struct{ slots, moves int32 }

// NewRows returns an empty table for the given number of byte classes. It reserves memory for the
// given number of states.
func NewRows(classes, states int) Rows {
	return Rows{classes: classes, known: map[string]int32{}, list: make([]row, 0, states), moves: make([]Move, 0, 3*states)}
}

// Shape returns the index of the shape that assigns slot slots[c] to every class c. It adds the
// shape if it is new.
func (r *Rows) Shape(slots []uint8) int32 {
	if n := len(r.list); n > 0 && slices.Equal(slots, r.slots[r.list[n-1].slots:][:r.classes]) {
		return r.shape(int32(n - 1))
	}
	if s, ok := r.known[string(slots)]; ok {
		return s
	}
	s, width := int32(len(r.width)), uint8(0)
	for _, k := range slots {
		width = max(width, k)
	}
	r.known[string(slots)] = s
	r.slots, r.width = append(r.slots, slots...), append(r.width, int32(width)+1)
	return s
}

// Add adds the row of the next state, with the given shape and one move for each slot of the shape.
func (r *Rows) Add(shape int32, moves ...Move) {
	r.list = append(r.list, row{shape * int32(r.classes), int32(len(r.moves))})
	r.moves = append(r.moves, moves...)
}

// at returns the move of state q on a byte of the given class.
func (r *Rows) at(q int32, class uint8) *Move {
	x := r.list[q]
	return &r.moves[x.moves+int32(r.slots[x.slots+int32(class)])]
}

// shape returns the shape of the row of state q.
func (r *Rows) shape(q int32) int32 { return r.list[q].slots / int32(r.classes) }

// of returns the moves of state q, one for each slot.
func (r *Rows) of(q int32) []Move {
	x := r.list[q]
	return r.moves[x.moves : x.moves+r.width[x.slots/int32(r.classes)]]
}

// slotsOf returns the slots of a shape by class.
func (r *Rows) slotsOf(shape int32) []uint8 {
	return r.slots[int(shape)*r.classes : int(shape+1)*r.classes]
}

// with returns rows with the given classes only, in the given order. The classes must meet every slot of
// every shape. No rows can be added to the result, and the rows r must not be used any more.
func (r *Rows) with(classes []uint8) Rows {
	if r.known = nil; len(classes) == r.classes && slices.IsSorted(classes) { // all as they are
		return *r
	}
	to := NewRows(len(classes), 0)
	n := len(r.width)
	shapes, order := make([]int32, n), make([][]uint8, n) // the slots of r in the order of those of the result
	var s Splitter[uint8]
	row := make([]uint8, len(classes))
	for shape := range shapes {
		of := r.slotsOf(int32(shape))
		for i, c := range classes {
			row[i] = of[c]
		}
		slots, values := s.Split(row)
		if shapes[shape] = to.Shape(slots); !slices.IsSorted(values) {
			order[shape] = slices.Clone(values)
		}
	}
	to.list, to.moves = r.list, r.moves
	var was []Move
	for q, x := range r.list {
		shape := x.slots / int32(r.classes)
		if of := order[shape]; of != nil {
			row := r.moves[x.moves:][:len(of)]
			was = append(was[:0], row...)
			for i, k := range of {
				row[i] = was[k]
			}
		}
		to.list[q].slots = shapes[shape] * int32(to.classes)
	}
	to.known = nil
	return to
}

// fit reports whether the rows are those of n states with classes that all tables know.
func (r *Rows) fit(n, classes int) bool {
	if r.classes != classes || len(r.list) != n {
		return false
	}
	total := int32(0)
	for q := range r.list {
		if r.list[q].moves != total {
			return false
		}
		total += r.width[r.shape(int32(q))]
	}
	return int(total) == len(r.moves)
}

// Splitter divides the classes of rows into slots. Its zero value is ready.
type Splitter[E comparable] struct {
	slots  []uint8
	values []E
}

// Split divides the classes of a row into slots: classes with equal values share a slot. It returns
// the slot of every class, as for [Rows.Shape], and the value of every slot. The results are valid
// until the next call.
func (s *Splitter[E]) Split(row []E) (slots []uint8, values []E) {
	s.slots, s.values = slices.Grow(s.slots[:0], len(row))[:len(row)], s.values[:0]
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
