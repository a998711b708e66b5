package ground

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The check refuses what is no packing of odd cycles.
func TestCheckWalks(t *testing.T) {
	g := &frame{n: 4, ends: [][2]int32{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {1, 3}}, w: []int64{1, 1, 1, -2, 3}, total: 8}
	sum, err := g.checkWalks(nil, [][]int32{{0, 1, 2}, {0, 2, 3, 4}}, []int64{6, 2}, 10)
	require.NoError(t, err)
	require.Equal(t, int64(8), sum)
	for want, c := range map[string]struct {
		walks [][]int32
		y     []int64
	}{
		"walk 0 has the share -1":      {[][]int32{{0, 1, 2}}, []int64{-1}},
		"walk 0 is open at vertex":     {[][]int32{{0, 1}}, []int64{1}},
		"bond 0 twice or out of order": {[][]int32{{0, 0, 1}}, []int64{1}},
		"walk 0 has 2 bonds > 0, want": {[][]int32{{1, 3, 4}}, []int64{1}},
		"bond 0 carries 11 of 10":      {[][]int32{{0, 1, 2}, {0, 2, 3, 4}}, []int64{6, 5}},
	} {
		_, err := g.checkWalks(nil, c.walks, c.y, 10)
		require.ErrorContains(t, err, want)
	}
}

// The faces of a triangulation share their bonds: one of the three of each is unsatisfied.
func TestPackingOfTriangles(t *testing.T) {
	const n = 8 // rows and columns of a torus of triangles
	g := &frame{n: n * n}
	for i := range n * n {
		right, down := i/n*n+(i+1)%n, (i+n)%(n*n)
		diagonal := down/n*n + (down+1)%n
		for _, j := range []int{right, down, diagonal} {
			g.ends, g.w, g.total = append(g.ends, [2]int32{int32(i), int32(j)}), append(g.w, 1), g.total+1
		}
	}
	p := g.newPacking(t.Context())
	for k := range p.price {
		p.price[k] = 0.01
	}
	require.Positive(t, p.generate())
	for range 5 {
		p.improve()
	}
	scale, y := p.whole()
	sum, err := g.checkWalks(nil, p.walks, y, scale)
	require.NoError(t, err)
	require.InDelta(t, n*n, float64(sum)/float64(scale), 0.01*n*n)
}
