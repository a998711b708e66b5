package main

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// draw adds the plots.
func (r *report) draw() error {
	runs, err := r.drawRuns()
	if err != nil {
		return err
	}
	polar, err := r.drawPolarity()
	if err != nil {
		return err
	}
	r.Add(runs, polar)
	return nil
}

// drawRuns plots the shares of valid, novel and unique samples of each run.
func (r *report) drawRuns() (*picture.Figure, error) {
	var names []string
	groups := []picture.Group{{Name: corpus.Judged(r.Judge)}, {Name: "novel"}, {Name: "unique"}}
	for _, f := range r.Runs {
		names = append(names, f.Name)
		for k, n := range []int{f.Valid, f.Novel, f.Unique} {
			groups[k].Height = append(groups[k].Height, 100*float64(n)/float64(f.N))
		}
	}
	f, err := picture.Shares("runs", "Samples by run", "% of samples", names, groups)
	f.Caption = "Valid (or balanced, where the data are not molecules) is judged by independent code. Novel: not in the data or, for small molecules, not in the training set. Unique: different from each other."
	return f, err
}

// drawPolarity plots the distribution of the polarity in every run.
func (r *report) drawPolarity() (*picture.Figure, error) {
	p := picture.Panel("polarity (share of N, O and F)", "% of samples, at most this")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 100
	fig := &picture.Figure{
		Name: "polarity", Title: "Polarity of the samples, cumulative", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "The score run asks for a minimum polarity, where its curve begins.",
	}
	const cells = 100
	for i, f := range r.Runs {
		var at [cells + 1]float64 // samples whose polarity is at most this cell's and above the one before
		for _, s := range f.samples {
			at[int(math.Ceil(cells*corpus.Polarity(s)))] += 100 / float64(f.N)
		}
		line := make(plotter.XYs, len(at))
		sum := 0.0
		for k, share := range at {
			sum += share
			line[k] = plotter.XY{X: float64(k) / cells, Y: sum}
		}
		l, err := picture.Curve(p, i, line)
		if err != nil {
			return nil, err
		}
		fig.Legend = append(fig.Legend, picture.Entry{Name: f.Name, Mark: l})
	}
	return fig, nil
}
