package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// draw shows how the mean rates of users are distributed under every method.
func (r *report) draw() (*picture.Figure, error) {
	p := picture.Panel("mean rate of a user (bit/s/Hz)", "% of users below")
	p.Y.Min, p.Y.Max = 0, 100
	f := &picture.Figure{
		Name: "rates", Title: "Rates of users, cumulative", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "A method meets the constraint if its curve begins right of the least rate.",
	}
	for k, m := range r.Methods {
		var xy plotter.XYs
		for i, rate := range m.rates {
			n := float64(len(m.rates))
			xy = append(xy, plotter.XY{X: rate, Y: 100 * float64(i) / n}, plotter.XY{X: rate, Y: 100 * float64(i+1) / n})
		}
		l, err := picture.Curve(p, k, xy)
		if err != nil {
			return nil, err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: explain[m.Method], Mark: l})
	}
	least, err := plotter.NewLine(plotter.XYs{{X: r.Least, Y: 0}, {X: r.Least, Y: 100}})
	if err != nil {
		return nil, err
	}
	least.LineStyle = picture.Reference
	p.Add(least)
	f.Legend = append(f.Legend, picture.Entry{Name: "least rate", Mark: least})
	return f, nil
}
