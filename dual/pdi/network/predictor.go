package network

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Predictor is a [pdi.Predictor] whose predictions come from a trained network. The predictions
// depend on neither the number of workers nor the other states in the same call. They are
// reproducible only on processors with the same vector instructions. The violations come from the
// teacher, which is the predictor from which the network learned. A Predictor must be used by one
// goroutine at a time.
type Predictor struct {
	teacher pdi.Predictor
	shift   []float64
	frame   frame
	most    []float64 // largest multipliers in the training data
	tied    []float64 // the only valid multipliers, after dual training; nil otherwise

	passes []*neural.Pass
	in     [][]float32
	level  []float64
	bad    []int // for each worker: first state with a result that is not finite, or −1
	burst  *pool.Burst
	job    func(worker, job int)

	v, x          []float32 // arguments of the current call of Predict
	alpha, lambda []float64 // arguments of the current call of Predict
}

// chunk is the number of states that a worker runs through the network at a time. mostWorkers is
// the largest number of workers. Each worker has its own pass.
const (
	chunk       = 64
	mostWorkers = 1 << 8
)

func newPredictor(teacher pdi.Predictor, net *neural.Transformer, f frame, most, shift, tied []float64, workers int) *Predictor {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, mostWorkers)
	p := &Predictor{teacher: teacher, shift: shift, frame: f, most: most, tied: tied, burst: pool.NewBurst(workers), bad: make([]int, workers)}
	for range workers {
		p.passes = append(p.passes, net.NewPass(chunk))
		p.in = append(p.in, make([]float32, chunk*net.Config().Channels))
	}
	p.job = p.part
	return p
}

// Sites returns the number of coordinates of a state.
func (p *Predictor) Sites() int { return p.teacher.Sites() }

// Len returns the number of multipliers.
func (p *Predictor) Len() int { return p.teacher.Len() }

// Beta returns the temperature of the teacher (see [Predictor]).
func (p *Predictor) Beta() float64 { return p.teacher.Beta() }

// Violation stores in g the violations that the teacher computes (see [Predictor]), plus the shift
// given to [Trainer.Predictor].
func (p *Predictor) Violation(g []float64, x []float32) {
	p.teacher.Violation(g, x)
	for i := range g {
		g[i] += p.shift[i%len(p.shift)]
	}
}

// Rows describes the inequalities of the teacher (see [Predictor]). The bounds include the shift
// given to [Trainer.Predictor].
func (p *Predictor) Rows() []dual.Row {
	rows := make([]dual.Row, p.Len())
	if d, ok := p.teacher.(dual.Described); ok {
		rows = d.Rows()
	}
	for j, s := range p.shift {
		if rows[j].AtLeast {
			rows[j].Bound += s
		} else {
			rows[j].Bound -= s
		}
	}
	return rows
}

var _ pdi.Ranged = (*Predictor)(nil)

// Outside returns an error that names the first multiplier beyond its training range, or nil if
// there is none. Beyond this range, predictions are extrapolations. After dual training, the range
// contains only [Trainer.Lambda]. pdi.Denoiser.Warning calls Outside.
func (p *Predictor) Outside(lambda []float64) error {
	check.Len("network", "lambda", len(lambda), len(p.most))
	for j, l := range lambda {
		if p.tied != nil && l != p.tied[j] {
			return fmt.Errorf("multiplier %d = %.4g, trained on %.4g alone: the network is that of dual training", j, l, p.tied[j])
		}
		if !(l <= p.most[j]) {
			return fmt.Errorf("multiplier %d = %.4g, trained on 0 … %.4g: the network extrapolates", j, l, p.most[j])
		}
	}
	return nil
}

// Predict stores in v the network's predictions of the clean states, given the noisy states x. It
// implements [pdi.Predictor] and ignores src. It returns an error if a multiplier is negative or
// not finite, or if a prediction is not finite. It panics if the lengths do not match, or if an
// entry of alpha is outside [0, 1].
func (p *Predictor) Predict(v, x []float32, alpha, lambda []float64, _ []rand.Source) error {
	check.Len("network", "x", len(x), len(alpha)*p.Sites())
	check.Len("network", "v", len(v), len(x))
	check.Len("network", "lambda", len(lambda), p.Len())
	for j, l := range lambda {
		if !(l >= 0) || !check.Finite(l) {
			return fmt.Errorf("network: Predict: lambda[%d] = %v, want a finite number ≥ 0", j, l)
		}
	}
	for len(p.level) < len(alpha) {
		p.level = append(p.level, 0)
	}
	for s, a := range alpha {
		if !(a >= 0 && a <= 1) {
			panic(fmt.Sprintf("network: alpha[%d] = %v, want 0 … 1", s, a))
		}
		p.level[s] = level(a)
	}
	for w := range p.bad {
		p.bad[w] = -1
	}
	p.v, p.x, p.alpha, p.lambda = v, x, alpha, lambda
	p.burst.Each((len(alpha)+chunk-1)/chunk, p.job)
	p.v, p.x, p.alpha, p.lambda = nil, nil, nil, nil
	first := -1
	for _, s := range p.bad {
		if s >= 0 && (first < 0 || s < first) {
			first = s
		}
	}
	if first >= 0 {
		return fmt.Errorf("network: Predict: state %d: what the network says is not finite", first)
	}
	return nil
}

// part predicts the states of one job's chunk.
func (p *Predictor) part(worker, job int) {
	d, m := p.Sites(), p.Len()
	from := job * chunk
	n := min(chunk, len(p.alpha)-from)
	in, x, v := p.in[worker][:n*(d+m)], p.x[from*d:(from+n)*d], p.v[from*d:(from+n)*d]
	for s := range n {
		p.frame.show(in[s*(d+m):(s+1)*(d+m)], x[s*d:(s+1)*d], p.alpha[from+s], p.lambda)
	}
	pass := p.passes[worker]
	pass.Forward(neural.Input{Reals: in, Level: p.level[from : from+n]})
	pass.Output(v, nil)
	for s := range n {
		row := v[s*d : (s+1)*d]
		if !check.Finite(simd.Sum(row)) && (p.bad[worker] < 0 || from+s < p.bad[worker]) {
			p.bad[worker] = from + s
		}
		p.frame.answer(row, row, x[s*d:(s+1)*d], p.alpha[from+s])
	}
}
