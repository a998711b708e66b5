package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"gonum.org/v1/gonum/floats"
)

// correction is a logistic regression that separates real windows from windows of a kernel density
// by their [windowModel.signs]. The exponential of its margin estimates the ratio of the density of
// real windows to the kernel density, so that candidates chosen with this weight follow the density
// of real windows in the signs (Azadi et al. 2019, Discriminator Rejection Sampling, with choice in place
// of rejection).
type correction struct {
	Length   int       `json:"length"`
	Channels []string  `json:"channels"`
	Windows  int       `json:"windows"` // real windows of the training
	Digest   string    `json:"digest"`  // of these windows
	Mean     []float64 `json:"mean"`
	Scale    []float64 `json:"scale"`
	Weights  []float64 `json:"weights"`
}

// candidates is the number of windows of the kernel density from which one is chosen. On generated
// markets, 32 left lower scores than 16. mostShown, the maximum number of real windows for training
// a correction, limits its time.
const (
	candidates = 32
	mostShown  = 2000
)

// correctionReport is the part of the report that describes a correction.
type correctionReport struct {
	Traits  int `json:"traits"`
	Windows int `json:"windows"`
	// mean effective number of candidates, (Σ w)²/Σ w², divided by their number
	Effective float64 `json:"effective"`
	Seconds   float64 `json:"seconds"` // of training or reading it
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
		y := make([]float64, m.length)
		for t := range y {
			y[t] = f(x[t*n+slices.Index(m.pick, c)])
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

// correct trains the correction of -train and saves it, or reads that of -load.
func (m *windowModel) correct(ctx context.Context, o options) error {
	if o.load != "" {
		return m.readCorrection(o.load)
	}
	if err := m.train(ctx, o.seed); err != nil || o.save == "" {
		return err
	}
	return checkpoint.Write(o.save, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		return e.Encode(m.correction)
	})
}

// train fits the correction to the windows of the model and as many candidates.
func (m *windowModel) train(ctx context.Context, seed uint64) error {
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
	if err != nil {
		return err
	}
	m.correction = &correction{Length: m.length, Channels: m.names(), Windows: count, Digest: m.digest(), Mean: l.mean, Scale: l.scale, Weights: l.weights}
	return nil
}

// draw draws a window, length × chosen channels, with values as they are written to a file.
func (m *windowModel) draw(r *rand.Rand) []float64 {
	if m.correction == nil {
		return m.candidate(r)
	}
	l := logistic{m.correction.Mean, m.correction.Scale, m.correction.Weights}
	var x [candidates][]float64
	var w [candidates]float64
	top, sum, square := math.Inf(-1), 0.0, 0.0
	for i := range x {
		x[i] = m.candidate(r)
		w[i] = l.margin(m.signs(x[i]))
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

// names returns the names of the chosen channels.
func (m *windowModel) names() (names []string) {
	for _, c := range m.pick {
		names = append(names, m.f.Channels[c].Name)
	}
	return names
}

// digest returns a hash of the windows of the model.
func (m *windowModel) digest() string {
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	for _, s := range m.starts {
		_ = binary.Write(h, binary.LittleEndian, m.values(s)) // a hash never fails
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// readCorrection reads a correction. It adds a note if it was trained on other windows.
func (m *windowModel) readCorrection(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var c correction
	if err := json.Unmarshal(b, &c); err != nil {
		return fmt.Errorf("-load: %s is not a correction that -generate -train -save writes: %w", path, err)
	}
	want := len(m.signs(m.values(m.starts[0])))
	if c.Length != m.length || !slices.Equal(c.Channels, m.names()) {
		return fmt.Errorf("-load: %s is a correction for windows of %d rows of %q, the data have %d of %q; -train one", path, c.Length, c.Channels, m.length, m.names())
	}
	if len(c.Mean) != want || len(c.Scale) != want || len(c.Weights) != want+1 {
		return fmt.Errorf("-load: %s has %d means, %d scales and %d weights, want %d, %d and %d; -train one for these data", path, len(c.Mean), len(c.Scale), len(c.Weights), want, want, want+1)
	}
	if c.Digest != m.digest() {
		m.note = path + ": the correction was trained on other windows than these; the discriminative score is that of corrections trained on these"
	}
	m.correction = &c
	return nil
}
