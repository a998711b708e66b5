package picture

import (
	"bytes"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

func figure(t *testing.T) *Figure {
	t.Helper()
	f := &Figure{Name: "f", Title: strings.Repeat("a long title that wraps ", 8), Caption: "c"}
	for k := range 2 {
		p := Panel("time (s)", "speed (m/s)")
		l, err := Line(p, k, []float64{1, 3, 2, 1e6})
		if err != nil {
			t.Fatal(err)
		}
		Level(p, 2)
		for range 9 {
			f.Legend = append(f.Legend, Entry{"an entry", l})
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

func TestFaults(t *testing.T) {
	if got := Faults(figure(t)); len(got) > 0 {
		t.Errorf("a figure without faults has %q", got)
	}
	over := figure(t)
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: 1, Y: 1}, {X: 1.01, Y: 1}}, Labels: []string{"here", "there"}})
	if err != nil {
		t.Fatal(err)
	}
	over.Panels[1].Add(labels)
	if got := strings.Join(Faults(over), " "); !strings.Contains(got, `"there" overlaps "here"`) {
		t.Errorf("texts on top of each other: %q", got)
	}
	out := figure(t)
	out.Panels[0].Title.Text = strings.Repeat("far out ", 40)
	if got := strings.Join(Faults(out), " "); !strings.Contains(got, "outside the canvas") {
		t.Errorf("a text outside: %q", got)
	}
	crowded := figure(t)
	names := strings.Fields(strings.Repeat("quite-a-long-name ", 12))
	if _, err := Bars(crowded.Panels[0], names, []Group{{"g", make([]float64, len(names))}}); err != nil {
		t.Fatal(err)
	}
	if len(Faults(crowded)) == 0 {
		t.Error("names of places that overlap are not seen")
	}
	crowded.Tilt()
	crowded.Height = 9 * vg.Centimeter
	for _, fault := range Faults(crowded) {
		if strings.Contains(fault, "quite") {
			t.Error(fault)
		}
	}
}

func TestBytesAreTheSame(t *testing.T) {
	a, err := figure(t).SVG()
	if err != nil {
		t.Fatal(err)
	}
	b, err := figure(t).SVG()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two drawings differ")
	}
	if !bytes.Contains(a, []byte("Arial")) {
		t.Error("no font for readers without Liberation")
	}
}

func TestColorsDiffer(t *testing.T) {
	seen := map[string]int{}
	for k := range 4 * len(palette) {
		s := Stroke(k)
		r, g, b, _ := s.Color.RGBA()
		key := strings.Join([]string{string(rune(r)), string(rune(g)), string(rune(b))}, " ")
		for _, d := range s.Dashes {
			key += string(rune(d))
		}
		if j, ok := seen[key]; ok {
			t.Errorf("series %d looks like series %d", k, j)
		}
		seen[key] = k
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 300, "0 50 100 150 200 250 300"},
		{-0.99, 1, "-0.5 0.0 0.5 1.0"},
		{0.4501, 0.55, "0.46 0.48 0.50 0.52 0.54"},
		{0, 1e7, "0 2e+06 4e+06 6e+06 8e+06 1e+07"},
		{0, 3e-7, "0 5e-08 1e-07 1.5e-07 2e-07 2.5e-07 3e-07"},
	} {
		var got []string
		for _, tick := range (ticks{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
	if got := (ticks{}).Ticks(1, 1); len(got) != 1 {
		t.Errorf("no width: %v", got)
	}
}

// A long curve is thinned to what can be seen: its ends and its extremes stay.
func TestThin(t *testing.T) {
	long := make(plotter.XYs, 100000)
	for i := range long {
		long[i].X = float64(i)
	}
	long[54321].Y, long[12345].Y = 7, -3
	got := thin(long)
	if len(got) > visible || got[0] != long[0] || got[len(got)-1] != long[len(long)-1] {
		t.Errorf("%d points from %v to %v", len(got), got[0], got[len(got)-1])
	}
	low, high := 0.0, 0.0
	for i, v := range got {
		low, high = min(low, v.Y), max(high, v.Y)
		if i > 0 && v.X <= got[i-1].X {
			t.Fatalf("point %d is not behind the one before", i)
		}
	}
	if low != -3 || high != 7 {
		t.Errorf("from %v to %v", low, high)
	}
	if short := long[:10]; len(thin(short)) != 10 {
		t.Error("a short curve is thinned")
	}
}

// Every series of a dozen has its own colour or dashes, and a picture has words.
func TestFigureForEverybody(t *testing.T) {
	for k := range 8 {
		for j := range k {
			if Color(k) == Color(j) {
				t.Errorf("series %d and %d have one colour", j, k)
			}
		}
	}
	f := figure(t)
	f.Title = `a "title" & more`
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`role="img" aria-label="a &#34;title&#34; &amp; more. Panel 1: speed (m/s) by time (s).`, "Series: an entry"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %s in\n%.400s", want, svg)
		}
	}
	inline, err := f.Inline()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(inline), `style="fill:#FFFFFF"`) || !strings.Contains(string(svg), `style="fill:#FFFFFF"`) {
		t.Error("a saved figure has white paper, one in a page shows the page's background")
	}
	_, rest, _ := strings.Cut(string(svg), "</style>") // every colour that the style replaces is spelt as it is drawn
	for _, c := range []string{"fill:#FFFFFF", "fill:#1E1E1E", "stroke:#000000", "stroke:#787878", "stroke:#E6E6E6", "stroke:#0072B2"} {
		if !strings.Contains(darkStyle, `[style*="`+c+`"]`) || !strings.Contains(rest, c) {
			t.Errorf("%s has no colour on dark pages, or is not drawn", c)
		}
	}
}
