package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// loss is the loss of the batch at a step, in nats per string.
type loss struct {
	step  int
	value float64
}

// draw adds plots of the training, if there was one, and of the runs.
func (r *report) draw() error {
	if len(r.losses) > 1 {
		f, err := r.drawLosses()
		if err != nil {
			return err
		}
		r.Add(f)
	}
	if len(r.Runs) == 0 {
		return nil
	}
	var names []string
	groups := []picture.Group{{Name: corpus.Judged(r.Judge)}, {Name: "novel"}, {Name: "unique"}, {Name: corpus.Judged(r.Judge) + " & novel"}}
	for _, f := range r.Runs {
		names = append(names, f.Name)
		for k, n := range []int{f.Valid, f.Novel, f.Unique, f.ValidNovel} {
			groups[k].Height = append(groups[k].Height, 100*float64(n)/float64(f.N))
		}
	}
	f, err := picture.Shares("runs", "Samples by run", "% of samples", names, groups)
	f.Caption = "Valid & novel counts each different string once."
	r.Add(f)
	return err
}

// smoothed is the share of all losses over which the running mean is taken.
const smoothed = 0.05

// drawLosses plots the loss of the batches and its running mean.
func (r *report) drawLosses() (*picture.Figure, error) {
	p := picture.Panel("step", "loss (nats a string)")
	raw, mean := make(plotter.XYs, len(r.losses)), make(plotter.XYs, len(r.losses))
	sum, from := 0.0, 0
	for i, l := range r.losses {
		sum += l.value
		for ; float64(i-from) > smoothed*float64(len(r.losses)); from++ {
			sum -= r.losses[from].value
		}
		raw[i] = plotter.XY{X: float64(l.step), Y: l.value}
		mean[i] = plotter.XY{X: float64(l.step), Y: sum / float64(i-from+1)}
	}
	batch, err := picture.Curve(p, 0, raw)
	if err != nil {
		return nil, err
	}
	batch.Color, batch.Width = picture.Faint(picture.Color(0)), vg.Points(0.6)
	running, err := picture.Curve(p, 0, mean)
	if err != nil {
		return nil, err
	}
	return &picture.Figure{
		Name: "loss", Title: "Training", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p}, Caption: "The bound on −log p of a string, of single batches and averaged.",
		Legend: []picture.Entry{{Name: "batches", Mark: batch}, {Name: "running mean", Mark: running}},
	}, nil
}
