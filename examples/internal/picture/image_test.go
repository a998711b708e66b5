package picture

import (
	"image"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// A map covers its axes also where its pixels are not as wide as high: a browser would keep
// them square otherwise, and the ticks would be wrong.
func TestImage(t *testing.T) {
	p := Panel("site", "site")
	p.Add(plotter.NewImage(image.NewGray(image.Rect(0, 0, 4, 4)), 0, 0, 4, 4))
	svg, err := (&Figure{Name: "map", Panels: []*plot.Plot{p}}).SVG()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(svg), "<image"); n != 1 || strings.Count(string(svg), `<image preserveAspectRatio="none"`) != n {
		t.Errorf("%d images: %.300s", n, svg)
	}
}
