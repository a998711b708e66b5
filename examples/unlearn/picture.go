package main

import (
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// drawCurves shows the curves of both problems.
func drawCurves(r *report) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "unlearn", Title: "What forgetting costs: three Gaussians forget one (above), words forget a dialect (below)", Height: 8 * vg.Centimeter,
		Caption: "Every formulation starts at 1, before unlearning, and pays in Kullback–Leibler divergence for what it forgets.",
	}
	for i, points := range [][]point{r.Curve, r.Words.Curve} {
		p := picture.Panel("", "KL(p‖q) (nats)")
		if i == 1 {
			p.X.Label.Text = "unlearned likelihood E_p[q_u/q]"
		}
		p.X.Min, p.X.Max, p.Y.Min = 0, 1, 0
		for j, form := range formulations {
			var xy plotter.XYs
			for _, q := range points {
				if q.Formulation == form.String() {
					xy = append(xy, plotter.XY{X: q.Unlearned, Y: q.KL})
				}
			}
			if len(xy) == 0 {
				continue
			}
			if _, err := picture.Curve(p, j, xy); err != nil {
				return nil, err
			}
			s, err := plotter.NewScatter(xy)
			if err != nil {
				return nil, err
			}
			s.GlyphStyle = picture.Dot(j, plotutil.Shape(j)).GlyphStyle
			p.Add(s)
			if i == 0 {
				f.Legend = append(f.Legend, picture.Entry{Name: form.String(), Mark: s})
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}
