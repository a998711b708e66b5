package diagnosis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// ranks plots one panel per run: the distribution of the first chains' ranks among all draws of
// all chains (Vehtari et al. 2021, §4.2). The ranks of chains that agree are uniform. The shaded
// band is two standard deviations of independent draws to each side.
func ranks(quantity string, runs []Run, _ *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "ranks", Title: fmt.Sprintf("Ranks of the %s: the first %d chains among all", quantity, min(rankChains, len(runs[0].Draws))),
		Caption: "Even ranks (near 1) mean that chains agree. Shaded: two standard deviations of independent draws; correlated draws sometimes leave it, chains stuck elsewhere leave it by far.",
		Height:  4 * vg.Centimeter,
	}
	for k, r := range runs {
		p := picture.Panel("", r.Name)
		if k == len(runs)-1 {
			p.X.Label.Text = "rank (parts of all draws)"
		}
		spread := 2 * math.Sqrt(rankBins/float64(len(r.Draws[0])))
		edge := func(y float64) plotter.XYs { return plotter.XYs{{X: 0, Y: y}, {X: 1, Y: y}} }
		if err := picture.Band(p, k, edge(1-spread), edge(1+spread)); err != nil {
			return nil, err
		}
		for c, share := range shares(r.Draws) {
			xy := make(plotter.XYs, 0, 2*rankBins)
			for b, s := range share {
				xy = append(xy, plotter.XY{X: float64(b) / rankBins, Y: s}, plotter.XY{X: float64(b+1) / rankBins, Y: s})
			}
			l, err := picture.Curve(p, c, xy)
			if err != nil {
				return nil, err
			}
			l.Width = vg.Points(0.8)
			if k == 0 {
				f.Legend = append(f.Legend, picture.Entry{Name: fmt.Sprintf("chain %d", c+1), Mark: l})
			}
		}
		p.Y.Min = 0
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}

// shares returns, for each of the first chains, the number of its draws in each bin of ranks,
// relative to a uniform distribution. Equal draws get their mean rank.
func shares(draws [][]float64) [][]float64 {
	var sorted []float64
	for _, chain := range draws {
		sorted = append(sorted, chain...)
	}
	slices.Sort(sorted)
	all := make([][]float64, min(rankChains, len(draws)))
	for c := range all {
		all[c] = make([]float64, rankBins)
		for _, v := range draws[c] {
			first, _ := slices.BinarySearch(sorted, v)
			last, _ := slices.BinarySearch(sorted, math.Nextafter(v, math.Inf(1)))
			for b := first * rankBins / len(sorted); b <= (last-1)*rankBins/len(sorted); b++ {
				// Ties are spread over the bins that they cover.
				from, to := max(first, (b*len(sorted)+rankBins-1)/rankBins), min(last, ((b+1)*len(sorted)+rankBins-1)/rankBins)
				all[c][b] += float64(to-from) / float64(last-first) * rankBins / float64(len(draws[c]))
			}
		}
	}
	return all
}

// quantile returns the sample quantile of v. It sorts v.
func quantile(v []float64, q float64) float64 {
	slices.Sort(v)
	return v[int(q*float64(len(v)-1)+0.5)]
}

// extremes returns the range of all draws, widened to 1 if it is a single value.
func extremes(runs []Run) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, r := range runs {
		for _, chain := range r.Draws {
			low, high = min(low, slices.Min(chain)), max(high, slices.Max(chain))
		}
	}
	if low == high {
		low, high = low-0.5, high+0.5
	}
	return low, high
}
