// Package picture draws the examples' plots in one style: stacked panels with aligned axes, one
// legend outside the panels, and colours that colour-blind readers can distinguish. Every plot
// is written as SVG and PNG.
package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Width is the width of every figure.
const Width = 16 * vg.Centimeter

// Figure is one picture.
type Figure struct {
	Name    string       // base name of the files
	Title   string       // title above the picture
	Caption string       // caption below the picture on a page
	Panels  []*plot.Plot // panels from top to bottom, with aligned axes
	Height  vg.Length    // height of a panel; 0 for 6 cm
	Legend  []Entry      // legend between title and panels
}

// Entry is a line of a legend: a name and its mark.
type Entry struct {
	Name string
	Mark plot.Thumbnailer
}

const (
	border   = 2 * vg.Millimeter // margin around the figure
	between  = 3 * vg.Millimeter // space between rows
	markWide = 18                // width of a legend mark in points
	markGap  = 4
	entryGap = 14
)

// layout describes the arrangement of a figure on its canvas.
type layout struct {
	title []string
	rows  [][]Entry // rows of the legend
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

// line returns the height of a line of text.
func line(s text.Style) vg.Length { return s.FontExtents().Height * 1.1 }

// head returns the height of the title and the legend.
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

// wrap breaks text at spaces into lines of at most the given width.
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

// draw draws the figure with layout l on a canvas of its size.
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
	for i, at := range f.split(c, l) {
		f.Panels[i].Draw(at)
	}
}

// split returns the canvases of the panels, given the canvas without its border.
func (f *Figure) split(c draw.Canvas, l layout) []draw.Canvas {
	c.Max.Y -= l.head()
	panels := make([][]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		panels[i] = []*plot.Plot{p}
	}
	var all []draw.Canvas
	for _, row := range plot.Align(panels, draw.Tiles{Rows: len(panels), Cols: 1, PadY: between}, c) {
		all = append(all, row[0])
	}
	return all
}

// Group is one series of bars: its name in the legend, and the height of its bar at each place on
// the horizontal axis.
type Group struct {
	Name   string
	Height []float64
}

// Bars draws a cluster of bars at each named place on the horizontal axis, with one bar per group.
// It returns the entries of the legend.
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

// Shares returns a figure of bars in percent, with one cluster at each named place.
func Shares(name, title, axis string, places []string, groups []Group) (*Figure, error) {
	p := Panel("", axis)
	p.Y.Min, p.Y.Max = 0, 100
	legend, err := Bars(p, places, groups)
	return &Figure{Name: name, Title: title, Panels: []*plot.Plot{p}, Legend: legend}, err
}

// Tilt rotates the names below the bars by 90 degrees. Use it for long names.
func (f *Figure) Tilt() {
	for _, p := range f.Panels {
		l := &p.X.Tick.Label
		l.Rotation, l.XAlign, l.YAlign = math.Pi/2, text.XRight, text.YCenter
	}
}

// Dot returns the legend mark for points of series k.
func Dot(k int, shape draw.GlyphDrawer) *plotter.Scatter {
	return &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: Color(k), Radius: vg.Points(3.5), Shape: shape}}
}

// fonts lists the replacements for a reader without the Liberation fonts, those of the same
// widths first.
const fonts = "'Liberation Sans', Arial, Helvetica, sans-serif"

// paper is the style of the background, the first shape of a figure.
const paper = `style="fill:#FFFFFF"`

// darkStyle is a style sheet for readers with a dark page: it replaces the paper, the ink, the
// axes, the grid and the series that would be too dark. Programs that ignore style sheets show
// the figure as it is printed.
var darkStyle = func() string {
	b := []byte("<style>@media screen and (prefers-color-scheme: dark) { svg { fill: #E6E8EA }") // black is written by leaving it out
	for _, c := range [][2]string{
		{"FFFFFF", "16191C"}, {"1E1E1E", "E6E8EA"}, {"000000", "E6E8EA"}, {"787878", "9AA3AA"}, {"E6E6E6", "343B40"},
		{"D7D7D7", "5A646B"}, {"0072B2", "5B8CFF"}, {"87542E", "C98F62"}, {"7A51B8", "B394E6"},
	} {
		for _, what := range []string{"fill", "stroke"} {
			b = fmt.Appendf(b, ` [style*="%[1]s:#%[2]s"] { %[1]s: #%[3]s !important }`, what, c[0], c[1])
		}
	}
	return string(append(b, " }</style>"...))
}()

// SVG returns the figure as an SVG document, whose colours suit light and dark pages.
func (f *Figure) SVG() ([]byte, error) {
	l := f.arrange()
	c := vgsvg.New(l.size.X, l.size.Y)
	f.draw(draw.New(c), l)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:"+fonts))
	svg = bytes.ReplaceAll(svg, []byte("<image "), []byte(`<image preserveAspectRatio="none" `)) // a map fills its axes
	at := bytes.Index(svg, []byte("<svg"))                                                       // for readers who do not see it
	svg = slices.Concat(svg[:at], fmt.Appendf(nil, "<svg role=\"img\" aria-label=\"%s\"", html.EscapeString(f.Alternative())), svg[at+len("<svg"):])
	return bytes.Replace(svg, []byte("\n<g "), []byte("\n"+darkStyle+"\n<g "), 1), nil
}

// Alternative returns a description of the figure in words.
func (f *Figure) Alternative() string {
	text := f.Title
	for i, p := range f.Panels {
		switch x, y := p.X.Label.Text, p.Y.Label.Text; {
		case x != "" && y != "":
			text += fmt.Sprintf(". Panel %d: %s by %s", i+1, y, x)
		case y != "":
			text += fmt.Sprintf(". Panel %d: %s", i+1, y)
		}
	}
	if len(f.Legend) > 0 {
		text += ". Series:"
		for i, e := range f.Legend {
			if i > 0 {
				text += ","
			}
			text += " " + e.Name
		}
	}
	return text
}

// Inline returns the figure as an SVG element to embed in a page. The figure is transparent, so the
// page's background shows. The attribute data-panels of the element holds the scales of the panels.
func (f *Figure) Inline() ([]byte, error) {
	svg, err := f.SVG()
	if err != nil {
		return nil, err
	}
	svg = svg[bytes.Index(svg, []byte("<svg")):]
	scales, err := json.Marshal(f.scales())
	if err != nil {
		return nil, err
	}
	svg = bytes.Replace(svg, []byte("<svg"), fmt.Appendf(nil, `<svg data-panels="%s"`, html.EscapeString(string(scales))), 1)
	return bytes.Replace(svg, []byte(paper), []byte(`style="fill:none"`), 1), nil // the paper is drawn first
}

// PNG returns the figure as a PNG image with 144 dots per inch.
func (f *Figure) PNG() ([]byte, error) {
	l := f.arrange()
	c := vgimg.NewWith(vgimg.UseWH(l.size.X, l.size.Y), vgimg.UseDPI(144))
	f.draw(draw.New(c), l)
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}

// Save writes the figure to a folder as SVG and PNG and returns the two paths.
func (f *Figure) Save(dir string) ([]string, error) {
	var paths []string
	for _, kind := range []struct {
		extension string
		bytes     func() ([]byte, error)
	}{{".svg", f.SVG}, {".png", f.PNG}} {
		b, err := kind.bytes()
		if err != nil {
			return paths, err
		}
		path := filepath.Join(dir, f.Name+kind.extension)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// ticks places labels at multiples of 1, 2 or 5 times a power of ten, four to ten per axis.
type ticks struct{}

// Ticks returns the tick marks of an axis that shows the values from low to high. It implements
// plot.Ticker.
func (ticks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return []plot.Tick{{Value: low, Label: strconv.FormatFloat(low, 'g', 6, 64)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, k := range []float64{5, 2} {
		if (high-low)/(k*step) >= 3.5 {
			step *= k
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	format := byte('f')
	if digits > 4 || high >= 1e6 {
		format, digits = 'g', -1
	}
	var all []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		v := k * step
		label := v
		if format == 'g' {
			label, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		}
		all = append(all, plot.Tick{Value: v, Label: strconv.FormatFloat(label+0, format, digits, 64)})
	}
	return all
}

// Album holds the figures of a report. A report type embeds an Album.
type Album struct{ figures []*Figure }

// Add appends figures.
func (a *Album) Add(f ...*Figure) { a.figures = append(a.figures, f...) }

// Figures returns the figures.
func (a *Album) Figures() []*Figure { return a.figures }
