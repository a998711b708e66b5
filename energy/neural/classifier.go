package neural

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// ClassifierConfig holds the settings of [NewClassifier]. With the zero value, the tables that
// [Classifier.Table] computes are exact.
type ClassifierConfig struct {
	// FirstOrder makes [Classifier.Table] approximate log p(y | x) as a linear function of the
	// one-hot encoding of the tokens x. A table then costs one forward and one backward pass
	// (Schiff et al. 2025). An exact table costs a forward pass for every level of every site.
	FirstOrder bool

	// Level returns the noise level that the network receives at the time t. If Level is nil, the
	// noise level is −log α with the signal level α = 1 − (1−10⁻³)·t, as in train.Noisy. A network
	// whose [Config.Cond] is 0 ignores the noise level.
	Level func(t float64) float64

	// If TimeFree is true, the network receives the noise level 0 at all times. Set it for networks
	// whose training does not use the time, such as those trained with train.Masked.
	TimeFree bool

	// Workers is the number of goroutines that share a call; 0 means GOMAXPROCS, and numbers
	// above 1024 mean 1024. It affects only speed.
	Workers int
}

// Classifier computes the probability of a class y given noisy tokens x at time t. The network has
// one output per class at each position. The log-weight of a class is the mean of its outputs f_i
// over the L positions i,
//
//	p(y | x, t) = softmax(1/L·Σ_i f_i(x, t))_y.
//
// train.Classify trains such networks. Pass a Classifier to diffusion.ClassifierGuided.
//
// Concurrent calls are safe but run one after another. A call allocates memory only if it has more
// work than all earlier calls.
type Classifier struct{ judge *judge }

// judge does the work of a [Classifier]. The goroutines of the pool refer to it instead of the
// Classifier, so that they can end when the Classifier is garbage.
type judge struct {
	net   *Transformer
	class int
	mask  int32
	opt   ClassifierConfig

	mu     sync.Mutex
	pool   *pool.Pool
	passes []*Pass
	work   []judgeWork
	slope  *Pass // pass for FirstOrder
	slopes []float32
	chunk  int
	do     func(worker, job int)

	x     []int32   // current call: the state for Table; the states for LogProb
	level float64   // current call: noise level
	free  []int32   // current call: sites whose rows Table computes
	dst   []float64 // current call: log-probabilities of the class
	logp  []float64 // log-probabilities for Table, one per site of free and level
}

// judgeWork is the scratch of one worker for a chunk of states.
type judgeWork struct {
	x     []int32
	level []float64
	y     []float32
	w     []float64
}

// NewClassifier returns a classifier that computes the probability of the given class. The outputs
// of net are log-weights of classes.
//
// For masked diffusion, mask is the level of the mask; [Classifier.Table] then computes only the
// rows of masked sites. For uniform noise, or a process that can mask tokens again, pass −1.
// NewClassifier returns an error if net is nil or a network of reals, or if class or mask is out of
// range.
func NewClassifier(net *Transformer, class int, mask int32, opt ClassifierConfig) (*Classifier, error) {
	switch {
	case net == nil:
		return nil, fmt.Errorf("neural: NewClassifier: net is nil")
	case net.cfg.Levels == 0 || net.cfg.Outputs < 2:
		return nil, fmt.Errorf("neural: NewClassifier: net has %d levels and %d outputs, want ≥ 1 and ≥ 2", net.cfg.Levels, net.cfg.Outputs)
	case class < 0 || class >= net.cfg.Outputs:
		return nil, fmt.Errorf("neural: NewClassifier: class = %d, want 0 … %d", class, net.cfg.Outputs-1)
	case mask < -1 || int(mask) >= net.cfg.Levels:
		return nil, fmt.Errorf("neural: NewClassifier: mask = %d, want −1 … %d", mask, net.cfg.Levels-1)
	}
	if opt.Level == nil {
		opt.Level = func(t float64) float64 { return -simd.Log1p(-float64((1 - leastSignal) * t)) }
	}
	workers := opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, mostWorkers)
	c := &judge{net: net, class: class, mask: mask, opt: opt, chunk: max(1, chunkRows/net.cfg.Length), pool: pool.New(workers)}
	for range workers {
		c.passes = append(c.passes, net.NewPass(c.chunk))
		rows := c.chunk * net.cfg.Length
		c.work = append(c.work, judgeWork{make([]int32, rows), make([]float64, c.chunk), make([]float32, rows*net.cfg.Outputs), make([]float64, net.cfg.Outputs)})
	}
	if opt.FirstOrder {
		c.slope = net.NewTraining(1)
		c.slopes = make([]float32, net.cfg.Length*net.cfg.Levels)
	}
	c.do = c.some
	c.pool.Start()
	d := &Classifier{c}
	if workers > 1 {
		runtime.AddCleanup(d, func(p *pool.Pool) { p.Stop() }, c.pool)
	}
	return d, nil
}

// leastSignal is the signal level α at time 1.
const leastSignal = 1e-3

// Shape returns the fields Length and Levels of the network's configuration.
func (c *Classifier) Shape() (sites, levels int) {
	return c.judge.net.cfg.Length, c.judge.net.cfg.Levels
}

// LogProb stores in dst the log-probability of the class for each of the states x (states × sites)
// at time t. LogProb returns an error that names the state if a log-probability is not finite. It
// panics if the lengths do not match or a token is out of range.
func (c *Classifier) LogProb(dst []float64, x []int32, t float64) error {
	j := c.judge
	check.Len("neural", "x", len(x), len(dst)*j.net.cfg.Length)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.x, j.dst, j.free = x, dst, j.free[:0]
	return j.run(t)
}

// Table stores in dst how log p(y | x, t) changes if one site of the state x changes. The entry for
// site i and level l is
//
//	log p(y | x with x_i = l, t) − log p(y | x, t).
//
// If the classifier has a mask, the rows of unmasked sites are 0. Table returns an error if outputs
// of the network are not finite. It implements diffusion.Classifier.
func (c *Classifier) Table(dst []float32, x []int32, t float64) error {
	sites, levels := c.Shape()
	check.Len("neural", "x", len(x), sites)
	check.Len("neural", "dst", len(dst), sites*levels)
	j := c.judge
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(dst)
	j.free = j.free[:0]
	for i, l := range x {
		if j.mask < 0 || l == j.mask {
			j.free = append(j.free, int32(i))
		}
	}
	switch {
	case len(j.free) == 0:
		return nil
	case j.opt.FirstOrder:
		return j.expand(dst, x, t)
	}
	if j.logp == nil {
		j.logp = make([]float64, sites*levels)
	}
	j.x, j.dst = x, j.logp[:len(j.free)*levels]
	if err := j.run(t); err != nil {
		return err
	}
	for k, i := range j.free {
		row := j.logp[k*levels : (k+1)*levels]
		for l, v := range row {
			dst[int(i)*levels+l] = float32(v - row[x[i]])
		}
	}
	return nil
}

// run stores log p(y | state) of the states of the current call in c.dst. It then clears the
// arguments of the call.
func (c *judge) run(t float64) error {
	defer func() { c.x, c.dst = nil, nil }()
	if err := c.at(t); err != nil {
		return err
	}
	c.pool.Each(0, (len(c.dst)+c.chunk-1)/c.chunk, c.do)
	for s, v := range c.dst {
		if !check.Finite(v) {
			return fmt.Errorf("neural: Classifier: state %d: log p = %v, want a finite number", s, v)
		}
	}
	return nil
}

// at sets the noise level for time t.
func (c *judge) at(t float64) error {
	if c.level = 0; c.opt.TimeFree || c.net.cfg.Cond == 0 {
		return nil
	}
	if c.level = c.opt.Level(t); !check.Finite(c.level) {
		return fmt.Errorf("neural: Classifier: Level(%v) = %v, want a finite number", t, c.level)
	}
	return nil
}

// some runs one chunk of states through the network.
func (c *judge) some(worker, job int) {
	cfg := c.net.cfg
	from := job * c.chunk
	n := min(c.chunk, len(c.dst)-from)
	w, p := &c.work[worker], c.passes[worker]
	x := w.x[:n*cfg.Length]
	if len(c.free) == 0 {
		copy(x, c.x[from*cfg.Length:])
	} else {
		for s := range n {
			one := x[s*cfg.Length : (s+1)*cfg.Length]
			copy(one, c.x)
			one[c.free[(from+s)/cfg.Levels]] = int32((from + s) % cfg.Levels)
		}
	}
	for s := range n {
		w.level[s] = c.level
	}
	p.Forward(Input{Tokens: x, Level: w.level[:n]})
	y := w.y[:n*cfg.Length*cfg.Outputs]
	p.Output(y, nil)
	size := cfg.Length * cfg.Outputs
	for s := range n {
		means(w.w, y[s*size:(s+1)*size])
		c.dst[from+s] = w.w[c.class] - logSum(w.w)
	}
}

// expand stores in dst the first-order table of state x.
func (c *judge) expand(dst []float32, x []int32, t float64) error {
	if err := c.at(t); err != nil {
		return err
	}
	cfg, p, w := c.net.cfg, c.slope, &c.work[0]
	y := w.y[:cfg.Length*cfg.Outputs]
	w.level[0] = c.level
	p.Forward(Input{Tokens: x, Level: w.level[:1]})
	p.Output(y, nil)
	means(w.w, y)
	sum := logSum(w.w)
	if !check.Finite(sum) {
		return fmt.Errorf("neural: Classifier: the log-weights of the classes add up to %v, want a finite number", sum)
	}
	for k := range cfg.Outputs { // ∂ log p_y/∂w_k = 1[k = y] − p_k
		d := -simd.Exp(w.w[k] - sum)
		if k == c.class {
			d++
		}
		for i := range cfg.Length {
			y[i*cfg.Outputs+k] = float32(d / float64(cfg.Length))
		}
	}
	clear(p.grad)
	p.Backward(y)
	p.InputGradient(c.slopes)
	for _, i := range c.free {
		row := c.slopes[int(i)*cfg.Levels : (int(i)+1)*cfg.Levels]
		for l, v := range row {
			dst[int(i)*cfg.Levels+l] = v - row[x[i]]
		}
	}
	return nil
}
