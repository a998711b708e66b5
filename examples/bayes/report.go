package main

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as text or as JSON.
type report struct {
	Problem  string `json:"problem"`
	Rows     int    `json:"rows"`
	TestRows int    `json:"test_rows"`
	Inputs   int    `json:"inputs"`
	Hidden   int    `json:"hidden"`
	Weights  int    `json:"weights"`
	Chains   int    `json:"chains"`
	Steps    int    `json:"steps"`
	Batch    int    `json:"batch"`
	// training log-likelihood when every row is predicted by the share of ones
	Baseline float64   `json:"baseline"`
	Runs     []outcome `json:"runs"`

	paper bool // whether to show the paper's figures, too

	picture.Album `json:"-"`
}

// outcome holds the results of one sampler. A log-likelihood is minus the mean squared error, as
// in the paper. In training it is computed for each chain; in the test, for the mean prediction
// of the chains.
type outcome struct {
	Method      string  `json:"method"`
	TrainLogLik float64 `json:"train_loglik"`
	TestLogLik  float64 `json:"test_loglik"`
	TestRMSE    float64 `json:"test_rmse"`
	Accuracy    float64 `json:"accuracy"`
	MsPerStep   float64 `json:"ms_per_step"`
	Acceptance  float64 `json:"acceptance"`

	trace []mark
}

// mark is the training log-likelihood after the given number of steps.
type mark struct {
	step  int
	value float64
}

// published holds the paper's results on COMPAS by sampler: training log-likelihood and test
// RMSE (section 6.4).
var published = map[string][2]float64{
	"gibbs": {-0.4063, 0.4718}, "gwg": {-0.3729, 0.4757}, "dula": {-0.3590, 0.4879}, "dmala": {-0.3394, 0.4879},
}

// Warnings returns a warning if the data are generated, because results are then not comparable
// with the paper's. It implements command.Cautious.
func (r *report) Warnings() []string {
	if !r.paper {
		return nil
	}
	return []string{"The data are generated: they have the shape of COMPAS, not its values. Compare the order of the samplers with the paper's, not the figures."}
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d rows for training, %d for testing, %d inputs, %d hidden units: %d weights\n", r.Problem, r.Rows, r.TestRows, r.Inputs, r.Hidden, r.Weights)
	fmt.Fprintf(&b, "%d chains, %d steps from random weights", r.Chains, r.Steps)
	if r.Batch > 0 {
		fmt.Fprintf(&b, ", DULA from batches of %d", r.Batch)
	}
	fmt.Fprintf(&b, "; predicting the share of ones: %.4f\n\n", r.Baseline)
	fmt.Fprintf(&b, "%-8s%12s%12s%10s%10s%10s%8s", "", "train loglik", "test loglik", "test RMSE", "accuracy", "ms/step", "accept")
	if r.paper {
		fmt.Fprintf(&b, "%14s%10s", "paper: train", "test RMSE")
	}
	fmt.Fprintln(&b)
	for _, v := range r.Runs {
		fmt.Fprintf(&b, "%-8s%12.4f%12.4f%10.4f%10.3f%10.1f%8.3f", v.Method, v.TrainLogLik, v.TestLogLik, v.TestRMSE, v.Accuracy, v.MsPerStep, v.Acceptance)
		if p := published[v.Method]; r.paper {
			fmt.Fprintf(&b, "%14.4f%10.4f", p[0], p[1])
		}
		fmt.Fprintln(&b)
	}
	for _, w := range r.Warnings() {
		fmt.Fprintf(&b, "\n%s\n", w)
	}
	return b.String()
}

// draw adds a plot of the training log-likelihood by step.
func (r *report) draw() error {
	p := picture.Panel("step", "training log-likelihood")
	f := &picture.Figure{
		Name: "training", Title: "Training log-likelihood on the way", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "Minus the mean squared error of a chain, averaged over the chains. Gibbs and GWG change at most one weight a step.",
	}
	for k, v := range r.Runs {
		xy := make(plotter.XYs, len(v.trace))
		for i, m := range v.trace {
			xy[i] = plotter.XY{X: float64(m.step), Y: m.value}
		}
		l, err := picture.Curve(p, k, xy)
		if err != nil {
			return err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: v.Method, Mark: l})
	}
	r.Add(f)
	return nil
}
