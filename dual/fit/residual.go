package fit

import "math"

// residuals averages the gradient over the steps of a window, in chunks whose means
// tell the standard error. Windows double: that of the steps 2^j … 2^(j+1) − 1
// forgets all before, and is looked at when it is over, or at its present chunks.
type residuals struct {
	window, chunks, in  int // steps of the window, whole chunks, steps of the chunk
	chunk, sum, squares []float64
	mean, se            []float64 // of the last whole window
	known               bool
}

// chunksPerWindow makes the standard error itself known to a sixth.
const chunksPerWindow = 16

func newResiduals(n int) residuals {
	v := func() []float64 { return make([]float64, n) }
	return residuals{window: chunksPerWindow, chunk: v(), sum: v(), squares: v(), mean: v(), se: v()}
}

// add takes the gradient of a step.
func (r *residuals) add(g []float64) {
	for k, v := range g {
		r.chunk[k] += v
	}
	size := r.window / chunksPerWindow
	if r.in++; r.in < size {
		return
	}
	for k, v := range r.chunk {
		m := v / float64(size)
		r.sum[k] += m
		r.squares[k] += float64(m * m)
	}
	clear(r.chunk)
	r.in = 0
	if r.chunks++; r.chunks < chunksPerWindow {
		return
	}
	r.close(r.mean, r.se)
	clear(r.sum)
	clear(r.squares)
	r.chunks, r.known = 0, true
	r.window *= 2
}

// close stores mean and standard error over the chunks so far.
func (r *residuals) close(mean, se []float64) {
	n := float64(r.chunks)
	for k, v := range r.sum {
		m := v / n
		mean[k] = m
		se[k] = math.Sqrt(max(0, r.squares[k]/n-float64(m*m)) / (n - 1))
	}
}
