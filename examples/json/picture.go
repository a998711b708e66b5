package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// draw adds a picture of how many tokens the samples have.
func (r *report) draw() error {
	p := picture.Panel("tokens of a sample", "samples")
	count := make(plotter.XYs, 0, 2*r.Length+4)
	for n := range r.Length + 1 {
		y := 0.0
		for _, u := range r.used {
			if int(u) == n {
				y++
			}
		}
		count = append(count, plotter.XY{X: float64(n) - 0.5, Y: y}, plotter.XY{X: float64(n) + 0.5, Y: y})
	}
	p.Y.Min = 0
	l, err := picture.Curve(p, 0, count)
	if err != nil {
		return err
	}
	r.Add(&picture.Figure{
		Name: "lengths", Title: "Lengths of the samples", Height: 7 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "Every sample is valid, whatever its length; the language has no depth bound but that of -length.",
		Legend:  []picture.Entry{{Name: "samples", Mark: l}},
	})
	return nil
}
