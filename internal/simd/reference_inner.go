package simd

// The definitions, in plain Go, of the bits that every backend of inner.go gives.

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

// tailInner is what is left, less than 16 entries.
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

// tailGap is what is left, less than 16 entries.
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
