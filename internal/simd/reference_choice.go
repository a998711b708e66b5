package simd

import "math/bits"

// The definitions, in plain Go, of the bits that every backend of choice.go gives.

// refWidth is how many columns the reference takes together.
const refWidth = 32

// refQuads stores 8 times the numbers of groups of four sites, whose bits the sites are,
// in bytes that lie ld apart.
func refQuads(dst []uint8, x []int32, ld int) {
	at := 0
	for ; len(x) >= quad; x = x[quad:] {
		dst[at] = uint8(x[0]&1<<3 | x[1]&1<<4 | x[2]&1<<5 | x[3]&1<<6)
		at += ld
	}
	if len(x) > 0 {
		bits := int32(0)
		for i, v := range x {
			bits |= v & 1 << (3 + i)
		}
		dst[at] = uint8(bits)
	}
}

// refAddChosen adds to rows of c, ldc entries apart, what they choose of n columns of
// the rows of w, ldw entries apart.
func refAddChosen[T float32 | float64](c []T, ldc int, w []float32, ldw, n int, q *Choice) {
	var sums [1 << quad][refWidth]T
	for j := 0; j < n; j += refWidth {
		cols := min(n-j, refWidth)
		for g := range q.groups() {
			refSums(&sums, w[g*quad*ldw+j:], ldw, min(q.sites-g*quad, quad), cols)
			for s, index := range q.quads[g*q.states : (g+1)*q.states] {
				sum := sums[index/8][:cols]
				row := c[s*ldc+j:][:len(sum)]
				for i, v := range sum {
					row[i] += v
				}
			}
		}
	}
}

// refSums stores the sums of each choice among up to four rows.
func refSums[T float32 | float64](sums *[1 << quad][refWidth]T, w []float32, ldw, rows, cols int) {
	for p := 1; p < 1<<rows; p++ {
		sum := sums[p][:cols]
		switch low, high := p&3, p&12; {
		case low != 0 && high != 0:
			a, b := sums[low][:len(sum)], sums[high][:len(sum)]
			for i := range sum {
				sum[i] = a[i] + b[i]
			}
		case p == 3 || p == 12:
			a, b := sums[p/3][:len(sum)], sums[p/3*2][:len(sum)]
			for i := range sum {
				sum[i] = a[i] + b[i]
			}
		default:
			row := w[bits.TrailingZeros(uint(p))*ldw:][:len(sum)]
			for i, v := range row {
				sum[i] = T(v)
			}
		}
	}
}

// refAddChosen64 is AddChosen64 for n columns.
func refAddChosen64(dst []float64, f []float32, ld int, origin []float64, w []float32, ldw, n int, q *Choice) {
	for s := range q.states {
		clear(dst[s*ld:][:n])
	}
	refAddChosen(dst, ld, w, ldw, n, q)
	for s := range q.states {
		row, rounded := dst[s*ld:][:n], f[s*ld:][:n]
		for j, o := range origin[:n] {
			row[j] += o
			rounded[j] = float32(row[j])
		}
	}
}
