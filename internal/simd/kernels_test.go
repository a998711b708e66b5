package simd

import "slices"

func init() {
	for name, run := range map[string]func(a *arena, from, to int){
		"Philox": func(a *arena, from, to int) {
			n := (to - from) / GroupWords * GroupWords
			Philox(a.u[from:from+n], uint64(from)<<40+7, 1<<50+3, 1<<60-3)
		},
		"Unit32": func(a *arena, from, to int) { Unit32(a.f[0][from:to], a.u[from:to]) },
		"Unit64": func(a *arena, from, to int) { Unit64(a.d[0][from:to], a.u[from:from+2*(to-from)]) },
		"FlipThresholds": func(a *arena, from, to int) {
			FlipThresholds(a.i[3][from:to], a.f[1][from:to], a.i[0][from:to], 0.5, a.f[0][from:to])
		},
		"FlipThresholds/one": func(a *arena, from, to int) {
			FlipThresholds(a.i[3][from:to], a.f[2][from:to], a.i[0][from:to], 1.25, []float32{0.3})
		},
		"Flip": func(a *arena, from, to int) {
			m, q := Flip(a.i[1][from:to], a.i[0][from:to], a.i[2][from:to], a.u[from:to])
			a.s[0], a.s[1] = float64(m), q
		},
		"FlipLogProb": func(a *arena, from, to int) {
			a.s[0] = FlipLogProb(a.i[0][from:to], a.i[1][from:to], a.i[2][from:to])
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
		"SigmoidTo":      func(a *arena, from, to int) { SigmoidTo(a.f[0][from:to], a.f[2][from:to]) },
		"Slope":          func(a *arena, from, to int) { Slope(a.f[0][from:to]) },
		"Dot":            func(a *arena, from, to int) { a.s[0] = float64(Dot(a.f[0][from:to], a.f[3][from:to])) },
		"Axpy":           func(a *arena, from, to int) { Axpy(-1.7, a.f[0][from:to], a.f[1][from:to]) },
		"Scale":          func(a *arena, from, to int) { Scale(-1.7, a.f[0][from:to]) },
		"AddRows":        func(a *arena, from, to int) { addRowsIn(a, from, to, to-from) },
		"AddRows/narrow": func(a *arena, from, to int) { addRowsIn(a, from, to, min(to-from, 70)) },
		"Sum":            func(a *arena, from, to int) { a.s[0] = Sum(a.f[0][from:to]) },
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
