package sorted

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A file consists of a header of headSize bytes, the offsets of the sequences (count + 1 words
// of 8 bytes, in tokens), the tokens (big-endian), and a CRC-64 of all preceding bytes.
const (
	magic    = "gibbsite.sorted1"
	headSize = len(magic) + 5*8
)

// table is the polynomial table of the CRC-64 checksums.
var table = crc64.MakeTable(crc64.ECMA)

// head is the header of a file.
type head struct {
	width   int // bytes per token: 1, 2 or 4
	count   int // number of sequences
	tokens  int // number of tokens of all sequences together
	longest int // number of tokens of the longest sequence
}

// widthOf returns the number of bytes that a token needs if there are the given number of
// levels.
func widthOf(levels int) int {
	switch {
	case levels <= 1<<8:
		return 1
	case levels <= 1<<16:
		return 2
	}
	return 4
}

func (h head) appendTo(b []byte) []byte {
	b = append(b, magic...)
	for _, v := range [...]int{h.width, h.count, h.tokens, h.longest} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b, table))
}

// readHead decodes the header written by appendTo and checks it against the size of the file.
func readHead(b []byte, size int) (h head, err error) {
	if len(b) < headSize || string(b[:len(magic)]) != magic {
		return h, fmt.Errorf("sorted: not a file of this package, or cut short")
	}
	body := b[:headSize-8]
	if binary.LittleEndian.Uint64(b[headSize-8:]) != crc64.Checksum(body, table) {
		return h, fmt.Errorf("sorted: the head of the file is damaged")
	}
	var v [4]uint64
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[len(magic)+8*i:])
		if v[i] > uint64(size) {
			return h, fmt.Errorf("sorted: the head says %d where the file has %d bytes", v[i], size)
		}
	}
	h = head{int(v[0]), int(v[1]), int(v[2]), int(v[3])}
	if h.width != 1 && h.width != 2 && h.width != 4 {
		return h, fmt.Errorf("sorted: tokens of %d bytes, want 1, 2 or 4", h.width)
	}
	want := uint64(headSize) + 8*(v[1]+1) + v[0]*v[2] + 8
	if want != uint64(size) {
		return h, fmt.Errorf("sorted: %d bytes, want %d for %d sequences of %d tokens", size, want, h.count, h.tokens)
	}
	if states := v[1] * (v[3] + 1); states > maxStates {
		return h, &constraint.LimitError{What: "sorted: states", Value: int(min(states, math.MaxInt)), Bound: maxStates}
	}
	return h, nil
}

// maxStates bounds the number of states of a lexicon, so that a small lexicon can be layered on
// top: 2³¹, or 2⁸ where int has 32 bits.
const maxStates = 1 << (8 + 23*(^uint(0)>>63))
