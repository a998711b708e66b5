package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// bias measures how far DULA's stationary distribution is from the target on a torus of 3×3
// spins, in two ways of Zhang, Liu and Liu (2022). For a quadratic energy it varies the step
// size (theorem 5.1). At a fixed step size it varies ε, which measures how far the gradient is
// from linear (theorem 5.2).
type bias struct {
	Alpha   []distances `json:"alpha"`
	Epsilon []distances `json:"epsilon"` // distances by ε, measured at step size epsilonAlpha
}

// distances holds Σ|p − π|, the distance to the target π, for DULA's stationary distribution p
// (Exact) and for its draws (Sampled). Noise is the distance between p and as many independent
// draws from p.
type distances struct {
	At      float64 `json:"at"`
	Exact   float64 `json:"exact"`
	Sampled float64 `json:"sampled"`
	Noise   float64 `json:"noise"`
}

const (
	biasSide     = 3
	biasSites    = biasSide * biasSide
	biasStates   = 1 << biasSites
	epsilonAlpha = 0.3
)

// Step sizes and values of ε that are measured.
var (
	biasAlphas   = []float64{0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8} // step sizes that are measured
	biasEpsilons = []float64{0, 0.5, 1, 2, 3, 4}                 // values of ε that are measured
)

// energies holds the energy of every state. Bit i of an index is the level of site i.
type energies [biasStates]float64

// bent returns the energies of the torus plus −c Σ s_i s_j s_k, summed over its rows and
// columns. Every site is in two of these products. The gradient of the sum with respect to the
// spins therefore has an ℓ1 norm of at most ε = 2·9·c.
func bent(o options, epsilon float64) (*energies, error) {
	if !(o.beta >= 0) || math.IsInf(o.beta, 1) {
		return nil, fmt.Errorf("-beta = %v, want ≥ 0 and finite", o.beta)
	}
	m, err := model.NewIsing(model.Lattice{biasSide, biasSide}, o.a, o.b)
	if err != nil {
		return nil, err
	}
	x, t := make([]int32, biasStates*biasSites), new(energies)
	for s := range biasStates {
		for i := range biasSites {
			x[s*biasSites+i] = int32(s >> i & 1)
		}
	}
	m.Energy(t[:], x)
	c := epsilon / (2 * biasSites)
	for s := range t {
		spin := func(i int) float64 { return float64(2*x[s*biasSites+i] - 1) }
		for k := range biasSide {
			row, column := c, c
			for l := range biasSide {
				row *= spin(k*biasSide + l)
				column *= spin(l*biasSide + k)
			}
			t[s] -= row + column
		}
		t[s] *= o.beta
	}
	return t, nil
}

// model returns the energies as a model whose field consists of exact energy differences.
func (t *energies) model() energy.Func {
	index := func(x []int32) (s int) {
		for i, l := range x {
			s |= int(l) << i
		}
		return s
	}
	return energy.Func{
		Sites: biasSites, Levels: 2,
		E: func(x []int32) float64 { return t[index(x)] },
		Field: func(h []float32, x []int32) float64 {
			s := index(x)
			for i := range h {
				h[i] = float32(t[s|1<<i] - t[s&^(1<<i)])
			}
			return t[s]
		},
	}
}

// target returns the target distribution π over all states.
func (t *energies) target() []float64 {
	p, sum, least := make([]float64, biasStates), 0.0, slices.Min(t[:])
	for s, e := range t {
		p[s] = math.Exp(least - e)
		sum += p[s]
	}
	for s := range p {
		p[s] /= sum
	}
	return p
}

// stationary returns DULA's stationary distribution at step size α, computed from its transition
// matrix. Every site flips independently with probability σ(−½Δ_i − 1/(2α)).
func (t *energies) stationary(alpha float64) ([]float64, error) {
	a := mat.NewDense(biasStates, biasStates, nil) // Pᵀ − I, the last row Σ p = 1
	for s := range t {
		row := []float64{1}
		for i := range biasSites {
			flip := 1 / (1 + math.Exp((t[s^1<<i]-t[s])/2+1/(2*alpha)))
			next := make([]float64, 2*len(row))
			for k, p := range row {
				stay := s >> i & 1
				next[k|stay<<i] = p * (1 - flip)
				next[k|(1-stay)<<i] = p * flip
			}
			row = next
		}
		for y, p := range row[:biasStates-1] {
			a.Set(y, s, p)
		}
		if s < biasStates-1 {
			a.Set(s, s, a.At(s, s)-1)
		}
		a.Set(biasStates-1, s, 1)
	}
	b := mat.NewVecDense(biasStates, nil)
	b.SetVec(biasStates-1, 1)
	var p mat.VecDense
	if err := p.SolveVec(a, b); err != nil {
		return nil, fmt.Errorf("-bias: the stationary distribution at α = %v: %w", alpha, err)
	}
	return p.RawVector().Data, nil
}

// measure returns the distances at step size alpha.
func (t *energies) measure(ctx context.Context, o options, alpha float64) (d distances, err error) {
	pi := t.target()
	p, err := t.stationary(alpha)
	if err != nil {
		return d, err
	}
	chains, err := sampler.NewChains(ctx, t.model(), mcmc.DULA{StepSize: alpha}, sampler.Config{Chains: o.chains, Seed: o.seed, Warmup: o.warmup})
	if err != nil {
		return d, err
	}
	counts := make([]float64, biasStates)
	for x := range chains.Draws(ctx, o.steps) {
		for ; len(x) > 0; x = x[biasSites:] {
			s := 0
			for i, l := range x[:biasSites] {
				s |= int(l) << i
			}
			counts[s]++
		}
	}
	if err := chains.Err(); err != nil {
		return d, err
	}
	n := float64(o.chains) * float64(o.steps)
	for s := range p {
		d.Exact += math.Abs(p[s] - pi[s])
		d.Sampled += math.Abs(counts[s]/n - pi[s])
		d.Noise += math.Sqrt(max(0, 2*p[s]*(1-p[s])/(math.Pi*n)))
	}
	return d, nil
}

// biases measures the distances at all step sizes and all values of ε.
func biases(ctx context.Context, o options) (*report, error) {
	r := &report{Model: summary{
		Name: "torus of 3×3, bias of DULA", Sites: biasSites, Levels: 2, Beta: o.beta, Chains: o.chains, Steps: o.steps, Seed: o.seed,
	}, Bias: new(bias)}
	quadratic, err := bent(o, 0)
	if err != nil {
		return nil, err
	}
	for _, alpha := range biasAlphas {
		d, err := quadratic.measure(ctx, o, alpha)
		if err != nil {
			return nil, err
		}
		d.At = alpha
		r.Bias.Alpha = append(r.Bias.Alpha, d)
	}
	for _, epsilon := range biasEpsilons {
		t, err := bent(o, epsilon)
		if err != nil {
			return nil, err
		}
		d, err := t.measure(ctx, o, epsilonAlpha)
		if err != nil {
			return nil, err
		}
		d.At = epsilon
		r.Bias.Epsilon = append(r.Bias.Epsilon, d)
	}
	for _, part := range []struct {
		name, title, axis string
		d                 []distances
	}{
		{"bias-alpha", "Distance of DULA from the target, quadratic energy", "step size α", r.Bias.Alpha},
		{"bias-epsilon", fmt.Sprintf("Distance at α = %v, energy off quadratic", epsilonAlpha), "ε, distance of the gradient from linear", r.Bias.Epsilon},
	} {
		if err := r.drawBias(part.name, part.title, part.axis, part.d); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// drawBias adds a plot of distances.
func (r *report) drawBias(name, title, axis string, d []distances) error {
	p := picture.Panel(axis, "Σ |p − π|")
	p.Y.Min = 0
	f := &picture.Figure{
		Name: name, Title: title, Panels: []*plot.Plot{p},
		Caption: "Exact: from the transition matrix. Sampled: from the histogram of all draws, whose noise lifts small distances; the noise is that of as many independent draws.",
	}
	for k, part := range []struct {
		name string
		y    func(distances) float64
	}{
		{"exact", func(d distances) float64 { return d.Exact }},
		{"sampled", func(d distances) float64 { return d.Sampled }},
		{"noise", func(d distances) float64 { return d.Noise }},
	} {
		xy := make(plotter.XYs, len(d))
		for i, d := range d {
			xy[i] = plotter.XY{X: d.At, Y: part.y(d)}
		}
		l, err := picture.Curve(p, k, xy)
		if err != nil {
			return err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: part.name, Mark: l})
	}
	r.Add(f)
	return nil
}

// writeBias prints the distances as a table.
func (r *report) writeBias(b *bytes.Buffer) {
	fmt.Fprintf(b, "%d chains × %d steps of DULA, seed %d; Σ|p − π| over all states\n\n", r.Model.Chains, r.Model.Steps, r.Model.Seed)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, part := range []struct {
		name string
		d    []distances
	}{{"α", r.Bias.Alpha}, {fmt.Sprintf("ε (α = %v)", epsilonAlpha), r.Bias.Epsilon}} {
		fmt.Fprintf(w, "%s\texact\tsampled\tnoise\t\n", part.name)
		for _, d := range part.d {
			fmt.Fprintf(w, "%v\t%.5f\t%.5f\t%.5f\t\n", d.At, d.Exact, d.Sampled, d.Noise)
		}
	}
	w.Flush()
}
