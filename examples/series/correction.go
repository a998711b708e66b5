package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// candidates is the number of windows of the kernel density from which one is chosen. On generated
// markets, 32 left lower scores than 16. mostShown, the maximum number of real windows for training
// a correction, limits its time. So does mostTraits: 15 models of wider windows, as the score needs, would
// take minutes.
const (
	candidates = 32
	mostShown  = 2000
	mostTraits = 200
)

// correctionReport is the part of the report that describes a correction.
type correctionReport struct {
	Traits  int `json:"traits"`
	Windows int `json:"windows"`
	// mean effective number of candidates, (Σ w)²/Σ w², divided by their number
	Effective float64 `json:"effective"`
	Seconds   float64 `json:"seconds"` // of its training
}

func (c *correctionReport) String() string {
	return fmt.Sprintf("corrected by a classifier of %d traits of %d windows (%.1f s): every window is one of %d candidates, chosen by weight (effective share of candidates %.2f)",
		c.Traits, c.Windows, c.Seconds, candidates, c.Effective)
}

// signs returns the inputs of a correction for a window. They are the [traits] of logarithms of
// prices and of other channels in the coordinates of their kind, relative to the first close or the first
// value of the channel. Channels with logarithms count a second time, as multiples of their geometric mean,
// which show peaks. For bars, the shares of [windowModel.edges] are added.
func (m *windowModel) signs(x []float64) []float64 {
	n := len(m.pick)
	var columns [][]float64
	add := func(c int, f func(v float64) float64) {
		at, y := slices.Index(m.pick, c), make([]float64, m.length)
		for t := range y {
			y[t] = f(x[t*n+at])
		}
		columns = append(columns, y)
	}
	first := func(c int) float64 { return x[slices.Index(m.pick, c)] }
	if m.barred {
		last := first(m.bars[3])
		for _, c := range m.bars {
			add(c, func(v float64) float64 { return math.Log(v / last) })
		}
	}
	for _, p := range m.paths {
		if p.of != noBar {
			continue
		}
		start := p.level(first(p.channel))
		add(p.channel, func(v float64) float64 { return p.level(v) - start })
		if p.log {
			mean := start + floats.Sum(columns[len(columns)-1])/float64(m.length)
			add(p.channel, func(v float64) float64 { return math.Exp(p.level(v) - mean) })
		}
	}
	flat := make([]float32, 0, m.length*len(columns))
	for t := range m.length {
		for _, y := range columns {
			flat = append(flat, float32(y[t]))
		}
	}
	out := traits(flat, m.length, len(columns))
	if m.barred {
		edge, flat := m.edges([][]float64{x})
		out = append(out, edge, flat)
	}
	return out
}

// correct fits the correction to the windows of the model and as many candidates. It is a logistic
// regression that separates real windows from candidates by their signs. The exponential of its margin
// estimates the ratio of the density of real windows to the kernel density, so that candidates chosen
// with this weight follow the density of real windows in the signs (Azadi et al. 2019, Discriminator
// Rejection Sampling, with choice in place of rejection). Windows of more than mostTraits signs are not corrected.
func (m *windowModel) correct(ctx context.Context, seed uint64) error {
	if len(m.signs(m.values(m.starts[0]))) > mostTraits {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 23))
	var in [][]float64
	count := min(len(m.starts), mostShown)
	for i := range count {
		if err := ctx.Err(); err != nil {
			return err
		}
		in = append(in, m.signs(m.values(m.starts[i*len(m.starts)/count])), m.signs(m.candidate(random)))
	}
	l, err := fitLogistic(in, 2)
	m.correction, m.learnt = l, count
	return err
}

// draw draws a window, length × chosen channels, with values as they are written to a file.
func (m *windowModel) draw(r *rand.Rand) []float64 {
	if m.correction == nil {
		return m.candidate(r)
	}
	var x [candidates][]float64
	var w [candidates]float64
	top, sum, square := math.Inf(-1), 0.0, 0.0
	for i := range x {
		x[i] = m.candidate(r)
		w[i] = m.correction.margin(m.signs(x[i]))
		top = max(top, w[i])
	}
	for i, v := range w {
		w[i] = math.Exp(v - top)
		sum, square = sum+w[i], square+w[i]*w[i]
	}
	m.effective += sum * sum / square / candidates
	u := r.Float64() * sum
	for i, v := range w {
		if u -= v; u < 0 {
			return x[i]
		}
	}
	return x[slices.Index(w[:], 1)] // rounding
}
