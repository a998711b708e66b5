package diagnose

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// digest is the sum, modulo 2⁶⁴ each, of the words of SHA-256 digests of chains:
// their order does not matter.
type digest [4]uint64

func (d *digest) add(o digest) {
	for i := range d {
		d[i] += o[i]
	}
}

// digestOf returns that of one chain, of its number, its draws and the state of the
// last.
func digestOf[S energy.Site](chain int, values []float64, x []S) (d digest) {
	b := make([]byte, 0, 8+8*len(values)+4*len(x))
	b = wire.AppendFloat64s(wire.AppendInts(b, chain), values)
	switch x := any(x).(type) {
	case []int32:
		b = wire.AppendInt32s(b, x)
	case []float32:
		b = wire.AppendFloat32s(b, x)
	}
	sum := sha256.Sum256(b)
	_, _ = wire.ReadUint64s(sum[:], d[:])
	return d
}

func (d digest) String() string { return hex.EncodeToString(wire.AppendUint64s(nil, d[:]...)) }
