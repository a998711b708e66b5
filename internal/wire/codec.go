package wire

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrShort is the error for a checkpoint that ends too early.
var ErrShort = errors.New("the checkpoint is too short for its shape")

// The writers append to b. Lengths are not written, because the reader has them already.

// AppendUint64s appends the numbers v to b, eight bytes each, little-endian.
func AppendUint64s(b []byte, v ...uint64) []byte {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// AppendInts appends v to b, eight bytes each.
func AppendInts(b []byte, v ...int) []byte {
	for _, i := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}

// AppendFloat64s appends the bits of v to b, eight bytes each.
func AppendFloat64s(b []byte, v []float64) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// AppendFloat32s appends the bits of v to b, four bytes each.
func AppendFloat32s(b []byte, v []float32) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// AppendInt32s appends v to b, four bytes each.
func AppendInt32s(b []byte, v []int32) []byte {
	for _, i := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// The readers fill v from the front of b and return the rest, or [ErrShort].

// ReadUint64s decodes len(v) numbers from the beginning of b, as [AppendUint64s] encodes them, and
// stores them in v. It returns the rest of b, or ErrShort.
func ReadUint64s(b []byte, v []uint64) ([]byte, error) {
	if len(b)/8 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return b[8*len(v):], nil
}

// ReadFloat64s decodes len(v) numbers from the beginning of b, as [AppendFloat64s] encodes them,
// and stores them in v. It returns the rest of b, or ErrShort.
func ReadFloat64s(b []byte, v []float64) ([]byte, error) {
	if len(b)/8 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return b[8*len(v):], nil
}

// ReadFloat32s decodes len(v) numbers from the beginning of b, as [AppendFloat32s] encodes them,
// and stores them in v. It returns the rest of b, or ErrShort.
func ReadFloat32s(b []byte, v []float32) ([]byte, error) {
	if len(b)/4 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(v):], nil
}

// ReadInt32s decodes len(v) numbers from the beginning of b, as [AppendInt32s] encodes them, and
// stores them in v. It returns the rest of b, or ErrShort.
func ReadInt32s(b []byte, v []int32) ([]byte, error) {
	if len(b)/4 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(v):], nil
}

// ReadEnd returns an error if b is not empty, that is, if part of a checkpoint was not read.
func ReadEnd(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("the checkpoint has %d bytes too many for its shape", len(b))
	}
	return nil
}

// Empty reports whether a part of a checkpoint currently encodes to no bytes. The code that reads
// the checkpoint must then rebuild the data from other parts.
func Empty(part encoding.BinaryAppender) bool {
	b, err := part.AppendBinary(nil)
	return err == nil && len(b) == 0
}
