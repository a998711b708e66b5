package train

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
)

// shard computes the loss and the gradient of part of the states of a batch.
type shard struct {
	cfg neural.Config
	*problem
	telling Telling  // objective with classes; nil if it has none
	pooled  Pooled   // objective on mean outputs; nil if it is a loss per position
	custom  RealLoss // objective of reals with its own loss; nil for the squared error

	pass   *neural.Pass
	x      []int32
	level  []float64
	weight []float64
	asked  []int32 // positions for which outputs are computed
	target []int32
	w      []float64
	y      []float32
	class  []int32
	row    []int
	mean   []float32
	in     []float32 // inputs and targets of networks of reals
	aim    []float32
	loss   float64
}

func newShard(net *neural.Transformer, p *problem, states int, training bool) *shard {
	c := net.Config()
	rows := states * c.Length
	s := &shard{cfg: c, problem: p, level: make([]float64, states), y: make([]float32, rows*c.Outputs)}
	if p.objective == nil {
		s.in, s.aim, s.w = make([]float32, rows*c.Channels), make([]float32, rows*c.Outputs), make([]float64, states)
		s.custom, _ = p.real.(RealLoss)
		s.row = make([]int, states)
	} else {
		s.x, s.weight = make([]int32, rows), make([]float64, rows)
		s.telling, _ = p.objective.(Telling)
		s.pooled, _ = p.objective.(Pooled)
		s.row, s.mean = make([]int, states), make([]float32, c.Outputs)
		if s.telling != nil {
			s.class = make([]int32, states)
		}
	}
	if training {
		s.pass = net.NewTraining(states)
	} else {
		s.pass = net.NewPass(states)
	}
	return s
}

// run corrupts the given number of states and returns the sum of their losses. state(i) returns
// the row of data, the strength of the corruption and the random generator of state i. If batch
// is not 0, run also adds the gradient of that sum to the pass. The gradient is divided by the
// number of positions in a batch, or by the number of states if the objective is [Pooled].
func (s *shard) run(states int, state func(i int) (row int, u float64, r *rand.Rand), batch int) float64 {
	if s.objective == nil {
		return s.runReals(states, state, batch)
	}
	c := s.cfg
	s.asked, s.target, s.w = s.asked[:0], s.target[:0], s.w[:0]
	for i := range states {
		row, u, r := state(i)
		at, clean := i*c.Length, s.tokens[row*c.Length:(row+1)*c.Length]
		weight := s.weight[at : at+c.Length]
		if s.row[i] = row; s.telling != nil {
			s.class[i] = s.telling.Tell(row, r)
		}
		s.level[i] = s.objective.Corrupt(s.x[at:at+c.Length], weight, clean, u, r)
		for k, w := range weight {
			if s.pooled == nil && w != 0 {
				s.asked, s.target, s.w = append(s.asked, int32(at+k)), append(s.target, clean[k]), append(s.w, w)
			}
		}
	}
	in := neural.Input{Tokens: s.x[:states*c.Length], Level: s.level[:states]}
	if s.telling != nil {
		in.Class = s.class[:states]
	}
	s.pass.Forward(in)
	if s.pooled != nil {
		return s.pool(states, batch)
	}
	y := s.y[:len(s.asked)*c.Outputs]
	s.pass.Output(y, s.asked)
	if batch == 0 {
		return layer.CrossEntropy(y, y, s.target, s.w, c.Outputs)
	}
	scale := 1 / float64(batch*c.Length)
	for i := range s.w {
		s.w[i] *= scale
	}
	loss := layer.CrossEntropy(y, y, s.target, s.w, c.Outputs) / scale
	s.pass.Backward(y)
	return loss
}

// runReals implements run for reals. The loss of a state is its squared error averaged over the
// entries, unless the objective is a [RealLoss].
func (s *shard) runReals(states int, state func(i int) (row int, u float64, r *rand.Rand), batch int) float64 {
	n, out := s.cfg.Length*s.cfg.Channels, s.cfg.Length*s.cfg.Outputs
	scale := 1 / float64(out)
	if batch > 0 {
		scale /= float64(batch)
	}
	for i := range states {
		row, u, r := state(i)
		in, aim := s.in[i*n:(i+1)*n], s.aim[i*out:(i+1)*out]
		if s.pairs != nil {
			s.level[i] = s.pairs.store(in, aim, row)
		} else {
			s.level[i] = s.real.Corrupt(in, aim, s.reals[row*n:(row+1)*n], u, r)
		}
		s.w[i], s.row[i] = scale, row
	}
	s.pass.Forward(neural.Input{Reals: s.in[:states*n], Level: s.level[:states]})
	y := s.y[:states*out]
	s.pass.Output(y, nil)
	if s.custom != nil {
		return s.judge(y, out, batch)
	}
	loss := layer.SquaredError(y, y, s.aim[:states*out], s.w[:states], out)
	if batch == 0 {
		return loss
	}
	s.pass.Backward(y)
	return loss * float64(batch)
}

// judge completes run for a [RealLoss]. The slice y holds outputs of size entries per state.
func (s *shard) judge(y []float32, size, batch int) (loss float64) {
	for i := range len(y) / size {
		d, at := y[i*size:(i+1)*size], i*size
		loss += s.custom.Loss(d, d, s.aim[at:at+size], s.in[at:at+size], s.level[i], s.row[i])
		for k := range d {
			d[k] /= float32(max(1, batch))
		}
	}
	if batch != 0 {
		s.pass.Backward(y)
	}
	return loss
}

// pool completes run for a [Pooled] objective.
func (s *shard) pool(states, batch int) (loss float64) {
	c := s.cfg
	size := c.Length * c.Outputs
	y := s.y[:states*size]
	s.pass.Output(y, nil)
	for i := range states {
		rows := y[i*size : (i+1)*size]
		for k := range s.mean {
			sum := 0.0
			for r := k; r < size; r += c.Outputs {
				sum += float64(rows[r])
			}
			s.mean[k] = float32(sum / float64(c.Length))
		}
		loss += s.pooled.Loss(s.mean, s.mean, s.row[i])
		if batch == 0 {
			continue
		}
		for r := range rows {
			rows[r] = s.mean[r%c.Outputs] / float32(batch*c.Length)
		}
	}
	if batch != 0 {
		s.pass.Backward(y)
	}
	return loss
}
