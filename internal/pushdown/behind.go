package pushdown

// listing is the row that a call enters and the exponent on which what returns
// of it counts; its vector has been brought there by by.
type listing struct{ row, exponent, by int32 }

// calling is a call of a tape whose adjoint is asked for.
type calling struct {
	listing
	site, call int
}

// behind is the adjoints of the calls of a group at several sites, as far as they
// come from the returns that were known at the greatest of them. One pass over
// these serves all calls.
type behind struct {
	low, high int // the sites
	pieces    int
	from      [aheadEnds + 1]int // the first call of site high − i
	bar       []float64          // [call][row]
}

// way is a return by one exit: its number, where turned has it after the entry of
// its row, and the exponent of its row over that of the caller.
type way struct {
	at              int
	piece, exponent int32
}
