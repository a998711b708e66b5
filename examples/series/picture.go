package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

const (
	shownWindows = 3 // in the picture that compares methods
	panelHeight  = 5 * vg.Centimeter
	legendRoom   = 1.35 // width of a panel, in windows
)

// drawAll writes real windows against generated ones and returns the paths.
func drawAll(dir string, p *problem, runs []*outcome) ([]string, error) {
	// All channels of one window, by the first method.
	var panels []*plot.Plot
	for c, name := range p.names {
		panel, err := p.panel(runs[:1], 0, c)
		if err != nil {
			return nil, err
		}
		panel.Title.Text = ""
		panel.Y.Label.Text = name
		panels = append(panels, panel)
	}
	panels[0].Title.Text = fmt.Sprintf("A window held out, and %s under its limits", runs[0].method)
	channels, err := picture.Stack(panels, dir, "channels.png", panelHeight)
	if err != nil {
		return nil, err
	}
	// One channel of several windows, by all methods.
	c := max(0, p.channel("close"))
	panels = nil
	for i := range min(shownWindows, len(p.starts)) {
		panel, err := p.panel(runs, i, c)
		if err != nil {
			return nil, err
		}
		panels = append(panels, panel)
	}
	methods, err := picture.Stack(panels, dir, "methods.png", 2*panelHeight)
	return []string{channels, methods}, err
}

// panel draws channel c of held-out window i and of the first sample of every
// run, in raw units.
func (p *problem) panel(runs []*outcome, i, c int) (*plot.Plot, error) {
	panel := plot.New()
	start := p.starts[i]
	panel.Title.Text = fmt.Sprintf("%s, lines %d to %d", p.names[c], p.lines[start], p.lines[start+p.length-1])
	panel.Legend.Top = true
	for k := range runs {
		l, err := line(p.raw(runs[k].window(p, i, 0), c))
		if err != nil {
			return nil, err
		}
		l.Color, l.Dashes = plotutil.Color(k), plotutil.Dashes(k)
		panel.Add(l)
		panel.Legend.Add(runs[k].method.String(), l)
	}
	l, err := line(p.raw(p.window(p.held, i), c))
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = color.Black, vg.Points(2)
	panel.Add(l)
	panel.X.Max = legendRoom * float64(p.length)
	panel.Legend.Add("real", l)
	return panel, nil
}

func line(y []float64) (*plotter.Line, error) {
	xy := make(plotter.XYs, len(y))
	for t, v := range y {
		xy[t] = plotter.XY{X: float64(t), Y: v}
	}
	return plotter.NewLine(xy)
}
