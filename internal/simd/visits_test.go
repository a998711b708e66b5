package simd

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Visits change sites one after the other as documented, keep entries up to date and count
// what they do, on graphs without and with many neighbours, also where numbers are on the odds.
func TestVisit(t *testing.T) {
	r := newRand(41)
	for _, sites := range []int{1, 2, 9, 60, 300} {
		for _, degree := range []int{0, 1, 5, 40} {
			for _, propose := range []bool{false, true} {
				near := make([][]int32, sites)
				for range sites * degree / 2 {
					if i, j := r.IntN(sites), r.IntN(sites); i != j {
						near[i], near[j] = append(near[i], int32(j)), append(near[j], int32(i))
					}
				}
				start, adj, first, entries := []int32{0}, []int32{}, []int32{}, 0
				for _, row := range near {
					adj = append(adj, row...)
					start, first = append(start, int32(len(adj))), append(first, int32(entries))
					entries += len(row) + 1
				}
				table := func() []uint64 {
					v := make([]uint64, entries)
					for i := range v {
						v[i] = []uint64{0, ^uint64(0), 1 << 63, r.Uint64()}[r.IntN(4)]
					}
					return v
				}
				odds, odds1, accept := table(), []uint64(nil), [2][]uint64{}
				if propose {
					odds1, accept = table(), [2][]uint64{table(), table()}
				}
				x, order, words := make([]int32, sites), make([]int32, 2*sites), make([]uint32, 4*sites)
				for i := range x {
					x[i] = r.Int32N(2)
				}
				for n := range order {
					order[n] = r.Int32N(int32(sites))
					if u := odds[r.IntN(entries)]; r.IntN(3) == 0 {
						words[2*n], words[2*n+1] = uint32(u), uint32(u>>32)
					} else {
						words[2*n], words[2*n+1] = r.Uint32(), r.Uint32()
					}
				}
				look := func(x []int32) []int32 {
					l := slices.Clone(first)
					for i, row := range near {
						for _, j := range row {
							l[i] += x[j]
						}
					}
					return l
				}
				want, y := Visited{}, slices.Clone(x)
				equal := func() (n int) {
					for i, row := range near {
						for _, j := range row {
							if y[i] == y[j] {
								n++
							}
						}
					}
					return n / 2
				}
				want.Equal -= equal()
				for n, i := range order {
					entry := look(y)[i]
					p := odds[entry]
					if propose && y[i] == 1 {
						p = odds1[entry]
					}
					if propose {
						want.Accept += accept[y[i]][entry]
					}
					l := int32(0)
					if uint64(words[2*n+1])<<32|uint64(words[2*n]) < p {
						l = 1
					}
					if l != y[i] {
						want.Moved++
						want.Ones += int(l - y[i])
						y[i] = l
					}
				}
				want.Equal += equal()
				onAll(func(l level) {
					v := NewVisits(start, adj, first, odds, odds1, accept)
					z, at := slices.Clone(x), look(x)
					require.Equal(t, want, v.Visit(at, z, order, words), "%s: %d sites, degree %d", levelNames[l], sites, degree)
					require.Equal(t, y, z, levelNames[l])
					require.Equal(t, look(y), at, levelNames[l])
					require.Equal(t, Visited{}, v.Visit(at, z, nil, nil))
				})
			}
		}
	}
}

// A site of very many neighbours is not for assembly, nor are many sites for one call.
func TestVisitOfManyNeighbours(t *testing.T) {
	const leaves = 40000
	start, adj, first := []int32{0}, []int32{}, []int32{}
	for i := range leaves {
		adj = append(adj, int32(i+1))
	}
	start, first = append(start, leaves), append(first, 2)
	for range leaves {
		adj = append(adj, 0)
		start, first = append(start, int32(len(adj))), append(first, 0)
	}
	odds := make([]uint64, leaves+3)
	odds[0], odds[1], odds[2] = 1<<63, 1<<63, ^uint64(0)
	for n := range odds[3:] {
		odds[3+n] = 5
	}
	order, words := make([]int32, leaves+1), make([]uint32, 2*leaves+2)
	for i := range order {
		order[i], words[2*i+1] = int32(i), uint32(i%7)<<29
	}
	onAll(func(l level) {
		x, look := make([]int32, leaves+1), slices.Clone(first)
		got := NewVisits(start, adj, first, odds, nil, [2][]uint64{}).Visit(look, x, order, words)
		ones := 0
		for _, v := range x {
			ones += int(v)
		}
		assert.Equal(t, Visited{Moved: ones, Ones: ones, Equal: ones - 1 - leaves}, Visited{Moved: got.Moved, Ones: got.Ones, Equal: got.Equal}, levelNames[l])
		assert.Equal(t, int32(2+ones-1), look[0])
	})
}

func TestVisitRefuses(t *testing.T) {
	start, first, odds := []int32{0, 0}, []int32{0}, []uint64{5}
	assert.PanicsWithValue(t, "simd: len(odds1) = 2, want 1", func() { NewVisits(start, nil, first, odds, make([]uint64, 2), [2][]uint64{odds, odds}) })
	assert.PanicsWithValue(t, "simd: len(accept[1]) = 0, want 1", func() { NewVisits(start, nil, first, odds, odds, [2][]uint64{odds, nil}) })
	assert.PanicsWithValue(t, "simd: len(first) = 1, want 2", func() { NewVisits(append(start, 0), nil, first, odds, nil, [2][]uint64{}) })
	v := NewVisits(start, nil, first, odds, nil, [2][]uint64{})
	assert.PanicsWithValue(t, fmt.Sprintf("simd: len(words) = %d, want 2·%d", 3, 1), func() { v.Visit(first, first, first, make([]uint32, 3)) })
	assert.PanicsWithValue(t, "simd: len(x) = 2, want 1", func() { v.Visit(first, make([]int32, 2), first, make([]uint32, 2)) })
	assert.PanicsWithValue(t, "simd: len(look) = 0, want 1", func() { v.Visit(nil, first, first, make([]uint32, 2)) })
}
