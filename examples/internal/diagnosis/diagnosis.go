// Package diagnosis plots diagnostics of Markov chains, with the runs of several kernels side by
// side. It plots the energy and, for one quantity:
//
//   - the trace and the histogram;
//   - the intervals of the chains (forest plot) and the ranks of the draws by chain;
//   - the autocorrelation and the effective number of draws;
//   - the quantity against the energy.
package diagnosis

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Run holds the draws of one kernel, by chain.
type Run struct {
	Name   string
	Draws  [][]float64 // values of one quantity, by chain
	Energy [][]float64 // energies in nats of the same draws
}

// New returns a run with the draws of one of the functions that the trace t records. The trace must
// have been configured to keep its draws.
func New(name string, t *diagnose.Trace, function string) (Run, error) {
	draws, err := t.Values(function)
	if err != nil {
		return Run{}, err
	}
	energy, err := t.Values("energy")
	return Run{name, draws, energy}, err
}

const (
	shownDraws = 300 // number of draws shown in the trace
	shownLags  = 60  // number of lags shown in the autocorrelation
	bins       = 30  // number of bins of a histogram
	rankBins   = 20
	rankChains = 4 // number of chains whose ranks are shown
)

// Figures returns the plots of a quantity for several runs. If reference is not nil, it is the
// exact mean of the quantity.
func Figures(quantity string, runs []Run, reference *float64) ([]*picture.Figure, error) {
	var all []*picture.Figure
	for _, draw := range []func(string, []Run, *float64) (*picture.Figure, error){trace, histogram, forest, ranks, autocorrelation, evolution, energies, pairs} {
		f, err := draw(quantity, runs, reference)
		if err != nil {
			return nil, fmt.Errorf("picture of %s: %w", quantity, err)
		}
		if f != nil {
			all = append(all, f)
		}
	}
	return all, nil
}

// trace plots one panel per run on a common scale: the first chain, and the central 90 %
// interval of all chains.
func trace(quantity string, runs []Run, reference *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "trace", Title: "The " + quantity + " of the first chain; shaded: nine tenths of all chains",
		Caption: "A converged chain wanders through the whole band again and again; kernels that agree have the same band.",
		Height:  4 * vg.Centimeter,
	}
	low, high := extremes(runs)
	for k, r := range runs {
		p := picture.Panel("", r.Name)
		if k == len(runs)-1 {
			p.X.Label.Text = "draw"
		}
		n := min(shownDraws, len(r.Draws[0]))
		lower, upper := make(plotter.XYs, n), make(plotter.XYs, n)
		at := make([]float64, len(r.Draws))
		for t := range n {
			for c, chain := range r.Draws {
				at[c] = chain[t]
			}
			lower[t], upper[t] = plotter.XY{X: float64(t), Y: quantile(at, 0.05)}, plotter.XY{X: float64(t), Y: quantile(at, 0.95)}
		}
		if err := picture.Band(p, k, lower, upper); err != nil {
			return nil, err
		}
		l, err := picture.Line(p, k, r.Draws[0][:n])
		if err != nil {
			return nil, err
		}
		l.Width = vg.Points(0.7)
		p.Y.Min, p.Y.Max = low, high
		if reference != nil {
			mark := picture.Level(p, *reference)
			if k == 0 {
				f.Legend = append(f.Legend, picture.Entry{Name: "exact mean of " + quantity, Mark: mark})
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}

// autocorrelation plots the autocorrelation of all runs, averaged over chains.
func autocorrelation(quantity string, runs []Run, _ *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "autocorrelation", Title: "Autocorrelation of the " + quantity + ", averaged over chains",
		Caption: "The sooner it falls to 0, the more a draw is worth.", Height: 7 * vg.Centimeter,
	}
	p := picture.Panel("lag (draws)", "autocorrelation")
	p.Y.Min, p.Y.Max = 0, 1
	for k, r := range runs {
		rho := meanAutocorrelation(r.Draws)
		if rho == nil {
			continue // constant or very short chains have none
		}
		if err := add(f, p, k, r.Name, rho); err != nil {
			return nil, err
		}
	}
	f.Panels = []*plot.Plot{p}
	return f, nil
}

func meanAutocorrelation(draws [][]float64) []float64 {
	var mean []float64
	for _, chain := range draws {
		rho, err := diagnose.Autocorrelation(chain)
		if err != nil {
			return nil
		}
		rho = rho[:min(shownLags, len(rho))]
		if mean == nil {
			mean = make([]float64, len(rho))
		}
		for lag, v := range rho {
			mean[lag] += v / float64(len(draws))
		}
	}
	return mean
}

// binning returns the lower edge of the first bin, the width and the number of bins of a
// histogram. For a quantity on a lattice, such as the mean of spins, every bin contains the same
// number of possible values, placed around its middle. Otherwise some bins would be empty or
// double by chance.
func binning(runs []Run) (low, wide float64, n int) {
	low, high := extremes(runs)
	seen := map[float64]bool{}
	for _, r := range runs {
		for _, chain := range r.Draws {
			for _, v := range chain {
				if seen[v] = true; len(seen) > mostValues {
					return filled(runs, low, high)
				}
			}
		}
	}
	values := slices.Sorted(maps.Keys(seen))
	step := high - low
	for i, v := range values[1:] {
		if gap := v - values[i]; gap > 1e-9*(high-low) {
			step = min(step, gap)
		}
	}
	for _, v := range values {
		if at := (v - low) / step; math.Abs(at-math.Round(at)) > 1e-6 {
			return filled(runs, low, high) // on no lattice
		}
	}
	points := int(math.Round((high-low)/step)) + 1
	each := (points + bins - 1) / bins
	return low - step/2, float64(each) * step, (points + each - 1) / each
}

// filled chooses bins for a quantity that is not on a lattice. It takes the largest number of bins,
// at most 30, for which none is empty among the middle 98 % of the draws. If even eight bins have an
// empty one, the gap is real, and it takes 30.
//
// Some quantities are nearly on a lattice: the modularity of a partition is almost determined by
// the number of cut edges. Bins narrower than the spacing would then be empty by chance.
func filled(runs []Run, low, high float64) (from, wide float64, n int) {
	var all []float64
	for _, r := range runs {
		all = append(all, slices.Concat(r.Draws...)...)
	}
	slices.Sort(all)
	all = all[len(all)/100 : len(all)-len(all)/100]
	const fewest = 8
	for n := bins; n >= fewest; n-- {
		wide, at := (high-low)/float64(n), -1
		gap := false
		for _, v := range all {
			bin := min(int((v-low)/wide), n-1)
			gap = gap || at >= 0 && bin > at+1
			at = bin
		}
		if !gap {
			return low, wide, n
		}
	}
	return low, (high - low) / bins, bins
}

// mostValues is the maximum number of distinct values of a quantity that is treated as one on a
// lattice.
const mostValues = 4096

// histogram plots the histograms of all draws of every run.
func histogram(quantity string, runs []Run, reference *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "histogram", Title: "Distribution of the " + quantity,
		Caption: "Kernels that sample the same target have the same histogram.", Height: 7 * vg.Centimeter,
	}
	p := picture.Panel(quantity, "% of draws")
	low, wide, n := binning(runs)
	for k, r := range runs {
		l, err := outline(p, k, r.Draws, low, wide, n, 1)
		if err != nil {
			return nil, err
		}
		f.Legend = append(f.Legend, picture.Entry{Name: r.Name, Mark: l})
	}
	if reference != nil {
		l, err := plotter.NewLine(plotter.XYs{{X: *reference, Y: 0}, {X: *reference, Y: p.Y.Max}})
		if err != nil {
			return nil, err
		}
		l.LineStyle = picture.Reference
		p.Add(l)
		f.Legend = append(f.Legend, picture.Entry{Name: "exact mean", Mark: l})
	}
	f.Panels = []*plot.Plot{p}
	return f, nil
}

// outline adds a histogram of n bins to a panel as series k, in percent of the draws per unit.
func outline(p *plot.Plot, k int, draws [][]float64, low, wide float64, n int, unit float64) (*plotter.Line, error) {
	count := make([]float64, n)
	total := 0.0
	for _, chain := range draws {
		for _, v := range chain {
			count[max(0, min(int((v-low)/wide), n-1))]++
			total++
		}
	}
	xy := plotter.XYs{{X: low}}
	for b, c := range count {
		xy = append(xy, plotter.XY{X: low + wide*float64(b), Y: 100 * c / total / unit}, plotter.XY{X: low + wide*float64(b+1), Y: 100 * c / total / unit})
	}
	return picture.Curve(p, k, append(xy, plotter.XY{X: low + wide*float64(n)}))
}

func add(f *picture.Figure, p *plot.Plot, k int, name string, y []float64) error {
	l, err := picture.Line(p, k, y)
	if err == nil {
		f.Legend = append(f.Legend, picture.Entry{Name: name, Mark: l})
	}
	return err
}
