package dual

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Little-endian coding of the numbers in a checkpoint. Lengths are not written:
// the reader knows them.

var errShort = errors.New("dual: checkpoint is too short")

func appendFloats(b []byte, v []float64) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// readFloats fills v from the front of b and returns the rest.
func readFloats(b []byte, v []float64) ([]byte, error) {
	if len(b)/8 < len(v) {
		return nil, errShort
	}
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return b[8*len(v):], nil
}

func readEnd(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("dual: checkpoint has %d bytes too many", len(b))
	}
	return nil
}
