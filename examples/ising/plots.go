package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/diagnosis"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// draw adds the plots of a sampling run.
func (r *report) draw(p *problem, runs []outcome) error {
	var all []diagnosis.Run
	for _, o := range runs {
		d, err := diagnosis.New(o.name, o.trace, "mean spin")
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	var mean *float64
	if r.Exact != nil {
		mean = &r.Exact.Mean
	}
	figures, err := diagnosis.Figures("mean spin", all, mean)
	if err != nil {
		return err
	}
	r.Add(figures...)
	if len(p.lattice) == 2 {
		r.Add(snapshot(p, runs[0].last[:p.lattice.Sites()], fmt.Sprintf("The last state of the first chain (%s)", runs[0].name)))
	}
	return nil
}

// spins is a state on a two-dimensional lattice as the grid of a heat map. Row 0 is at the top.
type spins struct {
	rows, cols int
	x          []int32
}

func (s spins) Dims() (c, r int)   { return s.cols, s.rows }
func (s spins) Z(c, r int) float64 { return float64(2*s.x[(s.rows-1-r)*s.cols+c] - 1) }
func (s spins) X(c int) float64    { return float64(c) }
func (s spins) Y(r int) float64    { return float64(r) }

// up and down are the colours of the spins.
var up, down = picture.Color(4), color.Gray{Y: 40}

func (s spins) Colors() []color.Color { return []color.Color{down, up} }

func snapshot(p *problem, x []int32, title string) *picture.Figure {
	panel := plot.New()
	panel.BackgroundColor = nil // that of the page
	panel.HideAxes()
	s := spins{rows: p.lattice[0], cols: p.lattice[1], x: x}
	h := plotter.NewHeatMap(s, s)
	h.Min, h.Max = -1, 1
	panel.Add(h)
	// Square cells, but no picture taller than it is wide.
	high := min(1, vg.Length(s.rows)/vg.Length(s.cols)) * picture.Width
	patch := func(c color.Color) *plotter.Polygon { return &plotter.Polygon{Color: c} }
	return &picture.Figure{
		Name: "lattice", Title: title, Caption: "One cell per site.", Height: high, Panels: []*plot.Plot{panel},
		Legend: []picture.Entry{{Name: "spin up", Mark: patch(up)}, {Name: "spin down", Mark: patch(down)}},
	}
}
