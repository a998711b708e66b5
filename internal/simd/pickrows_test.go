//go:build (amd64 || arm64) && !purego

package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPickRowsAgree draws from many rows at once, on the borders between weights too: of
// integers, whose sums are exact, and of weights that differ by many orders.
func TestPickRowsAgree(t *testing.T) {
	r := newRand(81)
	for _, cols := range []int{3, 17, 127, 128, 129, 143, 144, 250, 256, 272, 300, 511, 512, 700} {
		for _, rows := range []int{8, 11, 16} {
			p, total, u := make([]float32, rows*cols), make([]float64, rows), make([]float64, rows)
			for trial := range 30 {
				for row := range rows {
					w := p[row*cols : (row+1)*cols]
					for i := range w {
						switch w[i] = 0; trial % 3 {
						case 0:
							w[i] = float32(r.IntN(3))
						case 1:
							w[i] = float32(math.Exp(-90 * r.Float64()))
						case 2:
							if r.IntN(cols) < 3 {
								w[i] = r.Float32()
							}
						}
					}
					total[row] = 0
					for i := 0; i < cols; i += blockTerms {
						total[row] += blockSum(w[i:min(i+blockTerms, cols)])
					}
					u[row] = r.Float64()
					switch r.IntN(8) {
					case 0:
						u[row] = 0
					case 1:
						u[row] = 1 - 0x1p-53
					case 2:
						u[row] = 1 // out of contract, same answer
					case 3, 4, 5: // a border
						u[row] = float64(r.IntN(int(total[row])+1)) / max(total[row], 1)
					}
					switch r.IntN(40) {
					case 0:
						total[row] = math.NaN()
					case 1:
						total[row] = 0
					}
				}
				want := make([]int32, rows)
				for row := range want {
					want[row] = -1
					if total[row] > 0 {
						want[row] = int32(refPick(p[row*cols:(row+1)*cols], float64(u[row]*total[row])))
					}
				}
				for _, b := range backends() {
					got := make([]int32, rows+1)
					got[rows] = 7
					withBackend(b, func() { pickRows(got[:rows], p, total, u, cols) })
					require.Equal(t, append(want, 7), got, "%s, %d × %d", levelNames[b], rows, cols)
				}
			}
		}
	}
}
