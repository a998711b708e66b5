package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as text or as JSON. Values that a run does not compute
// are null.
type report struct {
	Problem string   `json:"problem"`
	Samples int      `json:"samples"`
	LogRMSE *float64 `json:"log_rmse"`
	Seconds float64  `json:"seconds"`
	LogLik  *float64 `json:"loglik"` // best available estimate, in nats per sample
	// estimate that uses log Z from annealed importance sampling
	LogLikAIS   *float64 `json:"loglik_ais"`
	LogLikErr   *float64 `json:"ais_stderr"`   // standard error of the estimated log Z
	LogLikExact *float64 `json:"loglik_exact"` // value that uses the enumerated log Z

	Columns     []string           `json:"columns,omitempty"`
	Conditional map[string]float64 `json:"conditional,omitempty"`

	Mixing []mixing `json:"mixing,omitempty"`

	notes []string

	picture.Album `json:"-"`
}

func newReport(o options, problem string) *report { return &report{Problem: problem, Samples: o.n} }

func (r *report) set(to **float64, v float64) { *to = &v }

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %d samples, %.1f s\n", r.Problem, r.Samples, r.Seconds)
	for _, n := range r.notes {
		fmt.Fprintln(&b, n)
	}
	for _, f := range []struct {
		name string
		v    *float64
	}{{"log-RMSE of the couplings", r.LogRMSE}, {"log-likelihood, exact", r.LogLikExact}, {"log-likelihood, AIS", r.LogLikAIS}, {"standard error of AIS", r.LogLikErr}} {
		if f.v != nil {
			fmt.Fprintf(&b, "%-26s %.3f\n", f.name, *f.v)
		}
	}
	for _, name := range r.Columns {
		if p, ok := r.Conditional[name]; ok {
			fmt.Fprintf(&b, "p(%s = 1) %.3f\n", name, p)
		}
	}
	if len(r.Mixing) > 0 {
		fmt.Fprintf(&b, "%-12s %6s %12s %12s\n", "kernel", "steps", "MMD²", "log biased")
	}
	for _, m := range r.Mixing {
		fmt.Fprintf(&b, "%-12s %6d %12.6f %12.3f\n", m.Method, m.Steps, m.MMD, m.LogBias)
	}
	return b.String()
}

// couplings writes the couplings between n sites, multiplied by scale, as a table and as a plot.
func (r *report) couplings(o options, theta []float64, n int, names []string, scale float64) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	grid := make([]float64, n*n)
	k := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			grid[i*n+j], grid[j*n+i] = scale*theta[k], scale*theta[k]
			k++
		}
	}
	path := filepath.Join(o.Dir, "couplings.csv")
	if names == nil {
		for i := range n {
			names = append(names, strconv.Itoa(i))
		}
	}
	table := [][]string{append([]string{""}, names...)}
	for i := range n {
		row := []string{names[i]}
		for _, v := range grid[i*n : (i+1)*n] {
			row = append(row, strconv.FormatFloat(v, 'g', 6, 64))
		}
		table = append(table, row)
	}
	if err := checkpoint.Write(path, func(to io.Writer) error { return csv.NewWriter(to).WriteAll(table) }); err != nil {
		return err
	}
	p := picture.Panel("site", "site")
	heat := plotter.NewHeatMap(matrix{grid, n}, signs{})
	heat.Rasterized = true // one picture of n×n pixels, not as many shapes
	most := 1e-9
	for _, v := range grid {
		most = max(most, math.Abs(v))
	}
	heat.Min, heat.Max = -most, most
	p.Add(heat)
	if len(names) <= 40 {
		p.NominalX(names...)
		p.NominalY(names...)
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = -1, -0.5
	}
	r.Add(&picture.Figure{
		Name: "couplings", Title: "Couplings", Panels: []*plot.Plot{p}, Height: picture.Width,
		Caption: fmt.Sprintf("Colours range from −%.3g (blue) to %.3g (red); the numbers are in couplings.csv.", most, most),
	})
	return nil
}

// matrix is an n×n grid of values for a heat map.
type matrix struct {
	v []float64
	n int
}

func (m matrix) Dims() (c, r int)   { return m.n, m.n }
func (m matrix) Z(c, r int) float64 { return m.v[r*m.n+c] }
func (m matrix) X(c int) float64    { return float64(c) }
func (m matrix) Y(r int) float64    { return float64(r) }

// signs is a colour palette from blue through white to red.
type signs struct{}

var _ palette.Palette = signs{}

func (signs) Colors() []color.Color {
	var all []color.Color
	for k := -50; k <= 50; k++ {
		fade := uint8(255 - 255*max(k, -k)/50)
		c := color.RGBA{255, fade, fade, 255}
		if k < 0 {
			c = color.RGBA{fade, fade, 255, 255}
		}
		all = append(all, c)
	}
	return all
}
