package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// report is what the program prints, as a table or as JSON.
type report struct {
	Users   int       `json:"users"`
	Fades   int       `json:"fades"`
	Samples int       `json:"samples"`
	Steps   int       `json:"steps"`
	Least   float64   `json:"least_rate"`
	Seed    uint64    `json:"seed"`
	Seeds   int       `json:"seeds"`
	Methods []figures `json:"methods"`

	picture.Album `json:"-"`
}

// figures are about the rates of users, averaged over samples, in bit/s/Hz, of one network or
// averaged over several.
type figures struct {
	Method string `json:"method"`
	numbers
	SE      *numbers `json:"standard_error,omitempty"` // over networks
	Ahead   *ahead   `json:"ahead_of_first,omitempty"`
	Seconds float64  `json:"seconds"`           // in all
	Warning string   `json:"warning,omitempty"` // of the first network that has one

	rates []float64 // of all users, sorted
}

// ahead is by how much the mean rate is above that of the first method on the same network.
type ahead struct {
	MeanRate float64 `json:"mean_rate"`
	SE       float64 `json:"standard_error"`
}

type numbers struct {
	MeanRate     float64 `json:"mean_rate"`
	P5           float64 `json:"p5_rate"` // percentiles over users
	P1           float64 `json:"p1_rate"`
	SumViolation float64 `json:"sum_violation"` // Σ max(0, least − rate)
	Feasible     float64 `json:"feasible"`      // part of the users with the least rate
}

// all are the numbers in the order of the table.
func (n *numbers) all() []*float64 {
	return []*float64{&n.MeanRate, &n.P5, &n.P1, &n.SumViolation, &n.Feasible}
}

// compare returns how far ahead a method is of the first on as many networks, ≥ 2.
func compare(of, first []figures) *ahead {
	a, squares, n := &ahead{}, 0.0, float64(len(of))
	for i := range of {
		d := of[i].MeanRate - first[i].MeanRate
		a.MeanRate += d / n
		squares += d * d
	}
	a.SE = math.Sqrt(max(squares/n-a.MeanRate*a.MeanRate, 0) / (n - 1))
	return a
}

// summary averages the figures of a method over networks.
func summary(of []figures) figures {
	f := figures{Method: of[0].Method}
	if len(of) > 1 {
		f.SE = &numbers{}
	}
	n := float64(len(of))
	for k, mean := range f.all() {
		squares := 0.0
		for i := range of {
			*mean += *of[i].all()[k] / n
		}
		for i := range of {
			d := *of[i].all()[k] - *mean
			squares += d * d
		}
		if f.SE != nil {
			*f.SE.all()[k] = math.Sqrt(squares / (n - 1) / n)
		}
	}
	for _, o := range of {
		f.Seconds += o.Seconds
		f.rates = append(f.rates, o.rates...)
		f.Warning = cmp.Or(f.Warning, o.Warning)
	}
	slices.Sort(f.rates)
	return f
}

// Warnings returns those of diffusions.
func (r *report) Warnings() (all []string) {
	for _, f := range r.Methods {
		if f.Warning != "" {
			all = append(all, explain[f.Method]+": "+f.Warning)
		}
	}
	return all
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d networks of %d users, %d draws of the fading, %d samples, %d steps, at least %v bit/s/Hz each on average, seed %d\n\n", r.Seeds, r.Users, r.Fades, r.Samples, r.Steps, r.Least, r.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tmean rate\t5th percentile\t1st percentile\tsum of violations\tfeasible\tseconds\t")
	for _, f := range r.Methods {
		fmt.Fprintf(w, "%s\t", explain[f.Method])
		for k, v := range f.all() {
			format, unit := "%.3f", 1.0
			if v == &f.Feasible {
				format, unit = "%.1f %%", 100
			}
			if f.SE != nil {
				format = strings.Replace(format, "f", "f ± "+format[:4], 1)
				fmt.Fprintf(w, format+"\t", unit**v, unit**f.SE.all()[k])
			} else {
				fmt.Fprintf(w, format+"\t", unit**v)
			}
		}
		fmt.Fprintf(w, "%.1f\t\n", f.Seconds)
	}
	w.Flush()
	fmt.Fprintln(&b)
	for _, f := range r.Methods {
		if f.Ahead != nil {
			fmt.Fprintf(&b, "on the same network the mean rate of %s is %+.3f ± %.3f from that of %s\n", explain[f.Method], f.Ahead.MeanRate, f.Ahead.SE, explain[r.Methods[0].Method])
		}
	}
	for _, v := range r.Warnings() {
		fmt.Fprintf(&b, "WARNING: %s\n", v)
	}
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
