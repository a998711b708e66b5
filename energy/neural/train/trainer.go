package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/session"
)

// Trainer fits one network, whose weights it writes to. Its methods must not be
// called concurrently with each other.
type Trainer struct {
	net     *neural.Transformer
	problem *problem
	cfg     Config

	step   int
	loss   float64
	adam   adam
	strips []strip
	sums   []float64
	shards []*shard
	order  []int32
	epoch  int
	life   session.Session
}

// New returns a trainer of net on data, rows of Length tokens, which it keeps.
// The error says what of cfg is out of range, that the objective does not fit,
// that the network is one of reals or, unless the objective is [Pooled], has other
// outputs than levels, that data are no rows or none, or other than the objective
// is for, or which token is out of range.
func New(net *neural.Transformer, objective Objective, data []int32, cfg Config) (*Trainer, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	p, err := tokenProblem(net, objective, data)
	if err != nil {
		return nil, err
	}
	return newTrainer(net, p, cfg), nil
}

// NewReals returns a trainer of a network of reals on data, rows of Length × Channels
// numbers, which it keeps. The error says what of cfg is out of range, that the
// objective does not fit, that the network is one of tokens or has other outputs than
// channels, that data are no rows or none, or which number is not finite.
func NewReals(net *neural.Transformer, objective RealObjective, data []float32, cfg Config) (*Trainer, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	p, err := realProblem(net, objective, data)
	if err != nil {
		return nil, err
	}
	return newTrainer(net, p, cfg), nil
}

// NewPairs returns a trainer of a network of reals on pairs, which it keeps. Their
// entries may change between Runs (a replay buffer), so a checkpoint holds their number
// alone: who loads it restores them. The error says what of cfg is out of range, that
// net or pairs is nil, that the network is one of tokens, that a length does not fit,
// or which number is not finite.
func NewPairs(net *neural.Transformer, pairs *Pairs, cfg Config) (*Trainer, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	p, err := pairProblem(net, pairs)
	if err != nil {
		return nil, err
	}
	return newTrainer(net, p, cfg), nil
}

func newTrainer(net *neural.Transformer, p *problem, cfg Config) *Trainer {
	t := &Trainer{net: net, problem: p, cfg: cfg, epoch: -1, loss: math.NaN(), strips: strips(net.Tensors())}
	t.life = session.Session{Who: "train", Checkpoint: cfg.Checkpoint, Len: t.Step, Write: t.write, Read: t.read}
	n := len(net.Weights())
	t.adam = adam{make([]float32, n), make([]float32, n), append([]float32(nil), net.Weights()...)}
	t.sums = make([]float64, len(t.strips))
	for range cfg.Shards {
		t.shards = append(t.shards, newShard(net, p, (cfg.Batch+cfg.Shards-1)/cfg.Shards, true))
	}
	return t
}

// Step returns the number of steps done.
func (t *Trainer) Step() int { return t.step }

// Loss returns the mean loss of the last step, in nats per state, for reals the mean
// squared error of an entry; NaN before the first.
func (t *Trainer) Loss() float64 { return t.loss }

// Average returns a network with the average of the weights, for use.
func (t *Trainer) Average() *neural.Transformer {
	c := t.net.Clone()
	copy(c.Weights(), t.adam.average)
	return c
}

// Run makes n steps, or fewer if ctx ends, which is its error then: the trainer
// stays valid. It stops with an error that names the step if the loss or the
// gradient is not finite; the weights are those before that step. A Run while another
// is under way is an error.
func (t *Trainer) Run(ctx context.Context, n int) error {
	return t.life.Run(ctx, n, func(int) error { return t.next() })
}

// next makes a step.
func (t *Trainer) next() error {
	offset := t.random(0).Float64()
	t.shuffle((t.step+1)*t.cfg.Batch - 1)
	pool.Each(t.cfg.Workers, len(t.shards), func(j int) { t.gradient(j, offset) })
	loss := 0.0
	for _, s := range t.shards {
		loss += s.loss
	}
	loss /= float64(t.cfg.Batch)
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("train: step %d: loss = %v", t.step, loss)
	}
	sum := t.shards[0].pass.Gradient()
	pool.Each(t.cfg.Workers, len(t.strips), func(j int) { t.sums[j] = t.sum(sum, t.strips[j]) })
	norm := 0.0
	for _, v := range t.sums {
		norm += v
	}
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return fmt.Errorf("train: step %d: squared norm of the gradient = %v", t.step, norm)
	}
	s := newStep(t.cfg, t.step, math.Sqrt(norm))
	w := t.net.Weights()
	pool.Each(t.cfg.Workers, len(t.strips), func(j int) { t.adam.update(w, sum, t.strips[j], s) })
	t.loss = loss
	t.step++
	return nil
}

// random returns the generator of a number of this step; 0 is the step's own,
// i+1 that of state i of the batch.
func (t *Trainer) random(i int) *rand.Rand {
	return rand.New(rand.NewPCG(t.cfg.Seed, uint64(t.step)<<24+uint64(i)))
}

// shuffle prepares the order of the epoch that draw number last belongs to. An
// epoch goes through all data once; a batch may span two, and then begins the
// second one's order early.
func (t *Trainer) shuffle(last int) {
	n := t.problem.rows
	if epoch := last / n; epoch != t.epoch {
		t.epoch = epoch
		t.order = t.order[:0]
		for i := range n {
			t.order = append(t.order, int32(i))
		}
		r := rand.New(rand.NewPCG(t.cfg.Seed, ^uint64(epoch)))
		r.Shuffle(n, func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	}
}

// gradient computes the part j of a step's gradient.
func (t *Trainer) gradient(j int, offset float64) {
	s, b := t.shards[j], t.cfg.Batch
	from, to := j*b/len(t.shards), (j+1)*b/len(t.shards)
	n := t.problem.rows
	clear(s.pass.Gradient())
	s.loss = s.run(to-from, func(i int) (int, float64, *rand.Rand) {
		i += from
		u := (float64(i) + offset) / float64(b)
		return int(t.order[(t.step*b+i)%n]), u, t.random(i + 1)
	}, b)
}

// sum adds the gradients of all shards within a strip to the first and returns
// the squared norm of the result.
func (t *Trainer) sum(dst []float32, at strip) float64 {
	d := dst[at.from:at.to]
	for _, s := range t.shards[1:] {
		for i, v := range s.pass.Gradient()[at.from:at.to] {
			d[i] += v
		}
	}
	norm := 0.0
	for _, v := range d {
		norm += float64(float64(v) * float64(v))
	}
	return norm
}
