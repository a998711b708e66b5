package simd

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// arena holds the operands of a kernel under test. Kernels see windows of its
// slices; afterwards whole arenas are compared, so that a write outside the
// window is found too.
type arena struct {
	f [4][]float32
	i [4][]int32
	u []uint32
	d [3][]float64
	s []float64 // results that are numbers
}

const (
	maxLen = 1000
	guard  = 16
)

func newArena(n int) *arena {
	a := &arena{u: make([]uint32, 2*n), s: make([]float64, 4)}
	for j := range a.f {
		a.f[j] = make([]float32, n)
	}
	for j := range a.i {
		a.i[j] = make([]int32, n)
	}
	for j := range a.d {
		a.d[j] = make([]float64, n)
	}
	return a
}

// fill makes random operands; adversarial ones hold every kind of float.
func (a *arena) fill(r *rand.Rand, adversarial bool) {
	odd := []float32{-inf32, nan32, 0, float32(math.Copysign(0, -1)), 1e-45, -1e-40, 0x1p-126, 3e38, -3e38,
		math.Float32frombits(0xffc12345), -87.3, -87.30001, -88, -103, -104, 87.4, 1, -1, 0x1p24, -0x1p-24, -126.5, -1e4}
	for j := range a.f {
		for i := range a.f[j] {
			v := float32(r.NormFloat64() * []float64{1, 5, 40, 1}[j])
			if adversarial && r.IntN(3) == 0 {
				v = odd[r.IntN(len(odd))]
				if r.IntN(20) > 0 && v != v {
					v = -inf32
				}
			}
			a.f[j][i] = v
		}
	}
	for i := range a.u {
		a.u[i] = r.Uint32()
		if adversarial && r.IntN(4) == 0 {
			a.u[i] = []uint32{0, 1, 2, math.MaxUint32, math.MaxUint32 - 1, 255, 256, 1 << 31}[r.IntN(8)]
		}
	}
	for i := range a.i[0] {
		a.i[0][i] = r.Int32N(2)
		a.i[1][i] = r.Int32N(2)
		a.i[2][i] = max(1, min(int32(math.Ldexp(float64(r.Int32()), -r.IntN(31))), 1<<31-128))
		a.i[3][i] = r.Int32()
		if adversarial && r.IntN(3) == 0 {
			a.i[2][i] = []int32{0, 1, 2, 1<<31 - 128, 1 << 30, -1, 0}[r.IntN(7)]
			if r.IntN(10) > 0 {
				a.i[2][i] = max(a.i[2][i], 0)
			}
		}
	}
	for j := range a.d {
		for i := range a.d[j] {
			a.d[j][i] = r.Float64()
			if adversarial && r.IntN(5) == 0 {
				a.d[j][i] = []float64{0, 1 - 0x1p-53, 0.5}[r.IntN(3)]
			}
		}
	}
}

// take copies the first n entries of another arena.
func (a *arena) take(b *arena, n int) {
	for j := range a.f {
		copy(a.f[j][:n], b.f[j])
	}
	for j := range a.i {
		copy(a.i[j][:n], b.i[j])
	}
	for j := range a.d {
		copy(a.d[j][:n], b.d[j])
	}
	copy(a.u[:2*n], b.u)
	clear(a.s)
}

// differs names the first difference in bits, any two NaNs being equal.
func (a *arena) differs(b *arena, n int) string {
	for j := range a.f {
		for i, v := range a.f[j][:n] {
			w := b.f[j][i]
			if math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
				return fmt.Sprintf("f[%d][%d]: %x, want %x", j, i, v, w)
			}
		}
	}
	for j := range a.i {
		for i, v := range a.i[j][:n] {
			if v != b.i[j][i] {
				return fmt.Sprintf("i[%d][%d]: %d, want %d", j, i, v, b.i[j][i])
			}
		}
	}
	for i, v := range a.u[:2*n] {
		if v != b.u[i] {
			return fmt.Sprintf("u[%d]: %x, want %x", i, v, b.u[i])
		}
	}
	for j, d := range append(a.d[:len(a.d):len(a.d)], a.s) {
		other := b.s
		if j < len(a.d) {
			d, other = d[:n], b.d[j]
		}
		for i, v := range d {
			w := other[i]
			if math.Float64bits(v) != math.Float64bits(w) && (v == v || w == w) {
				return fmt.Sprintf("d[%d][%d]: %x, want %x", j, i, v, w)
			}
		}
	}
	return ""
}

// hash is equal for arenas that do not differ.
func (a *arena) hash() uint64 {
	h := fnv.New64a()
	put := func(v uint64) {
		h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)})
	}
	for j := range a.f {
		for _, v := range a.f[j] {
			if v != v {
				v = nan32
			}
			put(uint64(math.Float32bits(v)))
		}
	}
	for j := range a.i {
		for _, v := range a.i[j] {
			put(uint64(v))
		}
	}
	for _, v := range a.u {
		put(uint64(v))
	}
	for _, d := range append(a.d[:len(a.d):len(a.d)], a.s) {
		for _, v := range d {
			if v != v {
				v = math.NaN()
			}
			put(math.Float64bits(v))
		}
	}
	return h.Sum64()
}

// What there is of an architecture, in a file that _gen writes.
var (
	cpuinfo  []string         // by level: flags of Linux that say that the CPU has it
	features map[string]*bool // besides levels
)

// without runs f without a feature.
func without(f func(), name string) {
	if p := features[name]; p != nil {
		defer func(was bool) { *p = was }(*p)
		*p = false
	}
	f()
}

// withAndWithout runs f as the CPU is, and without a feature.
func withAndWithout(name string, f func()) {
	f()
	without(f, name)
}

// checkSupported asks the operating system, where it can be asked, whether supported
// overlooks a backend.
func checkSupported(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return
	}
	want := purego
	for l := 1; l < len(cpuinfo); l++ {
		for _, f := range strings.Fields(cpuinfo[l]) {
			if !strings.Contains(string(info), " "+f+" ") {
				l = len(cpuinfo)
			}
		}
		if l < len(cpuinfo) {
			want = level(l)
		}
	}
	assert.Equal(t, want, supported())
}

// both are results as an arena keeps them.
func both(n int, x float64) (float64, float64) { return float64(n), x }

// kernels runs every bit-exact kernel on windows of n entries at an offset.
var kernels = map[string]func(a *arena, from, to int){}

// backends returns what this CPU and this binary can run, beyond the reference.
func backends() []level {
	var l []level
	for b := purego + 1; b <= supported(); b++ {
		l = append(l, b)
	}
	return l
}

func withBackend(l level, f func()) {
	old := best
	best = l
	defer func() { best = old }()
	f()
}

// TestBackendsAgree compares every backend of the CPU with the reference on
// lengths 0 to 300, some to 1000 and offsets 0 to 15, bit for bit, and fails if
// one was skipped.
func TestBackendsAgree(t *testing.T) {
	if raceEnabled {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
	ran := map[level]int{}
	for name, run := range kernels {
		t.Run(name, func(t *testing.T) {
			r := newRand(9)
			var master [2]*arena
			for j := range master {
				master[j] = newArena(maxLen + 2*guard)
				master[j].fill(r, j == 1)
			}
			want, got := newArena(maxLen+2*guard), newArena(maxLen+2*guard)
			for n := 0; n <= maxLen; n++ {
				if testing.Short() && n > 70 && n%16 > 1 {
					continue
				}
				// All remainders of 64 occur in the hundred multiples of 7 up to maxLen, too.
				if n > 300 && (n+1)%16 > 2 && n%7 > 0 {
					continue
				}
				for off := range guard {
					// Every offset below 80, two of them beyond.
					if (n > 80 || testing.Short()) && off != n%guard && off != (7*n+3)%guard {
						continue
					}
					in, seen := master[(n/guard+off)%2], n+off+guard
					want.take(in, seen)
					withBackend(purego, func() { run(want, off, off+n) })
					for _, b := range backends() {
						got.take(in, seen)
						withBackend(b, func() { run(got, off, off+n) })
						ran[b]++
						if d := got.differs(want, seen); d != "" {
							require.Fail(t, levelNames[b], "length %d, offset %d: %s", n, off, d)
						}
					}
				}
			}
		})
	}
	for b := purego + 1; b <= supported(); b++ {
		assert.NotZero(t, ran[b], "backend %s was skipped", levelNames[b])
	}
	checkSupported(t)
}

var update = flag.Bool("update", false, "rewrite testdata/kernels.golden")

// TestKernelsGolden fixes the bits of every kernel on two inputs, whatever the
// backend and the architecture.
func TestKernelsGolden(t *testing.T) {
	var lines []string
	for name, run := range kernels {
		var h [2]uint64
		for j := range h { // one ordinary input, one with every kind of float
			a := newArena(777)
			a.fill(newRand(1), j == 1)
			run(a, 3, 770)
			h[j] = a.hash()
		}
		lines = append(lines, fmt.Sprintf("%s %016x %016x\n", name, h[0], h[1]))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	const file = "testdata/kernels.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func init() {
	for name, run := range map[string]func(a *arena, from, to int){
		"Philox": func(a *arena, from, to int) {
			n := (to - from) / GroupWords * GroupWords
			Philox(a.u[from:from+n], uint64(from)<<40+7, 1<<50+3, 1<<60-3)
		},
		"WeightsFrom": func(a *arena, from, to int) {
			m := Peak(a.f[2][from:to])
			a.s[0], a.s[1] = float64(m), WeightsFrom(a.f[0][from:to], a.f[2][from:to], m)
		},
		"WeightsMarked": func(a *arena, from, to int) {
			var marks [2][]uint16
			for k := range marks {
				marks[k] = make([]uint16, (to-from+15)/16)
				for i := range marks[k] {
					marks[k][i] = uint16(a.u[from+i] >> (16 * k))
				}
			}
			w := a.f[2][from:to]
			sums := WeightsMarked(a.f[0][from:to], w, Peak(w), marks)
			a.s[0], a.s[1] = sums[0], sums[1]
		},
		"AddRows":        func(a *arena, from, to int) { addRowsIn(a, from, to, to-from) },
		"AddRows/narrow": func(a *arena, from, to int) { addRowsIn(a, from, to, min(to-from, 70)) },
	} {
		kernels[name] = run
	}
	for _, cols := range []int{1, 2, 3, 16, 17, 40, 129, 300, 1000} {
		for name, run := range rowKernels(cols) {
			kernels[name] = run
		}
	}
}

// addRowsIn adds and subtracts rows of n columns of a window, drawn from its integers.
func addRowsIn(a *arena, from, to, n int) {
	if n == 0 {
		return
	}
	last := (to - from) / n
	rows := a.i[3][from : from+min(to-from, 9)]
	for k, r := range rows {
		rows[k] = (r^r>>31)%int32(last) ^ r>>31
	}
	changesOf(slices.Clone(rows), last).Add(0, a.d[0][from:from+n], a.f[3][from:from+n], a.d[1][from:from+n], a.f[1][from:from+n*last])
}
