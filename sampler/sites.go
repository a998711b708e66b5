package sampler

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// appendSites appends states, four bytes a site.
func appendSites[S energy.Site](b []byte, x []S) []byte {
	switch x := any(x).(type) {
	case []int32:
		b = wire.AppendInt32s(b, x)
	case []float32:
		b = wire.AppendFloat32s(b, x)
	}
	return b
}

func readSites[S energy.Site](b []byte, x []S) ([]byte, error) {
	if x, ok := any(x).([]int32); ok {
		return wire.ReadInt32s(b, x)
	}
	reals, _ := any(x).([]float32)
	return wire.ReadFloat32s(b, reals)
}
