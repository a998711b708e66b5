package sampler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Little-endian coding of the slices in a checkpoint. Lengths are not written:
// a kernel knows them.

var errShort = errors.New("sampler: checkpoint of a kernel is too short for its shape")

func appendFloat64s(b []byte, v []float64) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

func appendFloat32s(b []byte, v []float32) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func appendInt32s(b []byte, v []int32) []byte {
	for _, i := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// The readers fill v from the front of b and return the rest.

func readFloat64s(b []byte, v []float64) ([]byte, error) {
	if len(b) < 8*len(v) {
		return nil, errShort
	}
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return b[8*len(v):], nil
}

func readFloat32s(b []byte, v []float32) ([]byte, error) {
	if len(b) < 4*len(v) {
		return nil, errShort
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(v):], nil
}

func readInt32s(b []byte, v []int32) ([]byte, error) {
	if len(b) < 4*len(v) {
		return nil, errShort
	}
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(v):], nil
}

func readEnd(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("sampler: checkpoint of a kernel has %d bytes too many for its shape", len(b))
	}
	return nil
}
