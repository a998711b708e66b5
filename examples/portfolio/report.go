package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// report is the program's output, printed as a table or as JSON.
type report struct {
	Assets   int       `json:"assets"`
	Samples  int       `json:"samples"`
	Steps    int       `json:"steps"`
	Budget   float64   `json:"budget"`
	Question string    `json:"question,omitempty"`
	Seed     uint64    `json:"seed"`
	Methods  []figures `json:"methods"`
	Names    []string  `json:"names"`           // names of the assets, in the order of weights
	Notes    []string  `json:"notes,omitempty"` // notes about the file
	Spread   []spread  `json:"over_seeds,omitempty"`

	scale float64 // periods per year

	picture.Album `json:"-"`
}

// figures holds a method's results, averaged over samples. The contributions compared with the
// budgets are means, E[x_j(Σx)_j].
type figures struct {
	Method string  `json:"method"`
	Return float64 `json:"return"` // mean return E[μᵀx]
	// max_j (E[x_j(Σx)_j] − b)/b, or 0 if no budget is exceeded
	Largest float64 `json:"largest_violation"`
	Mean    float64 `json:"mean_violation"` // mean_j of max(0, (E[x_j(Σx)_j] − b)/b)
	// share of the assets that exceed their budget by at most 1 %
	Feasible   float64 `json:"feasible"`
	Holdings   float64 `json:"effective_assets"` // mean effective number of assets, E[1/Σ_j x_j²]
	Candidates float64 `json:"effective_candidates,omitempty"`
	// total processor time; the training of a shared network counts for the first variant that
	// uses it
	Seconds float64 `json:"processor_seconds"`

	Weights    []float64 `json:"weights"`    // mean weights E[x]
	Volatility float64   `json:"volatility"` // volatility of Weights per period
	// upper bound on the return of portfolios whose mean variance is at most the sum of all
	// budgets
	Bound *float64 `json:"bound,omitempty"`
	// performance of Weights in the held-out periods
	Realised *realised `json:"realised,omitempty"`

	parts   []float64 // contribution to the variance as a share of the budget, by asset
	course  []float64
	path    [][]float64 // multipliers by step, if they change
	words   string
	warning string
}

// spread holds a method's results over seeds. Returns are per year.
type spread struct {
	Method   string   `json:"method"`
	Return   estimate `json:"return"`
	Largest  estimate `json:"largest_violation"`
	Mean     estimate `json:"mean_violation"`
	Feasible estimate `json:"feasible"`
	Holdings estimate `json:"effective_assets"`
	Seconds  estimate `json:"processor_seconds"`
	// the return less that of the first method on the same market; nil for the first method
	Ahead *estimate `json:"ahead_of_first,omitempty"`

	words string
}

// estimate is a mean and its standard error.
type estimate struct {
	Mean float64 `json:"mean"`
	SE   float64 `json:"standard_error"`
}

// estimated returns the mean of at least two numbers and its standard error.
func estimated(v []float64) estimate {
	mean, sd := stat.MeanStdDev(v, nil)
	return estimate{mean, stat.StdErr(sd, float64(len(v)))}
}

// spreads compares the methods over runs, one run per seed.
func spreads(runs [][]figures, scale float64) (all []spread) {
	for m, first := range runs[0] {
		over := func(of func(f figures) float64) estimate {
			var v []float64
			for _, r := range runs {
				v = append(v, of(r[m]))
			}
			return estimated(v)
		}
		s := spread{
			Method:   first.Method,
			Return:   over(func(f figures) float64 { return f.Return * scale }),
			Largest:  over(func(f figures) float64 { return f.Largest }),
			Mean:     over(func(f figures) float64 { return f.Mean }),
			Feasible: over(func(f figures) float64 { return f.Feasible }),
			Holdings: over(func(f figures) float64 { return f.Holdings }),
			Seconds:  over(func(f figures) float64 { return f.Seconds }),
			words:    first.words,
		}
		if m > 0 {
			var v []float64
			for _, r := range runs {
				v = append(v, (r[m].Return-r[0].Return)*scale)
			}
			s.Ahead = new(estimated(v))
		}
		all = append(all, s)
	}
	return all
}

// tolerance is the relative amount by which an asset may exceed its budget and still count as
// feasible.
const tolerance = 0.01

// measure averages over portfolios and stores in f the results.
func (p *problem) measure(f *figures, portfolios []float64) {
	n := p.law.Sites()
	s := make([]float64, n)
	f.parts, f.Weights = make([]float64, n), make([]float64, n)
	samples := float64(len(portfolios) / n)
	for k := 0; k < len(portfolios); k += n {
		x := portfolios[k : k+n]
		p.law.cov.times(s, x, nil, nil)
		f.Return += dot(p.law.mean, x) / samples
		f.Holdings += 1 / dot(x, x) / samples
		for j := range x {
			f.parts[j] += p.law.unit * x[j] * s[j] / p.law.budget / samples
			f.Weights[j] += x[j] / samples
		}
	}
	f.Largest, f.Mean, f.Feasible = kept(f.parts)
	p.law.cov.times(s, f.Weights, nil, nil)
	f.Volatility = math.Sqrt(max(0, dot(f.Weights, s)))
	if len(p.held) > 1 {
		f.Realised = realise(f.Weights, p.held, p.rebalance, p.year, p.law.budget/p.law.unit)
	}
}

// write writes the weights as a table with a row per asset. For every method it lists the weight
// and the share of the budget used, in the fitted periods and in the held-out ones.
func (r *report) write(path string) error { return checkpoint.Write(path, r.writeTo) }

func (r *report) writeTo(to io.Writer) error {
	w := csv.NewWriter(to)
	head := []string{"asset"}
	for _, m := range r.Methods {
		if head = append(head, m.Method+" weight", m.Method+" part of budget"); m.Realised != nil {
			head = append(head, m.Method+" realised part of budget")
		}
	}
	err := w.Write(head)
	for j, name := range r.Names {
		row := []string{name}
		for _, m := range r.Methods {
			if row = append(row, fmt.Sprintf("%.8f", m.Weights[j]), fmt.Sprintf("%.6f", m.parts[j])); m.Realised != nil {
				row = append(row, fmt.Sprintf("%.6f", m.Realised.parts[j]))
			}
		}
		err = errors.Join(err, w.Write(row))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// Warnings returns notes on the file of prices, and the warnings of the methods. A method warns if,
// for example, its Monte Carlo estimates depend on a single candidate.
func (r *report) Warnings() (all []string) {
	all = append(all, r.Notes...)
	for _, f := range r.Methods {
		if f.warning != "" {
			all = append(all, f.words+": "+f.warning)
		}
	}
	return all
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d assets, %d samples, %d steps, seed %d\na budget is %v times the mean share of the variance at equal weights\n", r.Assets, r.Samples, r.Steps, r.Seed, r.Budget)
	if r.Question != "" {
		fmt.Fprintln(&b, r.Question)
	}
	fmt.Fprintln(&b)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	if r.scale != 1 {
		fmt.Fprint(&b, "returns are those of a year\n\n")
	}
	fmt.Fprintln(w, "method\treturn\tlargest violation\tmean violation\tfeasible\teffective assets\teffective candidates\tprocessor seconds\t")
	for _, f := range r.Methods {
		candidates := ""
		if f.Candidates > 0 {
			candidates = fmt.Sprintf("%.1f", f.Candidates)
		}
		fmt.Fprintf(w, "%s\t%.4f\t%.1f %%\t%.2f %%\t%.1f %%\t%.1f\t%s\t%.1f\t\n", f.words, f.Return*r.scale, 100*f.Largest, 100*f.Mean, 100*f.Feasible, f.Holdings, candidates, f.Seconds)
	}
	w.Flush()
	if r.Spread != nil {
		fmt.Fprint(&b, "\nmeans and standard errors over seeds\n")
		fmt.Fprintln(w, "method\treturn\tlargest violation\tmean violation\tfeasible\teffective assets\tprocessor seconds\t")
		for _, s := range r.Spread {
			fmt.Fprintf(w, "%s\t%.3f ± %.3f\t%.1f ± %.1f %%\t%.2f ± %.2f %%\t%.1f ± %.1f %%\t%.1f ± %.1f\t%.1f ± %.1f\t\n", s.words, s.Return.Mean, s.Return.SE, 100*s.Largest.Mean, 100*s.Largest.SE,
				100*s.Mean.Mean, 100*s.Mean.SE, 100*s.Feasible.Mean, 100*s.Feasible.SE, s.Holdings.Mean, s.Holdings.SE, s.Seconds.Mean, s.Seconds.SE)
		}
		w.Flush()
		for _, s := range r.Spread {
			if s.Ahead != nil {
				fmt.Fprintf(&b, "return of %s less that of %s on the same markets: %+.4f ± %.4f\n", s.words, r.Spread[0].words, s.Ahead.Mean, s.Ahead.SE)
			}
		}
	}
	r.outcome(&b)
	for _, s := range r.Warnings() {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// held is the number of largest weights that the text lists.
const held = 8

// outcome prints the bound of the convex problem, the performance in the held-out periods and
// the largest weights.
func (r *report) outcome(b *bytes.Buffer) {
	for _, f := range r.Methods {
		if f.Bound != nil {
			fmt.Fprintf(b, "\nno portfolios that keep the budgets on average return more than %.4f, whatever the method\n", *f.Bound*r.scale)
		}
	}
	if len(r.Methods) == 0 || r.Methods[0].Realised == nil {
		return
	}
	fmt.Fprintf(b, "\nmean weights of each method, a year: as fitted, and in the %d periods held out\n", r.Methods[0].Realised.Periods)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tfitted return\tfitted volatility\treturn\tvolatility\tturnover\tlargest violation\tfeasible\t")
	for _, f := range r.Methods {
		o := f.Realised
		fmt.Fprintf(w, "%s\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.0f %%\t%.0f %%\t%.1f %%\t\n", f.words, 100*f.Return*r.scale, 100*f.Volatility*math.Sqrt(r.scale),
			100*o.Return, 100*o.Volatility, 100*o.Turnover, 100*o.Largest, 100*o.Feasible)
	}
	w.Flush()
	fmt.Fprintln(b)
	for _, f := range r.Methods {
		order := make([]int, len(f.Weights))
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(f.Weights[j], f.Weights[i]) })
		fmt.Fprintf(b, "%s:", f.words)
		for _, j := range order[:min(held, len(order))] {
			fmt.Fprintf(b, " %s %.2f %%", r.Names[j], 100*f.Weights[j])
		}
		fmt.Fprintln(b)
	}
}

// shown is the share of a budget at which the plot is cut off. Without budgets, shares reach
// thousands.
const shown = 3

// draw plots the shares of the budgets that the assets use under every method, and the number of
// exceeded budgets by step.
func (r *report) draw() error {
	p := picture.Panel("asset, from the one that takes most", "mean part in the variance (% of the budget)")
	p.Y.Min, p.Y.Max = 0, 100*shown
	f := &picture.Figure{
		Name: "budgets", Title: "Budgets of assets", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "A method meets the budgets if its curve stays below the line. Values above 300 % are drawn at 300 %.",
	}
	for k, m := range r.Methods {
		parts := slices.Clone(m.parts)
		slices.Sort(parts)
		slices.Reverse(parts)
		xy := make(plotter.XYs, len(parts))
		for i, c := range parts {
			xy[i] = plotter.XY{X: float64(i + 1), Y: 100 * min(c, shown)}
		}
		l, err := picture.Curve(p, k, xy)
		if err != nil {
			return err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: m.words, Mark: l})
	}
	f.Legend = append(f.Legend, picture.Entry{Name: "budget", Mark: picture.Level(p, 100)})
	r.Add(f)

	if err := r.drawWeights(); err != nil {
		return err
	}
	q := picture.Panel("step", "assets above their budgets")
	way := &picture.Figure{
		Name: "course", Title: "Budgets exceeded during the diffusion", Panels: []*plot.Plot{q},
		Caption: "Exceeded by more than one percent, judged by the clean samples predicted at each step.",
	}
	for k, m := range r.Methods {
		if m.course == nil {
			continue
		}
		l, err := picture.Line(q, k, m.course)
		if err != nil {
			return err
		}
		way.Legend = append(way.Legend, picture.Entry{Name: m.words, Mark: l})
	}
	if way.Legend != nil {
		q.Y.Min = 0
		r.Add(way)
	}
	return nil
}

// drawWeights plots the mean weights under every method.
func (r *report) drawWeights() error {
	p := picture.Panel("asset, from the largest weight", "mean weight (%)")
	f := &picture.Figure{
		Name: "weights", Title: "Weights", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "The file weights.csv lists every asset by name.",
	}
	for k, m := range r.Methods {
		x := slices.Clone(m.Weights)
		slices.Sort(x)
		slices.Reverse(x)
		for i := range x {
			x[i] *= 100
		}
		l, err := picture.Line(p, k, x)
		if err != nil {
			return err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: m.words, Mark: l})
	}
	r.Add(f)
	return nil
}
