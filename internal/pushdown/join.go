package pushdown

// join lists the calls of a group so far: where their vectors are, and which
// rows they enter.
type join struct {
	at, row []int32
	runs    []run
	inTile  int // calls at sites of the tile: the first
}

// run is neighbours in a join that were called in one tile, from the number
// given on. Returns of them count on one exponent, to which their vectors have
// been brought.
type run struct {
	from, tile, exponent int32
	dense                bool // the rows follow each other
}

// ahead is what leaves callees at several ends, by the exits of a round, summed
// over the calls that were known at the first of these ends: whoever is called
// after the tile is known for every end. One pass over their vectors serves all
// ends.
type ahead struct {
	from, ends  int       // the ends from…from+ends−1
	begin, upto int       // the calls
	scale       int32     // of the caller at from
	width       int       // columns of x
	x           []float64 // [end − from][node][row]
	any         [aheadEnds]bool
}

const (
	aheadEnds  = 16
	aheadLeast = 24 // fewer calls are not worth it
	aheadDrift = 60 // log₂ of what the scale may change by
)

// put adds a call that enters a row of a tile. It returns log₂ of what its vector
// is to be multiplied by, so that what returns counts on the exponent of its run.
func (j *join) put(at, row, tile, exponent int32) (by int32) {
	n := len(j.runs)
	if n == 0 || j.runs[n-1].tile != tile || exponent-j.runs[n-1].exponent > drift || j.runs[n-1].exponent-exponent > drift {
		j.runs = append(j.runs, run{int32(len(j.row)), tile, exponent, true})
		n++
	} else if j.row[len(j.row)-1] != row-1 {
		j.runs[n-1].dense = false
	}
	j.at, j.row = append(j.at, at), append(j.row, row)
	return exponent - j.runs[n-1].exponent
}

// drift is log₂ of what a call may be brought by to the exponent of its run.
const drift = 11
