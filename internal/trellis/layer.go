package trellis

import (
	"math"
	"slices"
)

// layer holds the edges from the nodes of one site to those of the next. A column is a token
// class that has an edge in the layer.
type layer struct {
	n, next int     // number of nodes at this site and at the next
	live    []int32 // classes with an edge, in ascending order: the columns
	column  []int32 // column of each class, or none
	tokens  []int32 // allowed tokens, column by column
	end     []int32 // end of the tokens of each column in tokens
	// index of the first block of each column; the last entry is the number of blocks
	block   []int32
	largest int // number of tokens in the largest class

	// by column, a bit for each level that is one of its tokens; nil if columns are not marked
	// (see split)
	marks [][]uint16
	// by block, the index in tokens at which it begins; nil if columns are not marked
	cut []int32

	logSize float64 // log of the number of tokens plus the number of columns

	// row[q]:row[q+1] is the range of edges of node q in col and to, ordered by column.
	row []int32
	col []int32
	to  []int32

	dense []uint64 // edges as full rows in the format of newDense; nil if the rows are sparse
}

// holds reports whether token is among the allowed tokens of column k.
func (l *layer) holds(k, token int32) bool {
	_, ok := slices.BinarySearch(l.class(int(k)), token)
	return ok
}

// class returns the allowed tokens of column k.
func (l *layer) class(k int) []int32 { return l.tokens[l.begin(int32(k)):l.end[k]] }

// begin returns the index in tokens at which the tokens of column k begin.
func (l *layer) begin(k int32) int32 {
	if k == 0 {
		return 0
	}
	return l.end[k-1]
}

// wide reports whether class sums of l may be computed in float32. This is faster only if there
// are many tokens in few columns.
func (l *layer) wide() bool {
	return len(l.tokens) >= wideTokens && len(l.tokens) >= 2*len(l.live)
}

// wideTokens is the least number of tokens of a site for which class sums are computed in
// float32. With fewer tokens, the gain in speed is not worth the loss of accuracy
// (BenchmarkFilter).
const wideTokens = 256

// lanes is the number of nodes whose sums are computed together in a dense layer. Each has its
// own accumulator, so that additions overlap. With eight, the compiler runs out of registers
// (BenchmarkFFBS: 0.24 ns per edge for six, 0.37 for eight, 0.32 for four).
const lanes = 6

// dead is the node number that marks missing edges in a dense layer. The value of this node is
// 0.
const dead = 255

// denseFill is the least share of present edges for which a dense layer is faster. Reading
// missing edges then costs less than reading column numbers (BenchmarkFilter).
const denseFill = 0.4

// newDense returns the edges of l as full rows, or nil if this would not be faster. Entry
// b·columns+k holds, byte by byte from the lowest, the nodes to which column k leads from the
// nodes lanes·b, lanes·b+1, …. A byte as an index into an array of 256 entries needs no bounds
// check. Layers with more than 255 nodes at the next site are therefore never dense.
func newDense(l *layer) []uint64 {
	columns := len(l.live)
	if l.next > dead || l.n < lanes/2 ||
		float64(len(l.to)) < denseFill*float64(l.n*columns) {
		return nil
	}
	blocks := (l.n + lanes - 1) / lanes
	d := make([]uint64, blocks*columns)
	for i := range d {
		d[i] = math.MaxUint64 // dead in every byte
	}
	for q := range l.n {
		for e := l.row[q]; e < l.row[q+1]; e++ {
			at := 8 * (q % lanes)
			entry := &d[q/lanes*columns+int(l.col[e])]
			*entry = *entry&^(0xff<<at) | uint64(l.to[e])<<at
		}
	}
	return d
}

// denseSums stores dst[q] = Σ_k s[k]·ahead[target of node q by column k] for all nodes q, where
// k runs over cols.
func (l *layer) denseSums(dst []float64, cols []int32, s []float64, ahead *[256]float64) {
	columns := len(l.live)
	s = s[:len(cols)]
	for b := 0; b*lanes < l.n; b++ {
		d := l.dense[b*columns : (b+1)*columns]
		var a0, a1, a2, a3, a4, a5 float64
		for i, k := range cols {
			w, to := s[i], d[k]
			a0 = float64(w*ahead[uint8(to)]) + a0
			a1 = float64(w*ahead[uint8(to>>8)]) + a1
			a2 = float64(w*ahead[uint8(to>>16)]) + a2
			a3 = float64(w*ahead[uint8(to>>24)]) + a3
			a4 = float64(w*ahead[uint8(to>>32)]) + a4
			a5 = float64(w*ahead[uint8(to>>40)]) + a5
		}
		block := [lanes]float64{a0, a1, a2, a3, a4, a5}
		copy(dst[b*lanes:], block[:])
	}
}

// blockTokens is the number of tokens of a class that are summed into one block. A draw from a
// large class reads one block instead of the whole class.
const blockTokens = 512

// groupLevels is the number of levels whose bits an entry of marks holds.
const groupLevels = 16

// markWork is the time to read a token by its number, relative to the time to check whether a
// level is marked (BenchmarkTwoClasses). It decides whether marking columns is faster.
const markWork = 4

// split divides columns into blocks. If columns are few and large, their levels are marked by bits,
// so that a vector kernel sums them in place, and blocks are ranges of levels. Otherwise, blocks
// are ranges of the list of tokens. The layer like may be nil. If its tokens are the same, its
// marks are shared.
func (l *layer) split(levels int, like *layer) {
	marked := l.wide() && len(l.live) <= markWork*len(l.tokens)/levels
	l.block = make([]int32, len(l.end)+1)
	for k, end := range l.end {
		n := int(end - l.begin(int32(k)))
		if marked {
			n = levels
		}
		l.block[k+1] = l.block[k] + int32((n+blockTokens-1)/blockTokens)
	}
	switch {
	case !marked:
	case like != nil && like.marks != nil && slices.Equal(like.end, l.end) && slices.Equal(like.tokens, l.tokens):
		l.marks, l.cut = like.marks, like.cut
	default:
		l.mark(levels)
	}
}

// mark sets the bits of the tokens of every column, and computes where the blocks begin.
func (l *layer) mark(levels int) {
	l.marks = make([][]uint16, len(l.end))
	for k := range l.end {
		bits := make([]uint16, (levels+groupLevels-1)/groupLevels)
		at := l.begin(int32(k))
		for b := range l.block[k+1] - l.block[k] {
			l.cut = append(l.cut, at)
			for at < l.end[k] && l.tokens[at] < (b+1)*blockTokens {
				v := l.tokens[at]
				bits[v/groupLevels] |= 1 << (v % groupLevels)
				at++
			}
		}
		l.marks[k] = bits
	}
	l.cut = append(l.cut, int32(len(l.tokens)))
}

// part returns the range in l.tokens of the tokens in block b of column k.
func (l *layer) part(k int32, b int) (from, to int32) {
	if l.marks != nil {
		b += int(l.block[k])
		return l.cut[b], l.cut[b+1]
	}
	from = l.begin(k) + int32(b*blockTokens)
	return from, min(from+blockTokens, l.end[k])
}

// allowed returns, for each column of site t, the number of tokens whose log-weight in v is not
// −Inf. A nil v allows all tokens.
func (l *layer) allowed(v []float32, t, levels int) []int {
	n := make([]int, len(l.live))
	for k := range n {
		for _, token := range l.class(k) {
			if v == nil || !math.IsInf(float64(v[t*levels+int(token)]), -1) {
				n[k]++
			}
		}
	}
	return n
}

// leastSums stores, for every node, the minimum over its edges of token cost plus value ahead.
func (l *layer) leastSums(here, cost, ahead []float64) {
	edge := 0
	col, to := l.col, l.to[:len(l.col)]
	for q, end := range l.row[1:] {
		least := math.Inf(1)
		for ; edge < int(end) && edge < len(col); edge++ {
			if c := cost[col[edge]] + ahead[to[edge]]; c < least {
				least = c
			}
		}
		here[q] = least
	}
}

// sparseSums stores Σ sum·ahead over the edges of every node and returns the largest result.
// Nodes are ordered by their number of edges, which makes the inner loop predictable.
func (l *layer) sparseSums(here, sums, ahead []float64) (top float64) {
	edge := 0
	col, to := l.col, l.to[:len(l.col)]
	for q, end := range l.row[1:] {
		sum := 0.0
		for ; edge < int(end) && edge < len(col); edge++ {
			sum += float64(sums[col[edge]] * ahead[to[edge]])
		}
		here[q] = sum
		if sum > top {
			top = sum
		}
	}
	return top
}

// nodeSum returns Σ sum·ahead over the edges of node q.
func (l *layer) nodeSum(q int32, sums, ahead []float64) float64 {
	from, to := l.row[q], l.row[q+1]
	cols, targets := l.col[from:to], l.to[from:to]
	targets = targets[:len(cols)]
	sum := 0.0
	for e, k := range cols {
		sum += float64(sums[k] * ahead[targets[e]])
	}
	return sum
}

// sumTerms stores in s, for each class, the sum of its terms. It returns the total.
func (l *layer) sumTerms(s, terms []float64) (total float64) {
	if len(s) == len(terms) { // every class is one token
		copy(s, terms)
		for _, p := range s {
			total += p
		}
		return total
	}
	for k, end := range l.end {
		sum := 0.0
		for _, p := range terms[l.begin(int32(k)):end] {
			sum += p
		}
		s[k] = sum
		total += sum
	}
	return total
}
