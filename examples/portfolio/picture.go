package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// shown is where parts of budgets are cut off: without budgets they are thousands.
const shown = 3

// draw shows what the assets take of their budgets under every method, and how the
// multipliers got there.
func (r *report) draw() error {
	p := picture.Panel("asset, from the one that takes most", "mean part in the variance (% of the budget)")
	p.Y.Min, p.Y.Max = 0, 100*shown
	f := &picture.Figure{
		Name: "budgets", Title: "Budgets of assets", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "A method keeps the budgets if its curve stays below the line. What is above 300 % is drawn there.",
	}
	for k, m := range r.Methods {
		xy := make(plotter.XYs, len(m.parts))
		for i, c := range m.parts {
			xy[i] = plotter.XY{X: float64(i + 1), Y: 100 * min(c, shown)}
		}
		l, err := picture.Curve(p, k, xy)
		if err != nil {
			return err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: explain[m.Method], Mark: l})
	}
	f.Legend = append(f.Legend, picture.Entry{Name: "budget", Mark: picture.Level(p, 100)})
	r.Add(f)

	q := picture.Panel("step", "assets above their budgets")
	way := &picture.Figure{
		Name: "course", Title: "Budgets exceeded during the diffusion", Panels: []*plot.Plot{q},
		Caption: "By more than one percent, by the predictions of the clean samples at each step.",
	}
	for k, m := range r.Methods {
		if m.course == nil {
			continue
		}
		l, err := picture.Line(q, k, m.course)
		if err != nil {
			return err
		}
		way.Legend = append(way.Legend, picture.Entry{Name: explain[m.Method], Mark: l})
	}
	if way.Legend != nil {
		q.Y.Min = 0
		r.Add(way)
	}
	return nil
}
