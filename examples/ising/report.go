package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// report is the program's output, printed as a table or as JSON. Values that were not computed
// are omitted.
type report struct {
	Model      summary   `json:"model"`
	Exact      *exact    `json:"exact,omitempty"`
	Methods    []figures `json:"methods,omitempty"`
	Bias       *bias     `json:"bias,omitempty"`
	Sets       *setSizes `json:"sets,omitempty"`
	Cuts       cutSizes  `json:"cuts,omitempty"`
	BestCut    *float64  `json:"best_cut,omitempty"`
	BestEnergy *float64  `json:"best_energy,omitempty"`
	Partition  []int32   `json:"partition,omitempty"` // best state
	// upper bound on the cut, or lower bound on the energy
	Bound      *float64 `json:"bound,omitempty"`
	BoundBy    string   `json:"bound_by,omitempty"`
	Gap        *float64 `json:"gap,omitempty"`     // distance between the bound and the best value
	Optimal    *bool    `json:"optimal,omitempty"` // whether the best state is proven optimal
	Seconds    float64  `json:"seconds,omitempty"`
	CPUSeconds float64  `json:"cpu_seconds,omitempty"`
	rounds     bool     // whether Steps counts search rounds

	picture.Album `json:"-"`
}

type summary struct {
	Name   string  `json:"name"`
	Sites  int     `json:"sites"`
	Levels int     `json:"levels"`
	Beta   float64 `json:"beta,omitempty"`
	Chains int     `json:"chains"`
	Steps  int     `json:"steps"`
	Seed   uint64  `json:"seed"`
}

// exact holds the results of enumeration: the mean spin and log Z.
type exact struct {
	Mean float64 `json:"mean"`
	LogZ float64 `json:"log_z"`
}

type figures struct {
	Method       string   `json:"method"`
	Mean         *float64 `json:"mean,omitempty"`
	MCSE         *float64 `json:"mcse,omitempty"`
	RHat         *float64 `json:"rhat,omitempty"`
	ESSBulk      *float64 `json:"ess_bulk,omitempty"`
	ESSTail      *float64 `json:"ess_tail,omitempty"`
	ESSPerSecond *float64 `json:"ess_per_second,omitempty"`
	Accept       *float64 `json:"accept,omitempty"`
	Moves        *float64 `json:"moves_per_step,omitempty"`
	MsPerStep    float64  `json:"ms_per_step"`

	warnings []string
}

func newReport(p *problem, o options) *report {
	sites, levels := p.model.Shape()
	m := summary{Name: p.name, Sites: sites, Levels: levels, Beta: o.beta, Chains: o.chains, Steps: o.steps, Seed: o.seed}
	if o.anneal {
		m.Beta = 0
	}
	return &report{Model: m}
}

func (o *outcome) figures() figures {
	row := o.summary.Rows[0]
	f := figures{
		Method: o.name,
		Mean:   value(row.Mean), MCSE: value(row.MCSE), RHat: value(row.RHat),
		ESSBulk: value(row.ESSBulk), ESSTail: value(row.ESSTail), ESSPerSecond: value(o.summary.ESSPerSecond(0)),
		Accept: value(o.summary.Accept), Moves: value(o.summary.Moves),
		MsPerStep: 1000 * o.summary.Seconds / float64(o.steps),
	}
	for _, w := range append(o.summary.Warnings(), o.tuning...) {
		f.warnings = append(f.warnings, o.name+": "+w)
	}
	return f
}

// value returns nil for an estimate that is undefined or infinite, such as the R-hat of chains
// stuck at different values. JSON then omits it.
func value(e diagnose.Estimate) *float64 {
	if !e.Defined() || math.IsInf(e.Value, 0) {
		return nil
	}
	return &e.Value
}

func (r *report) String() string {
	if r.Sets != nil {
		return r.Sets.String()
	}
	if r.Cuts != nil {
		return r.Cuts.String()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d sites\n", r.Model.Name, r.Model.Sites)
	switch {
	case r.Bias != nil:
		r.writeBias(&b)
	case r.BestEnergy != nil:
		r.writeBest(&b)
	default:
		r.writeTable(&b)
	}
	return b.String()
}

func (r *report) writeBest(b *bytes.Buffer) {
	if r.rounds {
		fmt.Fprintf(b, "%d searches, %d rounds in %.1f s\n", r.Model.Chains, r.Model.Steps, r.Seconds)
	} else {
		fmt.Fprintf(b, "annealed %d chains for %d steps in %.1f s\n", r.Model.Chains, r.Model.Steps, r.Seconds)
	}
	if r.BestCut != nil {
		fmt.Fprintf(b, "best cut: %.10g\n", *r.BestCut)
	}
	fmt.Fprintf(b, "lowest energy: %.10g\n", *r.BestEnergy)
	if r.Bound != nil {
		fmt.Fprintf(b, "bound: %.10g by %s, gap %.10g, %s\n", *r.Bound, r.BoundBy, *r.Gap, map[bool]string{true: "proven optimal", false: "not proven optimal"}[*r.Optimal])
	}
}

func (r *report) writeTable(b *bytes.Buffer) {
	fmt.Fprintf(b, "%d chains × %d steps, seed %d; mean spin\n\n", r.Model.Chains, r.Model.Steps, r.Model.Seed)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tmean\tMCSE\tR-hat\tESS bulk\tESS tail\tESS/s\taccept\tmoves/step\tms/step\t")
	for _, f := range r.Methods {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.4f\t\n", f.Method,
			show("%.5f", f.Mean), show("%.5f", f.MCSE), show("%.4f", f.RHat),
			show("%.0f", f.ESSBulk), show("%.0f", f.ESSTail), show("%.0f", f.ESSPerSecond),
			show("%.3f", f.Accept), show("%.2f", f.Moves), f.MsPerStep)
	}
	if r.Exact != nil {
		fmt.Fprintf(w, "exact\t%.5f\t\t\t\t\t\t\t\t\t\n", r.Exact.Mean)
	}
	w.Flush()
	if r.Exact != nil {
		fmt.Fprintf(b, "\nlog Z = %.8f by enumeration\n", r.Exact.LogZ)
	}
	for _, f := range r.Methods {
		if f.Method == "dula" {
			fmt.Fprintln(b, "dula has no acceptance step: its mean is off by design, here by its step size 0.1")
		}
	}
	if warnings := r.Warnings(); len(warnings) > 0 {
		fmt.Fprintln(b, "\nwarning: "+strings.Join(warnings, "\nwarning: "))
		fmt.Fprintln(b, "advice: raise -steps; where kernels still disagree, trust none of them")
	}
}

func show(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

// Warnings returns the warnings of all kernels.
func (r *report) Warnings() []string {
	var all []string
	for _, f := range r.Methods {
		all = append(all, f.warnings...)
	}
	return all
}
