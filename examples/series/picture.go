package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

const (
	shownWindows = 3 // windows in the figure that compares methods
	panelHeight  = 4.5 * vg.Centimeter
)

// draw adds plots of real and generated windows.
func (r *report) draw(p *problem, runs []*outcome) error {
	// All channels of one window, by the first method.
	start := p.starts[0]
	channels := &picture.Figure{
		Name: "channels", Height: panelHeight,
		Title:   fmt.Sprintf("A window held out (lines %d to %d), and %s under its limits", p.lines[start], p.lines[start+p.length-1], runs[0].method),
		Caption: "One sample of the window.",
	}
	if runs[0].samples > 1 {
		channels.Caption = "Shaded: between the smallest and the largest of all samples of the window."
	}
	for c, name := range p.names {
		panel, err := p.panel(channels, runs[:1], 0, c)
		if err != nil {
			return err
		}
		panel.Y.Label.Text = name
	}
	channels.Panels[len(channels.Panels)-1].X.Label.Text = "row of the window"
	// One channel of several windows, by all methods.
	c := max(0, p.channel("close"))
	methods := &picture.Figure{
		Name: "methods", Height: 1.5 * panelHeight,
		Title:   fmt.Sprintf("%s in windows held out, and every method under their limits", p.names[c]),
		Caption: "The first sample of every method.",
	}
	for i := range min(shownWindows, len(p.starts)) {
		panel, err := p.panel(methods, runs, i, c)
		if err != nil {
			return err
		}
		start := p.starts[i]
		panel.Y.Label.Text = fmt.Sprintf("lines %d–%d", p.lines[start], p.lines[start+p.length-1])
	}
	methods.Panels[len(methods.Panels)-1].X.Label.Text = "row of the window"
	r.Add(channels, methods)
	return nil
}

// panel returns a plot of channel c of held-out window i and of the first sample of every run,
// in raw units. If there is only one run, it adds a band over its samples.
func (p *problem) panel(f *picture.Figure, runs []*outcome, i, c int) (*plot.Plot, error) {
	panel := picture.Panel("", "")
	first := len(f.Panels) == 0
	if len(runs) == 1 && runs[0].samples > 1 {
		if err := p.band(panel, runs[0], i, c); err != nil {
			return nil, err
		}
	}
	for k := range runs {
		l, err := picture.Line(panel, k, p.raw(runs[k].window(p, i, 0), c))
		if err != nil {
			return nil, err
		}
		if first {
			f.Legend = append(f.Legend, picture.Entry{Name: runs[k].method.String(), Mark: l})
		}
	}
	l, err := picture.Line(panel, 0, p.raw(p.window(p.held, i), c))
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = color.Black, vg.Points(2)
	if first {
		f.Legend = append(f.Legend, picture.Entry{Name: "held out", Mark: l})
	}
	f.Panels = append(f.Panels, panel)
	return panel, nil
}

// band shades the range of all samples of a window.
func (p *problem) band(panel *plot.Plot, o *outcome, i, c int) error {
	low, high := make(plotter.XYs, p.length), make(plotter.XYs, p.length)
	for k := range o.samples {
		for t, v := range p.raw(o.window(p, i, k), c) {
			if k == 0 {
				low[t], high[t] = plotter.XY{X: float64(t), Y: v}, plotter.XY{X: float64(t), Y: v}
			}
			low[t].Y, high[t].Y = min(low[t].Y, v), max(high[t].Y, v)
		}
	}
	return picture.Band(panel, 0, low, high)
}
