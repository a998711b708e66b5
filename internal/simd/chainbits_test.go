package simd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// at returns bit c of lane p.
func at(w []uint64, p, c int) int { return bit(w, 32*p+c) }

func TestGraphBits(t *testing.T) {
	r := newRand(21)
	for degree := range 8 {
		for _, n := range []int{0, 16, 48, 1024} {
			own, near := words(r, 40), make([]int32, n*degree)
			for i := range near {
				near[i] = r.Int32N(80) | -r.Int32N(2)<<31
			}
			onAll(func(l level) {
				var count Counts
				for b := range count {
					copy(count[b][:], words(r, len(count[b])))
				}
				before := count
				GraphBits(&count, own, near, n, degree)
				for p := range 2 * len(count[0]) {
					for c := range ChainBits {
						got := at(count[0][:], p, c) + 2*at(count[1][:], p, c) + 4*at(count[2][:], p, c)
						want := at(before[0][:], p, c) + 2*at(before[1][:], p, c) + 4*at(before[2][:], p, c)
						if p < n {
							want = 0
							for k := range degree {
								j := near[k*n+p]
								v := at(own, int(j&(1<<31-1)), c)
								if j < 0 {
									v = 1 - v
								}
								want += v
							}
						}
						if want != got {
							t.Fatalf("%s: degree %d, lane %d of %d, chain %d: %d, want %d", levelNames[l], degree, p, n, c, got, want)
						}
					}
				}
			})
		}
	}
	for _, bad := range [][3]int{{16, 8, 128}, {8, 1, 8}, {16, 2, 31}, {1040, 1, 1040}, {-16, 0, 0}, {16, -1, 0}} {
		assert.PanicsWithValue(t,
			fmt.Sprintf("simd: GraphBits: n = %d, degree = %d and len(neighbours) = %d, want a multiple of 16 up to 1024, 0 … 7 and their product", bad[0], bad[1], bad[2]),
			func() { GraphBits(new(Counts), make([]uint64, 8), make([]int32, bad[2]), bad[0], bad[1]) })
	}
}

// Marks pass on between neighbours, in the order of the sites, in the chains that may have them.
func TestJoin(t *testing.T) {
	r := newRand(23)
	for _, sites := range []int{1, 2, 40, joinTerms + 3} {
		start, adj := []int32{0}, []int32(nil)
		for range sites {
			for range r.IntN(4) {
				adj = append(adj, r.Int32N(int32(sites)))
			}
			start = append(start, int32(len(adj)))
		}
		in, may := make([]Marks, sites), make([]Marks, sites)
		for i := range in {
			in[i], may[i] = Marks(words(r, 8)), Marks(words(r, 8))
		}
		for _, back := range []bool{false, true} {
			want, changed := slices.Clone(in), false
			for n := range want {
				i := n
				if back {
					i = sites - 1 - n
				}
				before := want[i]
				for c := range 512 {
					marked := bit(want[i][:], c)
					for _, j := range adj[start[i]:start[i+1]] {
						marked |= bit(want[j][:], c)
					}
					want[i][c/64] &^= 1 << (c % 64)
					want[i][c/64] |= uint64(marked&bit(may[i][:], c)) << (c % 64)
				}
				changed = changed || want[i] != before
			}
			onAll(func(l level) {
				got := slices.Clone(in)
				require.Equal(t, changed, Join(got, may, start, adj, back), levelNames[l])
				require.Equal(t, want, got, "%s, %d sites, back %t", levelNames[l], sites, back)
			})
			require.False(t, Join(make([]Marks, sites), may, start, adj, back))
		}
	}
	require.False(t, Join(nil, nil, []int32{0}, nil, false))
	require.Panics(t, func() { Join(make([]Marks, 2), make([]Marks, 1), make([]int32, 3), nil, false) })
}

// Every site of every chain counts as documented, also where all of 1024 lanes do.
func TestTallyBits(t *testing.T) {
	r := newRand(22)
	for _, n := range []int{0, 8, 24, 512} {
		for _, all := range []bool{false, true} {
			now, old := words(r, n), words(r, n)
			var count Counts
			for b := range count {
				copy(count[b][:], words(r, n))
			}
			var want ChainTally
			for c := range ChainBits {
				want.Up[c], want.Moved[c], want.Sum[c] = 1000, 2000, -3000
			}
			started := want
			if all {
				for i := range now {
					now[i], old[i] = 0, ^uint64(0)
					count[0][i], count[1][i], count[2][i] = 0, 0, 0
				}
			}
			for p := range 2 * n {
				for c := range ChainBits {
					m := int32(at(count[0][:], p, c) + 2*at(count[1][:], p, c) + 4*at(count[2][:], p, c))
					switch a, b := at(old, p, c), at(now, p, c); {
					case a < b:
						want.Up[c]++
						want.Moved[c]++
						want.Sum[c] += m
					case a > b:
						want.Moved[c]++
						want.Sum[c] += TallyDown - m
					}
				}
			}
			onAll(func(l level) {
				got := started
				TallyBits(&got, now, old, &count)
				require.Equal(t, want, got, "%s: %d words", levelNames[l], n)
			})
		}
	}
	assert.PanicsWithValue(t, "simd: len(newBits) = 4, want a multiple of 8, at most 512", func() { TallyBits(new(ChainTally), make([]uint64, 4), make([]uint64, 4), new(Counts)) })
	assert.PanicsWithValue(t, "simd: len(oldBits) = 16, want 8", func() { TallyBits(new(ChainTally), make([]uint64, 8), make([]uint64, 16), new(Counts)) })
}

func TestOddsAt(t *testing.T) {
	r := newRand(24)
	for n := 1; n <= 8; n++ {
		p := make([]uint64, n)
		for k := range p {
			p[k] = r.Uint64()
		}
		o := NewOdds(p)
		for k, v := range p {
			assert.Equal(t, v, o.At(k))
		}
	}
}

func TestSpreadChains(t *testing.T) {
	r := newRand(23)
	for _, n := range []int{1, 7, 8, 25, 64, 333, 5000} {
		for _, chains := range []int{0, 1, 3, 32} {
			own, place := words(r, 200), make([]int32, n)
			for i := range place {
				place[i] = r.Int32N(400)
			}
			onAll(func(l level) {
				x := make([]int32, chains*n+1)
				x[chains*n] = 77
				SpreadChains(x[:chains*n], own, place)
				require.Equal(t, int32(77), x[chains*n])
				for i, v := range x[:chains*n] {
					if want := at(own, int(place[i%n]), i/n); int32(want) != v {
						t.Fatalf("%s: site %d of %d, chain %d: %d, want %d", levelNames[l], i%n, n, i/n, v, want)
					}
				}
			})
		}
	}
	for _, bad := range [][2]int{{3, 2}, {33 * 4, 4}, {1, 0}} {
		assert.Panics(t, func() { SpreadChains(make([]int32, bad[0]), make([]uint64, 8), make([]int32, bad[1])) }, bad)
	}
}

func BenchmarkChainBits(b *testing.B) {
	const lanes = 1024
	r := rand.New(rand.NewPCG(1, 1))
	own, near, place := words(r, lanes/2), make([]int32, 4*lanes), make([]int32, lanes)
	for i := range near {
		near[i] = r.Int32N(lanes)
	}
	for i := range place {
		place[i] = r.Int32N(lanes)
	}
	var count Counts
	var tally ChainTally
	x := make([]int32, ChainBits*lanes)
	for name, f := range map[string]func(){
		"Graph/4": func() { GraphBits(&count, own, near, lanes, 4) },
		"Tally":   func() { tally = ChainTally{}; TallyBits(&tally, own, count[0][:], &count) },
		"Spread":  func() { SpreadChains(x, own, place) },
	} {
		b.Run(name, func(b *testing.B) {
			for _, l := range append([]level{purego}, backends()...) {
				b.Run(levelNames[l], func(b *testing.B) {
					withBackend(l, func() {
						for b.Loop() {
							f()
						}
					})
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(ChainBits*lanes), "ns/elem")
				})
			}
		})
	}
}
