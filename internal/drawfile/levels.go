package drawfile

import (
	"encoding/binary"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// bitsOf returns the number of bits for a token with the given number of levels: 1, 2, 4, 8, 16
// or 32. Tokens without a bound take 32.
func bitsOf(levels int) int {
	if levels < 1 {
		return 32
	}
	bits := 1
	for bits < 32 && (levels-1)>>bits > 0 {
		bits *= 2
	}
	return bits
}

// appendLevels appends tokens with the given number of bits each. The first token is in the
// lowest bits of the first byte. It reports whether all tokens fit.
func appendLevels(b []byte, x []int32, bits int) (_ []byte, ok bool) {
	seen := int32(0)
	switch bits {
	case 32:
		return wire.AppendInt32s(b, x), true
	case 16:
		for _, v := range x {
			seen |= v
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		}
	case 8:
		for _, v := range x {
			seen |= v
			b = append(b, byte(v))
		}
	case 1:
		for ; len(x) >= 8; x = x[8:] {
			y := x[:8]
			seen |= y[0] | y[1] | y[2] | y[3] | y[4] | y[5] | y[6] | y[7]
			b = append(b, byte(y[0]|y[1]<<1|y[2]<<2|y[3]<<3|y[4]<<4|y[5]<<5|y[6]<<6|y[7]<<7))
		}
		fallthrough
	default:
		for per := 8 / bits; len(x) > 0; {
			v := int32(0)
			n := min(per, len(x))
			for i, y := range x[:n] {
				seen |= y
				v |= y << (i * bits)
			}
			b, x = append(b, byte(v)), x[n:]
		}
	}
	return b, uint32(seen)>>bits == 0
}

// readLevels decodes tokens written by [appendLevels] into x.
func readLevels(b []byte, x []int32, bits int) {
	switch bits {
	case 32:
		_, _ = wire.ReadInt32s(b, x)
	case 16:
		for i := range x {
			x[i] = int32(binary.LittleEndian.Uint16(b[2*i:]))
		}
	default:
		mask := int32(1)<<bits - 1
		for i := range x {
			x[i] = int32(b[i*bits/8]) >> (i * bits % 8) & mask
		}
	}
}
