package exact

import (
	"bytes"
	"encoding/binary"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Mangle damages a checkpoint for a fuzz test. It changes bytes in the bodies of the frames, and
// corrects lengths and checksums, so that the damage reaches the code that reads the bodies. The
// argument edits holds edits of five bytes each:
//
//   - Byte 0 selects the frame.
//   - Bytes 1 and 2 are the position in its body, counted from the start, or from the end if byte 1
//     is ≥ 128.
//   - Byte 3 is xored with the byte at the position.
//   - If byte 3 is 0, an even byte 4 cuts off the body at the position, and an odd one repeats the
//     rest of the body.
func Mangle(file, edits []byte) []byte {
	var magics []string
	var bodies [][]byte
	for rest := file; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 || len(rest) < end+8 {
			return file
		}
		size := int(binary.LittleEndian.Uint64(rest[end:]))
		if size < 0 || size > len(rest)-end-16 {
			return file
		}
		magics = append(magics, string(rest[:end]))
		bodies = append(bodies, bytes.Clone(rest[end+8:end+8+size]))
		rest = rest[end+8+size+8:]
	}
	for ; len(edits) >= 5 && len(bodies) > 0; edits = edits[5:] {
		body := &bodies[int(edits[0])%len(bodies)]
		if len(*body) == 0 {
			continue
		}
		at := (int(edits[1])&127<<8 | int(edits[2])) % len(*body)
		if edits[1] >= 128 {
			at = len(*body) - 1 - at
		}
		switch {
		case edits[3] != 0:
			(*body)[at] ^= edits[3]
		case edits[4]%2 == 0:
			*body = (*body)[:at]
		default:
			*body = append(*body, (*body)[at:]...)
		}
	}
	var out []byte
	for i, m := range magics {
		out = wire.Append(out, m, bodies[i])
	}
	return out
}

// MangleSeeds returns the seed corpus of a fuzz test of [Mangle]. Each seed is a list of edits. The
// first list is empty. The others edit bytes near both ends of each frame.
func MangleSeeds() [][]byte {
	seeds := [][]byte{nil}
	for frame := range byte(3) {
		for _, at := range []byte{0, 8, 16, 24, 40, 56, 64, 96, 128} {
			seeds = append(seeds, []byte{frame, 0, at, 1, 0}, []byte{frame, 128, at, 255, 0}, []byte{frame, 0, at, 0, 0}, []byte{frame, 0, at, 0, 1})
		}
	}
	return seeds
}
