package model

// expandField turns the field of two-level states into their table of
// differences, in place: on entry g[len(x)+i] is h_i, on return
// g[2i+l] = (l − x_i)·h_i.
func expandField(g []float32, x []int32) {
	h := g[len(x):]
	// Row i is written at 2i and 2i+1 ≤ len(x)+i, which has been read by then.
	for i, v := range x {
		d := h[i]
		if v == 0 {
			g[2*i], g[2*i+1] = 0, d
		} else {
			g[2*i], g[2*i+1] = -d, 0
		}
	}
}
