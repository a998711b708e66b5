package main

import (
	"bufio"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// write writes the designs to a folder and adds a plot of them.
func (r *report) write(dir string, t *task) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	save := func(name string, write func(w io.Writer)) error {
		path := filepath.Join(dir, name)
		err := checkpoint.Write(path, func(to io.Writer) error {
			out := bufio.NewWriter(to)
			write(out)
			return out.Flush()
		})
		if err != nil {
			return err
		}
		r.files = append(r.files, path)
		return nil
	}
	if err := save("designs.fasta", r.writeFASTA); err != nil {
		return err
	}
	if err := save("designs.gb", func(w io.Writer) { r.writeGenBank(w, t, time.Now()) }); err != nil {
		return err
	}
	fig := &picture.Figure{
		Name: "designs", Title: fmt.Sprintf("%d designs, and %d drawn without constraints", len(r.Designs), r.free.trials), Height: 6 * vg.Centimeter,
		Caption: "The designs keep the usage of codons and stay within the limits; the MAP, the likeliest design, uses the commonest codons throughout.",
	}
	if err := histogram(fig, "GC content", 4/float64(r.bases), r.free.gc, values(r, func(f figure) float64 { return f.GC }), r.Map.GC); err != nil {
		return err
	}
	for _, edge := range []float64{t.low, t.high} {
		if edge == 0 || edge == 1 {
			continue // no limit
		}
		l, err := mark(fig.Panels[0], edge, picture.Reference)
		if err != nil {
			return err
		}
		if len(fig.Legend) < 4 {
			fig.Legend = append(fig.Legend, picture.Entry{Name: "limits", Mark: l})
		}
	}
	err := histogram(fig, "codon adaptation index", 0.01, r.free.cai, values(r, func(f figure) float64 { return f.CAI }), r.Map.CAI)
	r.Add(fig)
	return err
}

// writeGenBank writes every design with its flanks.
func (r *report) writeGenBank(w io.Writer, t *task, date time.Time) {
	record := func(name string, f figure) {
		comment := fmt.Sprintf("cai=%.4f gc=%.4f log_prob=%.4f", f.CAI, f.GC, f.LogProb)
		t.writeGenBankRecord(w, name, comment, f.DNA, t.options.code.table, date)
	}
	record("map", r.Map)
	for i, f := range r.Designs {
		record(fmt.Sprintf("design_%d", i+1), f)
	}
}

func values(r *report, f func(figure) float64) plotter.Values {
	v := make(plotter.Values, len(r.Designs))
	for i, d := range r.Designs {
		v[i] = f(d)
	}
	return v
}

// histogram adds a panel that compares the designs with the unconstrained ones as densities, in
// bins of the given width, and marks the value of the MAP design.
func histogram(f *picture.Figure, label string, width float64, free, designs plotter.Values, best float64) error {
	p := picture.Panel(label, "density")
	first := len(f.Panels) == 0
	f.Panels = append(f.Panels, p)
	for i, v := range []plotter.Values{free, designs} {
		h := binned(v, width)
		h.FillColor = []color.Color{color.Gray{Y: 215}, picture.Faint(picture.Color(0))}[i]
		h.LineStyle.Color, h.LineStyle.Width = []color.Color{color.Gray{Y: 140}, picture.Color(0)}[i], vg.Points(0.6)
		p.Add(h)
		if first {
			f.Legend = append(f.Legend, picture.Entry{Name: []string{"unconstrained", "designs"}[i], Mark: h})
		}
	}
	l, err := mark(p, best, picture.Stroke(1))
	if first {
		f.Legend = append(f.Legend, picture.Entry{Name: "MAP", Mark: l})
	}
	return err
}

// binned counts values in bins that begin slightly below multiples of width. A value that is a
// multiple of width thus lies inside a bin.
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
func mark(p *plot.Plot, x float64, style draw.LineStyle) (*plotter.Line, error) {
	l, err := plotter.NewLine(plotter.XYs{{X: x, Y: 0}, {X: x, Y: p.Y.Max}})
	if err != nil {
		return nil, err
	}
	l.LineStyle = style
	p.Add(l)
	return l, nil
}
