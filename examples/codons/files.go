package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// writeAll writes the designs and the picture to a folder and returns the paths.
func writeAll(dir string, t *task, r *report) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "designs.fasta")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r.writeFASTA(f)
	if err := f.Close(); err != nil {
		return nil, err
	}
	gc, err := histogram("GC content", 4/float64(r.bases), r.free.gc, values(r, func(f figure) float64 { return f.GC }), r.Map.GC)
	if err != nil {
		return nil, err
	}
	gc.Title.Text = fmt.Sprintf("%d designs and %d drawn without constraints", len(r.Designs), r.free.trials)
	for _, edge := range []float64{t.low, t.high} {
		if err := mark(gc, edge, "", plotutil.Color(2), true); err != nil {
			return nil, err
		}
	}
	cai, err := histogram("codon adaptation index", 0.01, r.free.cai, values(r, func(f figure) float64 { return f.CAI }), r.Map.CAI)
	if err != nil {
		return nil, err
	}
	picturePath, err := picture.Stack([]*plot.Plot{gc, cai}, dir, "designs.png", 7*vg.Centimeter)
	return []string{path, picturePath}, err
}

func values(r *report, f func(figure) float64) plotter.Values {
	v := make(plotter.Values, len(r.Designs))
	for i, d := range r.Designs {
		v[i] = f(d)
	}
	return v
}

// histogram shows both kinds of designs as densities, in bins of the given
// width, and marks the MAP.
func histogram(label string, width float64, free, designs plotter.Values, best float64) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = label, "density"
	p.Legend.Top, p.Legend.Left = true, true
	for i, v := range []plotter.Values{free, designs} {
		h := binned(v, width)
		h.FillColor = []color.Color{color.Gray{Y: 215}, color.NRGBA{R: 240, G: 150, B: 40, A: 130}}[i]
		h.LineStyle.Color = color.Gray{Y: 90}
		h.LineStyle.Width = vg.Points(0.5)
		p.Add(h)
		p.Legend.Add([]string{"unconstrained", "designs"}[i], h)
	}
	return p, mark(p, best, "MAP", plotutil.Color(0), false)
}

// binned counts values in bins from multiples of width, less a hair, so that
// values which are multiples themselves fall inside.
func binned(v plotter.Values, width float64) *plotter.Histogram {
	const hair = 1e-6
	index := func(x float64) int { return int(math.Floor(x/width + hair)) }
	low, high := index(slices.Min(v)), index(slices.Max(v))
	h := &plotter.Histogram{Width: width, LineStyle: plotter.DefaultLineStyle}
	for b := low; b <= high; b++ {
		h.Bins = append(h.Bins, plotter.HistogramBin{Min: float64(b) * width, Max: float64(b+1) * width})
	}
	for _, x := range v {
		h.Bins[index(x)-low].Weight++
	}
	h.Normalize(1)
	return h
}

// mark draws a vertical line at x.
func mark(p *plot.Plot, x float64, name string, c color.Color, dashed bool) error {
	l, err := plotter.NewLine(plotter.XYs{{X: x, Y: 0}, {X: x, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	l.Color, l.Width = c, vg.Points(1.5)
	if dashed {
		l.Dashes = plotutil.Dashes(1)
	}
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}
