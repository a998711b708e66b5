package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is what the program prints, as text or as JSON.
type report struct {
	Protein    string   `json:"protein"`
	Usage      string   `json:"usage"`
	Seed       uint64   `json:"seed"`
	Designs    []figure `json:"designs"`
	Map        figure   `json:"map"`
	Violations int      `json:"violations"` // of all designs and the MAP
	Mass       float64  `json:"log_feasible_mass"`
	Acceptance float64  `json:"reject_acceptance"`
	Trials     int      `json:"reject_trials"`

	picture.Album `json:"-"`

	demands []string
	kept    []int // designs that meet each demand
	best    []bool
	free    *free
	bases   int
	files   []string // beside the page
}

// figure is one design: log_prob is its log-probability under codon usage, given
// the protein and the constraints.
type figure struct {
	DNA     string  `json:"dna"`
	CAI     float64 `json:"cai"`
	GC      float64 `json:"gc"`
	LogProb float64 `json:"log_prob"`
}

func newReport(t *task, mass float64) *report {
	names := demands(t.options)
	return &report{
		Protein: t.protein.name, Usage: t.usage.name, Seed: t.seed, Mass: mass, Trials: t.trials,
		demands: names, kept: make([]int, len(names)), bases: 3 * len(t.protein.letters),
	}
}

// add has a design judged; the first is the MAP.
func (r *report) add(t *task, x []int32) figure {
	dna := bases(x)
	verdict := judge(t.options, t.protein, dna)
	for i, ok := range verdict {
		if !ok {
			r.Violations++
		}
		if ok && r.best != nil {
			r.kept[i]++
		}
	}
	if r.best == nil {
		r.best = verdict
	}
	return figure{DNA: dna, CAI: adaptation(t.usage, dna), GC: gcContent(dna), LogProb: t.logProb(x) - r.Mass}
}

func (r *report) String() string {
	var b bytes.Buffer
	r.writeFASTA(&b)
	fmt.Fprintf(&b, "\n%s: %d codons; usage of %s; seed %d\n\n", r.Protein, r.bases/3, r.Usage, r.Seed)
	r.writeDemands(&b)
	fmt.Fprintf(&b, "\nP(all | protein) = %.4g (log %.6f), exact, by one pass over codons\n", math.Exp(r.Mass), r.Mass)
	fmt.Fprintf(&b, "unconstrained designs accepted: %d of %d, %.4g\n\n", r.free.accepted, r.free.trials, r.Acceptance)
	r.writeFigures(&b)
	for _, f := range r.files {
		fmt.Fprintln(&b, "wrote", f)
	}
	return b.String()
}

// writeFASTA writes every design.
func (r *report) writeFASTA(w io.Writer) {
	record := func(name string, f figure) {
		fmt.Fprintf(w, ">%s cai=%.4f gc=%.4f log_prob=%.4f\n", name, f.CAI, f.GC, f.LogProb)
		for dna := range slices.Chunk([]byte(f.DNA), 60) {
			fmt.Fprintf(w, "%s\n", dna)
		}
	}
	record("map", r.Map)
	for i, f := range r.Designs {
		record(fmt.Sprintf("design_%d", i+1), f)
	}
}

// writeDemands sets what was asked beside what the judge found.
func (r *report) writeDemands(b *bytes.Buffer) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "judged on the strings\tdesigns\tMAP\tunconstrained")
	for i, name := range r.demands {
		yes := "yes"
		if !r.best[i] {
			yes = "NO"
		}
		fmt.Fprintf(w, "%s\t%d of %d\t%s\t%.2f %%\n", name, r.kept[i], len(r.Designs), yes, 100*float64(r.free.passed[i])/float64(r.free.trials))
	}
	w.Flush()
	fmt.Fprintf(b, "violations: %d\n", r.Violations)
}

// writeFigures compares the designs with the likeliest one.
func (r *report) writeFigures(b *bytes.Buffer) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	column := func(f func(figure) float64) []float64 {
		v := make([]float64, len(r.Designs))
		for i, d := range r.Designs {
			v[i] = f(d)
		}
		return v
	}
	fmt.Fprintln(w, "\tCAI: mean\tlowest\thighest\tGC: mean\tlowest\thighest\tlog_prob: mean")
	row := func(name string, cai, gc []float64, logProb string) {
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%s\n", name,
			mean(cai), slices.Min(cai), slices.Max(cai), mean(gc), slices.Min(gc), slices.Max(gc), logProb)
	}
	row("designs", column(func(f figure) float64 { return f.CAI }), column(func(f figure) float64 { return f.GC }),
		fmt.Sprintf("%.3f", mean(column(func(f figure) float64 { return f.LogProb }))))
	row("MAP", []float64{r.Map.CAI}, []float64{r.Map.GC}, fmt.Sprintf("%.3f", r.Map.LogProb))
	row("unconstrained", r.free.cai, r.free.gc, "–")
	w.Flush()
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
