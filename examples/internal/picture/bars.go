package picture

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Group is one colour of bars: a name, and a height at each place.
type Group struct {
	Name   string
	Height []float64
}

// Bars draws one group of bars at each named place, a bar of every group's colour, and
// returns the entries of the legend.
func Bars(p *plot.Plot, places []string, groups []Group) ([]Entry, error) {
	wide := vg.Points(min(24, 300/float64(max(1, len(places)*len(groups)))))
	var legend []Entry
	for k, g := range groups {
		bars, err := plotter.NewBarChart(plotter.Values(g.Height), wide)
		if err != nil {
			return nil, err
		}
		bars.LineStyle.Width, bars.Color = 0, Color(k)
		bars.Offset = vg.Length(float64(k)-float64(len(groups)-1)/2) * wide
		p.Add(bars)
		legend = append(legend, Entry{g.Name, bars})
	}
	p.NominalX(places...)
	p.X.Tick.Label.Font, p.X.Tick.Length = face(tickSize), 0
	return legend, nil
}

// Shares draws a group of bars of a share in percent at each named place.
func Shares(name, title, axis string, places []string, groups []Group) (*Figure, error) {
	p := Panel("", axis)
	p.Y.Min, p.Y.Max = 0, 100
	legend, err := Bars(p, places, groups)
	return &Figure{Name: name, Title: title, Panels: []*plot.Plot{p}, Legend: legend}, err
}

// Tilt turns the names of places by a right angle, for names that are long.
func (f *Figure) Tilt() {
	for _, p := range f.Panels {
		l := &p.X.Tick.Label
		l.Rotation, l.XAlign, l.YAlign = math.Pi/2, text.XRight, text.YCenter
	}
}

// Dot is the mark of a point of series k in a legend.
func Dot(k int, shape draw.GlyphDrawer) *plotter.Scatter {
	return &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: Color(k), Radius: vg.Points(3.5), Shape: shape}}
}
