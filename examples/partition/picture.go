package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

var (
	one   = color.RGBA{R: 230, G: 150, B: 40, A: 255} // with node 1
	other = color.RGBA{R: 60, G: 120, B: 190, A: 255}
)

// margin is the room around the graph, which is one unit wide and high.
const margin = 0.05

// drawGraph writes a picture of the graph: nodes filled by how often they were with
// node 1, squares for the side of the known split that node 1 is on.
func drawGraph(dir string, c *community, o *outcome) (string, error) {
	p := plot.New()
	p.Title.Text = c.name + ": how often each node was with node 1"
	p.HideAxes()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -margin, 1+margin, -margin, 1+3*margin // the legend is on top
	at := place(c)
	best, _ := o.best()
	for _, e := range c.edges {
		l, err := plotter.NewLine(plotter.XYs{at[e.I], at[e.J]})
		if err != nil {
			return "", err
		}
		l.Color, l.Width = color.Gray{Y: 200}, vg.Points(0.7)
		if best[e.I] == best[e.J] {
			l.Color = color.Gray{Y: 110}
		}
		p.Add(l)
	}
	with := o.with()
	nodes, err := plotter.NewScatter(at)
	if err != nil {
		return "", err
	}
	rims, err := plotter.NewScatter(at)
	if err != nil {
		return "", err
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
		return "", err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = text.XCenter, text.YCenter
		labels.TextStyle[i].Color = color.White
		labels.TextStyle[i].Font.Size = vg.Points(8)
	}
	p.Add(rims, nodes, labels)
	legend(p, c)
	return picture.Save(p, dir, "graph.png", 13*vg.Centimeter)
}

func numbers(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprint(i + 1)
	}
	return s
}

func legend(p *plot.Plot, c *community) {
	p.Legend.Top = true
	add := func(name string, colour color.Color, shape draw.GlyphDrawer) {
		s := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: colour, Radius: vg.Points(5), Shape: shape}}
		p.Legend.Add(name, s)
	}
	add("always with node 1", one, draw.CircleGlyph{})
	add("never", other, draw.CircleGlyph{})
	if c.known != nil {
		add("known split: side of node 1", color.Gray{Y: 60}, draw.BoxGlyph{})
		add("known split: other side", color.Gray{Y: 60}, draw.CircleGlyph{})
	}
}

// blend mixes a and b, a share t of b.
func blend(a, b color.RGBA, t float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*(1-t) + float64(b)*t + 0.5) }
	return color.RGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}
