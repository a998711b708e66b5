package simd

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for _, cols := range []int{4, 18, 50, 100} {
		for colour := range 2 {
			kernels[fmt.Sprintf("HeatBath/%d/%d", cols, colour)] = func(a *arena, from, to int) {
				rows := (to - from) / cols &^ 1
				if rows < 4 {
					return
				}
				table := [8]int32{1 << 20, 1 << 25, 1 << 30, 1<<31 - 1<<20, 1<<31 - 1, 5, 6, 7}
				c := HeatBath(a.i[0][from:from+rows*cols], cols, colour, &table, a.u[from:from+rows*cols/2])
				a.s[0], a.s[1], a.s[2] = float64(c.Moved), float64(c.Pairs), float64(c.Up)
			}
		}
	}
}

// TestHeatBath checks one colour against the definition, the changes against a
// count, and the law of the sweep on a 4×4 torus by its mean magnetisation.
func TestHeatBath(t *testing.T) {
	const rows, cols = 6, 40
	r := newRand(4)
	x, bits := make([]int32, rows*cols), make([]uint32, rows*cols/2)
	table := [8]int32{1 << 28, 1 << 29, 1 << 30, 3 << 29, 7 << 28}
	for sweep := range 20 {
		for i := range bits {
			bits[i] = r.Uint32()
		}
		old := append([]int32{}, x...)
		c := HeatBath(x, cols, sweep%2, &table, bits)
		moved, pairs, up := 0, 0, 0
		for i := range x {
			row, col := i/cols, i%cols
			above, below := (row+rows-1)%rows*cols+col, (row+1)%rows*cols+col
			left, right := row*cols+(col+cols-1)%cols, row*cols+(col+1)%cols
			if (row+col)%2 == sweep%2 {
				k := old[above] + old[below] + old[left] + old[right]
				want := int32(0)
				if int64(bits[i/2]>>1) < int64(table[k]) {
					want = 1
				}
				require.Equal(t, want, x[i])
			} else {
				require.Equal(t, old[i], x[i])
			}
			if x[i] != old[i] {
				moved++
			}
			up += int(x[i] - old[i])
			pairs += int(x[i]*(x[below]+x[right]) - old[i]*(old[below]+old[right]))
		}
		require.Equal(t, Changes{moved, pairs, up}, c)
	}
	assert.Panics(t, func() { HeatBath(x, 5, 0, &table, bits) })
	assert.Panics(t, func() { HeatBath(x[:3*cols], cols, 0, &table, bits) })
	assert.Panics(t, func() { HeatBath(x, cols, 2, &table, bits) })
	assert.Panics(t, func() { HeatBath(x, cols, 0, &table, bits[1:]) })
}

// TestHeatBathLaw: mean spin of the 4×4 torus E(s) = −.2 Σ_edges ss − .2 Σ s is
// .4800050727 by enumeration.
func TestHeatBathLaw(t *testing.T) {
	const side, chains, sweeps = 4, 200, 400
	var table [8]int32
	for k := range 5 {
		h := 2 * (0.2*float64(2*k-4) + 0.2)
		table[k] = int32(math.Round(0x1p31 / (1 + math.Exp(-h))))
	}
	bits := make([]uint32, 64)
	mean, square := 0.0, 0.0
	for c := range chains {
		x, sum := make([]int32, side*side), 0.0
		for s := range sweeps {
			Philox(bits, 99, uint64(c), uint64(s))
			HeatBath(x, side, 0, &table, bits[:8])
			HeatBath(x, side, 1, &table, bits[8:16])
			if s >= 50 {
				for _, v := range x {
					sum += float64(2*v - 1)
				}
			}
		}
		m := sum / ((sweeps - 50) * side * side)
		mean += m / chains
		square += m * m / chains
	}
	sigma := math.Sqrt((square - mean*mean) / (chains - 1))
	assert.InDelta(t, 0.4800050727, mean, 5*sigma) // normal bound at 1e−6
}

func BenchmarkHeatBath(b *testing.B) {
	for _, side := range []int{50, 1024} {
		x, bits := make([]int32, side*side), make([]uint32, (side*side/2+63)/64*64)
		table := [8]int32{1 << 28, 1 << 29, 1 << 30, 3 << 29, 7 << 28}
		Philox(bits, 1, 2, 3)
		onEach(b, fmt.Sprintf("update/%d", side), func(b *testing.B) {
			for b.Loop() {
				HeatBath(x, side, 0, &table, bits[:len(x)/2])
				HeatBath(x, side, 1, &table, bits[:len(x)/2])
			}
			perElement(b, len(x), 12)
		})
		onEach(b, fmt.Sprintf("sweep/%d", side), func(b *testing.B) {
			for b.Loop() {
				Philox(bits, 1, 2, 3)
				HeatBath(x, side, 0, &table, bits[:len(x)/2])
				Philox(bits, 1, 2, 3)
				HeatBath(x, side, 1, &table, bits[:len(x)/2])
			}
			perElement(b, len(x), 12)
		})
	}
}
