package dual

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// maxBatches is the largest number of batch means that a trajectory keeps. Standard errors are
// estimated from at least half as many batch means, without the first quarter of them.
const maxBatches = 32

// trajectory summarises the past steps of a loop in constant memory. It holds λ̄, and the sums of
// the mean violations over batches of steps. Whenever there are too many batches, their length
// doubles.
type trajectory struct {
	power   float64 // exponent p: step t has weight ∝ t^p in λ̄
	skip    float64 // fraction of the batches, counted from the first, that means omit
	average []float64
	last    []float64 // multipliers of the last step

	steps, size int       // number of steps made; number of steps per batch
	sums        []float64 // sums of violations, batches × n
	open        []float64 // sum of violations in the batch in progress
}

func newTrajectory(n int, uniform bool) trajectory {
	t := trajectory{power: 2, skip: 0.25, size: 1,
		average: make([]float64, n), last: make([]float64, n), open: make([]float64, n), sums: make([]float64, 0, maxBatches*n)}
	if uniform {
		t.power, t.skip = 0, 0
	}
	return t
}

// add adds to the trajectory the multipliers of a step and the mean violation of the step's
// samples.
func (t *trajectory) add(lambda, mean []float64) {
	copy(t.last, lambda)
	// λ̄ has weights ∝ t^p, so that the start is forgotten.
	w := (t.power + 1) / (float64(t.steps) + t.power + 1)
	for j, v := range lambda {
		t.average[j] += float64(w * (v - t.average[j]))
		t.open[j] += mean[j]
	}
	t.steps++
	if t.steps%t.size != 0 {
		return
	}
	n := len(t.open)
	t.sums = append(t.sums, t.open...)
	clear(t.open)
	if len(t.sums) < maxBatches*n {
		return
	}
	for k := 0; k < len(t.sums)/2; k += n {
		for j := range n {
			t.sums[k+j] = t.sums[2*k+j] + t.sums[2*k+n+j]
		}
	}
	t.sums = t.sums[:len(t.sums)/2]
	t.size *= 2
}

// violation returns the mean of violation j over the steps that are not omitted, its standard
// error, and the number of these steps. The error is estimated by batch means (Flegal and Jones
// 2010). It is +Inf if there are fewer than two batches.
func (t *trajectory) violation(j int) (mean, se float64, steps int) {
	n := len(t.open)
	batches := len(t.sums) / n
	from := int(t.skip * float64(batches))
	sum := t.open[j]
	for k := from; k < batches; k++ {
		sum += t.sums[k*n+j]
	}
	steps = t.steps - from*t.size
	mean = sum / float64(steps)
	count := batches - from
	if count < 2 {
		return mean, math.Inf(1), steps
	}
	centre := (sum - t.open[j]) / float64(count)
	squares := 0.0
	for k := from; k < batches; k++ {
		d := t.sums[k*n+j] - centre
		squares += float64(d * d)
	}
	return mean, math.Sqrt(squares/float64(count-1)/float64(count)) / float64(t.size), steps
}

// fields reads or writes the trajectory for a checkpoint.
func (t *trajectory) fields(f *wire.Fields) {
	n := len(t.open)
	batches := len(t.sums) / n
	f.Counts("steps of a trajectory", &t.steps)
	f.Int("steps of a batch", &t.size, 1, math.MaxInt)
	f.Int("batches", &batches, 0, maxBatches-1)
	t.sums = t.sums[:batches*n]
	for _, v := range [][]float64{t.average, t.last, t.open, t.sums} {
		f.Float64s(v)
	}
}
