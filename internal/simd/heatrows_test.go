package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for i, name := range []string{"HeatRows", "HeatRows/ARS"} {
		kernels[name] = func(a *arena, from, to int) { heatRowsIn(a, from, to, i == 1) }
	}
	kernels["SumRows"] = func(a *arena, from, to int) {
		rows, sum := make([]Row, (to-from)/ChainBits), [ChainBits]int32{}
		for i := range rows {
			for c := range rows[i] {
				rows[i][c] = byte(a.i[0][from+ChainBits*i+c])
			}
		}
		SumRows(&sum, rows)
		copy(a.i[1][from:to], sum[:])
	}
}

// heatRowsIn redraws sites of a window of 32 chains each, whose numbers are their states
// and say which are neighbours.
func heatRowsIn(a *arena, from, to int, ars bool) {
	sites := (to - from) / ChainBits
	if sites == 0 {
		return
	}
	g := &rowProblem{rows: make([]Row, sites+1), own: make([]uint64, (sites+1)/2)}
	for i := range ChainBits * sites {
		v := a.i[0][from+i] & 1
		g.rows[i/ChainBits][i%ChainBits] = byte(v)
		g.own[i/64] |= uint64(v) << (i % 64)
	}
	p := make([]uint64, RowCounts)
	for k := range p {
		p[k] = uint64(a.u[from+k%sites])<<32 | uint64(a.u[from+k%7])
	}
	g.odds = []RowOdds{NewRowOdds(p[:5]), NewRowOdds(p)}
	for k := range min(RowVisits, to-from) {
		u := a.u[from+k]
		v := RowVisit{Row: int32(u) & math.MaxInt32 % int32(sites), Plus: int32(u >> 8 % 8 * 4), Minus: int32(u >> 12 % 4 * 4), Odds: RowTable}
		v.Bias = v.Minus + int32(u>>16%80)
		for j := range v.Plus + v.Minus {
			g.near = append(g.near, ChainBits*(a.i[3][from+(k+int(j))%(to-from)]&math.MaxInt32%int32(sites)))
		}
		g.visits = append(g.visits, v)
	}
	var t RowTally
	HeatRows(g.rows, g.own, g.visits, g.near, g.odds, a.u[from], &t, nil, new(RowScratch), ars, uint64(a.u[from]), 5, uint64(a.u[from+1]))
	for i := range ChainBits * sites {
		a.i[0][from+i] = int32(g.rows[i/ChainBits][i%ChainBits]) + 2*int32(g.own[i/64]>>(i%64)&1)
	}
	copy(a.i[1][from:to], t.Moved[:])
	copy(a.i[2][from:to], t.Sum[:])
}

// rowProblem is a graph of rows whose sums are those that RowOdds has, with sites that
// have many neighbours, few and none; the last row is 0 and fills up.
type rowProblem struct {
	rows   []Row
	own    []uint64
	visits []RowVisit
	near   []int32
	odds   []RowOdds
}

func newRowProblem(r *rand.Rand, visits, most int) *rowProblem {
	const sites, tables = 150, 3
	g := &rowProblem{rows: make([]Row, sites+1), own: make([]uint64, sites/2)}
	for i := range sites {
		for c := range ChainBits {
			v := byte(r.IntN(2))
			g.rows[i][c] = v
			g.own[i/2] |= uint64(v) << (32*(i%2) + c)
		}
	}
	for range tables {
		p := make([]uint64, RowCounts)
		for k := range p {
			p[k] = []uint64{r.Uint64(), 0, 1<<64 - 1, 5 << 56, 1<<56 - 1}[r.IntN(5)]
		}
		g.odds = append(g.odds, NewRowOdds(p))
	}
	entries := func(n int) int32 {
		for range n {
			g.near = append(g.near, ChainBits*r.Int32N(sites))
		}
		for ; n%4 > 0; n++ {
			g.near = append(g.near, ChainBits*sites)
		}
		return int32(n)
	}
	for range visits {
		plus := r.IntN(most + 1)
		minus := r.IntN(2) * r.IntN(most+1-plus)
		v := RowVisit{Row: r.Int32N(sites), Odds: RowTable * r.Int32N(tables), Bias: int32(minus + r.IntN(RowCounts-plus-minus))}
		v.Plus, v.Minus = entries(plus), entries(minus)
		g.visits = append(g.visits, v)
	}
	return g
}

func (g *rowProblem) clone() *rowProblem {
	c := *g
	c.rows, c.own = slices.Clone(g.rows), slices.Clone(g.own)
	return &c
}

// redraw is a plain loop over visits and chains that asks for random numbers.
func (g *rowProblem) redraw(valid uint32, t *RowTally, high func(visit, chain int) byte, second func(visit int) byte, last func() uint64) (ties int) {
	near := g.near
	for n, v := range g.visits {
		old := g.rows[v.Row]
		var p, u, k [ChainBits]uint64
		tied := []int{}
		for c := range p {
			k[c] = uint64(v.Bias)
			for j, at := range near[:v.Plus+v.Minus] {
				if j < int(v.Plus) {
					k[c] += uint64(g.rows[at/ChainBits][c])
				} else {
					k[c] -= uint64(g.rows[at/ChainBits][c])
				}
			}
			p[c] = g.odds[v.Odds/RowTable].At(int(k[c]))
			if u[c] = uint64(high(n, c)) << 56; u[c] == p[c]>>56<<56 {
				if valid>>c&1 == 1 {
					tied = append(tied, c)
				} else {
					u[c] = p[c]
				}
			}
		}
		for j, c := range tied {
			if j == 0 {
				u[c] |= uint64(second(n)) << 48
				if len(tied) == 1 && u[c]>>48 != p[c]>>48 {
					break
				}
				u[c] |= last() >> 16
			} else {
				u[c] |= last() >> 8
			}
			ties++
		}
		for c := range p {
			now := byte(0)
			if u[c] < p[c] {
				now = 1
			}
			if by := int32(now) - int32(old[c]); by != 0 {
				t.Moved[c]++
				t.Sum[c] += by * int32(k[c])
				g.own[v.Row/2] ^= 1 << (32*int(v.Row%2) + c)
			}
			g.rows[v.Row][c] = now
		}
		near = near[v.Plus+v.Minus:]
	}
	return ties
}

// onEveryRow runs f with every backend, and without what looks bytes up.
func onEveryRow(f func(name string)) {
	onAll(func(l level) { f(levelNames[l]) })
	without(func() { onAll(func(l level) { f(levelNames[l] + " without permutations") }) }, "permutes")
}

// Redraws are those of a plain loop, in which sums are counted and numbers put together
// one by one.
func TestHeatRows(t *testing.T) {
	r := newRand(41)
	ties := 0
	for trial := range 400 {
		visits := []int{0, 1, 7, 8, 9, 50, RowVisits}[trial%7]
		g := newRowProblem(r, visits, []int{0, 3, 40, 60, 127}[trial%5])
		if len(g.near) > RowNear {
			continue
		}
		key, stream, group := r.Uint64(), r.Uint64(), r.Uint64()>>8
		valid := []uint32{1<<32 - 1, 1<<20 - 1, 1}[trial%3]
		ars := trial%2 == 1
		draw := map[bool]func(dst []uint32, key, stream, group uint64){false: Philox, true: ARS}[ars]
		first := (visits + 7) / 8
		words := make([]uint32, (first+1+visits)*GroupWords)
		draw(words, key, stream, group)
		require.Equal(t, uint64(first+1+visits), RowGroups(visits))
		want := g.clone()
		var counted RowTally
		counted.Moved[3], counted.Sum[31] = 1000, -1000
		start := counted
		at := (first + 1) * GroupWords
		ties += want.redraw(valid, &counted, func(v, c int) byte { return byte(words[8*v+c/4] >> (c % 4 * 8)) },
			func(v int) byte { return byte(words[first*GroupWords+v/4] >> (v % 4 * 8)) }, func() uint64 {
				at += 2
				return uint64(words[at-1])<<32 | uint64(words[at-2])
			})
		onEveryRow(func(name string) {
			got, tally := g.clone(), start
			HeatRows(got.rows, got.own, got.visits, got.near, got.odds, valid, &tally, nil, new(RowScratch), ars, key, stream, group)
			require.Equal(t, want, got, "%s, trial %d", name, trial)
			require.Equal(t, counted, tally, "%s, trial %d", name, trial)
		})
	}
	assert.Greater(t, ties, 50)
}

// Ties are decided by all of their digits, in turn, and a visit that needs more than what
// is left is not made.
func TestHeatRowsTies(t *testing.T) {
	r := newRand(42)
	stopped := 0
	for trial := range 600 {
		const visits = 9
		g := newRowProblem(r, visits, 20)
		p, low := make([]uint64, RowCounts), r.Uint64()>>8
		for k := range p {
			p[k] = 99<<56 | low
		}
		g.odds = []RowOdds{NewRowOdds(p), NewRowOdds(p), NewRowOdds(p)}
		words, next, ties := make([]uint32, rowWords*visits), make([]uint32, GroupWords), make([]uint32, 2*r.IntN(9*ChainBits+1))
		made := r.IntN(RowVisits - visits)
		for i := range words {
			words[i] = r.Uint32()
			if c := []int{1, 3, 30, 1000}[trial%4]; r.IntN(c) == 0 {
				words[i] = 0x63636363
			} else if r.IntN(c) == 0 {
				words[i] = words[i]&^255 | 0x63
			}
		}
		second := func(v int) byte { return byte(next[(made+v)/4] >> ((made + v) % 4 * 8)) }
		for i := range next {
			for j := range 4 {
				next[i] |= uint32(byte(low>>48)+byte(r.IntN(5)/2)-1) << (8 * j)
			}
		}
		for i := 0; i < len(ties); i += 2 { // either shift gives digits that are near
			u := (low+uint64(r.IntN(3))-1)<<8 | r.Uint64()>>56
			if r.IntN(2) == 0 {
				u = (low+uint64(r.IntN(3))-1)<<16 | r.Uint64()>>48
			}
			ties[i], ties[i+1] = uint32(u), uint32(u>>32)
		}
		type result struct {
			g          *rowProblem
			tally      RowTally
			done, used int
		}
		run := func() result {
			got := result{g: g.clone()}
			got.done, got.used = heatRows(got.g.rows, got.g.own, got.g.visits, got.g.near, got.g.odds, words, next, made, ties, 1<<32-1, &got.tally, nil)
			return got
		}
		var want result
		withBackend(purego, func() { want = run() })
		plain, counted, at := g.clone(), RowTally{}, 0
		more := append(slices.Clone(ties), make([]uint32, 2*ChainBits)...)
		high := func(v, c int) byte { return byte(words[8*v+c/4] >> (c % 4 * 8)) }
		last := func() uint64 {
			at += 2
			return uint64(more[at-1])<<32 | uint64(more[at-2])
		}
		plain.visits = plain.visits[:want.done]
		used := plain.redraw(1<<32-1, &counted, high, second, last)
		require.Equal(t, []any{plain.rows, plain.own, counted, used}, []any{want.g.rows, want.g.own, want.tally, want.used})
		require.LessOrEqual(t, 2*used, len(ties))
		if want.done < visits { // one more does not find enough
			stopped++
			again := g.clone()
			again.visits = again.visits[:want.done+1]
			at = 0
			require.Greater(t, 2*again.redraw(1<<32-1, new(RowTally), high, second, last), len(ties))
		}
		onEveryRow(func(name string) { require.Equal(t, want, run(), "%s, trial %d", name, trial) })
	}
	assert.Greater(t, stopped, 50)
}

func TestSumRows(t *testing.T) {
	r := newRand(43)
	for _, n := range []int{0, 1, 254, 255, 256, 1000} {
		g := newRowProblem(r, 0, 0)
		rows := slices.Repeat(g.rows, 7)[:n]
		if n == 255 {
			for i := range rows {
				rows[i] = Row{4: 1}
			}
		}
		var want [ChainBits]int32
		want[2] = -7
		start := want
		for _, row := range rows {
			for c, v := range row {
				want[c] += int32(v)
			}
		}
		onEveryRow(func(name string) {
			got := start
			SumRows(&got, rows)
			require.Equal(t, want, got, "%s, %d rows", name, n)
		})
	}
}

func TestHeatRowsPanics(t *testing.T) {
	call := func(visits, near int) func() {
		return func() {
			HeatRows(nil, nil, make([]RowVisit, visits), make([]int32, near), nil, 0, nil, nil, new(RowScratch), false, 0, 0, 0)
		}
	}
	assert.PanicsWithValue(t, "simd: HeatRows: len(visits) = 129 and len(neighbours) = 0, want ≤ 128 and ≤ 8192", call(129, 0))
	assert.PanicsWithValue(t, "simd: HeatRows: len(visits) = 1 and len(neighbours) = 8193, want ≤ 128 and ≤ 8192", call(1, 8193))
	assert.EqualValues(t, RowTable, unsafe.Sizeof(RowOdds{})) // as the assembly has them
	assert.EqualValues(t, 32, unsafe.Sizeof(RowVisit{}))
	assert.PanicsWithValue(t, "simd: NewRowOdds: len(p) = 129, want ≤ 128", func() { NewRowOdds(make([]uint64, 129)) })
}

// BenchmarkHeatRows sweeps a graph of 800 sites of 48 neighbours on average.
func BenchmarkHeatRows(b *testing.B) {
	const sites = 800
	r := rand.New(rand.NewPCG(1, 1))
	g := &rowProblem{rows: make([]Row, sites+1), own: make([]uint64, sites/2)}
	adj := make([][]int32, sites)
	for range 19176 {
		i, j := r.IntN(sites), r.IntN(sites)
		adj[i], adj[j] = append(adj[i], int32(j)*ChainBits), append(adj[j], int32(i)*ChainBits)
	}
	slices.SortFunc(adj, func(a, b []int32) int { return len(a) - len(b) })
	var ends [][2]int
	for i, a := range adj {
		d := len(a)
		for len(a)%4 > 0 {
			a = append(a, sites*ChainBits)
		}
		g.near = append(g.near, a...)
		g.visits = append(g.visits, RowVisit{Row: int32(i), Plus: int32(len(a)), Bias: 64 - int32(d/2)})
		ends = append(ends, [2]int{i + 1, len(g.near)})
	}
	p := make([]uint64, RowCounts)
	for k := range p {
		p[k] = uint64(k) << 57
	}
	g.odds = []RowOdds{NewRowOdds(p)}
	var t RowTally
	var w RowScratch
	for _, ars := range []bool{false, true} {
		for _, l := range append([]level{purego}, backends()...) {
			b.Run(map[bool]string{false: "Philox/", true: "ARS/"}[ars]+levelNames[l], func(b *testing.B) {
				withBackend(l, func() {
					group := uint64(0)
					for b.Loop() {
						for at := 0; at < sites; {
							n := min(RowVisits, sites-at)
							first := 0
							if at > 0 {
								first = ends[at-1][1]
							}
							HeatRows(g.rows, g.own, g.visits[at:at+n], g.near[first:ends[at+n-1][1]], g.odds, 1<<32-1, &t, nil, &w, ars, 1, 2, group)
							group += RowGroups(n)
							at += n
						}
					}
				})
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(ChainBits*sites), "ns/update")
			})
		}
	}
}
