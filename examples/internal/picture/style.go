package picture

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Font sizes in points of titles, of labels and legends, and of ticks.
const (
	titleSize = 10  // font size of titles in points
	labelSize = 9   // font size of labels and legends in points
	tickSize  = 8.5 // font size of ticks in points: 11 pixels on a screen
)

// palette is the palette of Okabe and Ito (2008) without black, which marks true or exact
// values, and without yellow, which is too faint for lines. Brown and violet are added.
var palette = []color.Color{
	color.RGBA{R: 0, G: 114, B: 178, A: 255},   // blue
	color.RGBA{R: 213, G: 94, B: 0, A: 255},    // vermilion
	color.RGBA{R: 0, G: 158, B: 115, A: 255},   // green
	color.RGBA{R: 204, G: 121, B: 167, A: 255}, // purple
	color.RGBA{R: 230, G: 159, B: 0, A: 255},   // orange
	color.RGBA{R: 86, G: 180, B: 233, A: 255},  // sky
	color.RGBA{R: 135, G: 84, B: 46, A: 255},   // brown
	color.RGBA{R: 122, G: 81, B: 184, A: 255},  // violet
}

var dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}

// Reference is the line style of true or exact values.
var Reference = draw.LineStyle{Color: color.Black, Width: vg.Points(1.2), Dashes: []vg.Length{4, 3}}

// Color returns the colour of series k.
func Color(k int) color.Color { return palette[k%len(palette)] }

// Stroke returns the line style of series k. Series first differ in colour, then in dashes.
func Stroke(k int) draw.LineStyle {
	return draw.LineStyle{Color: Color(k), Width: vg.Points(1.2), Dashes: dashes[k/len(palette)%len(dashes)]}
}

// Faint returns a translucent version of a colour, for filled areas such as bands.
func Faint(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 60}
}

func face(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Points(size)}
}

func style(size float64) text.Style {
	return text.Style{Color: color.Gray{Y: 30}, Font: face(size), Handler: plot.DefaultTextHandler, XAlign: text.XLeft, YAlign: text.YBottom}
}

// Panel returns an empty panel whose axes have the given labels with units, such as "lag
// (steps)".
func Panel(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.TextStyle.Font = face(titleSize)
	p.Title.Padding = vg.Points(3)
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = face(labelSize), face(tickSize)
		a.Label.Padding = vg.Points(2)
		a.Color, a.Tick.Color = color.Gray{Y: 120}, color.Gray{Y: 120}
		a.Padding = vg.Points(3)
		a.Tick.Marker = ticks{}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 230}, color.Gray{Y: 230}
	p.Add(grid)
	return p
}

// Line adds a line with the values y at x = 0, 1, … to a panel, in the style of series k. It
// returns the mark of the series for a legend.
func Line(p *plot.Plot, k int, y []float64) (*plotter.Line, error) {
	xy := make(plotter.XYs, len(y))
	for i, v := range y {
		xy[i] = plotter.XY{X: float64(i), Y: v}
	}
	return Curve(p, k, xy)
}

// Curve adds a curve through given points to a panel, in the style of series k. It returns the mark
// of the series for a legend.
func Curve(p *plot.Plot, k int, xy plotter.XYs) (*plotter.Line, error) {
	l, err := plotter.NewLine(thin(xy))
	if err != nil {
		return nil, err
	}
	l.LineStyle = Stroke(k)
	p.Add(l)
	return l, nil
}

// visible is the maximum number of points in a plotted curve: two per half point of the plot's
// width.
const visible = 1800

// thin reduces a longer curve without a visible change. It keeps the first and the last point,
// and the lowest and the highest point of each of several hundred segments.
func thin(xy plotter.XYs) plotter.XYs {
	if len(xy) <= visible {
		return xy
	}
	kept := plotter.XYs{xy[0]}
	inner, parts := xy[1:len(xy)-1], visible/2-1
	for k := range parts {
		part := inner[k*len(inner)/parts : (k+1)*len(inner)/parts]
		low, high := 0, 0
		for i, v := range part {
			if v.Y < part[low].Y {
				low = i
			}
			if v.Y > part[high].Y {
				high = i
			}
		}
		kept = append(kept, part[min(low, high)])
		if low != high {
			kept = append(kept, part[max(low, high)])
		}
	}
	return append(kept, xy[len(xy)-1])
}

// Band fills the area between the curves low and high, which have the same x values, with the
// colour of series k.
func Band(p *plot.Plot, k int, low, high plotter.XYs) error {
	ring := append(plotter.XYs{}, low...)
	for i := len(high) - 1; i >= 0; i-- {
		ring = append(ring, high[i])
	}
	area, err := plotter.NewPolygon(ring)
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = Faint(Color(k)), 0
	p.Add(area)
	return nil
}

// Level draws a horizontal reference line across the panel at height y.
func Level(p *plot.Plot, y float64) *plotter.Function {
	f := plotter.NewFunction(func(float64) float64 { return y })
	f.LineStyle, f.Samples = Reference, 2
	p.Add(f)
	p.Y.Min, p.Y.Max = min(p.Y.Min, y), max(p.Y.Max, y)
	return f
}

// Node returns the style of a text centred in a shape.
func Node(size float64, c color.Color) text.Style {
	s := style(size)
	s.Color, s.XAlign, s.YAlign = c, text.XCenter, text.YCenter
	return s
}
