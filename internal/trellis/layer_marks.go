package trellis

import "slices"

// blockTokens is the number of tokens of a class that are summed into one
// block, or of levels where columns are marked: a draw from a large class reads
// one block of it, not all.
const blockTokens = 512

// groupLevels is how many levels an entry of marks stands for.
const groupLevels = 16

// markWork is how many times as long it takes to read a token by its number as to
// look whether a level is marked (BenchmarkTwoClasses): columns are marked where that
// is less.
const markWork = 4

// split cuts columns into blocks. Where columns are few and large their levels are
// marked by bits, so that a vector kernel sums them in place, and blocks are ranges
// of levels; otherwise tokens are listed, and blocks are ranges of the list. like, if
// not nil, is a layer whose marks hold here, too, if its tokens are the same.
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

// mark sets the bits of the tokens of every column, and where the blocks begin.
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

// part returns where the tokens of block b of column k are among those of the layer.
func (l *layer) part(k int32, b int) (from, to int32) {
	if l.marks != nil {
		b += int(l.block[k])
		return l.cut[b], l.cut[b+1]
	}
	from = l.begin(k) + int32(b*blockTokens)
	return from, min(from+blockTokens, l.end[k])
}
