package planar

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// judge checks that faces are closed walks that hold each edge twice, or not at all if it is
// a bridge, and that their number is that of Euler's formula.
func judge(t *testing.T, n int, edges [][2]int32, faces [][]int32) {
	times := make([]int, len(edges))
	for _, f := range faces {
		degree := map[int32]int{}
		for _, e := range f {
			times[e]++
			degree[edges[e][0]]++
			degree[edges[e][1]]++
		}
		for _, d := range degree {
			require.Zero(t, d%2)
		}
	}
	for _, k := range times {
		require.Contains(t, []int{0, 2}, k)
	}
	// each two-connected part has cyclomatic number + 1 faces
	cyclomatic, parts2 := 0, 0
	for _, p := range parts(n, edges) {
		vertices := map[int32]bool{}
		for _, e := range p {
			vertices[edges[e][0]], vertices[edges[e][1]] = true, true
		}
		if len(p) > 1 {
			cyclomatic += len(p) - len(vertices) + 1
			parts2++
		}
	}
	require.Len(t, faces, cyclomatic+parts2)
}

func grid(rows, columns int) (n int, edges [][2]int32) {
	for i := range rows {
		for j := range columns {
			v := int32(i*columns + j)
			if j+1 < columns {
				edges = append(edges, [2]int32{v, v + 1})
			}
			if i+1 < rows {
				edges = append(edges, [2]int32{v, v + int32(columns)})
			}
		}
	}
	return rows * columns, edges
}

// Parts of triangulations, in a random order, are planar; with a graph of Kuratowski they
// are not.
func TestFaces(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 3 + r.IntN(20)
		faces := [][3]int32{{0, 1, 2}, {0, 2, 1}}
		edges := [][2]int32{{0, 1}, {1, 2}, {2, 0}}
		for v := int32(3); v < int32(n); v++ { // stacked triangulation
			k := r.IntN(len(faces))
			f := faces[k]
			faces[k] = [3]int32{f[0], f[1], v}
			faces = append(faces, [3]int32{f[1], f[2], v}, [3]int32{f[2], f[0], v})
			for _, u := range f {
				edges = append(edges, [2]int32{u, v})
			}
		}
		name := r.Perm(n)
		var kept [][2]int32
		for _, k := range r.Perm(len(edges)) {
			if r.IntN(4) > 0 {
				kept = append(kept, [2]int32{int32(name[edges[k][0]]), int32(name[edges[k][1]])})
			}
		}
		walks, ok, err := Faces(ctx, n, kept)
		require.NoError(t, err)
		require.True(t, ok, "seed %d", seed)
		judge(t, n, kept, walks)

		// K₅ or K₃₃ with paths for edges, next to it
		m := int32(n)
		add := func(u, v int32) {
			kept = append(kept, [2]int32{u, m + 100}, [2]int32{m + 100, v})
			m++
		}
		base := int32(n)
		if seed%2 == 0 {
			for u := range int32(5) {
				for v := range u {
					add(base+u, base+v)
				}
			}
		} else {
			for u := range int32(3) {
				for v := range int32(3) {
					add(base+u, base+3+v)
				}
			}
		}
		_, ok, err = Faces(ctx, int(m)+101, kept)
		require.NoError(t, err)
		require.False(t, ok, "seed %d", seed)
	}
	n, edges := grid(30, 30)
	walks, ok, err := Faces(ctx, n, edges)
	require.NoError(t, err)
	require.True(t, ok)
	judge(t, n, edges, walks)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = Faces(ended, n, edges)
	require.ErrorIs(t, err, context.Canceled)
	_, ok, err = Faces(ctx, 4, nil)
	require.NoError(t, err)
	require.True(t, ok)
}
