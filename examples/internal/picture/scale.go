package picture

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// scale maps positions in a panel to values.
type scale struct {
	// left, bottom, right and top of the panel in points, from the lower left corner of the
	// figure
	Box  [4]float64
	X, Y axis
}

// axis is an axis of a scale.
type axis struct {
	Name     string
	Min, Max float64
	// positions of the names, if the axis has names; otherwise nil
	Places map[string]float64 `json:",omitempty"`
}

// scales returns the scales of the panels that have axes.
func (f *Figure) scales() []scale {
	l := f.arrange()
	c := draw.Crop(draw.NewCanvas(new(recorder.Canvas), l.size.X, l.size.Y), border, -border, border, -border)
	all := []scale{}
	below := ""
	for _, p := range f.Panels { // the lowest names an axis that all have
		below = p.X.Label.Text
	}
	for i, at := range f.split(c, l) {
		p := f.Panels[i]
		box := p.DataCanvas(at).Rectangle
		x, y := named(p.X), named(p.Y)
		if x.Name == "" {
			x.Name = below
		}
		if x.Name == "" && x.Places == nil || y.Name == "" && y.Places == nil {
			continue
		}
		all = append(all, scale{[4]float64{box.Min.X.Points(), box.Min.Y.Points(), box.Max.X.Points(), box.Max.Y.Points()}, x, y})
	}
	return all
}

func named(a plot.Axis) axis {
	n := axis{Name: a.Label.Text, Min: a.Min, Max: a.Max}
	if names, ok := a.Tick.Marker.(plot.ConstantTicks); ok {
		n.Places = map[string]float64{}
		for _, t := range names {
			n.Places[t.Label] = t.Value
		}
	}
	return n
}
