package diagnosis

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

const (
	shownPairs = 400 // draws of a run shown in pairs
	lengths    = 8   // run lengths at which effective draws are computed
)

// forest plots one row per run: the central 50 % and 90 % intervals of its draws and their
// median.
func forest(quantity string, runs []Run, reference *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "forest", Title: "Where the draws of the " + quantity + " are",
		Caption: "Thin: the middle nine tenths of the draws; thick: the middle half; point: the median. Kernels that sample the same target agree.",
		Height:  vg.Length(2+len(runs)) * vg.Centimeter,
	}
	p := picture.Panel(quantity, "")
	var names []string
	for k, r := range runs {
		at := float64(len(runs) - 1 - k) // the first on top
		all := slices.Concat(r.Draws...)
		for _, bar := range []struct {
			part, width float64
		}{{0.9, 1.2}, {0.5, 4}} {
			l, err := plotter.NewLine(plotter.XYs{{X: quantile(all, (1-bar.part)/2), Y: at}, {X: quantile(all, (1+bar.part)/2), Y: at}})
			if err != nil {
				return nil, err
			}
			l.Color, l.Width = picture.Color(k), vg.Points(bar.width)
			p.Add(l)
		}
		point, err := plotter.NewScatter(plotter.XYs{{X: quantile(all, 0.5), Y: at}})
		if err != nil {
			return nil, err
		}
		point.GlyphStyle = picture.Dot(k, draw.CircleGlyph{}).GlyphStyle
		p.Add(point)
		names = append(names, r.Name)
	}
	slices.Reverse(names)
	p.Y.Min, p.Y.Max = -0.6, float64(len(runs))-0.4
	if reference != nil {
		l, err := plotter.NewLine(plotter.XYs{{X: *reference, Y: p.Y.Min}, {X: *reference, Y: p.Y.Max}})
		if err != nil {
			return nil, err
		}
		l.LineStyle = picture.Reference
		p.Add(l)
		f.Legend = []picture.Entry{{Name: "exact mean", Mark: l}}
	}
	var ticks plot.ConstantTicks
	for at, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(at), Label: name})
	}
	p.Y.Tick.Marker, p.Y.Tick.Length = ticks, 0
	f.Panels = []*plot.Plot{p}
	return f, nil
}

// evolution plots the effective sample size against the length of the run.
func evolution(quantity string, runs []Run, _ *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "effective-draws", Title: "Effective draws of the " + quantity + " by the length of the run",
		Caption: "A line that does not grow with the draws means that chains are stuck. A few hundred are enough for a mean.",
		Height:  5 * vg.Centimeter,
	}
	for _, kind := range []struct {
		name string
		ess  func([][]float64) (float64, error)
	}{{"effective draws, bulk", diagnose.ESSBulk}, {"effective draws, tail", diagnose.ESSTail}} {
		p := picture.Panel("", kind.name)
		p.Y.Min = 0
		for k, r := range runs {
			var xy plotter.XYs
			for part := 1; part <= lengths; part++ {
				n := len(r.Draws[0]) * part / lengths
				begin := make([][]float64, len(r.Draws))
				for c, chain := range r.Draws {
					begin[c] = chain[:n]
				}
				if e, err := kind.ess(begin); err == nil && !math.IsNaN(e) && !math.IsInf(e, 0) {
					xy = append(xy, plotter.XY{X: float64(n), Y: e})
				}
			}
			if len(xy) == 0 {
				continue // constant or very short chains have none
			}
			l, err := picture.Curve(p, k, xy)
			if err != nil {
				return nil, err
			}
			if len(f.Panels) == 0 {
				f.Legend = append(f.Legend, picture.Entry{Name: r.Name, Mark: l})
			}
		}
		f.Panels = append(f.Panels, p)
	}
	f.Panels[1].X.Label.Text = "draws of a chain"
	if len(f.Legend) == 0 {
		return nil, nil
	}
	return f, nil
}

// energies compares the distribution of the energy with that of its change between successive
// draws, the diagnostic of Betancourt (2016) for Hamiltonian Monte Carlo.
func energies(_ string, runs []Run, _ *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "energy", Title: "Energy of the draws about its mean, and its change from draw to draw",
		Caption: "Where changes are much narrower than the energies, a chain needs many draws to visit all energies.",
		Height:  4 * vg.Centimeter,
	}
	var levels, changes []Run
	for _, r := range runs {
		var level, change [][]float64
		mean, n := 0.0, 0
		for _, chain := range r.Energy {
			for _, e := range chain {
				mean += e
				n++
			}
		}
		mean /= float64(n)
		for _, chain := range r.Energy {
			var l, c []float64
			for i, e := range chain {
				l = append(l, e-mean)
				if i > 0 {
					c = append(c, e-chain[i-1])
				}
			}
			if len(c) == 0 {
				return nil, nil
			}
			level, change = append(level, l), append(change, c)
		}
		levels, changes = append(levels, Run{Draws: level}), append(changes, Run{Draws: change})
	}
	lowest, highest := extremes(slices.Concat(levels, changes))
	if math.IsNaN(highest-lowest) || math.IsInf(highest-lowest, 0) {
		return nil, nil // a state that is ruled out
	}
	for k, r := range runs {
		p := picture.Panel("", r.Name)
		low, wide, n := binning(levels[k : k+1])
		all, err := outline(p, k, levels[k].Draws, low, wide, n, wide)
		if err != nil {
			return nil, err
		}
		least, _ := extremes(levels[k : k+1])
		from, to := extremes(changes[k : k+1])
		from += low - least // in bins of the same width, around values on the same lattice
		step, err := outline(p, k, changes[k].Draws, from, wide, int((to-from)/wide)+1, wide)
		if err != nil {
			return nil, err
		}
		step.Dashes = []vg.Length{3, 2}
		if k == 0 {
			f.Legend = []picture.Entry{{Name: "energy − its mean, % of draws per nat", Mark: all}, {Name: "change", Mark: step}}
		}
		p.X.Min, p.X.Max = lowest, highest
		f.Panels = append(f.Panels, p)
	}
	f.Panels[len(runs)-1].X.Label.Text = "energy (nats)"
	return f, nil
}

// pairs plots some draws of the quantity against their energies. It returns nil if one is a
// linear function of the other.
func pairs(quantity string, runs []Run, _ *float64) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "pairs", Title: "The " + quantity + " and the energy of the same draws",
		Caption: "Draws evenly spaced in the run. Separate clouds are modes: check that every chain visits each of them.",
		Height:  4 * vg.Centimeter,
	}
	lines := true
	low, high := extremes(runs)
	for k, r := range runs {
		x, y := slices.Concat(r.Draws...), slices.Concat(r.Energy...)
		every := max(1, len(x)/shownPairs)
		var xy plotter.XYs
		for i := 0; i < len(x); i += every {
			if !math.IsInf(y[i], 0) && !math.IsNaN(y[i]) {
				xy = append(xy, plotter.XY{X: x[i], Y: y[i]})
			}
		}
		if len(xy) == 0 {
			return nil, nil
		}
		lines = lines && collinear(xy)
		p := picture.Panel("", r.Name)
		points, err := plotter.NewScatter(xy)
		if err != nil {
			return nil, err
		}
		points.GlyphStyle = draw.GlyphStyle{Color: picture.Faint(picture.Color(k)), Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
		p.Add(points)
		p.X.Min, p.X.Max = low, high
		f.Panels = append(f.Panels, p)
	}
	if lines {
		return nil, nil
	}
	for _, p := range f.Panels[1:] { // one scale
		first := f.Panels[0]
		first.Y.Min, first.Y.Max = min(first.Y.Min, p.Y.Min), max(first.Y.Max, p.Y.Max)
	}
	for _, p := range f.Panels {
		p.Y.Min, p.Y.Max = f.Panels[0].Y.Min, f.Panels[0].Y.Max
	}
	f.Panels[len(runs)-1].X.Label.Text = quantity
	f.Legend = []picture.Entry{{Name: "upwards: energy (nats)"}}
	return f, nil
}

// collinear reports whether all points are on one line.
func collinear(xy plotter.XYs) bool {
	far := xy[0]
	for _, p := range xy {
		if math.Hypot(p.X-xy[0].X, p.Y-xy[0].Y) > math.Hypot(far.X-xy[0].X, far.Y-xy[0].Y) {
			far = p
		}
	}
	dx, dy := far.X-xy[0].X, far.Y-xy[0].Y
	for _, p := range xy {
		if math.Abs((p.X-xy[0].X)*dy-(p.Y-xy[0].Y)*dx) > 1e-6*(dx*dx+dy*dy) {
			return false
		}
	}
	return true
}
