package neural

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Options holds the settings shared by all denoisers of the package. The zero value suits the
// public checkpoints with time conditioning.
type Options struct {
	// Level returns the noise level that the network receives, given the diffusion time t and the
	// signal level α (see [energy.Noised]). If Level is nil, the noise level is 1000·t for
	// [NewReals]. For all other denoisers it is −log α, as in MDLM, UDLM and SEDD. The result must
	// be finite; note that −log α is infinite at α = 0. Level is called concurrently.
	Level func(t, alpha float64) float64

	// If TimeFree is true, the network receives the noise level 0 at all times. Diffusions can then
	// reuse the prediction of a state that has not changed. Set it for networks of MDLM that were
	// trained without time conditioning. A network whose [Config.Cond] is 0 never depends on the
	// time.
	TimeFree bool

	// Workers is the number of goroutines that share a batch; 0 means GOMAXPROCS. It affects
	// only speed.
	Workers int
}

// chunkRows is the number of positions that a worker runs through the network at a time. The
// activations of a layer, a few hundred kilobytes, stay in the worker's cache (BenchmarkForward),
// and memory does not grow with the batch.
const chunkRows = 512

// engine runs a network over batches of states for a denoiser. Concurrent calls wait for each
// other, because each uses all workers.
type engine[S energy.Site] struct {
	name   string
	mask   int32 // mask level; −1 if tokens are not masked
	net    *Transformer
	opt    Options
	mu     sync.Mutex
	pool   *pool.Pool
	passes []*Pass
	rows   [][]int32
	chunk  int
	do     func(worker, job int)

	// wants reports whether the output of a position is needed, given its entry of the state;
	// nil means that all are. finish turns the outputs for one state into its prediction.
	wants  func(x S) bool
	finish func(v []float32, x []S, clean []bool, level, alpha float64)

	v     []float32        // current call: predictions to compute
	q     energy.Noised[S] // current call: batch of states
	level []float64        // current call: noise level of each state
	errs  []error          // current call: error of each chunk
}

// mostWorkers is the largest number of workers, each of which has its own pass. No machine gains
// from more goroutines.
const mostWorkers = 1 << 10

// start starts the workers of an engine. They end when the denoiser that owner points to is
// garbage.
func start[S energy.Site, D any](owner *D, e *engine[S]) {
	workers := e.opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, mostWorkers)
	e.chunk = max(1, chunkRows/e.net.cfg.Length)
	e.pool = pool.New(workers)
	for range workers {
		e.passes = append(e.passes, e.net.NewPass(e.chunk))
		e.rows = append(e.rows, make([]int32, 0, e.chunk*e.net.cfg.Length))
	}
	e.do = e.predict
	e.pool.Start()
	if workers > 1 {
		runtime.AddCleanup(owner, func(p *pool.Pool) { p.Stop() }, e.pool)
	}
}

// timeFree reports whether predictions are independent of time.
func (e *engine[S]) timeFree() bool { return e.opt.TimeFree || e.net.cfg.Cond == 0 }

// denoise implements Denoise for the denoisers of the package.
func (e *engine[S]) denoise(ctx context.Context, v []float32, q energy.Noised[S]) error {
	sites, levels := e.shape()
	n := q.States(sites)
	check.Len("neural", "v", len(v), n*sites*levels)
	if err := poll.Err(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.each(v, q, e.do)
}

// each runs do for every chunk of a batch.
func (e *engine[S]) each(v []float32, q energy.Noised[S], do func(worker, job int)) error {
	n := len(q.Time)
	if len(e.level) < n {
		e.level, e.errs = make([]float64, n), make([]error, n)
	}
	for s := range n {
		e.level[s] = 0
		if e.timeFree() {
			continue
		}
		l := e.opt.Level(q.Time[s], q.Alpha[s])
		if !check.Finite(l) {
			return fmt.Errorf("neural: %s: state %d: Level(t = %v, α = %v) = %v, want a finite number", e.name, s, q.Time[s], q.Alpha[s], l)
		}
		e.level[s] = l
	}
	e.v, e.q = v, q
	jobs := (n + e.chunk - 1) / e.chunk
	e.pool.Each(0, jobs, do)
	e.v, e.q = nil, energy.Noised[S]{}
	for _, err := range e.errs[:jobs] {
		if err != nil {
			return err
		}
	}
	return nil
}

// shape returns the number of sites of a state, and the levels of its predictions.
func (e *engine[S]) shape() (sites, levels int) {
	c := e.net.cfg
	if c.Levels == 0 {
		return c.Length * c.Channels, 1
	}
	return c.Length, c.Outputs
}

// predict stores the predictions for one chunk of states.
func (e *engine[S]) predict(worker, job int) {
	sites, levels := e.shape()
	from := job * e.chunk
	n := min(e.chunk, len(e.q.Time)-from)
	x, v := e.q.X[from*sites:(from+n)*sites], e.v[from*sites*levels:(from+n)*sites*levels]
	p := e.passes[worker]
	in := Input{Level: e.level[from : from+n]}
	switch x := any(x).(type) {
	case []int32:
		in.Tokens = x
	case []float32:
		in.Reals = x
	}
	p.Forward(in)
	e.errs[job] = nil
	if e.wants == nil {
		p.Output(v, nil)
		e.errs[job] = e.finite(v, from, sites*levels)
	} else {
		rows := e.rows[worker][:0]
		for i, l := range x {
			if e.wants(l) {
				rows = append(rows, int32(i))
			}
		}
		p.Output(v[:len(rows)*levels], rows)
		// move each row to its position, which is never further left
		for i := len(rows) - 1; i >= 0; i-- {
			r := int(rows[i])
			row := v[r*levels : (r+1)*levels]
			copy(row, v[i*levels:(i+1)*levels])
			if err := e.finite(row, from+r/sites, levels); err != nil {
				e.errs[job] = err
			}
		}
	}
	for s := range n {
		var clean []bool
		if e.q.Clean != nil {
			clean = e.q.Clean[(from+s)*sites : (from+s+1)*sites]
		}
		e.finish(v[s*sites*levels:(s+1)*sites*levels], x[s*sites:(s+1)*sites], clean, in.Level[s], e.q.Alpha[from+s])
	}
}

// finite returns an error that names the first state whose outputs are not finite. The slice v
// holds stateSize entries per state. The argument offset is the index of the first of these states.
func (e *engine[S]) finite(v []float32, offset, stateSize int) error {
	for s := 0; len(v) > 0; s, v = s+1, v[stateSize:] {
		if sum := simd.Sum(v[:stateSize]); !check.Finite(sum) {
			return fmt.Errorf("neural: %s: state %d: the network's results add up to %v, want finite numbers", e.name, offset+s, sum)
		}
	}
	return nil
}

// noise returns the noise level −log α.
func noise(_, alpha float64) float64 { return -simd.Log(alpha) }

var inf = float32(math.Inf(1))

// certain sets a row of log-weights to 0 at level l and −Inf at all others.
func certain(row []float32, l int32) {
	for i := range row {
		row[i] = -inf
	}
	row[l] = 0
}

// tokens returns an error unless the network has tokens as input and one output per level.
func tokens(caller string, t *Transformer) error {
	switch {
	case t == nil:
		return fmt.Errorf("neural: %s: net is nil", caller)
	case t.cfg.Levels == 0 || t.cfg.Outputs != t.cfg.Levels:
		return fmt.Errorf("neural: %s: net has %d levels and %d outputs, want as many and ≥ 1", caller, t.cfg.Levels, t.cfg.Outputs)
	}
	return nil
}

// maskedEngine returns the engine that [Masked] and [Ratio] share. Its workers are not started
// yet.
func maskedEngine(name string, net *Transformer, mask int32, opt Options) (*engine[int32], error) {
	caller := "New" + name
	if err := tokens(caller, net); err != nil {
		return nil, err
	}
	if mask < 0 || int(mask) >= net.cfg.Levels {
		return nil, fmt.Errorf("neural: %s: mask = %d, want 0 … %d", caller, mask, net.cfg.Levels-1)
	}
	if opt.Level == nil {
		opt.Level = noise
	}
	e := &engine[int32]{name: name, mask: mask, net: net, opt: opt}
	e.wants = func(x int32) bool { return x == mask }
	e.finish = func(v []float32, x []int32, _ []bool, _, _ float64) {
		levels := len(v) / len(x)
		for i, l := range x {
			if row := v[i*levels : (i+1)*levels]; l == mask {
				row[mask] = -inf
			} else {
				certain(row, l)
			}
		}
	}
	return e, nil
}

// means stores in dst the mean of the rows of y.
func means(dst []float64, y []float32) {
	clear(dst)
	for r := y; len(r) > 0; r = r[len(dst):] {
		for k, v := range r[:len(dst)] {
			dst[k] += float64(v)
		}
	}
	for k := range dst {
		dst[k] /= float64(len(y) / len(dst))
	}
}

// logSum returns log Σ e^w.
func logSum(w []float64) float64 {
	top, sum := slices.Max(w), 0.0
	for _, v := range w {
		sum += simd.Exp(v - top)
	}
	return top + simd.Log(sum)
}
