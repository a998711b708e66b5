package train

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Trainer fits a network to data by changing the weights of the network in place. The methods of a
// Trainer must not be called concurrently with each other.
type Trainer struct {
	net     *neural.Transformer
	problem *problem
	cfg     Config

	step   int
	loss   float64
	adam   adam
	strips []strip // parts of the network's weights for parallel updates
	sums   []float64
	// adapters trained instead of the weights; nil means that the weights are trained
	low    *adapters
	shards []*shard
	order  []int32
	epoch  int
	weight []float64 // weight of each row of data; nil means epochs over all rows
	upTo   []float64 // cumulative sum of the weights up to each row
	chosen []int32   // rows of the current batch, drawn by weight
	life   session.Session
}

// New returns a trainer of the network net on data, which holds rows of Length tokens. It keeps a
// reference to data.
//
// New returns an error if one of these conditions does not hold:
//
//   - cfg is in range;
//   - net is a network of tokens that matches the objective;
//   - Outputs of net equals its Levels, unless the objective is [Pooled];
//   - data is one or more whole rows of valid tokens;
//   - an objective with labels has one label per row.
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

// NewReals returns a trainer of a network of reals on data, which holds rows of Length × Channels
// numbers. It keeps a reference to data.
//
// NewReals returns an error if cfg is out of range, if net is a network of tokens, or if the
// objective does not match the network. The network's Outputs must equal its Channels. Data must be
// one or more whole rows of finite numbers.
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

// NewPairs returns a trainer of a network of reals on pairs. It keeps a reference to pairs. You may
// change entries of pairs between calls of Run, as in a replay buffer. A checkpoint holds only the
// number of pairs, so restore the pairs yourself after loading it.
//
// NewPairs returns an error if cfg is out of range, if net or pairs is nil, or if net is a network
// of tokens. Lengths must match, and numbers must be finite.
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
	if cfg.Rank > 0 {
		t.low = newAdapters(net, cfg.Rank, cfg.Seed)
	}
	n := len(t.trained())
	t.adam = adam{make([]float32, n), make([]float32, n), append([]float32(nil), t.trained()...)}
	t.sums = make([]float64, len(t.strips))
	for range cfg.Shards {
		t.shards = append(t.shards, newShard(net, p, (cfg.Batch+cfg.Shards-1)/cfg.Shards, true))
	}
	return t
}

// trained returns the vector that a step updates: the weights of the network or of its adapters.
func (t *Trainer) trained() []float32 {
	if t.low != nil {
		return t.low.weights
	}
	return t.net.Weights()
}

// Step returns the number of completed steps.
func (t *Trainer) Step() int { return t.step }

// Loss returns the mean loss of the last step, or NaN before the first step. For tokens, it is in
// nats per state. For reals, it is the mean squared error per entry.
func (t *Trainer) Loss() float64 { return t.loss }

// Average returns a new network whose weights are the moving average of the weights over the steps
// of the training.
func (t *Trainer) Average() *neural.Transformer {
	c := t.net.Clone()
	if t.low != nil {
		t.low.merge(c.Weights(), t.adam.average)
		return c
	}
	copy(c.Weights(), t.adam.average)
	return c
}

// Reweight makes later batches draw rows with replacement, with probabilities ∝ weight. The trainer
// then minimises the mean loss over the reweighted data. A nil weight restores epochs, in which
// every row is drawn once. The weights are copied and are part of a checkpoint.
//
// Every row must have a finite weight ≥ 0, and at least one weight must be positive. Otherwise
// Reweight returns an error and changes nothing.
func (t *Trainer) Reweight(weight []float64) error {
	if weight == nil {
		t.weight, t.upTo = nil, nil
		return nil
	}
	if len(weight) != t.problem.rows {
		return fmt.Errorf("train: Reweight: len(weight) = %d, want %d, one per row", len(weight), t.problem.rows)
	}
	sum, total := make([]float64, len(weight)), 0.0
	for i, w := range weight {
		if !(w >= 0) {
			return fmt.Errorf("train: Reweight: weight[%d] = %v, want ≥ 0", i, w)
		}
		total += w
		sum[i] = total
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return fmt.Errorf("train: Reweight: weights sum to %v, want a positive number", total)
	}
	t.weight, t.upTo = slices.Clone(weight), sum
	return nil
}

// Run makes n steps. If ctx ends, Run stops early and returns the error of ctx; the trainer stays
// valid. If the loss or the gradient of a step is not finite, Run returns an error that names the
// step. The weights are then as they were before that step. Run also returns an error if another
// Run is in progress.
func (t *Trainer) Run(ctx context.Context, n int) error {
	return t.life.Run(ctx, n, func(int) error { return t.next() })
}

// next makes one training step.
func (t *Trainer) next() error {
	r := t.random(0)
	offset := r.Float64()
	if t.weight == nil {
		t.shuffle((t.step+1)*t.cfg.Batch - 1)
	} else {
		t.choose(r)
	}
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
	strips := t.strips
	if t.low != nil {
		norm, sum, strips = t.low.pull(sum), t.low.gradient, t.low.strips
	}
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return fmt.Errorf("train: step %d: squared norm of the gradient = %v", t.step, norm)
	}
	s := newStep(t.cfg, t.step, math.Sqrt(norm))
	w := t.trained()
	pool.Each(t.cfg.Workers, len(strips), func(j int) { t.adam.update(w, sum, strips[j], s) })
	if t.low != nil {
		t.low.merge(t.net.Weights(), w)
	}
	t.loss = loss
	t.step++
	return nil
}

// random returns random generator number i of the current step. Generator 0 belongs to the step
// itself, and generator i+1 to state i of the batch.
func (t *Trainer) random(i int) *rand.Rand {
	return rand.New(rand.NewPCG(t.cfg.Seed, uint64(t.step)<<24+uint64(i)))
}

// shuffle prepares the order of the epoch that contains the draw with the given index. An epoch
// visits all data once. A batch may span two epochs; it then already uses the order of the second.
func (t *Trainer) shuffle(draw int) {
	n := t.problem.rows
	if epoch := draw / n; epoch != t.epoch {
		t.epoch = epoch
		t.order = t.order[:0]
		for i := range n {
			t.order = append(t.order, int32(i))
		}
		r := rand.New(rand.NewPCG(t.cfg.Seed, ^uint64(epoch)))
		r.Shuffle(n, func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	}
}

// choose draws the rows of a batch by weight. It divides the probability into as many equal parts
// as the batch has rows and draws one row from each, in random order.
func (t *Trainer) choose(r *rand.Rand) {
	t.chosen = slices.Grow(t.chosen[:0], t.cfg.Batch)[:t.cfg.Batch]
	total := t.upTo[len(t.upTo)-1]
	for i := range t.chosen {
		// convert explicitly, so that no compiler fuses the product with the sum
		v := float64(r.Float64())
		u := (float64(i) + v) / float64(t.cfg.Batch) * total
		// The first row whose cumulative sum exceeds u has a positive weight. Rounding
		// may lead beyond the last such row.
		k := sort.Search(len(t.upTo)-1, func(k int) bool { return t.upTo[k] > u })
		for t.weight[k] == 0 {
			k--
		}
		t.chosen[i] = int32(k)
	}
	r.Shuffle(len(t.chosen), func(i, j int) { t.chosen[i], t.chosen[j] = t.chosen[j], t.chosen[i] })
}

// row returns the row of data for state i of the batch.
func (t *Trainer) row(i int) int {
	if t.weight != nil {
		return int(t.chosen[i])
	}
	return int(t.order[(t.step*t.cfg.Batch+i)%t.problem.rows])
}

// gradient computes the gradient of shard j of the current batch.
func (t *Trainer) gradient(j int, offset float64) {
	s, b := t.shards[j], t.cfg.Batch
	from, to := j*b/len(t.shards), (j+1)*b/len(t.shards)
	clear(s.pass.Gradient())
	s.loss = s.run(to-from, func(i int) (int, float64, *rand.Rand) {
		i += from
		u := (float64(i) + offset) / float64(b)
		return t.row(i), u, t.random(i + 1)
	}, b)
}

// sum adds the gradients of all shards within a strip to dst, which is that of the first shard.
// It returns the squared norm of the result.
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

// strip is a part of the weights that one worker updates. decays reports whether weight decay
// applies.
type strip struct {
	from, to int
	decays   bool
}

// stripLen is the largest length of a strip, small enough that a few big tensors keep all workers
// busy.
const stripLen = 1 << 14

// strips divides the tensors of a network into strips.
func strips(tensors []neural.Tensor) []strip {
	var all []strip
	at := 0
	for _, t := range tensors {
		end := at + len(t.Data)
		for ; at < end; at = min(at+stripLen, end) {
			all = append(all, strip{at, min(at+stripLen, end), len(t.Shape) == 2})
		}
	}
	return all
}

// adam is the state of the Adam optimiser: moments m and v, and the moving average of the
// weights.
type adam struct {
	m, v, average []float32
}

// step holds the coefficients of one update.
type step struct{ rate, c1, c2, clip, decay, average float64 }

func newStep(c Config, n int, norm float64) step {
	k := float64(n + 1)
	return step{
		rate: c.rate(n), c1: 1 / (1 - math.Pow(beta1, k)), c2: 1 / (1 - math.Pow(beta2, k)),
		clip: min(1, c.Clip/norm), decay: c.Decay, average: min(c.Average, (1+k)/(10+k)),
	}
}

// update moves the weights w of a strip against the gradient g:
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  w ← w − rate·(c₁m/(√(c₂v) + ε) + decay·w).
func (a *adam) update(w, g []float32, at strip, s step) {
	decay := 0.0
	if at.decays {
		decay = s.decay
	}
	for i := at.from; i < at.to; i++ {
		d := float64(g[i]) * s.clip
		m := float64(beta1*float64(a.m[i])) + float64((1-beta1)*d)
		v := float64(beta2*float64(a.v[i])) + float64((1-beta2)*float64(d*d))
		a.m[i], a.v[i] = float32(m), float32(v)
		move := float64(m*s.c1)/(math.Sqrt(v*s.c2)+epsilon) + float64(decay*float64(w[i]))
		w[i] -= float32(s.rate * move)
		a.average[i] = float32(float64(s.average*float64(a.average[i])) + float64((1-s.average)*float64(w[i])))
	}
}

// magic starts a checkpoint of a trainer. A checkpoint holds one frame with the settings, one
// with the state and one that marks the end (see [session.Frames]).
const magic = "gibbsite train 4\n"

// settings returns all settings that determine the bits of a training.
func (t *Trainer) settings() *fingerprint.List {
	l := &fingerprint.List{}
	l.Add("network", t.net.Config())
	t.problem.addObjective(l)
	c := t.cfg
	l.Add("Config.Steps", c.Steps)
	l.Add("Config.Batch", c.Batch)
	l.Add("Config.Rate", c.Rate)
	l.Add("Config.Warmup", c.Warmup)
	l.Add("Config.Decay", c.Decay)
	l.Add("Config.Clip", c.Clip)
	l.Add("Config.Average", c.Average)
	l.Add("Config.Shards", c.Shards)
	l.Add("Config.Seed", c.Seed)
	if t.low != nil {
		t.low.addSettings(l)
	}
	t.problem.addData(l)
	return l
}

// state is the content of a checkpoint. Each of vectors has the length of the trained weights.
type state struct {
	step    int
	loss    float64
	vectors [4][]float32
	weight  []float64 // weights of the rows of data; nil means none
}

func (t *Trainer) frames(s *state) *session.Frames {
	return &session.Frames{Magic: magic, Settings: t.settings(), Count: 1, Limit: 24 + 16*len(t.trained()) + 8*t.problem.rows, Frame: func(f *wire.Fields, _ int) {
		f.Counts("step", &s.step)
		f.Float64(&s.loss)
		for _, v := range s.vectors {
			f.Float32s(v)
		}
		weighted := s.weight != nil
		if f.Bool("weights of rows", &weighted); !weighted {
			return
		}
		if f.Reading() {
			s.weight = make([]float64, t.problem.rows)
		}
		f.Float64s(s.weight)
	}}
}

func (t *Trainer) vectors() [4][]float32 {
	return [4][]float32{t.trained(), t.adam.m, t.adam.v, t.adam.average}
}

func (t *Trainer) write(w io.Writer) error {
	return t.frames(&state{t.step, t.loss, t.vectors(), t.weight}).Write(w, nil)
}

func (t *Trainer) read(ctx context.Context, r io.Reader) error {
	var s state
	for k := range s.vectors {
		s.vectors[k] = make([]float32, len(t.trained()))
	}
	if err := t.frames(&s).Read(ctx, r, nil); err != nil {
		return err
	}
	if err := t.Reweight(s.weight); err != nil {
		return err
	}
	t.step, t.loss = s.step, s.loss
	for k, v := range t.vectors() {
		copy(v, s.vectors[k])
	}
	if t.low != nil {
		t.low.merge(t.net.Weights(), t.low.weights)
	}
	return nil
}

// Save writes a checkpoint to w. A trainer with the same network, objective, data and configuration
// can load the checkpoint and continue bit for bit.
func (t *Trainer) Save(w io.Writer) error { return t.life.Save(w) }

// Load restores a checkpoint written by Save into a trainer built with the same arguments. Only
// Workers and Checkpoint may differ. If Load returns an error, the trainer is unchanged, and the
// error names the first setting that differs or describes the damage.
func (t *Trainer) Load(ctx context.Context, r io.Reader) error { return t.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure.
func (t *Trainer) SaveFile(path string) error { return t.life.SaveFile(path) }

// LoadFile restores a checkpoint written by [Trainer.SaveFile]. If the file is missing or
// damaged, LoadFile restores the previous checkpoint, path.old. The rules of [Trainer.Load]
// apply.
func (t *Trainer) LoadFile(ctx context.Context, path string) error { return t.life.LoadFile(ctx, path) }
