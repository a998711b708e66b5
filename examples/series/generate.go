package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// schedule is the noise schedule of the synthetic experiments of Narasimhan et al. 2025. A run
// with fewer steps takes every k-th level of it.
var schedule = noise.LinearBeta{To: 0.1, Steps: 200}

// metricBlur is the standard deviation of the noise added to every training window before the
// covariance is computed. Less noise leaves rows so nearly dependent in the metric that
// projections take a long time.
const metricBlur = 0.2

// problem is a corpus with a model of its windows and the limits of every held-out window.
type problem struct {
	*corpus
	ordered  bool // whether prices are in order
	prices   [4]int
	impute   bool
	features []string
	lag      int // lag of the autocorrelation
	limits   []limits
	model    energy.Denoiser[float32]
	width    float64 // kernel width, in standard deviations of all windows
	row      float64 // kernel width within bars
	prior    *posterior
	lesson   *lesson // training report of the network; nil without a network
	// models and training reports of methods with a network of their own, by name
	own     map[string]func(i int) energy.Denoiser[float32]
	lessons map[string]*lesson
	sets    []*series.System
	hides   [][]bool // hidden entries of every held-out window, if some are imputed
	embed   *embedding
}

func newProblem(ctx context.Context, t *table, o options) (*problem, error) {
	p := &problem{impute: o.impute || o.hide > 0, lag: o.lag}
	if p.lag == 0 {
		p.lag = o.length / 2
	}
	var err error
	if o.ohlc {
		if p.prices, p.ordered, err = t.prices(); err != nil {
			return nil, err
		}
	}
	if p.limits, err = parseLimits(o.bounds, t); err != nil {
		return nil, err
	}
	if o.features != "" && !p.impute {
		for _, name := range strings.Split(o.features, ",") {
			name = strings.TrimSpace(name)
			if features[name] == nil {
				return nil, fmt.Errorf("-features: no feature %q; there are %s", name, strings.Join(featureNames, ", "))
			}
			p.features = append(p.features, name)
		}
	}
	if p.corpus, err = cut(t, o.length, o.heldOut, o.training, split(o.split), o.seed); err != nil {
		return nil, err
	}
	if p.prior, err = newPosterior(p.training, p.sites(), metricBlur); err != nil {
		return nil, err
	}
	if p.embed, err = newEmbedding(p, o.seed); err != nil {
		return nil, err
	}
	p.hide(o.hide, o.seed)
	for i, start := range p.starts {
		set, err := p.limit(i)
		if err == nil { // limits that exclude each other show here
			_, err = proximal.Projector{Set: set}.Compile(ctx, p.sites())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: window of lines %d to %d: %w", t.name, t.lines[start], t.lines[start+o.length-1], err)
		}
		p.sets = append(p.sets, set)
	}
	switch o.denoiser { // last, because it may take a long time
	case "gaussian":
		p.model, err = p.prior.gaussian()
	case trainedDenoiser:
		p.model, err = p.network(ctx, o)
	default:
		if o.bandwidth == 0 {
			var k *kernels
			if k, err = p.newKernels(); err == nil {
				p.model, p.width, p.row = k, k.width, k.row
			}
			break
		}
		p.model, err = denoise.NewWindows(p.training, p.sites(), denoise.WindowsConfig{Bandwidth: o.bandwidth})
	}
	return p, err
}

// outcome holds the samples of one method.
type outcome struct {
	method  method
	x       []float32 // samples, held-out windows × samples × sites
	samples int       // number of samples per window
	seconds float64
}

// window returns sample k for held-out window i.
func (o *outcome) window(p *problem, i, k int) []float32 {
	return o.x[(i*o.samples+k)*p.sites():][:p.sites()]
}

// repeat runs a method with every seed.
func (p *problem) repeat(ctx context.Context, o options, m method) (all []*outcome, err error) {
	if err := p.prepare(ctx, o, m); err != nil {
		return nil, err
	}
	name, first := m.String(), o.seed
	for k := range o.seeds {
		if k > 0 {
			name = fmt.Sprintf("%v.%d", m, k)
		}
		o.seed = first + uint64(k)
		out, err := p.generate(ctx, o, m, name)
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// generate runs a method. The name identifies the run in its checkpoint.
func (p *problem) generate(ctx context.Context, o options, m method, name string) (*outcome, error) {
	out := &outcome{method: m, samples: o.samples, x: make([]float32, len(p.held)*o.samples)}
	bar := progress.New(name)
	done := &windowsDone{X: out.x}
	saved, err := o.Open(ctx, name, checkpoint.Value(o.Identity(), done))
	if err != nil {
		return nil, err
	}
	if len(done.X) != len(out.x) {
		return nil, fmt.Errorf("the checkpoint holds %d numbers, want %d: it belongs to other data", len(done.X), len(out.x))
	}
	out.x = done.X
	for done.Windows < len(p.sets) {
		from := done.Windows
		seconds, err := p.together(ctx, o, m, out.x, from, min(from+runtime.GOMAXPROCS(0), len(p.sets)))
		if err != nil {
			return nil, err
		}
		for _, s := range seconds {
			done.Seconds += s
		}
		done.Windows += len(seconds)
		bar.Set(done.Windows, len(p.sets))
		if err := saved.Tick(); err != nil {
			return nil, err
		}
	}
	bar.Done()
	out.seconds = done.Seconds
	if err := saved.Save(); err != nil || !m.critic {
		return out, err
	}
	start := time.Now()
	out.x = slices.Clone(out.x) // the checkpoint holds what the critic has not moved
	err = p.criticise(ctx, out)
	out.seconds += time.Since(start).Seconds()
	return out, err
}

// together samples for the held-out windows from … to−1 in one goroutine each and returns the
// seconds that each took. Every window has its own noise, so that the samples do not depend on
// the number of goroutines. The error is that of the first window that failed.
func (p *problem) together(ctx context.Context, o options, m method, x []float32, from, to int) ([]float64, error) {
	seconds, errs := make([]float64, to-from), make([]error, to-from)
	var all sync.WaitGroup
	for i := from; i < to; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			start, size := time.Now(), o.samples*p.sites()
			errs[i-from] = p.sample(ctx, o, m, i, x[i*size:(i+1)*size])
			seconds[i-from] = time.Since(start).Seconds()
		}()
	}
	all.Wait()
	for k, err := range errs {
		if err != nil {
			at := p.starts[from+k]
			return nil, fmt.Errorf("window of lines %d to %d: %w", p.lines[at], p.lines[at+p.length-1], err)
		}
	}
	return seconds, nil
}

// sample stores samples for held-out window i.
func (p *problem) sample(ctx context.Context, o options, m method, i int, x []float32) error {
	if m.from != none {
		return p.fromTraining(ctx, o, m, i, x)
	}
	if m.exact {
		return p.conditional(ctx, o, i, x)
	}
	process, cfg := p.recipe(o, m, i)
	d, err := diffusion.New(ctx, p.denoiser(o, m, i), process, cfg)
	if err != nil {
		return err
	}
	return d.Sample(ctx, x)
}

// windowsDone is the progress of a method.
type windowsDone struct {
	Windows int
	Seconds float64
	X       []float32 // samples, in the layout of outcome.x
}
