package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// draw writes the pictures of a report and returns their paths.
func draw(dir string, r *report) ([]string, error) {
	runs, err := drawRuns(dir, r)
	if err != nil {
		return nil, err
	}
	polar, err := drawPolarity(dir, r)
	if err != nil {
		return []string{runs}, err
	}
	return []string{runs, polar}, nil
}

// drawRuns shows the shares of valid, novel and unique samples side by side.
func drawRuns(dir string, r *report) (string, error) {
	p := plot.New()
	p.Title.Text = "Samples by run"
	p.Y.Label.Text = "% of samples"
	p.Y.Min, p.Y.Max = 0, 119 // room for the legend above the bars
	p.Legend.Top, p.Legend.Left = true, true
	const wide = 12
	var names []string
	for _, f := range r.Runs {
		names = append(names, f.Name)
	}
	for i, kind := range []struct {
		name string
		of   func(f figures) int
	}{
		{"valid", func(f figures) int { return f.Valid }},
		{"novel", func(f figures) int { return f.Novel }},
		{"unique", func(f figures) int { return f.Unique }},
	} {
		var v plotter.Values
		for _, f := range r.Runs {
			v = append(v, 100*float64(kind.of(f))/float64(f.N))
		}
		bars, err := plotter.NewBarChart(v, vg.Points(wide))
		if err != nil {
			return "", err
		}
		bars.LineStyle.Width = 0
		bars.Color = plotutil.Color(i)
		bars.Offset = vg.Points(float64(i-1) * wide)
		p.Add(bars)
		p.Legend.Add(kind.name, bars)
	}
	p.NominalX(names...)
	return picture.Save(p, dir, "runs.png", 9*vg.Centimeter)
}

// drawPolarity shows how polarity is distributed in every run.
func drawPolarity(dir string, r *report) (string, error) {
	p := plot.New()
	p.Title.Text = "Polarity of the samples, cumulative"
	p.X.Label.Text, p.Y.Label.Text = "share of N, O and F", "% of samples below"
	p.X.Min, p.X.Max = 0, 1
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	const cells = 100
	for i, f := range r.Runs {
		var below [cells + 2]float64
		for _, s := range f.samples {
			below[1+int(cells*corpus.Polarity(s))] += 100 / float64(f.N)
		}
		line := make(plotter.XYs, len(below))
		sum := 0.0
		for k, b := range below {
			sum += b
			line[k] = plotter.XY{X: float64(k) / cells, Y: sum}
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			return "", err
		}
		l.Color, l.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		p.Add(l)
		p.Legend.Add(f.Name, l)
	}
	return picture.Save(p, dir, "polarity.png", 9*vg.Centimeter)
}
