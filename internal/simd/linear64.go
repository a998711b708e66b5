package simd

import (
	"fmt"
)

// Dot64 returns Σ_i x[i]·y[i], with every product and sum rounded to float64. Whole groups of
// sixteen terms are summed in 16 lanes as in [Sum], and then the remaining terms are added. Dot64
// panics unless len(y) = len(x).
func Dot64(x, y []float64) float64 {
	checkLen("y", len(y), len(x))
	n := len(x) &^ (lanes - 1)
	if best < dot64Level || n == 0 || n > foldTerms {
		return refDot64(x, y)
	}
	return dot64Run(x[:n], y) + tail64(x[n:], y[n:])
}

// Axpy64 adds a·x to y and rounds every operation to float64. It panics unless len(y) = len(x).
func Axpy64(a float64, x, y []float64) {
	checkLen("y", len(y), len(x))
	axpy64(a, x, y)
}

// Inner returns Σ_i w[i]·x[i]. It adds in the order of [Dot64] and rounds every operation to
// float64. It panics unless len(w) = len(x).
func Inner(w []float64, x []float32) float64 {
	checkLen("w", len(w), len(x))
	n := len(x) &^ (lanes - 1)
	if best < innerLevel || n == 0 || n > foldTerms {
		return refInner(w, x)
	}
	return innerRun(w, x[:n]) + tailInner(w[n:], x[n:])
}

// Gap returns the squared distance Σ_i (x[i] − s·y[i])². It adds in the order of [Dot64] and rounds
// every operation to float64. It panics unless len(y) = len(x).
func Gap(x, y []float32, s float64) float64 {
	checkLen("y", len(y), len(x))
	n := len(x) &^ (lanes - 1)
	if best < gapLevel || n == 0 || n > foldTerms {
		return refGap(x, y, s)
	}
	return gapRun(x[:n], y, s) + tailGap(x[n:], y[n:], s)
}

// AddWide adds a·x to dst, like [Axpy64] but for float32 entries of x. Every operation is rounded
// to float64. AddWide panics unless len(dst) = len(x).
func AddWide(dst []float64, a float64, x []float32) {
	checkLen("dst", len(dst), len(x))
	addWide(dst, a, x)
}

// AddFinite adds a·x to those entries of dst that are finite. Every product and every sum is
// rounded to float64, and the sum then to float32. AddFinite panics unless len(dst) = len(x).
func AddFinite(dst []float32, a float64, x []float32) {
	checkLen("dst", len(dst), len(x))
	addFinite(dst, a, x)
}

// Squares stores weighted squared distances between x and the rows of m,
//
//	dst[k] = Σ_i w[k·n + i]·(x[i] − m[k·n + i])².
//
// Every operation is rounded to float64, and the terms are summed in 16 lanes as in [Sum]. Squares
// panics unless n = len(x) is a positive multiple of 16, and m and w have a row for each entry of
// dst. Shorter vectors can be padded with a weight and a mean of 0.
func Squares(dst, x, m, w []float64) {
	checkPadded(len(x))
	checkLen("m", len(m), len(dst)*len(x))
	checkLen("w", len(w), len(m))
	n := len(x)
	if best < squaresLevel || n > foldTerms {
		refSquares(dst, x, m, w)
		return
	}
	for step := foldTerms / n; len(dst) > 0; {
		rows := min(step, len(dst))
		squaresRun(dst[:rows], x, m, w)
		dst, m, w = dst[rows:], m[rows*n:], w[rows*n:]
	}
}

// Attract adds p·(m[i] − x[i])·w[i] to dst[i]. This is the gradient, with respect to x, of −p/2
// times the weighted squared distance (see [Squares]). Every operation is rounded to float64.
// Attract panics unless all slices have the same length, which must be a positive multiple of 16.
func Attract(dst, x, m, w []float64, p float64) {
	checkPadded(len(x))
	checkLen("dst", len(dst), len(x))
	checkLen("m", len(m), len(x))
	checkLen("w", len(w), len(x))
	attract(dst, x, m, w, p)
}

func checkPadded(n int) {
	if n < 1 || n%lanes != 0 {
		panic(fmt.Sprintf("simd: len(x) = %d, want a positive multiple of 16", n))
	}
}

func refDot64(x, y []float64) float64 {
	whole := len(x) &^ (lanes - 1)
	sum := 0.0
	if whole > 0 {
		var s [lanes]float64
		for l := 0; l < lanes; l += 8 { // eight lanes stay in registers
			p, q := x[l:whole], y[l:whole]
			var a, b, c, d, e, f, g, h float64
			for len(p) >= 8 && len(q) >= 8 {
				a += float64(p[0] * q[0])
				b += float64(p[1] * q[1])
				c += float64(p[2] * q[2])
				d += float64(p[3] * q[3])
				e += float64(p[4] * q[4])
				f += float64(p[5] * q[5])
				g += float64(p[6] * q[6])
				h += float64(p[7] * q[7])
				if len(p) < lanes || len(q) < lanes {
					break
				}
				p, q = p[lanes:], q[lanes:]
			}
			s[l], s[l+1], s[l+2], s[l+3], s[l+4], s[l+5], s[l+6], s[l+7] = a, b, c, d, e, f, g, h
		}
		sum = halve(&s)
	}
	return sum + tail64(x[whole:], y[whole:])
}

// tail64 returns the inner product of the remaining entries, fewer than 16.
func tail64(x, y []float64) float64 {
	y = y[:len(x)]
	a, b, i := 0.0, 0.0, 0
	for ; i+1 < len(x); i += 2 {
		a += float64(x[i] * y[i])
		b += float64(x[i+1] * y[i+1])
	}
	if i < len(x) {
		a += float64(x[i] * y[i])
	}
	return a + b
}

func refAxpy64(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float64(a * v)
	}
}

func refInner(w []float64, x []float32) float64 {
	var s [lanes]float64
	whole := len(x) &^ (lanes - 1)
	for i := 0; i < whole; i += lanes {
		p, q := w[i:i+lanes], x[i:i+lanes]
		for l := range s {
			s[l] += float64(p[l] * float64(q[l]))
		}
	}
	return halve(&s) + tailInner(w[whole:], x[whole:])
}

// tailInner returns the inner product of the remaining entries, fewer than 16.
func tailInner(w []float64, x []float32) float64 {
	w = w[:len(x)]
	a, b, i := 0.0, 0.0, 0
	for ; i+1 < len(x); i += 2 {
		a += float64(w[i] * float64(x[i]))
		b += float64(w[i+1] * float64(x[i+1]))
	}
	if i < len(x) {
		a += float64(w[i] * float64(x[i]))
	}
	return a + b
}

func refGap(x, y []float32, s float64) float64 {
	var sum [lanes]float64
	whole := len(x) &^ (lanes - 1)
	for i := 0; i < whole; i += lanes {
		p, q := x[i:i+lanes], y[i:i+lanes]
		for l := range sum {
			d := float64(p[l]) - float64(s*float64(q[l]))
			sum[l] += float64(d * d)
		}
	}
	return halve(&sum) + tailGap(x[whole:], y[whole:], s)
}

// tailGap returns the squared distance of the remaining entries, fewer than 16.
func tailGap(x, y []float32, s float64) float64 {
	y = y[:len(x)]
	sum := 0.0
	for i, v := range x {
		d := float64(v) - float64(s*float64(y[i]))
		sum += float64(d * d)
	}
	return sum
}

func refAddWide(dst []float64, a float64, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] += float64(a * float64(v))
	}
}

func refAddFinite(dst []float32, a float64, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		if old := dst[i]; old-old == 0 {
			dst[i] = float32(float64(old) + float64(a*float64(v)))
		}
	}
}

// refSquares is the reference of Squares. It traverses each row twice, for eight lanes that stay in
// registers.
func refSquares(dst, x, m, w []float64) {
	n := len(x)
	for k := range dst {
		var s [lanes]float64
		for l := 0; l < lanes; l += 8 {
			p, q, v := x[l:], m[k*n+l:(k+1)*n], w[k*n+l:(k+1)*n]
			var a, b, c, d, e, f, g, h float64
			for len(p) >= 8 && len(q) >= 8 && len(v) >= 8 {
				a += square(p[0], q[0], v[0])
				b += square(p[1], q[1], v[1])
				c += square(p[2], q[2], v[2])
				d += square(p[3], q[3], v[3])
				e += square(p[4], q[4], v[4])
				f += square(p[5], q[5], v[5])
				g += square(p[6], q[6], v[6])
				h += square(p[7], q[7], v[7])
				if len(p) < lanes || len(q) < lanes || len(v) < lanes {
					break
				}
				p, q, v = p[lanes:], q[lanes:], v[lanes:]
			}
			s[l], s[l+1], s[l+2], s[l+3], s[l+4], s[l+5], s[l+6], s[l+7] = a, b, c, d, e, f, g, h
		}
		dst[k] = halve(&s)
	}
}

func square(x, m, w float64) float64 {
	d := x - m
	return float64(float64(d*d) * w)
}

func refAttract(dst, x, m, w []float64, p float64) {
	m, w, dst = m[:len(x)], w[:len(x)], dst[:len(x)]
	for i, v := range x {
		dst[i] += float64(float64(p*(m[i]-v)) * w[i])
	}
}
