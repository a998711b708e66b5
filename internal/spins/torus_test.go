package spins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// shapes have rows within a word, of whole words and across words, strings of less
// than a word, and several strips.
var shapes = [][2]int{{4, 4}, {4, 6}, {6, 4}, {10, 50}, {4, 128}, {8, 1000}, {64, 64}, {300, 334}, {40, 4096}}

func lattice(r *rand.Rand, sites int) []int32 {
	x := make([]int32, sites)
	for i := range x {
		x[i] = r.Int32N(2)
	}
	return x
}

// plain redraws a colour site by site, as the documentation of this package and of
// simd.HeatBits says.
func plain(x []int32, rows, cols, colour int, p []uint64, from Source) (t Tally) {
	n := cols / 2
	old := slices.Clone(x)
	for i := range x {
		r, c := i/cols, i%cols
		if (r+c)%2 != colour {
			continue
		}
		k := old[(r+1)%rows*cols+c] + old[(r+rows-1)%rows*cols+c] + old[r*cols+(c+1)%cols] + old[r*cols+(c+cols-1)%cols]
		at := r*n + c/2
		x[i] = 0
		if number(from, at/32, at%32) < p[k] {
			x[i] = 1
		}
		t.Up += int(x[i])
		t.Bonds += int(x[i] * k)
		if x[i] != old[i] {
			t.Moved++
		}
	}
	return t
}

func TestTorusRedraws(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	p := []uint64{1 << 61, 3 << 61, 1 << 63, 5 << 61, 1<<64 - 1<<59}
	o := simd.NewOdds(p)
	for _, shape := range shapes[:6] {
		rows, cols := shape[0], shape[1]
		torus := NewTorus(rows, cols)
		x := lattice(r, rows*cols)
		y, w := slices.Clone(x), new(Scratch)
		s := torus.NewState()
		s.Pack(x)
		for sweep := range 2 {
			for c := range 2 {
				from := Source{sweep == 1, 1, 2, uint64(1+2*sweep+c) * torus.Groups()}
				want := plain(x, rows, cols, c, p, from)
				got := Tally{}
				for j := range torus.Jobs() {
					got.Add(s.Redraw(c, j, o, from, w))
				}
				s.Close(c)
				require.Equal(t, want, got, "%v", shape)
				for job := range 3 {
					s.Spread(y, job, 3)
				}
				require.Equal(t, x, y, "%v", shape)
			}
		}
	}
}

// Fixed sites stay, and the others are those of a torus without fixed ones.
func TestTorusFixes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	p := []uint64{1 << 61, 3 << 61, 1 << 63, 5 << 61, 1<<64 - 1<<59}
	for _, shape := range shapes[:6] {
		rows, cols := shape[0], shape[1]
		torus, w := NewTorus(rows, cols), new(Scratch)
		fixed := make([]int32, rows*cols)
		for i := range fixed {
			fixed[i] = r.Int32N(4) - 2 // half of them
		}
		torus.Fix(fixed)
		x := lattice(r, rows*cols)
		s := torus.NewState()
		s.Pack(x)
		for c := range 2 {
			from := Source{false, 1, 2, uint64(1+c) * torus.Groups()}
			old, want := slices.Clone(x), slices.Clone(x)
			plain(want, rows, cols, c, p, from)
			var observed, counted Tally
			for j := range torus.Jobs() {
				observed.Add(s.Redraw(c, j, simd.NewOdds(p), from, w))
			}
			s.Close(c)
			for j := range torus.Jobs() {
				counted.Add(s.Count(c, j, w))
			}
			s.Spread(x, 0, 1)
			for i, f := range fixed {
				if f >= 0 {
					want[i] = old[i]
				}
				if want[i] != old[i] {
					counted.Moved++
				}
			}
			require.Equal(t, want, x, "%v", shape)
			require.Equal(t, counted, observed, "%v", shape)

			var flips simd.FlipTally
			var o simd.FlipOdds
			o.Set(&[2][5]uint64{{1 << 63, 1 << 62, 1 << 61, 1 << 63, 1 << 62}, {1 << 61, 1 << 62, 1 << 63, 1 << 62, 1 << 61}})
			old, observed, counted = slices.Clone(x), Tally{}, Tally{}
			flip := new(FlipScratch)
			for j := range torus.Jobs() {
				observed.Add(s.Flip(&flips, c, j, &o, from, flip))
			}
			s.Close(c)
			for j := range torus.Jobs() {
				counted.Add(s.Count(c, j, w))
			}
			s.Spread(x, 0, 1)
			free, proposed := 0, 0
			for i, f := range fixed {
				if x[i] != old[i] {
					counted.Moved++
					require.Negative(t, f)
				}
				if f < 0 && (i/cols+i%cols)%2 == c {
					free++
				}
			}
			for v := range flips.Sites {
				for k, n := range flips.Sites[v] {
					proposed += n
					observed.Moved -= flips.Flips[v][k]
				}
			}
			require.Equal(t, free, proposed)
			require.Zero(t, observed.Moved)
			observed.Moved = counted.Moved
			require.Equal(t, counted, observed, "%v", shape)
		}
	}
}

// Flips are those of a loop over the sites, and so is what is counted of them.
func TestTorusFlips(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	for _, shape := range shapes[:6] {
		rows, cols := shape[0], shape[1]
		torus := NewTorus(rows, cols)
		x := lattice(r, rows*cols)
		s, w := torus.NewState(), new(FlipScratch)
		s.Pack(x)
		for sweep := range 2 {
			for c := range 2 {
				var p [2][5]uint64
				for v := range p {
					for k := range p[v] {
						p[v][k] = r.Uint64() >> r.IntN(5)
					}
				}
				var o simd.FlipOdds
				o.Set(&p)
				from := Source{sweep == 1, 1, 2, uint64(1+2*sweep+c) * torus.Groups()}
				var want, got simd.FlipTally
				observed, counted := Tally{}, Tally{}
				old := slices.Clone(x)
				for i, v := range old {
					a, b := i/cols, i%cols
					if (a+b)%2 != c {
						continue
					}
					k := old[(a+1)%rows*cols+b] + old[(a+rows-1)%rows*cols+b] + old[a*cols+(b+1)%cols] + old[a*cols+(b+cols-1)%cols]
					at := a*cols/2 + b/2
					want.Sites[v][k]++
					if number(from, at/32, at%32) < p[v][k] {
						want.Flips[v][k]++
						observed.Moved++
						x[i] = 1 - v
					}
					observed.Up += int(x[i])
					observed.Bonds += int(x[i] * k)
				}
				for j := range torus.Jobs() {
					counted.Add(s.Flip(&got, c, j, &o, from, w))
				}
				s.Close(c)
				require.Equal(t, want, got, "%v", shape)
				require.Equal(t, observed, counted, "%v", shape)
				y := make([]int32, len(x))
				s.Spread(y, 0, 1)
				require.Equal(t, x, y, "%v", shape)
			}
		}
	}
}

// TestTorusCounts holds states of every shape to counts of their sites, and what
// Close does to what Pack does.
func TestTorusCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for _, shape := range shapes {
		rows, cols := shape[0], shape[1]
		torus, w := NewTorus(rows, cols), new(Scratch)
		x := lattice(r, rows*cols)
		s := torus.NewState()
		s.Pack(x)
		y := make([]int32, len(x))
		s.Spread(y, 0, 1)
		require.Equal(t, x, y)
		var want, got [2]Tally
		for i, v := range x {
			a, b := i/cols, i%cols
			want[(a+b)%2].Up += int(v)
			for c := range 2 {
				want[c].Bonds += int(v * (x[(a+1)%rows*cols+b] + x[a*cols+(b+1)%cols]))
			}
		}
		for c := range got {
			for j := range torus.Jobs() {
				got[c].Add(s.Count(c, j, w))
			}
		}
		require.Equal(t, want, got, "%v", shape)
	}
}

func TestNewTorusRefuses(t *testing.T) {
	for _, shape := range [][2]int{{2, 4}, {4, 2}, {5, 4}, {4, 5}, {5, 5}} {
		assert.PanicsWithValue(t, fmt.Sprintf("spins: NewTorus: %d rows and %d columns, want even numbers ≥ 4", shape[0], shape[1]),
			func() { NewTorus(shape[0], shape[1]) })
	}
}
