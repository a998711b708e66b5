package main

import (
	"bytes"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// report is what the program prints, as a table or as JSON.
type report struct {
	Assets  int       `json:"assets"`
	Samples int       `json:"samples"`
	Steps   int       `json:"steps"`
	Budget  float64   `json:"budget"`
	Seed    uint64    `json:"seed"`
	Methods []figures `json:"methods"`

	picture.Album `json:"-"`
}

// figures are about portfolios averaged over samples. Budgets are those of the mean
// parts in the variance, E[x_j(Σx)_j].
type figures struct {
	Method     string  `json:"method"`
	Return     float64 `json:"return"`            // E[μᵀx]
	Largest    float64 `json:"largest_violation"` // max_j (E[x_j(Σx)_j] − b)/b, 0 if all are within
	Mean       float64 `json:"mean_violation"`    // mean_j of the positive parts of the same
	Feasible   float64 `json:"feasible"`          // part of the assets within 1 % of the budget
	Holdings   float64 `json:"effective_assets"`  // E[1/Σ_j x_j²]
	Candidates float64 `json:"effective_candidates,omitempty"`
	Seconds    float64 `json:"seconds"`

	parts   []float64 // of budgets, all assets, from the largest
	course  []float64
	warning string
}

// tolerance is how far above its budget, relative to it, an asset still counts as
// feasible.
const tolerance = 0.01

// measure averages over samples z and compares assets.
func (p *problem) measure(f *figures, z []float32) {
	n := p.law.Sites()
	x, s, part := make([]float64, n), make([]float64, n), make([]float64, n)
	samples := float64(len(z) / n)
	for k := 0; k < len(z); k += n {
		softmax(x, z[k:k+n])
		p.law.cov.times(s, x, nil, nil)
		f.Return += dot(p.law.mean, x) / samples
		f.Holdings += 1 / dot(x, x) / samples
		for j := range x {
			part[j] += p.law.unit * x[j] * s[j] / p.law.budget / samples
		}
	}
	within := 0
	for _, c := range part {
		f.Largest = max(f.Largest, c-1)
		f.Mean += max(0, c-1) / float64(n)
		if c <= 1+tolerance {
			within++
		}
	}
	f.Feasible = float64(within) / float64(n)
	slices.Sort(part)
	slices.Reverse(part)
	f.parts = part
}

// Warnings says where estimates hung on single candidates.
func (r *report) Warnings() (all []string) {
	for _, f := range r.Methods {
		if f.warning != "" {
			all = append(all, explain[f.Method]+": "+f.warning)
		}
	}
	return all
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d assets, %d samples, %d steps, of the variance at most %v times the mean part at equal weights each, seed %d\n\n", r.Assets, r.Samples, r.Steps, r.Budget, r.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\treturn\tlargest violation\tmean violation\tfeasible\teffective assets\teffective candidates\tseconds\t")
	for _, f := range r.Methods {
		candidates := ""
		if f.Candidates > 0 {
			candidates = fmt.Sprintf("%.1f", f.Candidates)
		}
		fmt.Fprintf(w, "%s\t%.4f\t%.1f %%\t%.2f %%\t%.1f %%\t%.1f\t%s\t%.1f\t\n", explain[f.Method], f.Return, 100*f.Largest, 100*f.Mean, 100*f.Feasible, f.Holdings, candidates, f.Seconds)
	}
	w.Flush()
	for _, s := range r.Warnings() {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// shown is where parts of budgets are cut off: without budgets they are thousands.
const shown = 3

// draw shows what the assets take of their budgets under every method, and how the
// multipliers got there.
func (r *report) draw() error {
	p := picture.Panel("asset, from the one that takes most", "mean part in the variance (% of the budget)")
	p.Y.Min, p.Y.Max = 0, 100*shown
	f := &picture.Figure{
		Name: "budgets", Title: "Budgets of assets", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "A method keeps the budgets if its curve stays below the line. What is above 300 % is drawn there.",
	}
	for k, m := range r.Methods {
		xy := make(plotter.XYs, len(m.parts))
		for i, c := range m.parts {
			xy[i] = plotter.XY{X: float64(i + 1), Y: 100 * min(c, shown)}
		}
		l, err := picture.Curve(p, k, xy)
		if err != nil {
			return err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: explain[m.Method], Mark: l})
	}
	f.Legend = append(f.Legend, picture.Entry{Name: "budget", Mark: picture.Level(p, 100)})
	r.Add(f)

	q := picture.Panel("step", "assets above their budgets")
	way := &picture.Figure{
		Name: "course", Title: "Budgets exceeded during the diffusion", Panels: []*plot.Plot{q},
		Caption: "By more than one percent, by the predictions of the clean samples at each step.",
	}
	for k, m := range r.Methods {
		if m.course == nil {
			continue
		}
		l, err := picture.Line(q, k, m.course)
		if err != nil {
			return err
		}
		way.Legend = append(way.Legend, picture.Entry{Name: explain[m.Method], Mark: l})
	}
	if way.Legend != nil {
		q.Y.Min = 0
		r.Add(way)
	}
	return nil
}
