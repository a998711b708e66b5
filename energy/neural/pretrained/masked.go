package pretrained

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Options holds the settings of [Network.Masked]. The zero value suits networks with full attention
// whose files name their mask token.
type Options struct {
	// Mask is the mask token, for files that do not name it; nil means [Config.Mask].
	Mask *int32

	// Block is the number of positions in a block of a block diffusion (bd3lm; Arriola et al.
	// 2025). A position attends to its own block and the blocks before it. Blocks begin at
	// position 0. If Block is 0, every position attends to all.
	Block int

	// Workers is the number of goroutines that share a pass; 0 means GOMAXPROCS. It affects
	// only speed.
	Workers int
}

// Masked is the denoiser of masked diffusion with a [Network]. At masked positions its outputs are
// the log-weights of the tokens, and the mask itself has probability zero. At all other positions
// the prediction is the token that stands there. The last layer, over the vocabulary, is computed
// only for masked positions.
//
// Activations are kept for the next call. If the next call has the same state, it computes only the
// last layer. With [Options.Block], the blocks of positions before the first changed token are not
// computed again. Without blocks, one changed token costs a whole pass.
//
// Concurrent calls are safe but run one after another. Calls allocate nothing.
type Masked struct{ pass *pass }

// pass runs a network over one state at a time.
type pass struct {
	net    *Network
	length int
	mask   int32
	block  int
	rotary *layer.Rotary
	mu     sync.Mutex
	pool   *pool.Pool
	work   []scratch // scratch of each worker

	x, h, f []float32 // activations, length × width
	// queries and attention output: length × heads · head width
	q, o []float32
	// keys and values, length × groups · head width: those of each block of the network if parts of
	// them will be used again, and otherwise those of the current one
	k, v                 [][]float32
	gate, up             []float32 // gated units, length × hidden
	scale                []float32 // scratch for norms, one number per position
	rows                 []int32
	fail                 atomic.Pointer[error] // first error of a product
	product, attend, act func(worker, job int)

	last  []int32 // state of the last pass
	known int     // number of its leading positions whose activations are valid
	from  int     // first position of the current pass

	m    matrix    // current product: matrix
	y    []float32 // current product: results
	in   []float32 // current product: input rows
	at   int       // current block
	into []int32   // rows of y that receive the results; nil means the first rows
}

// scratch is the memory of one worker.
type scratch struct {
	raw           []byte    // weights as in the file
	w, y          []float32 // converted weights and result of a product
	q, k, v, o, p []float32 // queries, keys, values, output and softmax of one head
	scale         []float32
}

// panel is the number of weights that are converted at a time: 256 KiB, which stay in the cache
// of a core together with the rows that they multiply.
const panel = 1 << 16

// Masked returns a denoiser for states of the given length in tokens. It returns an error if length
// is not in 1 … [Config.Length], or if neither the files nor opt name the mask token.
func (n *Network) Masked(length int, opt Options) (*Masked, error) {
	c := n.cfg
	mask := c.Mask
	if opt.Mask != nil {
		mask = *opt.Mask
	}
	switch {
	case length < 1 || length > c.Length:
		return nil, fmt.Errorf("pretrained: Masked: length = %d, want 1 … %d", length, c.Length)
	case mask < 0 && opt.Mask == nil:
		return nil, fmt.Errorf("pretrained: Masked: the files do not name the mask token, want Options.Mask")
	case mask < 0 || int(mask) >= c.Vocabulary:
		return nil, fmt.Errorf("pretrained: Masked: Mask = %d, want 0 … %d", mask, c.Vocabulary-1)
	case opt.Block < 0:
		return nil, fmt.Errorf("pretrained: Masked: Block = %d, want ≥ 0", opt.Block)
	}
	if err := check.Entries("pretrained: Masked", "length × the widest row", length, max(c.Hidden, c.Heads*c.HeadWidth, c.Width, length)); err != nil {
		return nil, err
	}
	workers := opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, mostWorkers)
	mk := func(n int) []float32 { return make([]float32, length*n) }
	p := &pass{
		net: n, length: length, mask: mask, block: opt.Block, rotary: c.rope.rotary(length, c.HeadWidth, c.Base), pool: pool.New(workers),
		x: mk(c.Width), h: mk(c.Width), f: mk(c.Width), q: mk(c.Heads * c.HeadWidth), o: mk(c.Heads * c.HeadWidth),
		last: make([]int32, length), gate: mk(c.Hidden), up: mk(c.Hidden), scale: mk(1), rows: make([]int32, 0, length),
	}
	kept := 1
	if opt.Block > 0 && opt.Block < length {
		kept = c.Blocks
	}
	for range kept {
		p.k, p.v = append(p.k, mk(c.Groups*c.HeadWidth)), append(p.v, mk(c.Groups*c.HeadWidth))
	}
	wide := max(c.Width, c.Hidden, c.Heads*c.HeadWidth)
	for range workers {
		p.work = append(p.work, scratch{
			raw: make([]byte, 4*max(panel, wide)), w: make([]float32, max(panel, wide)), y: mk(min(mostRows, max(1, panel/min(c.Width, c.Hidden, c.Heads*c.HeadWidth)))),
			q: mk(c.HeadWidth), k: mk(c.HeadWidth), v: mk(c.HeadWidth), o: mk(c.HeadWidth), p: mk(length), scale: mk(1),
		})
	}
	p.product, p.attend, p.act = p.doProduct, p.doAttend, p.doAct
	p.pool.Start()
	d := &Masked{p}
	if workers > 1 {
		runtime.AddCleanup(d, func(p *pool.Pool) { p.Stop() }, p.pool)
	}
	return d, nil
}

// mostWorkers is the largest number of workers, each of which has its own scratch.
const mostWorkers = 1 << 8

// Shape returns the length of a state as sites, and [Config.Vocabulary] as levels.
func (d *Masked) Shape() (sites, levels int) { return d.pass.length, d.pass.net.cfg.Vocabulary }

// TimeFree returns true: predictions depend on the tokens alone.
func (d *Masked) TimeFree() bool { return true }

// MaskLevel returns the mask token; it implements [energy.Masking].
func (d *Masked) MaskLevel() int32 { return d.pass.mask }

// Denoise stores in v the log-weights of the clean tokens; it implements [energy.Denoiser]. It
// returns an error that names the state if its outputs are not finite. It panics if a token is out
// of range.
func (d *Masked) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	sites, levels := d.Shape()
	n := q.States(sites)
	check.Len("pretrained", "v", len(v), n*sites*levels)
	check.States("pretrained", q.X, levels)
	d.pass.mu.Lock()
	defer d.pass.mu.Unlock()
	for s := range n {
		if err := d.pass.predict(ctx, v[s*sites*levels:(s+1)*sites*levels], q.X[s*sites:(s+1)*sites]); err != nil {
			return fmt.Errorf("pretrained: Masked: state %d: %w", s, err)
		}
	}
	return nil
}

var inf = float32(math.Inf(1))

// predict stores in v the prediction for state x.
func (p *pass) predict(ctx context.Context, v []float32, x []int32) error {
	levels := p.net.cfg.Vocabulary
	p.rows = p.rows[:0]
	for i, l := range x {
		if l == p.mask {
			p.rows = append(p.rows, int32(i))
			continue
		}
		row := v[i*levels : (i+1)*levels]
		for k := range row {
			row[k] = -inf
		}
		row[l] = 0
	}
	if len(p.rows) == 0 {
		return poll.Err(ctx)
	}
	if err := p.forward(ctx, x); err != nil {
		return err
	}
	p.each(p.net.last, v, p.h[:len(p.rows)*p.net.cfg.Width], p.rows)
	if err := p.err(); err != nil {
		return err
	}
	for _, i := range p.rows {
		row := v[int(i)*levels : int(i+1)*levels]
		if sum := simd.Sum(row); !check.Finite(sum) {
			return fmt.Errorf("the results of position %d add up to %v, want finite numbers", i, sum)
		}
		row[p.mask] = -inf
	}
	return nil
}

// unchanged returns the number of leading positions whose activations are those of the last pass:
// positions of whole blocks of the diffusion before the first changed token. Without blocks, one
// changed token changes them all.
func (p *pass) unchanged(x []int32) int {
	n := 0
	for n < p.known && x[n] == p.last[n] {
		n++
	}
	if n == p.length {
		return n
	}
	if p.block == 0 {
		return 0
	}
	return n / p.block * p.block
}

// forward runs the network up to its last layer. It stores in p.h the rows from which the last
// layer predicts the positions p.rows.
func (p *pass) forward(ctx context.Context, x []int32) error {
	c := p.net.cfg
	p.fail.Store(nil) // a call that was stopped may have left an error
	p.from = p.unchanged(x)
	p.known = p.from
	copy(p.last, x)
	for i := p.from; i < p.length; i++ {
		if err := p.net.embed.rows(p.x[i*c.Width:(i+1)*c.Width], p.work[0].raw, int(x[i])); err != nil {
			return err
		}
	}
	rows := func(y []float32) []float32 { return y[p.from*(len(y)/p.length):] }
	x1, h, f, q, o, gate, up := rows(p.x), rows(p.h), rows(p.f), rows(p.q), rows(p.o), rows(p.gate), rows(p.up)
	for i := range p.net.blocks {
		if p.from == p.length {
			break
		}
		if err := p.err(); err != nil {
			return err
		}
		if err := poll.Err(ctx); err != nil {
			return err
		}
		b := &p.net.blocks[i]
		p.at = i
		k, v := p.keys(i)
		p.normed(h, x1, b.norm1)
		p.each(b.query, q, h, nil)
		p.each(b.key, rows(k), h, nil)
		p.each(b.value, rows(v), h, nil)
		p.pool.Each(0, c.Groups, p.attend)
		p.each(b.out, f, o, nil)
		simd.Axpy(1, f, x1)
		p.normed(h, x1, b.norm2)
		p.each(b.gate, gate, h, nil)
		p.each(b.up, up, h, nil)
		p.pool.Each(p.from, p.length, p.act)
		p.each(b.down, f, gate, nil)
		simd.Axpy(1, f, x1)
	}
	if err := p.err(); err != nil {
		return err
	}
	p.known = p.length
	for k, i := range p.rows {
		if c.Shifted && i > 0 { // the first position has no earlier one and predicts itself
			i--
		}
		copy(p.f[k*c.Width:(k+1)*c.Width], p.x[int(i)*c.Width:])
	}
	n := len(p.rows) * c.Width
	p.normed(p.h[:n], p.f[:n], p.net.norm)
	return nil
}

// keys returns the keys and values of a block of the network.
func (p *pass) keys(block int) (k, v []float32) {
	if len(p.k) == 1 {
		block = 0
	}
	return p.k[block], p.v[block]
}

// normed stores the RMSNorm of the rows of x in y.
func (p *pass) normed(y, x, gain []float32) {
	norm := layer.Norm{Width: p.net.cfg.Width, Gain: gain, RMS: true, Epsilon: p.net.cfg.Epsilon}
	norm.Forward(y, y, p.scale[:len(x)/norm.Width], x)
}

// each stores x·Wᵀ + b in y, with one job for each group of rows of W. into lists the rows of y
// that receive the results; nil means the first ones.
func (p *pass) each(m matrix, y, x []float32, into []int32) {
	p.m, p.y, p.in, p.into = m, y, x, into
	n := p.panel()
	p.pool.Each(0, (m.out+n-1)/n, p.product)
}

// mostRows is the largest number of rows of a matrix in one job.
const mostRows = 512

// panel returns the number of rows of the current matrix in one job.
func (p *pass) panel() int { return min(max(1, panel/p.m.in), mostRows) }

func (p *pass) doProduct(worker, job int) {
	m, n := p.m, p.panel()
	from := job * n
	n = min(n, m.out-from)
	rows := len(p.in) / m.in
	s := &p.work[worker]
	w, y := s.w[:n*m.in], s.y[:rows*n]
	if err := m.rows(w, s.raw, from); err != nil {
		p.failed(err)
		return
	}
	clear(y)
	simd.GemmT(y, p.in, w, rows, n, m.in)
	for i := range rows {
		to := i
		if p.into != nil {
			to = int(p.into[i])
		}
		row := p.y[to*m.out+from:][:n]
		copy(row, y[i*n:(i+1)*n])
		if m.bias != nil {
			simd.Axpy(1, m.bias[from:from+n], row)
		}
	}
}

// err returns the first error of the products since forward began.
func (p *pass) err() error {
	if err := p.fail.Load(); err != nil {
		return *err
	}
	return nil
}

// failed keeps the first error of a product.
func (p *pass) failed(err error) { p.fail.CompareAndSwap(nil, &err) }

// doAct stores silu(gate)·up of one position in gate.
func (p *pass) doAct(_, i int) {
	n := p.net.cfg.Hidden
	g, u := p.gate[i*n:(i+1)*n], p.up[i*n:(i+1)*n]
	layer.SiLU.Forward(g, g)
	for j, v := range u {
		g[j] *= v
	}
}

// doAttend computes attention for the query heads that share the keys and values of one group.
func (p *pass) doAttend(worker, group int) {
	c, s, b := p.net.cfg, &p.work[worker], &p.net.blocks[p.at]
	n, dim, from := p.length, c.HeadWidth, p.from
	keys, values := p.keys(p.at)
	p.gather(s.k, keys, group, c.Groups, b.keyNorm, s.scale)
	p.rotary.Turn(s.k)
	p.gather(s.v, values, group, c.Groups, nil, nil)
	for h := group * c.Heads / c.Groups; h < (group+1)*c.Heads/c.Groups; h++ {
		p.gather(s.q, p.q, h, c.Heads, b.queryNorm, s.scale)
		p.rotary.Turn(s.q)
		simd.Scale(float32(1/math.Sqrt(float64(dim))), s.q)
		weights := s.p[from*n:]
		clear(weights)
		simd.GemmT(weights, s.q[from*dim:], s.k, n-from, n, dim)
		if p.block > 0 {
			for i := from; i < n; i++ {
				row := s.p[i*n : (i+1)*n]
				for j := (i/p.block + 1) * p.block; j < n; j++ {
					row[j] = -inf
				}
			}
		}
		simd.Softmax(weights, weights, n)
		clear(s.o)
		simd.Gemm(s.o[from*dim:], weights, s.v, n-from, dim, n)
		for i := from; i < n; i++ {
			copy(p.o[(i*c.Heads+h)*dim:], s.o[i*dim:(i+1)*dim])
		}
	}
}

// gather copies the entries of head h of all positions to dst. If gain is not nil, it normalises
// them.
func (p *pass) gather(dst, x []float32, h, heads int, gain, scale []float32) {
	dim := p.net.cfg.HeadWidth
	for i := range p.length {
		copy(dst[i*dim:(i+1)*dim], x[(i*heads+h)*dim:])
	}
	if gain != nil {
		norm := layer.Norm{Width: dim, Gain: gain, RMS: true, Epsilon: p.net.cfg.Epsilon}
		norm.Forward(dst, dst, scale, dst)
	}
}
