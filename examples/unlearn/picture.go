package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// drawCurves writes one picture of the curves of both problems.
func drawCurves(dir string, r *report) (string, error) {
	var panels []*plot.Plot
	for i, c := range []struct {
		title  string
		points []point
	}{
		{"Forgetting one of three Gaussians", r.Curve},
		{"Forgetting a dialect", r.Words.Curve},
	} {
		p := plot.New()
		p.Title.Text = c.title
		p.X.Label.Text, p.Y.Label.Text = "unlearned likelihood E_p[q_u/q]", "KL(p‖q), nats"
		p.X.Min, p.X.Max, p.Y.Min = 0, 1, 0
		p.Legend.Top = true
		p.Add(plotter.NewGrid())
		for j, f := range formulations {
			var xy plotter.XYs
			for _, q := range c.points {
				if q.Formulation == f.String() {
					xy = append(xy, plotter.XY{X: q.Unlearned, Y: q.KL})
				}
			}
			if len(xy) == 0 {
				continue
			}
			l, s, err := plotter.NewLinePoints(xy)
			if err != nil {
				return "", err
			}
			l.Color, s.Color = plotutil.Color(j), plotutil.Color(j)
			s.Shape = plotutil.Shape(j)
			p.Add(l, s)
			if i == 0 {
				p.Legend.Add(f.String(), l, s)
			}
		}
		panels = append(panels, p)
	}
	return picture.Stack(panels, dir, "unlearn.png", 8*vg.Centimeter)
}
