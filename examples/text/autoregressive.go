package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// next is the objective of an autoregressive network, −Σ_i log p(x_i | x_0 … x_{i−1}). The network
// gets the tokens one position to the right, behind a mask, and its positions attend only to
// themselves and the positions before them.
type next struct{ Mask int32 }

// Check returns an error unless the network is causal.
func (o next) Check(c neural.Config) error {
	if c.Block != 1 {
		return fmt.Errorf("an autoregressive network needs Block = 1, not %d", c.Block)
	}
	return nil
}

// Corrupt shifts the tokens; nothing is random.
func (o next) Corrupt(x []int32, weight []float64, clean []int32, _ float64, _ *rand.Rand) float64 {
	x[0] = o.Mask
	copy(x[1:], clean)
	for i := range weight {
		weight[i] = 1
	}
	return 0
}

// left is the run that draws lines from the autoregressive network.
const left = "next"

// next adds the lines of the autoregressive network to the report, with its own loss.
func (r *report) next(ctx context.Context, l *lines, o options) error {
	net, err := r.autoregressive(ctx, l, o)
	if err != nil {
		return err
	}
	nats, stderr, err := l.loss(ctx, net, next{l.mask()}, 1, o.seed)
	if err != nil {
		return err
	}
	start := time.Now()
	x, err := write(ctx, net, l, o.n, o.seed, o.temperature, nil)
	if err != nil {
		return err
	}
	f := figures{Name: left, Exact: exact(left, o.temperature), N: o.n, Seconds: time.Since(start).Seconds(), NLL: nats, Error: stderr,
		Constraint: fmt.Sprintf("nothing; autoregressive, −log p of held-out lines %.3f ± %.3f nats a byte", nats, stderr)}
	for row := range slices.Chunk(x, l.length) {
		f.Samples = append(f.Samples, l.text(row))
	}
	f.judge(l)
	r.Runs = append(r.Runs, f)
	return nil
}

// steer changes the log-probabilities of the token that follows the tokens of a line.
type steer func(logp []float64, before []int32)

// write draws n lines from an autoregressive network, each with its own random stream. A line
// ends with its first padding. steered may be nil.
func write(ctx context.Context, net *neural.Transformer, l *lines, n int, seed uint64, temperature float64, steered steer) ([]int32, error) {
	const batch = 50
	x := make([]int32, n*l.length)
	pass, logits := net.NewPass(batch), make([]float32, batch*l.levels())
	in := neural.Input{Tokens: make([]int32, batch*l.length), Level: make([]float64, batch)}
	logp, rows := make([]float64, l.levels()), make([]int32, batch)
	r := make([]*rand.Rand, n)
	for k := range r {
		r[k] = rand.New(rand.NewPCG(seed, 1000+uint64(k)))
	}
	for from := 0; from < n; from += batch {
		many := min(batch, n-from)
		own := x[from*l.length : (from+many)*l.length]
		part := neural.Input{Tokens: in.Tokens[:many*l.length], Level: in.Level[:many]}
		for i := range l.length {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			for k := range many {
				line := own[k*l.length : (k+1)*l.length]
				next{l.mask()}.Corrupt(part.Tokens[k*l.length:(k+1)*l.length], nil, line, 0, nil)
				rows[k] = int32(k*l.length + i)
			}
			pass.Forward(part)
			pass.Output(logits[:many*l.levels()], rows[:many])
			for k := range many {
				line := own[k*l.length : (k+1)*l.length]
				if i > 0 && line[i-1] == l.pad() {
					line[i] = l.pad()
					continue
				}
				for t := range logp {
					logp[t] = float64(logits[k*l.levels()+t]) / temperature
				}
				logp[l.mask()] = math.Inf(-1)
				normalise(logp)
				if steered != nil {
					steered(logp, line[:i])
					normalise(logp)
				}
				line[i] = draw(logp, r[from+k].Float64())
			}
		}
	}
	return x, nil
}

// normalise divides weights by their sum. Both are given by their logarithms.
func normalise(logp []float64) { floats.AddConst(-floats.LogSumExp(logp), logp) }

// draw returns the token at the quantile u.
func draw(logp []float64, u float64) int32 {
	last := int32(0)
	for t, a := range logp {
		if p := math.Exp(a); p > 0 {
			last = int32(t)
			if u < p {
				break
			}
			u -= p
		}
	}
	return last
}

// fudge is the guidance of an autoregressive network by a classifier of beginnings (FUDGE; Yang
// and Klein 2021), p(t | before) · p(early | before, t)^scale.
func fudge(m *linear, scale float64) steer {
	return func(logp []float64, before []int32) {
		s := m.score(before)
		for t := range logp {
			logp[t] += float64(scale * logLogistic(-(s + m.weight[t])))
		}
	}
}

// Settings of pplm: number of steps, size of a step in nats, weight of the divergence and of the
// geometric mean with the distribution of the network. The last two are those of the paper.
const (
	pushes = 10
	push   = 0.5
	near   = 0.01
	fused  = 0.9
)

// pplm is like the guidance by derivatives of Dathathri et al. 2020 (PPLM), at the log-weights of
// the next token instead of the activations of the network: normalised gradient steps on
// log p(early | before and the mean of the next token) − near·KL from the network's distribution,
// and the geometric mean of the result with it.
func pplm(m *linear) steer {
	var p, q, g []float64
	return func(logp []float64, before []int32) {
		p, q, g = append(p[:0], logp...), append(q[:0], logp...), append(g[:0], logp...)
		s := m.score(before)
		for range pushes {
			mean, divergence := 0.0, 0.0
			for t, a := range q {
				if e := math.Exp(a); e > 0 {
					mean += float64(e * m.weight[t])
					divergence += float64(e * (a - p[t]))
				}
			}
			slope, size := -logistic(s+mean), 0.0
			for t, a := range q {
				g[t] = 0
				if e := math.Exp(a); e > 0 {
					g[t] = float64(e * (float64(slope*(m.weight[t]-mean)) - float64(near*(a-p[t]-divergence))))
				}
				size += float64(g[t] * g[t])
			}
			if size == 0 {
				break
			}
			for t := range q {
				q[t] += float64(push*g[t]) / math.Sqrt(size)
			}
			normalise(q)
		}
		for t := range logp {
			if !math.IsInf(p[t], -1) {
				logp[t] = float64(fused*q[t]) + float64((1-fused)*p[t])
			}
		}
	}
}
