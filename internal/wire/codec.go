package wire

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrShort means that a checkpoint ends too early.
var ErrShort = errors.New("the checkpoint is too short for its shape")

// The writers append to b. Lengths are not written: the reader knows them.

// AppendUint64s appends v.
func AppendUint64s(b []byte, v ...uint64) []byte {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// AppendInts appends v, eight bytes each.
func AppendInts(b []byte, v ...int) []byte {
	for _, i := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}

// AppendFloat64s appends the bits of v.
func AppendFloat64s(b []byte, v []float64) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// AppendFloat32s appends the bits of v.
func AppendFloat32s(b []byte, v []float32) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// AppendInt32s appends v.
func AppendInt32s(b []byte, v []int32) []byte {
	for _, i := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// The readers fill v from the front of b and return the rest, or [ErrShort].

// ReadUint64s reads what [AppendUint64s] wrote.
func ReadUint64s(b []byte, v []uint64) ([]byte, error) {
	if len(b)/8 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return b[8*len(v):], nil
}

// ReadFloat64s reads what [AppendFloat64s] wrote.
func ReadFloat64s(b []byte, v []float64) ([]byte, error) {
	if len(b)/8 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return b[8*len(v):], nil
}

// ReadFloat32s reads what [AppendFloat32s] wrote.
func ReadFloat32s(b []byte, v []float32) ([]byte, error) {
	if len(b)/4 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(v):], nil
}

// ReadInt32s reads what [AppendInt32s] wrote.
func ReadInt32s(b []byte, v []int32) ([]byte, error) {
	if len(b)/4 < len(v) {
		return nil, ErrShort
	}
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(v):], nil
}

// ReadEnd returns an error unless b is used up.
func ReadEnd(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("the checkpoint has %d bytes too many for its shape", len(b))
	}
	return nil
}

// Empty reports whether a part currently appends nothing. What is kept elsewhere must then
// be rebuilt when the part is read.
func Empty(part encoding.BinaryAppender) bool {
	b, err := part.AppendBinary(nil)
	return err == nil && len(b) == 0
}
