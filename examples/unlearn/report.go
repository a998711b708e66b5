package main

import (
	"bytes"
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// report is the program's output, printed as a table or as JSON.
type report struct {
	Curve []point     `json:"curve"` // trade-off curve of the grid
	Words *wordReport `json:"words"`
	// several concepts: a multiplier each against equal weights
	Several []severalRow `json:"several"`

	picture.Album `json:"-"`

	levels []float64
	limits []string
}

// point is one distribution p on a trade-off curve, from the original q towards one without q_u.
type point struct {
	Formulation string  `json:"formulation"`
	Unlearned   float64 `json:"unlearned"` // unlearned likelihood E_p[q_u/q]
	KL          float64 `json:"kl"`        // divergence KL(p‖q) in nats
	Lambda      float64 `json:"lambda"`
}

// wordReport holds the results for the words. The shares are of words that contain dd.
type wordReport struct {
	Letters     int     `json:"letters"`
	States      int     `json:"states"`
	Curve       []point `json:"curve"`
	Goal        float64 `json:"goal"`
	ExactLambda float64 `json:"exact_lambda"`
	KL          float64 `json:"kl"`
	Before      float64 `json:"share_before"`
	ExactAfter  float64 `json:"exact_share_after"`
	// multiplier found by sampling; the fields below are estimated by sampling, too
	Lambda      float64  `json:"lambda"`
	Unlearned   float64  `json:"unlearned"`
	UnlearnedSE float64  `json:"unlearned_mcse"`
	After       float64  `json:"share_after"`
	AfterSE     *float64 `json:"share_after_mcse,omitempty"`
	Exact       string   `json:"exact"` // which distribution the words of the chains follow

	limits []string
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "three Gaussians on a grid of %d points forget one: KL(p‖q) by what is left of it\n", side*side)
	table(&b, r.levels, r.Curve, r.limits)
	w := r.Words
	fmt.Fprintf(&b, "\nwords of %d letters (%d) forget a dialect: KL(p‖q) by what is left of it\n", w.Letters, w.States)
	table(&b, r.levels, w.Curve, w.limits)
	fmt.Fprintf(&b, "\nlikelihood ratio at most %v, by sampling and exactly:\n", w.Goal)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tlambda\tunlearned\tMCSE\twords with dd\tMCSE\t")
	fmt.Fprintf(t, "before\t0\t1\t\t%.4f\t\t\n", w.Before)
	se := ""
	if w.AfterSE != nil {
		se = fmt.Sprintf("%.4f", *w.AfterSE)
	}
	fmt.Fprintf(t, "chains\t%.4f\t%.4f\t%.4f\t%.4f\t%s\t\n", w.Lambda, w.Unlearned, w.UnlearnedSE, w.After, se)
	fmt.Fprintf(t, "exact\t%.4f\t%.4f\t\t%.4f\t\t\n", w.ExactLambda, w.Goal, w.ExactAfter)
	t.Flush()
	fmt.Fprintln(&b, w.Exact)
	severalTable(&b, r.Several)
	return b.String()
}

// sameLevel is the tolerance with which the bisection of a curve meets its level.
const sameLevel = 1e-6

func table(b *bytes.Buffer, levels []float64, points []point, limits []string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "unlearned likelihood\t")
	for _, f := range formulations {
		fmt.Fprintf(t, "%v\tlambda\t", f)
	}
	fmt.Fprintln(t)
	for _, level := range levels {
		fmt.Fprintf(t, "%v\t", level)
		for _, f := range formulations {
			cells := "–\t–\t"
			for _, p := range points {
				if p.Formulation == f.String() && math.Abs(p.Unlearned-level) < sameLevel {
					cells = fmt.Sprintf("%.3f\t%.4f\t", p.KL, p.Lambda)
				}
			}
			fmt.Fprint(t, cells)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	for _, m := range limits {
		fmt.Fprintln(b, m)
	}
}

// drawCurves plots the trade-off curves of both problems.
func drawCurves(r *report) (*picture.Figure, error) {
	f := &picture.Figure{
		Name: "unlearn", Title: "What forgetting costs: three Gaussians forget one (above), words forget a dialect (below)", Height: 8 * vg.Centimeter,
		Caption: "Every formulation starts at 1, before unlearning, and pays in Kullback–Leibler divergence for what it forgets.",
	}
	for i, points := range [][]point{r.Curve, r.Words.Curve} {
		p := picture.Panel("", "KL(p‖q) (nats)")
		if i == 1 {
			p.X.Label.Text = "unlearned likelihood E_p[q_u/q]"
		}
		p.X.Min, p.X.Max, p.Y.Min = 0, 1, 0
		for j, form := range formulations {
			var xy plotter.XYs
			for _, q := range points {
				if q.Formulation == form.String() {
					xy = append(xy, plotter.XY{X: q.Unlearned, Y: q.KL})
				}
			}
			if len(xy) == 0 {
				continue
			}
			if _, err := picture.Curve(p, j, xy); err != nil {
				return nil, err
			}
			s, err := plotter.NewScatter(xy)
			if err != nil {
				return nil, err
			}
			s.GlyphStyle = picture.Dot(j, plotutil.Shape(j)).GlyphStyle
			p.Add(s)
			if i == 0 {
				f.Legend = append(f.Legend, picture.Entry{Name: form.String(), Mark: s})
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}
