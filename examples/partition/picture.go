package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// The colours of nodes are light, so that the dark node numbers are readable on light and dark
// pages.
var (
	one   = blend(picture.Color(1), color.White, 0.45) // colour of nodes on the side of node 1
	other = blend(picture.Color(0), color.White, 0.45) // colour of nodes on the other side
	ink   = color.Gray{Y: 20}                          // colour of node numbers
)

// margin is the space around the graph, which is one unit wide and high.
const margin = 0.03

// drawGraph draws the graph. The fill of a node shows how often it was on the side of node 1.
// Nodes whose known side is that of node 1 are squares.
func drawGraph(c *community, o *outcome) (*picture.Figure, error) {
	p := plot.New()
	p.BackgroundColor = nil // that of the page
	p.HideAxes()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -margin, 1+margin, -margin, 1+margin
	at := place(c)
	best, _ := o.best()
	for _, e := range c.edges {
		l, err := plotter.NewLine(plotter.XYs{at[e.I], at[e.J]})
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = color.Gray{Y: 120}, vg.Points(0.4)
		if best[e.I] == best[e.J] {
			l.Width = vg.Points(1.3)
		}
		p.Add(l)
	}
	with := o.with()
	nodes, err := plotter.NewScatter(at)
	if err != nil {
		return nil, err
	}
	rims, err := plotter.NewScatter(at)
	if err != nil {
		return nil, err
	}
	shape := func(i int) draw.GlyphDrawer {
		if c.known != nil && c.known[i] == c.known[0] {
			return draw.BoxGlyph{}
		}
		return draw.CircleGlyph{}
	}
	nodes.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Color: blend(other, one, with[i]), Radius: vg.Points(7), Shape: shape(i)}
	}
	rims.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Color: color.Gray{Y: 60}, Radius: vg.Points(8), Shape: shape(i)}
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: at, Labels: numbers(c.n)})
	if err != nil {
		return nil, err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i] = picture.Node(8.5, ink)
	}
	p.Add(rims, nodes, labels)
	return &picture.Figure{
		Name: "graph", Title: c.name + ": how often each node was with node 1", Height: 13 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "Thick edges join nodes on the same side of the best partition. Nodes between the two colours changed sides.", Legend: legend(c),
	}, nil
}

func numbers(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprint(i + 1)
	}
	return s
}

func legend(c *community) []picture.Entry {
	var all []picture.Entry
	add := func(name string, colour color.Color, shape draw.GlyphDrawer) {
		all = append(all, picture.Entry{Name: name, Mark: &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: colour, Radius: vg.Points(4), Shape: shape}}})
	}
	add("always with node 1", one, draw.CircleGlyph{})
	add("never", other, draw.CircleGlyph{})
	if c.known != nil {
		add("known split: side of node 1", color.Gray{Y: 120}, draw.BoxGlyph{})
		add("known split: other side", color.Gray{Y: 120}, draw.CircleGlyph{})
	}
	return all
}

// blend mixes the colours a and b, with weight t for b.
func blend(a, b color.Color, t float64) color.Color {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	mix := func(a, b uint32) uint8 { return uint8((float64(a)*(1-t) + float64(b)*t) / 257) }
	return color.RGBA{R: mix(ar, br), G: mix(ag, bg), B: mix(ab, bb), A: 255}
}
