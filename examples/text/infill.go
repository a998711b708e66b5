package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The runs that fill in hidden bytes of held-out lines: by masked diffusion, and by the chains that
// Zhang, Liu and Liu (2022, §6.5) compare. Gibbs redraws single bytes from the network's conditional
// (Wang and Cho 2019); the other chains have the network's pseudo-energy.
const (
	infill = "infill" // masked diffusion
	gibbs  = "gibbs"
	gwg    = "gwg"
	dula   = "dula"
	dlp    = "dlp" // DMALA
)

var fillRuns = []string{infill, gibbs, gwg, dula, dlp}

// fills is the number of samples per line, from which diversity is computed.
const fills = 4

// pseudo is the energy −Σ_i log p(x_i | the rest of x) with the conditionals of a masked network
// (Besag 1975). One evaluation takes as many network passes as there are sites. Its gradient
// table holds only the term of the changed site, as masked language models use it for proposals.
type pseudo struct {
	ctx   context.Context
	model *neural.Masked
	sites int
	mask  int32
}

// Shape returns the number of sites and of levels, without the mask.
func (p *pseudo) Shape() (sites, levels int) { return p.sites, int(p.mask) }

// Energy stores in e the energy of every text in x, or NaN if the network fails. It implements
// [energy.Model].
func (p *pseudo) Energy(e []float64, x []int32) { p.Gradient(e, nil, x) }

// Gradient stores in e the energies and in g, for every level of every site, the change of that
// site's own term of the energy. It implements [energy.Differentiable].
func (p *pseudo) Gradient(e []float64, g []float32, x []int32) {
	n, levels := p.sites, int(p.mask)+1
	y, v := make([]int32, n*n), make([]float32, n*n*levels)
	q := energy.Noised[int32]{X: y, Time: make([]float64, n), Alpha: make([]float64, n), Sample: make([]int, n), Src: make([]rand.Source, n)}
	for i := range n {
		q.Time[i], q.Alpha[i], q.Sample[i] = 1/float64(n), 1-1/float64(n), i
	}
	for s := range e {
		state := x[s*n : (s+1)*n]
		for i := range n {
			copy(y[i*n:], state)
			y[i*n+i] = p.mask
		}
		if err := p.model.Denoise(p.ctx, v, q); err != nil {
			e[s] = math.NaN()
			continue
		}
		e[s] = 0
		for i, l := range state {
			w := v[(i*n+i)*levels : (i*n+i+1)*levels-1] // without the mask
			own := float64(w[l])
			e[s] += logSumExp(w) - own
			if g != nil {
				row := g[(s*n+i)*(levels-1) : (s*n+i+1)*(levels-1)]
				for k, a := range w {
					row[k] = float32(own - float64(a))
				}
			}
		}
	}
}

// logSumExp returns log Σ e^w.
func logSumExp(w []float32) float64 {
	top, sum := math.Inf(-1), 0.0
	for _, a := range w {
		top = max(top, float64(a))
	}
	for _, a := range w {
		sum += math.Exp(float64(a) - top)
	}
	return top + math.Log(sum)
}

// hide returns the tokens of a held-out line, with −1 for a random share of its bytes.
func hide(l *lines, line string, share float64, r *rand.Rand) []int32 {
	x, n := l.states([]string{line}), len(l.encode(line))
	hidden := max(1, int(math.Round(share*float64(n))))
	for _, i := range r.Perm(n)[:hidden] {
		x[i] = -1
	}
	return x
}

// fill draws the samples of a run that fills in lines. It counts samples whose visible bytes
// have changed.
func (r *report) fill(ctx context.Context, name string, net *neural.Transformer, l *lines, o options) error {
	model, err := neural.NewMasked(net, l.mask(), neural.Options{TimeFree: true})
	if err != nil {
		return err
	}
	what := map[string]string{
		infill: fmt.Sprintf("masked diffusion fills in %g of the bytes of held-out lines, %d times each", o.hide, fills),
		gibbs:  fmt.Sprintf("%d bytes redrawn from the network's conditionals, for the same lines", o.moves),
		gwg:    fmt.Sprintf("%d steps of Gibbs with gradients on the pseudo-energy, for the same lines", o.moves),
		dula:   fmt.Sprintf("%d steps of DULA on the pseudo-energy, for the same lines", o.moves),
		dlp:    fmt.Sprintf("%d steps of DMALA on the pseudo-energy, for the same lines", o.moves),
	}[name]
	f := figures{Name: name, Constraint: what, Exact: exact(name, o.temperature), N: o.n}
	bar := progress.New(name)
	defer bar.Done()
	start, order := time.Now(), rand.New(rand.NewPCG(o.seed, 92))
	right, hidden := 0, 0
	for at := 0; at < o.n; at += fills {
		line := l.held[order.IntN(len(l.held))]
		shown := hide(l, line, o.hide, order)
		many := min(fills, o.n-at)
		x := make([]int32, many*l.length)
		switch name {
		case infill:
			err = fillByDiffusion(ctx, l, model, shown, x, o, uint64(at))
		case gibbs:
			err = fillByConditionals(ctx, l, model, shown, x, o, uint64(at))
		default:
			method := map[string]sampler.Method{gwg: mcmc.GWG{}, dula: mcmc.DULA{}, dlp: mcmc.DMALA{}}[name]
			err = fillByChains(ctx, l, model, method, shown, x, o, uint64(at))
		}
		if err != nil {
			return err
		}
		truth := l.states([]string{line})
		for k := range many {
			own, kept := x[k*l.length:(k+1)*l.length], true
			for i, v := range shown {
				switch {
				case v >= 0:
					kept = kept && own[i] == v
				default:
					hidden++
					if own[i] == truth[i] {
						right++
					}
				}
			}
			if !kept {
				f.Violations++
			}
			f.Samples = append(f.Samples, l.text(own))
		}
		bar.Set(min(at+fills, o.n), o.n)
	}
	f.Seconds = time.Since(start).Seconds()
	f.Recovered = float64(right) / float64(max(1, hidden))
	f.judge(l)
	f.CorpusBLEU = corpusBLEU(f.Samples, l.held)
	r.Runs = append(r.Runs, f)
	return nil
}

func fillByDiffusion(ctx context.Context, l *lines, model *neural.Masked, shown, x []int32, o options, line uint64) error {
	d, err := diffusion.New(ctx, denoise.Tempered{Denoiser: model, Temperature: o.temperature}, diffusion.Masked{Mask: l.mask(), FirstHitting: true},
		diffusion.Config{Seed: o.seed + line, Clamp: shown})
	if err != nil {
		return err
	}
	return d.Sample(ctx, x)
}

// begin returns the line from which chains start, with spaces for the hidden bytes, and the visible
// bytes by position.
func begin(shown []int32) (from []int32, fixed map[int]int32) {
	from, fixed = make([]int32, len(shown)), map[int]int32{}
	for i, v := range shown {
		from[i] = ' '
		if v >= 0 {
			from[i], fixed[i] = v, v
		}
	}
	return from, fixed
}

// fillByConditionals redraws a random hidden byte of every sample, o.moves times.
func fillByConditionals(ctx context.Context, l *lines, model *neural.Masked, shown, x []int32, o options, line uint64) error {
	n, levels, r := len(shown), l.levels(), rand.New(rand.NewPCG(o.seed+line, 94))
	from, _ := begin(shown)
	var hidden []int
	for i, v := range shown {
		if v < 0 {
			hidden = append(hidden, i)
		}
	}
	v, logp := make([]float32, n*levels), make([]float64, levels-1) // logp has no mask
	for k := 0; k < len(x); k += n {
		own := x[k : k+n]
		copy(own, from)
		for range o.moves {
			i := hidden[r.IntN(len(hidden))]
			own[i] = l.mask()
			q := energy.Noised[int32]{X: own, Time: []float64{1 / float64(n)}, Alpha: []float64{1 - 1/float64(n)}, Sample: []int{0}, Src: make([]rand.Source, 1)}
			if err := model.Denoise(ctx, v, q); err != nil {
				return err
			}
			for t := range logp {
				logp[t] = float64(v[i*levels+t])
			}
			normalise(logp)
			own[i] = draw(logp, r.Float64())
		}
	}
	return nil
}

// fillByChains runs one chain per sample. Half of the steps tune the step size.
func fillByChains(ctx context.Context, l *lines, model *neural.Masked, method sampler.Method, shown, x []int32, o options, line uint64) error {
	from, fixed := begin(shown)
	clamped, err := energy.Clamp(&pseudo{ctx, model, len(shown), l.mask()}, fixed)
	if err != nil {
		return err
	}
	chains, err := sampler.NewChains(ctx, clamped, method, sampler.Config{
		Chains: len(x) / len(shown), Seed: o.seed + line, Warmup: max(1, o.moves/2), Init: from,
	})
	if err != nil {
		return err
	}
	if err := chains.Run(ctx, o.moves-o.moves/2); err != nil {
		return err
	}
	copy(x, chains.States())
	return nil
}
