package layer

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// CrossEntropy returns Σ_r weight_r·(−log softmax(w_r)[target_r]) in nats over
// rows of cols log-weights and stores the gradient with respect to w in d, rows
// of weight_r·(softmax(w_r) − 1[target_r]); rows of weight 0 are not read and
// have no gradient. A log-weight may be −Inf unless it is the target's, which
// makes the loss +Inf; NaN in w makes it NaN. d may be w. It panics where lengths do
// not fit or a target is out of range.
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

// SquaredError returns Σ_r weight_r·‖y_r − target_r‖² over rows of cols entries
// and stores its gradient with respect to y in d, which may be y.
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
