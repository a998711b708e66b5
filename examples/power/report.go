package main

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// report is what the program prints, as a table or as JSON.
type report struct {
	Users   int       `json:"users"`
	Samples int       `json:"samples"`
	Steps   int       `json:"steps"`
	Least   float64   `json:"least_rate"`
	Seed    uint64    `json:"seed"`
	Methods []figures `json:"methods"`

	picture.Album `json:"-"`
}

// figures are about the rates of users, averaged over samples, in bit/s/Hz.
type figures struct {
	Method       string  `json:"method"`
	MeanRate     float64 `json:"mean_rate"`
	P5           float64 `json:"p5_rate"` // percentiles over users
	P1           float64 `json:"p1_rate"`
	SumViolation float64 `json:"sum_violation"` // Σ max(0, least − rate)
	Feasible     float64 `json:"feasible"`      // part of the users with the least rate
	Seconds      float64 `json:"seconds"`

	rates []float64 // of all users, sorted
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d users, %d samples, %d steps, at least %v bit/s/Hz each on average, seed %d\n\n", r.Users, r.Samples, r.Steps, r.Least, r.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tmean rate\t5th percentile\t1st percentile\tsum of violations\tfeasible\tseconds\t")
	for _, f := range r.Methods {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f %%\t%.1f\t\n", explain[f.Method], f.MeanRate, f.P5, f.P1, f.SumViolation, 100*f.Feasible, f.Seconds)
	}
	w.Flush()
	return b.String()
}

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
