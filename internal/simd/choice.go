package simd

// Choice says which rows of a matrix states of zeros and ones add up: those of the
// sites where they are 1. The zero value holds no states; [Choice.Set] chooses. It
// belongs to one goroutine.
type Choice struct {
	quads         []uint8 // groups × states: 8 times the number whose bits are four sites
	states, sites int
}

// quad is how many rows share a table of sums: a table of sixteen sums costs as much
// as some twenty states that take one of them each.
const quad = 4

// groups returns the number of groups of four sites, the last of which may be smaller.
func (q *Choice) groups() int { return (q.sites + quad - 1) / quad }
