package simd

import "fmt"

// Sites of up to ChainBits chains may be held as rows of bytes, so that the neighbours
// of a site are counted by adding rows.

// Row is the state of a site, 0 or 1, in each chain.
type Row [ChainBits]byte

// RowVisit says how a site is redrawn.
type RowVisit struct {
	Row         int32 // the site's
	Plus, Minus int32 // neighbours that are added, and those behind them that are taken away: multiples of 4
	Bias        int32 // what their sum begins with
	Odds        int32 // the table, in bytes from the first: its number times RowTable

	// Octet is 0, or 1 … 8 in turn for eight visits that follow each other and are to
	// sites whose rows do so, too. None of them is a neighbour of another, and they have
	// one table, as many entries that are added and as many that are taken away: they can
	// be made at once, to the same bits.
	Octet int32
	_     [2]int32
}

// octet is the number of visits of an octet.
const octet = 8

// behind returns the neighbours behind those of visits.
func behind(near []int32, visits []RowVisit) []int32 {
	n := int32(0)
	for i := 0; i < len(visits); {
		if v := &visits[i]; v.Octet == 1 && len(visits)-i >= octet {
			n += octet * (v.Plus + v.Minus)
			i += octet
		} else {
			n += v.Plus + v.Minus
			i++
		}
	}
	return near[n:]
}

// RowCounts is the number of sums that RowOdds has odds for.
const RowCounts = 128

// RowOdds holds the probability of a site to be in state 1 for each sum 0 … RowCounts−1
// of its neighbours. It is immutable.
type RowOdds struct {
	high, next [RowCounts]byte // the two highest of the eight bytes of p
	p          [RowCounts]uint64
}

// RowTable is the bytes of a table of odds.
const RowTable = 10 * RowCounts

// NewRowOdds returns the odds p[k]·2⁻⁶⁴ for sums k. It panics unless len(p) ≤ RowCounts.
func NewRowOdds(p []uint64) (o RowOdds) {
	if len(p) > RowCounts {
		panic(fmt.Sprintf("simd: NewRowOdds: len(p) = %d, want ≤ %d", len(p), RowCounts))
	}
	copy(o.p[:], p)
	for k, v := range o.p {
		o.high[k], o.next[k] = byte(v>>56), byte(v>>48)
	}
	return o
}

// At returns the odds of sum k, times 2⁶⁴.
func (o *RowOdds) At(k int) uint64 { return o.p[k] }

// RowTally counts for each chain the sites that a redraw has changed, and adds up the
// sums of those that went from 0 to 1 less those of the others.
type RowTally struct{ Moved, Sum [ChainBits]int32 }

const (
	// RowVisits bounds the visits of a call of HeatRows: what they tell is added up in
	// bytes and in numbers of 16 bits.
	RowVisits = 128

	// RowNear bounds the neighbours of its visits.
	RowNear = 1 << 13

	// groupTies are the ties that a group of random words decides.
	groupTies = GroupWords / 2
)

// rowWords is the number of words whose bytes are the first of a visit.
const rowWords = ChainBits / 4

// pairStop is what a visit that heatPairs does not make has drawn: what is below, as far as
// that is known, where it is tied, and the sums.
type pairStop struct {
	below, equal uint64
	_            [6]uint64
	sums         [2]Row
}

// rowByteGroups are those of the first bytes of random numbers.
func rowByteGroups(visits int) int { return (visits*ChainBits/4 + GroupWords - 1) / GroupWords }

// moreTies returns the digits of ties behind so many that have been used, enough for any
// visit, of those from a group of the stream on.
func moreTies(buf *[2 * GroupWords]uint32, used int, draw func(dst []uint32, key, stream, group uint64), key, stream, group uint64) []uint32 {
	ties := buf[:]
	if used%groupTies == 0 {
		ties = ties[:GroupWords]
	}
	draw(ties, key, stream, group+uint64(used/groupTies))
	return ties[2*(used%groupTies):]
}
