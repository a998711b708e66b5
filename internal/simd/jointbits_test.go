package simd

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// jointGraph is lanes that are redrawn from other ones.
type jointGraph struct {
	lanes, first, n, stride, degree int
	near                            []int32
	odds                            *Odds
}

// newJointGraph draws the n lanes from lane 16 on from the states of those behind.
func newJointGraph(r *rand.Rand, n, degree int) *jointGraph {
	g := &jointGraph{n: n, first: 16, stride: (n + 15) / 16 * 16, degree: degree}
	g.lanes = g.first + g.stride + 48
	g.near = make([]int32, g.stride*degree)
	for i := range g.near {
		g.near[i] = int32(g.first+g.stride+r.IntN(48)) | -r.Int32N(2)<<31
	}
	p := make([]uint64, degree+1)
	for k := range p {
		p[k] = r.Uint64() >> r.IntN(20)
	}
	g.odds = NewOdds(p)
	return g
}

// Blocks side by side are drawn to the bits of each alone, by HeatBits, with streams and
// places of their own, also where counters carry, and all changes of chains that count
// are counted.
func TestJointIsHeatBits(t *testing.T) {
	r := newRand(31)
	for degree := range 8 {
		for _, n := range []int{1, 5, 16, 37, 300} {
			for blocks := 1; blocks <= JointBlocks; blocks += 1 + degree%3 + r.IntN(4) {
				for _, ars := range []bool{false, true} {
					g := newJointGraph(r, n, degree)
					started := make([]uint32, g.lanes*JointBlocks)
					for i := range started {
						started[i] = r.Uint32()
					}
					streams, groups, chains := make([]uint64, blocks), make([]uint64, blocks), make([]int, blocks)
					for b := range blocks {
						streams[b], groups[b], chains[b] = r.Uint64(), uint64(1<<28-5*b)>>(b%2*9), r.IntN(ChainBits+1)
					}
					const key, ahead = 0x123456789abcdef, 3
					want, moved := append([]uint32{}, started...), make([]int, blocks)
					for b := range blocks {
						own := make([]uint64, g.lanes/2)
						for p := range g.lanes {
							own[p/2] |= uint64(started[p*JointBlocks+b]) << (p % 2 * 32)
						}
						var count Counts
						refGraphBits(&count, own, g.near, g.stride, degree)
						drawn := make([]uint64, g.stride/2)
						HeatBits(drawn, &count, g.odds, ars, key, streams[b], groups[b]+ahead)
						for p := range n {
							at := (g.first+p)*JointBlocks + b
							v := uint32(drawn[p/2] >> (p % 2 * 32))
							moved[b] += bits.OnesCount32((want[at] ^ v) & uint32(uint64(1)<<chains[b]-1))
							want[at] = v
						}
					}
					onAll(func(l level) {
						j := new(Joint)
						j.Begin(ars, key, streams, groups, chains)
						got := append([]uint32{}, started...)
						j.Heat(got, g.first, n, g.near, g.stride, degree, g.odds, ahead)
						for p := range g.lanes { // what is drawn of other blocks is theirs
							for b := range blocks {
								if i := p*JointBlocks + b; want[i] != got[i] {
									t.Fatalf("%s: degree %d, %d lanes, block %d of %d, lane %d: %x, want %x", levelNames[l], degree, n, b, blocks, p-g.first, got[i], want[i])
								}
							}
							if p < g.first || p >= g.first+n {
								require.Equal(t, started[p*JointBlocks:(p+1)*JointBlocks], got[p*JointBlocks:(p+1)*JointBlocks])
							}
						}
						sum := make([]int, blocks)
						j.Moved(sum)
						assert.Equal(t, moved, sum, levelNames[l])
						j.Moved(sum)
						assert.Equal(t, moved, sum, levelNames[l])

						got = append([]uint32{}, started...) // the same in two parts
						cut := n / 2 &^ 15
						j.Heat(got, g.first, cut, g.near, g.stride, degree, g.odds, ahead)
						j.Heat(got, g.first+cut, n-cut, g.near[min(cut, len(g.near)):], g.stride, degree, g.odds, ahead+uint64(cut))
						for i := range got {
							if b := i % JointBlocks; b < blocks {
								require.Equal(t, want[i], got[i], levelNames[l])
							}
						}
					})
				}
			}
		}
	}
}

func TestJointRefuses(t *testing.T) {
	j := new(Joint)
	assert.PanicsWithValue(t, "simd: Joint.Begin: len(chains) = 17, want 1 … 16", func() { j.Begin(false, 1, nil, nil, make([]int, 17)) })
	assert.PanicsWithValue(t, "simd: Joint.Begin: chains[1] = 33, want 0 … 32", func() { j.Begin(false, 1, make([]uint64, 2), make([]uint64, 2), []int{1, 33}) })
	assert.PanicsWithValue(t, "simd: len(groups) = 1, want 2", func() { j.Begin(false, 1, make([]uint64, 2), make([]uint64, 1), []int{1, 3}) })
	j.Begin(false, 1, []uint64{1}, []uint64{1}, []int{1})
	o := NewOdds([]uint64{1})
	for _, bad := range [][4]int{{4, 2, 1, 16}, {1, 2, 8, 16}, {2, 2, 2, 3}, {-1, 2, 1, 2}} {
		assert.PanicsWithValue(t,
			fmt.Sprintf("simd: Joint.Heat: n = %d, stride = %d, degree = %d and len(neighbours) = %d, want n ≤ stride, degree ≤ 7 and their product", bad[0], bad[1], bad[2], bad[3]),
			func() { j.Heat(make([]uint32, 1024), 0, bad[0], make([]int32, bad[3]), bad[1], bad[2], o, 0) })
	}
	assert.PanicsWithValue(t, "simd: Joint.Heat: lanes 3 … 4 of 4", func() { j.Heat(make([]uint32, 64), 3, 2, nil, 2, 0, o, 0) })
}

func BenchmarkJoint(b *testing.B) {
	r := newRand(32)
	g := newJointGraph(r, 25, 4)
	own := make([]uint32, g.lanes*JointBlocks)
	for _, ars := range []bool{false, true} {
		for _, blocks := range []int{8, 16} {
			b.Run(fmt.Sprintf("Heat/ars=%v/blocks=%d", ars, blocks), func(b *testing.B) {
				streams, chains := make([]uint64, blocks), make([]int, blocks)
				for i := range blocks {
					streams[i], chains[i] = uint64(i), ChainBits
				}
				j := new(Joint)
				j.Begin(ars, 1, streams, make([]uint64, blocks), chains)
				ahead := uint64(0)
				for b.Loop() {
					j.Heat(own, g.first, g.n, g.near, g.stride, 4, g.odds, ahead)
					ahead += 64
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*g.n*blocks*ChainBits), "ns/elem")
			})
		}
	}
}
