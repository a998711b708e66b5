package diagnose

import (
	"encoding/binary"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// decoder reads little-endian words from the front of a byte slice. A read past the end returns
// zeros and sets short.
type decoder struct {
	rest  []byte
	short bool
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.short, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) word() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) int() int { return int(d.word()) }

// natural reads a word and returns it as an int. A word above math.MaxInt sets short.
func (d *decoder) natural() int {
	w := d.word()
	if w > math.MaxInt {
		d.short, d.rest = true, nil
		return 0
	}
	return int(w)
}

func (d *decoder) float() float64 { return math.Float64frombits(d.word()) }

// count reads the number of items that follow. If the rest of the data is too short for that many
// items of size bytes each, count returns 0 and sets short.
func (d *decoder) count(size int) int {
	n := d.word()
	if n > uint64(len(d.rest)/size) {
		d.short, d.rest = true, nil
		return 0
	}
	return int(n)
}

// floats reads rows × columns float64s, with rows ≥ 0 and columns ≥ 1.
func (d *decoder) floats(rows, columns int) []float64 {
	if rows > len(d.rest)/8/columns {
		d.short, d.rest = true, nil
		return nil
	}
	values := make([]float64, rows*columns)
	d.rest, _ = wire.ReadFloat64s(d.rest, values)
	return values
}

// levels reads rows × sites levels (int32), with rows ≥ 0 and sites ≥ 0.
func (d *decoder) levels(rows, sites int) []int32 {
	if sites > 0 && rows > len(d.rest)/4/sites {
		d.short, d.rest = true, nil
		return nil
	}
	levels := make([]int32, rows*sites)
	d.rest, _ = wire.ReadInt32s(d.rest, levels)
	return levels
}
