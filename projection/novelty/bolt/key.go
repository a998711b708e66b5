package bolt

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// The key of a sequence is its tokens one after the other. The first byte of a token
// gives their number, so that keys sort as the sequences do:
//
//	0xxxxxxx          below 2⁷
//	10xxxxxx + 1      below 2¹⁴
//	110xxxxx + 2      below 2²¹
//	1110xxxx + 3      below 2²⁸
//	11110000 + 4      the others
//
// A key cannot be empty: that of the empty sequence is the byte 0xFF, which begins
// no token.

const emptyKey = 0xFF

// appendKey appends the key of x to b. It returns an error if a file cannot store x.
func appendKey(b []byte, x []int32) ([]byte, error) {
	if len(x) == 0 {
		return append(b, emptyKey), nil
	}
	for i, t := range x {
		if t < 0 {
			return nil, fmt.Errorf("x[%d] = %d, want ≥ 0", i, t)
		}
		u := uint32(t)
		switch {
		case u < 1<<7:
			b = append(b, byte(u))
		case u < 1<<14:
			b = append(b, 0x80|byte(u>>8), byte(u))
		case u < 1<<21:
			b = append(b, 0xC0|byte(u>>16), byte(u>>8), byte(u))
		case u < 1<<28:
			b = append(b, 0xE0|byte(u>>24), byte(u>>16), byte(u>>8), byte(u))
		default:
			b = append(b, 0xF0, byte(u>>24), byte(u>>16), byte(u>>8), byte(u))
		}
	}
	if len(b) > bbolt.MaxKeySize {
		return nil, fmt.Errorf("a sequence of %d tokens takes %d bytes, want ≤ %d", len(x), len(b), bbolt.MaxKeySize)
	}
	return b, nil
}

// appendTokens appends to x the tokens that the key encodes.
func appendTokens(x []int32, key []byte) ([]int32, error) {
	if len(key) == 1 && key[0] == emptyKey {
		return x, nil
	}
	for len(key) > 0 {
		n, first := 0, uint32(key[0])
		switch {
		case first < 0x80:
		case first < 0xC0:
			n, first = 1, first&0x3F
		case first < 0xE0:
			n, first = 2, first&0x1F
		case first < 0xF0:
			n, first = 3, first&0x0F
		case first == 0xF0:
			n, first = 4, 0
		default:
			return nil, fmt.Errorf("no token begins with byte %#x", first)
		}
		if len(key) <= n {
			return nil, fmt.Errorf("a key ends within a token")
		}
		u := first
		for _, b := range key[1 : n+1] {
			u = u<<8 | uint32(b)
		}
		if u > 1<<31-1 || n > 0 && u < 1<<(7*n) {
			return nil, fmt.Errorf("token %d in %d bytes", u, n+1)
		}
		x, key = append(x, int32(u)), key[n+1:]
	}
	return x, nil
}
