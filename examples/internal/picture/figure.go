package picture

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Width is that of every picture.
const Width = 16 * vg.Centimeter

// Figure is one picture.
type Figure struct {
	Name    string       // of its files, without extension
	Title   string       // above it
	Caption string       // what a page says below it
	Panels  []*plot.Plot // above each other, axes aligned
	Height  vg.Length    // of a panel; 0 is 6 cm
	Legend  []Entry      // between title and panels
}

// Entry is a line of a legend: a name and the mark that it stands for.
type Entry struct {
	Name string
	Mark plot.Thumbnailer
}

const (
	border   = 2 * vg.Millimeter // around everything
	between  = 3 * vg.Millimeter // rows of a figure
	markWide = 18                // points
	markGap  = 4
	entryGap = 14
)

// layout is what a figure looks like on its canvas.
type layout struct {
	title []string
	rows  [][]Entry // of the legend
	size  vg.Point
}

func (f *Figure) arrange() layout {
	width := Width - 2*border
	l := layout{title: wrap(f.Title, style(titleSize), width)}
	label, used := style(labelSize), vg.Length(0)
	for _, e := range f.Legend {
		wide := markWide + markGap + label.Width(e.Name) + entryGap
		if len(l.rows) == 0 || used+wide-entryGap > width {
			l.rows, used = append(l.rows, nil), 0
		}
		last := len(l.rows) - 1
		l.rows[last] = append(l.rows[last], e)
		used += wide
	}
	high := f.Height
	if high == 0 {
		high = 6 * vg.Centimeter
	}
	l.size = vg.Point{X: Width, Y: 2*border + l.head() + vg.Length(len(f.Panels))*(high+between) - between}
	return l
}

// line is the height of a line of text.
func line(s text.Style) vg.Length { return s.FontExtents().Height * 1.1 }

// head is the height of the title and the legend.
func (l *layout) head() vg.Length {
	h := vg.Length(0)
	if n := len(l.title); n > 0 {
		h += vg.Length(n)*line(style(titleSize)) + between
	}
	if n := len(l.rows); n > 0 {
		h += vg.Length(n)*line(style(labelSize)) + between
	}
	return h
}

// wrap cuts text at spaces into lines that fit.
func wrap(s string, in text.Style, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && in.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// draw paints the figure, laid out as l, on a canvas of its size.
func (f *Figure) draw(c draw.Canvas, l layout) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, border, -border, border, -border)
	y := c.Max.Y
	title := style(titleSize)
	for _, s := range l.title {
		y -= line(title)
		c.FillText(title, vg.Point{X: c.Min.X, Y: y}, s)
	}
	if len(l.title) > 0 {
		y -= between
	}
	label := style(labelSize)
	for _, row := range l.rows {
		y -= line(label)
		x := c.Min.X
		for _, e := range row {
			if e.Mark != nil {
				mark := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
					Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + markWide, Y: y + label.FontExtents().Height}}}
				e.Mark.Thumbnail(&mark)
			}
			x += markWide + markGap
			c.FillText(label, vg.Point{X: x, Y: y}, e.Name)
			x += label.Width(e.Name) + entryGap
		}
	}
	c.Max.Y -= l.head()
	panels := make([][]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		panels[i] = []*plot.Plot{p}
	}
	for i, row := range plot.Align(panels, draw.Tiles{Rows: len(panels), Cols: 1, PadY: between}, c) {
		f.Panels[i].Draw(row[0])
	}
}
