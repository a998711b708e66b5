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
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// report is the program's output, printed as a table or as JSON.
type report struct {
	Users    int       `json:"users"`
	Fades    int       `json:"fades"`
	Slots    int       `json:"slots"`
	Samples  int       `json:"samples"`
	Steps    int       `json:"steps"`
	Least    float64   `json:"least_rate"`
	Question string    `json:"question,omitempty"`
	Seed     uint64    `json:"seed"`
	Seeds    int       `json:"seeds"`
	Methods  []figures `json:"methods"`

	picture.Album `json:"-"`
}

// figures holds a method's results: statistics of the users' mean rates over samples, in
// bit/s/Hz, for one network or averaged over several.
type figures struct {
	Method string `json:"method"`
	numbers
	// standard errors over networks; nil for one network
	SE    *numbers `json:"standard_error,omitempty"`
	Ahead *ahead   `json:"ahead_of_first,omitempty"`
	// total processor time; the training of a shared network counts for the first method that
	// uses it
	Seconds float64 `json:"processor_seconds"`
	Warning string  `json:"warning,omitempty"` // first warning over all networks

	words  string
	rates  []float64 // rates of all users, sorted
	path   []step    // multipliers and violations by step, on the first network
	powers []float32 // samples on the first network, as coordinates of the powers
}

// ahead is the amount by which the mean rate exceeds that of the first method on the same
// networks.
type ahead struct {
	MeanRate float64 `json:"mean_rate"`
	SE       float64 `json:"standard_error"`
}

type numbers struct {
	MeanRate     float64 `json:"mean_rate"`
	P5           float64 `json:"p5_rate"` // percentile of the rates over users
	P1           float64 `json:"p1_rate"`
	SumViolation float64 `json:"sum_violation"` // sum of the missing rates, Σ max(0, least − rate)
	Feasible     float64 `json:"feasible"`      // share of the users with the least rate
}

// all returns pointers to the numbers in the order of the table's columns.
func (n *numbers) all() []*float64 {
	return []*float64{&n.MeanRate, &n.P5, &n.P1, &n.SumViolation, &n.Feasible}
}

// compare returns the amount by which a method exceeds the first one on the same networks. It
// needs at least 2 networks.
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

// summary averages the results of a method over networks.
func summary(of []figures) figures {
	f := figures{Method: of[0].Method, words: of[0].words, path: of[0].path, powers: of[0].powers}
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

// Warnings returns the warnings of the diffusions.
func (r *report) Warnings() (all []string) {
	for _, f := range r.Methods {
		if f.Warning != "" {
			all = append(all, f.words+": "+f.Warning)
		}
	}
	return all
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d networks of %d users, %d draws of the fading, %d samples, %d steps, at least %v bit/s/Hz each on average, seed %d\n", r.Seeds, r.Users, r.Fades, r.Samples, r.Steps, r.Least, r.Seed)
	if r.Slots > 0 {
		fmt.Fprintf(&b, "judged by %d fresh draws of the fading\n", r.Slots)
	}
	if r.Question != "" {
		fmt.Fprintf(&b, "%s\n", r.Question)
	}
	fmt.Fprintln(&b)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tmean rate\t5th percentile\t1st percentile\tsum of violations\tfeasible\tprocessor seconds\t")
	for _, f := range r.Methods {
		fmt.Fprintf(w, "%s\t", f.words)
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
			fmt.Fprintf(&b, "on the same network the mean rate of %s is %+.3f ± %.3f from that of %s\n", f.words, f.Ahead.MeanRate, f.Ahead.SE, r.Methods[0].words)
		}
	}
	for _, v := range r.Warnings() {
		fmt.Fprintf(&b, "WARNING: %s\n", v)
	}
	return b.String()
}

// rateFigure plots the distribution of the users' mean rates under every method.
func (r *report) rateFigure() (*picture.Figure, error) {
	p := picture.Panel("mean rate of a user (bit/s/Hz)", "% of users below")
	p.Y.Min, p.Y.Max = 0, 100
	f := &picture.Figure{
		Name: "rates", Title: "Rates of users, cumulative", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "A method meets the constraint if its curve begins to the right of the minimum rate.",
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
		f.Legend = append(f.Legend, picture.Entry{Name: m.words, Mark: l})
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

// draw adds the plots.
func (r *report) draw() error {
	for _, f := range []func() (*picture.Figure, error){r.rateFigure, r.powerFigure, r.pathFigure} {
		f, err := f()
		if err != nil {
			return err
		}
		if f != nil {
			r.Add(f)
		}
	}
	return nil
}

// looked is the number of pairs of users whose powers are plotted, and of users whose
// multipliers are plotted.
const looked = 3

// powerFigure plots the powers of neighbouring users in samples on the first network.
func (r *report) powerFigure() (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "powers", Title: "Powers of pairs of users, in parts of the most", Height: 5 * vg.Centimeter,
		Caption: "A point is a sample on the first network; the users of a pair have consecutive numbers.",
	}
	for k := 0; k < looked && 2*k+1 < r.Users; k++ {
		p := picture.Panel(fmt.Sprint("power of user ", 2*k), fmt.Sprint("power of user ", 2*k+1))
		for i, m := range r.Methods {
			var xy plotter.XYs
			for s := 2 * k; s < len(m.powers); s += r.Users {
				xy = append(xy, plotter.XY{X: float64(power(m.powers[s])), Y: float64(power(m.powers[s+1]))})
			}
			points, err := plotter.NewScatter(xy)
			if err != nil {
				return nil, err
			}
			mark := picture.Dot(i, plotutil.Shape(i))
			points.GlyphStyle = mark.GlyphStyle
			points.Radius = vg.Points(2)
			p.Add(points)
			if k == 0 {
				f.Legend = append(f.Legend, picture.Entry{Name: m.words, Mark: mark})
			}
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		f.Panels = append(f.Panels, p)
	}
	if f.Panels == nil {
		return nil, nil // a single user has no neighbour
	}
	return f, nil
}

// pathFigure plots the multipliers and mean violations by step for the first method whose
// multipliers change. It returns nil if there is none.
func (r *report) pathFigure() (*picture.Figure, error) {
	k := slices.IndexFunc(r.Methods, func(m figures) bool {
		return len(m.path) > 1 && !slices.Equal(m.path[0].lambda, m.path[len(m.path)-1].lambda)
	})
	if k < 0 {
		return nil, nil
	}
	path := r.Methods[k].path
	order := make([]int, r.Users)
	for i := range order {
		order[i] = i
	}
	last := path[len(path)-1].lambda
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(last[i], last[j]) })
	lambda, missing := picture.Panel("", "multiplier"), picture.Panel("step of the diffusion", "mean violation (bit/s/Hz)")
	f := &picture.Figure{
		Name: "multipliers", Title: "Multipliers along a diffusion: " + r.Methods[k].words, Panels: []*plot.Plot{lambda, missing},
		Caption: "The users with the largest and the smallest multipliers at the end, in the last batch on the first network. Violations are those of the predictions, averaged over users who miss the rate or not.",
	}
	few := min(looked, (r.Users+1)/2)
	for i, user := range slices.Concat(order[:few], order[max(few, r.Users-few):]) {
		var y []float64
		for _, s := range path {
			y = append(y, s.lambda[user])
		}
		l, err := picture.Line(lambda, i, y)
		if err != nil {
			return nil, err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: fmt.Sprint("user ", user), Mark: l})
	}
	var y []float64
	for _, s := range path {
		sum := 0.0
		for _, v := range s.violation {
			sum += max(v, 0) / float64(r.Users)
		}
		y = append(y, sum)
	}
	_, err := picture.Line(missing, 2*looked, y)
	return f, err
}
