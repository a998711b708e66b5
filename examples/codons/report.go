package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as text or as JSON.
type report struct {
	Protein string `json:"protein"`
	Gene    string `json:"gene,omitempty"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Usage   string `json:"usage"`
	// organism to whose usage the codons are harmonised
	Source  string    `json:"source,omitempty"`
	Native  *measures `json:"native,omitempty"` // native DNA; nil if there is none
	Seed    uint64    `json:"seed"`
	Designs []figure  `json:"designs"`
	Map     figure    `json:"map"`
	// number of violated demands of all designs and the MAP design
	Violations int     `json:"violations"`
	Mass       float64 `json:"log_feasible_mass"`
	Acceptance float64 `json:"reject_acceptance"`
	Exact      string  `json:"exact"` // which distribution the designs follow
	Trials     int     `json:"reject_trials"`

	picture.Album `json:"-"`

	demands []string
	kept    []int // number of designs that satisfy each demand
	best    []bool
	native  []bool
	free    *free
	bases   int
	files   []string // files written in addition to the page
}

// figure is one design. LogProb is its log-probability under codon usage, given the protein and
// the constraints.
type figure struct {
	measures
	LogProb float64 `json:"log_prob"`
}

// measures holds properties of a DNA sequence.
type measures struct {
	DNA string  `json:"dna"`
	CAI float64 `json:"cai"`
	GC  float64 `json:"gc"`
	// mean difference from the native usage; nil without -harmonise
	Discord *float64 `json:"discord,omitempty"`
}

func newReport(t *task, mass float64) *report {
	names := demands(t)
	r := &report{
		Protein: t.gene.protein.name, Gene: t.gene.gene, Before: t.gene.before, After: t.gene.after, Usage: t.host.name, Source: t.of.name,
		Seed: t.seed, Mass: mass, Trials: t.trials, Exact: t.exact(), demands: names, kept: make([]int, len(names)), bases: 3 * len(t.letters),
	}
	if t.native != "" {
		m := t.measure(t.native)
		r.Native, r.native = &m, judge(t, t.native)
	}
	return r
}

// exact says which distribution the designs follow.
func (t *task) exact() string {
	codons := "by their usage in the host"
	if t.source != "" {
		codons = "by how close their usage in the host is to that in the source"
	}
	return command.Conditioned + ": independent draws of codons, weighted " + codons + ", given the protein and all demands"
}

func (t *task) measure(dna string) measures {
	table := t.options.code.table
	m := measures{DNA: dna, CAI: adaptation(t.host, table, dna), GC: gcContent(dna)}
	if t.source != "" {
		d := discord(t.host, t.of, table, t.gene.code.table, dna, t.native)
		m.Discord = &d
	}
	return m
}

// add evaluates a design. The first design added is the MAP design.
func (r *report) add(t *task, x []int32) figure {
	dna := bases(x)
	met := judge(t, dna)
	for i, ok := range met {
		if !ok {
			r.Violations++
		}
		if ok && r.best != nil {
			r.kept[i]++
		}
	}
	if r.best == nil {
		r.best = met
	}
	return figure{t.measure(dna), t.logProb(x) - r.Mass}
}

func (r *report) String() string {
	var b bytes.Buffer
	entry(&b, "map", r.Map)
	if more := len(r.Designs) - 1; more >= 0 {
		entry(&b, "design_1", r.Designs[0])
		if more > 0 && len(r.files) == 0 {
			fmt.Fprintf(&b, "and %d more: with -out FOLDER, designs.fasta there has them all\n", more)
		}
	}
	fmt.Fprintf(&b, "\n%s: %d codons; usage of %s; seed %d\n", r.Protein, r.bases/3, r.Usage, r.Seed)
	if r.Source != "" {
		fmt.Fprintf(&b, "codons as rare as those of the DNA are in %s\n", r.Source)
	}
	if r.Before+r.After != "" {
		fmt.Fprintf(&b, "flanks of %d and %d bases\n", len(r.Before), len(r.After))
	}
	fmt.Fprintln(&b)
	r.writeDemands(&b)
	fmt.Fprintf(&b, "\nP(all | protein) = %.4g (log %.6f), exact, by one pass over codons\n", math.Exp(r.Mass), r.Mass)
	fmt.Fprintf(&b, "unconstrained designs accepted: %d of %d, %.4g\n\n", r.free.accepted, r.free.trials, r.Acceptance)
	r.writeFigures(&b)
	fmt.Fprintln(&b, r.Exact)
	for _, f := range r.files {
		fmt.Fprintln(&b, "wrote", f)
	}
	return b.String()
}

// writeFASTA writes every design.
func (r *report) writeFASTA(w io.Writer) {
	entry(w, "map", r.Map)
	for i, f := range r.Designs {
		entry(w, fmt.Sprintf("design_%d", i+1), f)
	}
}

// entry writes a design as a FASTA record.
func entry(w io.Writer, name string, f figure) {
	fmt.Fprintf(w, ">%s cai=%.4f gc=%.4f log_prob=%.4f\n", name, f.CAI, f.GC, f.LogProb)
	for dna := range slices.Chunk([]byte(f.DNA), 60) {
		fmt.Fprintf(w, "%s\n", dna)
	}
}

// writeDemands writes the number of designs that satisfy each demand.
func (r *report) writeDemands(b *bytes.Buffer) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "judged on the strings\tdesigns\tMAP\tunconstrained")
	if r.Native != nil {
		fmt.Fprint(w, "\tthe DNA read")
	}
	fmt.Fprintln(w)
	answer := map[bool]string{true: "yes", false: "NO"}
	for i, name := range r.demands {
		fmt.Fprintf(w, "%s\t%d of %d\t%s\t%.2f %%", name, r.kept[i], len(r.Designs), answer[r.best[i]], 100*float64(r.free.passed[i])/float64(r.free.trials))
		if r.Native != nil {
			fmt.Fprintf(w, "\t%s", strings.ToLower(answer[r.native[i]]))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintf(b, "violations: %d\n", r.Violations)
}

// writeFigures compares the designs with the most probable one.
func (r *report) writeFigures(b *bytes.Buffer) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	column := func(f func(figure) float64) []float64 {
		v := make([]float64, len(r.Designs))
		for i, d := range r.Designs {
			v[i] = f(d)
		}
		return v
	}
	head := "\tCAI: mean\tlowest\thighest\tGC: mean\tlowest\thighest\tlog_prob: mean"
	if r.Source != "" {
		head += "\tdiscord: mean"
	}
	fmt.Fprintln(w, head)
	row := func(name string, cai, gc []float64, logProb string, discord ...float64) {
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%s", name,
			mean(cai), slices.Min(cai), slices.Max(cai), mean(gc), slices.Min(gc), slices.Max(gc), logProb)
		if r.Source != "" && len(discord) > 0 {
			fmt.Fprintf(w, "\t%.4f", mean(discord))
		}
		fmt.Fprintln(w)
	}
	off := func(m measures) float64 {
		if m.Discord == nil {
			return 0
		}
		return *m.Discord
	}
	row("designs", column(func(f figure) float64 { return f.CAI }), column(func(f figure) float64 { return f.GC }),
		fmt.Sprintf("%.3f", mean(column(func(f figure) float64 { return f.LogProb }))), column(func(f figure) float64 { return off(f.measures) })...)
	row("MAP", []float64{r.Map.CAI}, []float64{r.Map.GC}, fmt.Sprintf("%.3f", r.Map.LogProb), off(r.Map.measures))
	row("unconstrained", r.free.cai, r.free.gc, "–")
	if r.Native != nil {
		row("the DNA read", []float64{r.Native.CAI}, []float64{r.Native.GC}, "–", off(*r.Native))
	}
	w.Flush()
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
