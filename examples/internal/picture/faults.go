package picture

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// slack is the overlap of boxes, in points, that is not reported: fonts leave that much space
// around letters.
const slack = 0.5

// Faults draws the figure and lists defects: overlapping texts, and marks or texts outside the
// canvas.
func Faults(f *Figure) []string {
	l := f.arrange()
	rec := new(recorder.Canvas)
	f.draw(draw.NewCanvas(rec, l.size.X, l.size.Y), l)
	r := replay{size: l.size, state: []affine{identity}}
	for _, a := range rec.Actions {
		r.see(a)
	}
	for i, a := range r.texts {
		for _, b := range r.texts[:i] {
			if a.overlaps(b) {
				r.faults = append(r.faults, fmt.Sprintf("%s: %q overlaps %q", f.Name, a.text, b.text))
			}
		}
	}
	return r.faults
}

// affine is the map x ↦ (a·x + c·y + e, b·x + d·y + f).
type affine struct{ a, b, c, d, e, f float64 }

var identity = affine{a: 1, d: 1}

func (m affine) at(p vg.Point) (x, y float64) {
	px, py := float64(p.X), float64(p.Y)
	return m.a*px + m.c*py + m.e, m.b*px + m.d*py + m.f
}

// then returns the composition that applies n first and then m.
func (m affine) then(n affine) affine {
	e, f := m.at(vg.Point{X: vg.Length(n.e), Y: vg.Length(n.f)})
	return affine{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b,
		m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d, e, f,
	}
}

// box is the bounding box of a text or mark.
type box struct {
	text                   string
	left, low, right, high float64
}

func (b *box) add(x, y float64) {
	b.left, b.right = math.Min(b.left, x), math.Max(b.right, x)
	b.low, b.high = math.Min(b.low, y), math.Max(b.high, y)
}

func empty(text string) box {
	return box{text, math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
}

func (b box) overlaps(o box) bool {
	return b.left < o.right-slack && o.left < b.right-slack && b.low < o.high-slack && o.low < b.high-slack
}

// replay tracks the recorded calls of a drawing.
type replay struct {
	size   vg.Point
	state  []affine // stack of Push and Pop
	texts  []box
	faults []string
}

func (r *replay) see(a recorder.Action) {
	top := &r.state[len(r.state)-1]
	switch a := a.(type) {
	case *recorder.Push:
		r.state = append(r.state, *top)
	case *recorder.Pop:
		r.state = r.state[:len(r.state)-1]
	case *recorder.Translate:
		*top = top.then(affine{a: 1, d: 1, e: float64(a.Point.X), f: float64(a.Point.Y)})
	case *recorder.Scale:
		*top = top.then(affine{a: a.X, d: a.Y})
	case *recorder.Rotate:
		s, c := math.Sincos(a.Angle)
		*top = top.then(affine{a: c, b: s, c: -s, d: c})
	case *recorder.FillString:
		r.text(*top, a)
	case *recorder.Stroke:
		r.path(*top, a.Path)
	case *recorder.Fill:
		r.path(*top, a.Path)
	}
}

func (r *replay) text(m affine, a *recorder.FillString) {
	if a.String == "" {
		return
	}
	face := font.DefaultCache.Lookup(a.Font, a.Size)
	wide, ext := face.Width(a.String), face.Extents()
	b := empty(a.String)
	for _, x := range []vg.Length{0, wide} {
		for _, y := range []vg.Length{-ext.Descent, ext.Ascent} {
			b.add(m.at(vg.Point{X: a.Point.X + x, Y: a.Point.Y + y}))
		}
	}
	r.texts = append(r.texts, b)
	r.inside(b)
}

func (r *replay) path(m affine, p vg.Path) {
	b := empty("a mark")
	for _, c := range p {
		switch c.Type {
		case vg.CloseComp:
			continue
		case vg.ArcComp:
			for _, d := range []vg.Point{{X: c.Radius}, {X: -c.Radius}, {Y: c.Radius}, {Y: -c.Radius}} {
				b.add(m.at(vg.Point{X: c.Pos.X + d.X, Y: c.Pos.Y + d.Y}))
			}
			continue
		}
		b.add(m.at(c.Pos))
	}
	if b.left <= b.right {
		r.inside(b)
	}
}

func (r *replay) inside(b box) {
	if b.left < -slack || b.low < -slack || b.right > float64(r.size.X)+slack || b.high > float64(r.size.Y)+slack {
		r.faults = append(r.faults, fmt.Sprintf("%q reaches outside the canvas: %.1f…%.1f, %.1f…%.1f of %.1f × %.1f points",
			b.text, b.left, b.right, b.low, b.high, r.size.X.Points(), r.size.Y.Points()))
	}
}
