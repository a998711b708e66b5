package main

import (
	"fmt"
	"image/color"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

const (
	shownDraws = 300 // of the first chain, in the trace
	shownLags  = 60  // in the autocorrelation
)

// drawAll writes the pictures of a sampling run and returns their paths.
func drawAll(dir string, p *problem, runs []outcome, exact *exact) ([]string, error) {
	var paths []string
	for _, f := range []func(string, []outcome, *exactLine) (string, error){drawTraces, drawAutocorrelation} {
		path, err := f(dir, runs, line(exact))
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	if len(p.lattice) == 2 {
		n := p.lattice.Sites()
		path, err := snapshot(dir, p, runs[0].last[:n], runs[0].name)
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// exactLine is the exact mean, to be drawn across a trace.
type exactLine float64

func line(e *exact) *exactLine {
	if e == nil {
		return nil
	}
	l := exactLine(e.Mean)
	return &l
}

// drawTraces stacks one panel per kernel on a common scale.
func drawTraces(dir string, runs []outcome, exact *exactLine) (string, error) {
	var panels []*plot.Plot
	for i, r := range runs {
		draws, err := r.trace.Draws("mean spin")
		if err != nil {
			return "", err
		}
		p := plot.New()
		p.Y.Label.Text = r.name
		p.Y.Min, p.Y.Max = -1, 1
		if i == 0 {
			p.Title.Text = "Mean spin of the first chain"
			if exact != nil {
				p.Title.Text += "; dashed: exact mean"
			}
		}
		if i == len(runs)-1 {
			p.X.Label.Text = "draw"
		}
		if err := addLine(p, i, "", draws[0][:min(shownDraws, len(draws[0]))]); err != nil {
			return "", err
		}
		if exact != nil {
			f := plotter.NewFunction(func(float64) float64 { return float64(*exact) })
			f.Dashes = plotutil.Dashes(1)
			p.Add(f)
		}
		panels = append(panels, p)
	}
	return picture.Stack(panels, dir, "trace.png", 4*vg.Centimeter)
}

func drawAutocorrelation(dir string, runs []outcome, _ *exactLine) (string, error) {
	p := plot.New()
	p.Title.Text = "Autocorrelation of the mean spin, averaged over chains"
	p.X.Label.Text, p.Y.Label.Text = "lag (steps)", "autocorrelation"
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	for i, r := range runs {
		rho, err := meanAutocorrelation(r.trace)
		if err != nil {
			continue // a constant or very short trace has none
		}
		if err := addLine(p, i, r.name, rho); err != nil {
			return "", err
		}
	}
	return picture.Save(p, dir, "autocorrelation.png", 10*vg.Centimeter)
}

func meanAutocorrelation(t *diagnose.Trace) ([]float64, error) {
	draws, err := t.Draws("mean spin")
	if err != nil {
		return nil, err
	}
	var mean []float64
	for _, chain := range draws {
		rho, err := diagnose.Autocorrelation(chain)
		if err != nil {
			return nil, err
		}
		rho = rho[:min(shownLags, len(rho))]
		if mean == nil {
			mean = make([]float64, len(rho))
		}
		for lag, v := range rho {
			mean[lag] += v / float64(len(draws))
		}
	}
	return mean, nil
}

func addLine(p *plot.Plot, i int, name string, y []float64) error {
	xy := make(plotter.XYs, len(y))
	for k, v := range y {
		xy[k] = plotter.XY{X: float64(k), Y: v}
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.Color = plotutil.Color(i)
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// spins is a state on a lattice of two dimensions as a grid for a heat map; row
// 0 is at the top.
type spins struct {
	rows, cols int
	x          []int32
}

func (s spins) Dims() (c, r int)   { return s.cols, s.rows }
func (s spins) Z(c, r int) float64 { return float64(2*s.x[(s.rows-1-r)*s.cols+c] - 1) }
func (s spins) X(c int) float64    { return float64(c) }
func (s spins) Y(r int) float64    { return float64(r) }

type twoColours struct{}

func (twoColours) Colors() []color.Color {
	return []color.Color{color.Gray{Y: 40}, color.RGBA{R: 240, G: 190, B: 60, A: 255}}
}

func snapshot(dir string, p *problem, x []int32, name string) (string, error) {
	pl := plot.New()
	pl.Title.Text = fmt.Sprintf("A state of the first chain (%s)", name)
	pl.HideAxes()
	h := plotter.NewHeatMap(spins{rows: p.lattice[0], cols: p.lattice[1], x: x}, twoColours{})
	h.Min, h.Max = -1, 1
	pl.Add(h)
	const title = 0.8 * vg.Centimeter
	height := vg.Length(p.lattice[0])/vg.Length(p.lattice[1])*picture.Width + title
	return picture.Save(pl, dir, "lattice.png", height)
}
