package layer

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Adaptive layer normalisation (adaLN; Peebles and Xie 2023, §3.2) shifts, scales and gates the
// rows of one state by vectors. A network computes the vectors from the state's noise level.

// Modulate stores h·(1 + scale) + shift in y, entry by entry, for every row of h. The vectors scale
// and shift are the same for all rows, which have len(scale) entries. The slices y and h may be the
// same.
func Modulate(y, h, shift, scale []float32) {
	w := len(scale)
	check.Rows("layer", "h", len(h), w)
	check.Len("layer", "y", len(y), len(h))
	check.Len("layer", "shift", len(shift), w)
	for ; len(h) > 0; h, y = h[w:], y[w:] {
		o, u := y[:w], h[:w]
		for i, c := range scale {
			o[i] = u[i] + float32(u[i]*c) + shift[i]
		}
	}
}

// ModulateBack is the backward pass of [Modulate]. Given the gradient dy of the output, it adds the
// gradients of shift and scale, and replaces dy by the gradient of h:
//
//	dshift += Σ_rows dy,  dscale += Σ_rows dy·h,  dy ← dy·(1 + scale).
func ModulateBack(dshift, dscale, dy, h, scale []float32) {
	w := len(scale)
	check.Rows("layer", "h", len(h), w)
	check.Len("layer", "dy", len(dy), len(h))
	check.Len("layer", "dshift", len(dshift), w)
	check.Len("layer", "dscale", len(dscale), w)
	dshift, dscale = dshift[:w], dscale[:w]
	for ; len(h) > 0; h, dy = h[w:], dy[w:] {
		d, u := dy[:w], h[:w]
		for i, v := range d {
			dshift[i] += v
			dscale[i] += float32(v * u[i])
			d[i] = v + float32(v*scale[i])
		}
	}
}

// Gate adds gate·f to y, entry by entry, for every row of f. The vector gate is the same for all
// rows, which have len(gate) entries. A nil gate means 1.
func Gate(y, f, gate []float32) {
	check.Len("layer", "y", len(y), len(f))
	if gate == nil {
		simd.Axpy(1, f, y)
		return
	}
	w := len(gate)
	check.Rows("layer", "f", len(f), w)
	for ; len(f) > 0; f, y = f[w:], y[w:] {
		o, u := y[:w], f[:w]
		for i, g := range gate {
			o[i] += float32(g * u[i])
		}
	}
}

// GateBack is the backward pass of [Gate]. Given the gradient dy of the output, it computes
//
//	df = gate·dy,  dgate += Σ_rows dy·f.
//
// A nil gate means 1 and has no gradient.
func GateBack(df, dgate, dy, f, gate []float32) {
	check.Len("layer", "df", len(df), len(dy))
	if gate == nil {
		copy(df, dy)
		return
	}
	check.Len("layer", "f", len(f), len(dy))
	w := len(gate)
	check.Rows("layer", "f", len(f), w)
	check.Len("layer", "dgate", len(dgate), w)
	dgate = dgate[:w]
	for ; len(f) > 0; f, dy, df = f[w:], dy[w:], df[w:] {
		o, u, d := df[:w], f[:w], dy[:w]
		for i, g := range gate {
			dgate[i] += float32(d[i] * u[i])
			o[i] = d[i] * g
		}
	}
}

// CrossEntropy returns the weighted cross-entropy in nats,
//
//	Σ_r weight_r·(−log softmax(w_r)[target_r]),
//
// where w_r is row r of w and has cols log-weights. It stores the gradient with respect to w in d:
//
//	d_r = weight_r·(softmax(w_r) − onehot(target_r)).
//
// Rows of weight 0 are not read and have gradient 0. A log-weight may be −Inf. If the log-weight of
// a target is −Inf, the loss is +Inf. NaN in w makes the loss NaN. The slices d and w may be the
// same. CrossEntropy panics if the lengths do not match or a target is out of range.
func CrossEntropy(d, w []float32, target []int32, weight []float64, cols int) (loss float64) {
	rowsOf("w", len(w), len(target), cols)
	check.Len("layer", "d", len(d), len(w))
	check.Len("layer", "weight", len(weight), len(target))
	var z [1]float64
	for r, t := range target {
		u, g := w[r*cols:(r+1)*cols], d[r*cols:(r+1)*cols]
		if weight[r] == 0 {
			clear(g)
			continue
		}
		if t < 0 || int(t) >= cols {
			panic(fmt.Sprintf("layer: target[%d] = %d, want 0 … %d", r, t, cols-1))
		}
		simd.LogSumExp(z[:], u, cols)
		loss += float64(weight[r] * (z[0] - float64(u[t])))
		simd.Softmax(g, u, cols)
		g[t]--
		simd.Scale(float32(weight[r]), g)
	}
	return loss
}

// SquaredError returns Σ_r weight_r·‖y_r − target_r‖², where r runs over the rows of y and target.
// A row has cols entries. SquaredError stores the gradient with respect to y in d. The slices d and
// y may be the same.
func SquaredError(d, y, target []float32, weight []float64, cols int) (loss float64) {
	rowsOf("y", len(y), len(weight), cols)
	check.Len("layer", "d", len(d), len(y))
	check.Len("layer", "target", len(target), len(y))
	for r, w := range weight {
		sum := 0.0
		for i := r * cols; i < (r+1)*cols; i++ {
			e := y[i] - target[i]
			sum += float64(float64(e) * float64(e))
			d[i] = float32(2*w) * e
		}
		loss += float64(w * sum)
	}
	return loss
}
