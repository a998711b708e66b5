package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// drawCourse writes the multipliers, and the violations of batch means averaged
// over the steps so far, by dual step.
func drawCourse(dir string, s *study, way course) (string, error) {
	top, bottom := plot.New(), plot.New()
	top.Title.Text = s.name
	top.Y.Label.Text, bottom.Y.Label.Text = "multiplier", "mean above its limit"
	bottom.X.Label.Text = "dual step"
	top.Add(plotter.NewGrid())
	bottom.Add(plotter.NewGrid())
	for j := range s.limits {
		lambdas, means := make(plotter.XYs, len(way)), make(plotter.XYs, len(way))
		sum := 0.0
		for t, l := range way {
			sum += l.mean[j]
			lambdas[t] = plotter.XY{X: float64(t + 1), Y: l.lambda[j]}
			means[t] = plotter.XY{X: float64(t + 1), Y: sum / float64(t+1)}
		}
		for k, xy := range []plotter.XYs{lambdas, means} {
			l, err := plotter.NewLine(xy)
			if err != nil {
				return "", err
			}
			l.Color, l.Dashes = plotutil.Color(j%len(s.nurses)), plotutil.Dashes(j/len(s.nurses)) // nights are dashed
			[]*plot.Plot{top, bottom}[k].Add(l)
		}
	}
	return picture.Stack([]*plot.Plot{top, bottom}, dir, "fairness.png", 8*vg.Centimeter)
}
