package trellis

import "slices"

// layer holds the edges from the nodes of one site to those of the next.
type layer struct {
	n, next int     // nodes here and at the next site
	live    []int32 // classes with an edge, ascending: the columns
	column  []int32 // column of each class, or none
	tokens  []int32 // the allowed tokens of those classes, class by class
	end     []int32 // where the tokens of each column end
	block   []int32 // number of the first block of tokens of each column, and of blocks
	largest int     // tokens in the largest class

	// Where columns are marked, see split; nil elsewhere.
	marks [][]uint16 // by column: the levels that are its tokens
	cut   []int32    // by block: where its tokens begin

	logSize float64 // log of the number of tokens and columns

	// The edges of node q are row[q]:row[q+1], by column.
	row []int32
	col []int32
	to  []int32

	dense []uint64 // see newDense; nil where the rows are sparse
}

// holds reports whether token is among the allowed tokens of column k.
func (l *layer) holds(k, token int32) bool {
	_, ok := slices.BinarySearch(l.tokens[l.begin(k):l.end[k]], token)
	return ok
}

// begin returns where the tokens of column k begin.
func (l *layer) begin(k int32) int32 {
	if k == 0 {
		return 0
	}
	return l.end[k-1]
}

// wide reports whether class sums of l may be taken in float32: there must be
// much to sum, or there is nothing to gain.
func (l *layer) wide() bool {
	return len(l.tokens) >= wideTokens && len(l.tokens) >= 2*len(l.live)
}

// wideTokens is the number of tokens of a site from which class sums are taken
// in float32: below it a vector kernel gains less than the accuracy is worth
// (BenchmarkFilter).
const wideTokens = 256
