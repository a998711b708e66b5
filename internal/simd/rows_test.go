package simd

import "fmt"

// rowKernels are the kernels over rows of cols entries; a window holds as many
// whole rows as fit, or one shorter row.
func rowKernels(cols int) map[string]func(a *arena, from, to int) {
	out := map[string]func(a *arena, from, to int){}
	for name, run := range map[string]func(a *arena, from, to, cols, rows int){
		"Weights": func(a *arena, from, to, cols, rows int) {
			Weights(a.f[0][from:to], a.d[0][from:from+rows], a.f[1][from:to], cols, 0)
		},
		"Weights/floor": func(a *arena, from, to, cols, rows int) {
			Weights(a.f[0][from:to], a.d[0][from:from+rows], a.f[2][from:to], cols, 1e-8)
		},
		"Categorical": func(a *arena, from, to, cols, rows int) {
			Categorical(a.i[3][from:from+rows], a.f[1][from:to], cols, a.d[1][from:from+rows])
		},
		"LogSumExp": func(a *arena, from, to, cols, rows int) {
			LogSumExp(a.d[0][from:from+rows], a.f[2][from:to], cols)
		},
		"GumbelMax": func(a *arena, from, to, cols, rows int) {
			GumbelMax(a.i[3][from:from+rows], a.f[1][from:to], cols, a.u[from:to])
		},
		"Entropy": func(a *arena, from, to, cols, rows int) { Entropy(a.d[0][from:from+rows], a.f[1][from:to], cols) },
		"KL": func(a *arena, from, to, cols, rows int) {
			KL(a.d[0][from:from+rows], a.f[1][from:to], a.f[2][from:to], cols)
		},
		"Softmax":    func(a *arena, from, to, cols, rows int) { Softmax(a.f[0][from:to], a.f[1][from:to], cols) },
		"LogSoftmax": func(a *arena, from, to, cols, rows int) { LogSoftmax(a.f[0][from:to], a.f[1][from:to], cols) },
		"ArgMax":     func(a *arena, from, to, cols, rows int) { ArgMax(a.i[3][from:from+rows], a.f[0][from:to], cols) },
	} {
		out[fmt.Sprintf("%s/%d", name, cols)] = func(a *arena, from, to int) {
			c := max(min(cols, to-from), 1)
			rows := (to - from) / c
			run(a, from, from+rows*c, c, rows)
		}
	}
	return out
}
