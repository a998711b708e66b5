package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// drawCourse plots two quantities against the dual step: the multipliers, and the violations of
// the batch means averaged over the steps so far.
func drawCourse(s *study, way course) (*picture.Figure, error) {
	top, bottom := picture.Panel("", "multiplier"), picture.Panel("dual step", "mean above its limit (shifts)")
	f := &picture.Figure{
		Name: "course", Title: "Multipliers and means of " + s.name, Height: 7 * vg.Centimeter, Panels: []*plot.Plot{top, bottom},
		Caption: "Solid: shifts; dashed: nights. A multiplier rises while its mean is above the limit (0 in the lower panel) and ends at 0 where the limit does not bind.",
	}
	low, high := 0.0, 0.0
	for j := range s.limits {
		lambdas, means := make(plotter.XYs, len(way)), make(plotter.XYs, len(way))
		sum := 0.0
		for t, l := range way {
			sum += l.Mean[j]
			lambdas[t] = plotter.XY{X: float64(t + 1), Y: l.Lambda[j]}
			means[t] = plotter.XY{X: float64(t + 1), Y: sum / float64(t+1)}
			if t >= len(way)/20 { // before, single batches set the scale
				low, high = min(low, means[t].Y), max(high, means[t].Y)
			}
		}
		nurse, night := j%len(s.nurses), j >= len(s.nurses)
		for k, xy := range []plotter.XYs{lambdas, means[len(way)/20:]} {
			l, err := picture.Curve(f.Panels[k], nurse, xy)
			if err != nil {
				return nil, err
			}
			if l.LineStyle.Dashes = nil; night {
				l.LineStyle.Dashes = picture.Reference.Dashes
			}
			if k == 0 && !night {
				f.Legend = append(f.Legend, picture.Entry{Name: s.nurses[nurse], Mark: l})
			}
		}
	}
	bottom.Y.Min, bottom.Y.Max = low, high
	picture.Level(bottom, 0)
	return f, nil
}

// drawMeans plots the amounts by which the means exceed their limits, before and after the dual
// steps.
func (r *report) drawMeans(*study, course) (*picture.Figure, error) {
	p := picture.Panel("", "mean above its limit (shifts)")
	before, after := make(plotter.XYs, len(r.Constraints)), make(withErrors, len(r.Constraints))
	names := make([]string, len(r.Constraints))
	for j, c := range r.Constraints {
		before[j] = plotter.XY{X: float64(j), Y: c.Before - c.Limit}
		after[j] = errorBar{plotter.XY{X: float64(j), Y: c.Mean - c.Limit}, 2 * c.MCSE}
		names[j] = c.Name
	}
	old, err := plotter.NewScatter(before)
	if err != nil {
		return nil, err
	}
	now, err := plotter.NewScatter(after)
	if err != nil {
		return nil, err
	}
	bars, err := plotter.NewYErrorBars(after)
	if err != nil {
		return nil, err
	}
	old.GlyphStyle, now.GlyphStyle = picture.Dot(1, draw.CircleGlyph{}).GlyphStyle, picture.Dot(0, draw.BoxGlyph{}).GlyphStyle
	bars.LineStyle = picture.Stroke(0)
	p.Add(old, bars, now)
	limit := picture.Level(p, 0)
	p.NominalX(names...)
	f := &picture.Figure{
		Name: "means", Title: "Means with the multipliers and without", Height: 9 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "Bars: two standard errors.",
		Legend:  []picture.Entry{{Name: "without limits", Mark: old}, {Name: "with limits on average", Mark: now}, {Name: "limit", Mark: limit}},
	}
	f.Tilt()
	return f, nil
}

// withErrors is a set of points with symmetric error bars.
type withErrors []errorBar

type errorBar struct {
	plotter.XY
	half float64
}

func (e withErrors) Len() int                         { return len(e) }
func (e withErrors) XY(i int) (x, y float64)          { return e[i].X, e[i].Y }
func (e withErrors) YError(i int) (low, high float64) { return e[i].half, e[i].half }
