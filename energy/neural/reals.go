package neural

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Reals is the denoiser of a network of reals. The network's output must be a prediction of the
// clean state. States have Length × Channels sites. A network with another output needs a wrapper.
// For a network that predicts noise, use
//
//	energy.NoisePredictor{Denoiser: reals}
//
// For a network that predicts the velocity of a flow (train.Flow), use denoise.Velocity.
//
// Concurrent calls are safe but run one after another. A call allocates memory only if its batch is
// larger than all earlier ones.
type Reals struct {
	engine *engine[float32]
	pull   *pullbacks
}

// NewReals returns the denoiser of a network that predicts the clean state. If opt.Level is nil,
// the network receives the noise level 1000·t at the time t. This is the step number in a diffusion
// of a thousand steps. NewReals returns an error if net is nil, is a network of tokens or does not
// have one output per channel.
func NewReals(net *Transformer, opt Options) (*Reals, error) {
	switch {
	case net == nil:
		return nil, fmt.Errorf("neural: NewReals: net is nil")
	case net.cfg.Channels == 0 || net.cfg.Outputs != net.cfg.Channels:
		return nil, fmt.Errorf("neural: NewReals: net has %d channels and %d outputs, want as many and ≥ 1", net.cfg.Channels, net.cfg.Outputs)
	}
	if opt.Level == nil {
		opt.Level = func(t, _ float64) float64 { return 1000 * t }
	}
	e := &engine[float32]{name: "Reals", net: net, opt: opt}
	e.finish = func(v, x []float32, clean []bool, _, _ float64) {
		for i, known := range clean {
			if known {
				v[i] = x[i]
			}
		}
	}
	d := &Reals{e, newPullbacks(e)}
	start(d, e)
	return d, nil
}

// Shape returns Length × Channels as the number of sites, and 1 as the number of levels.
func (d *Reals) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend only on the state, not on the time.
func (d *Reals) TimeFree() bool { return d.engine.timeFree() }

// Denoise stores the predicted clean states in v; it implements [energy.Denoiser]. It returns an
// error that names the state if its noise level or outputs are not finite.
func (d *Reals) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	return d.engine.denoise(ctx, v, q)
}

// Pullback stores predictions in v, and their vector–Jacobian products with respect to the noisy
// states in dst. It implements denoise.Differentiable. It makes one forward pass per state and one
// backward pass per vector of the state. It returns an error that names the state if its noise
// level or outputs are not finite.
func (d *Reals) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	e, p := d.engine, d.pull
	sites, _ := e.shape()
	check.Len("neural", "v", len(v), q.States(sites)*sites)
	check.Len("neural", "dst", len(dst), len(rows))
	per := check.Rows("neural", "rows", len(rows), max(1, len(q.X)))
	if err := poll.Err(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(p.passes) < len(e.passes) { // created by the first call
		p.passes = append(p.passes, e.net.newPass(e.chunk, pulling))
		p.slope = append(p.slope, make([]float32, 2*e.chunk*sites))
	}
	p.dst, p.rows, p.per = dst, rows, per
	defer func() { p.dst, p.rows = nil, nil }()
	return e.each(v, q, p.do)
}

// pullbacks holds the scratch and arguments of [Reals.Pullback].
type pullbacks struct {
	engine *engine[float32]
	passes []*Pass
	slope  [][]float32 // for each worker: gradients of the outputs, then of the states
	do     func(worker, job int)

	dst, rows []float32 // arguments of the current call of Pullback
	per       int       // rows per state
}

func newPullbacks(e *engine[float32]) *pullbacks {
	p := &pullbacks{engine: e}
	p.do = p.one
	return p
}

// one stores predictions and products for one chunk of states.
func (p *pullbacks) one(worker, job int) {
	e := p.engine
	sites, _ := e.shape()
	from := job * e.chunk
	n := min(e.chunk, len(e.q.Time)-from)
	x, v := e.q.X[from*sites:(from+n)*sites], e.v[from*sites:(from+n)*sites]
	var clean []bool
	if e.q.Clean != nil {
		clean = e.q.Clean[from*sites : (from+n)*sites]
	}
	pass := p.passes[worker]
	pass.Forward(Input{Reals: x, Level: e.level[from : from+n]})
	pass.Output(v, nil)
	if e.errs[job] = e.finite(v, from, sites); e.errs[job] != nil {
		return
	}
	e.finish(v, x, clean, 0, 0)
	dy, dx := p.slope[worker][:n*sites], p.slope[worker][e.chunk*sites:][:n*sites]
	for k := range p.per {
		for s := range n {
			copy(dy[s*sites:(s+1)*sites], p.rows[((from+s)*p.per+k)*sites:])
		}
		for i, known := range clean {
			if known {
				dy[i] = 0
			}
		}
		pass.Backward(dy)
		pass.InputGradient(dx)
		for s := range n {
			at := ((from+s)*p.per + k) * sites
			copy(p.dst[at:at+sites], dx[s*sites:(s+1)*sites])
			for i := range sites {
				if clean != nil && clean[s*sites+i] {
					p.dst[at+i] += p.rows[at+i]
				}
			}
		}
	}
}
