package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as a table or as JSON. NLL is the masked bound on −log
// p of a held-out string in nats, Error its standard error. Steps, Seconds and Loss refer to the
// training of this run, if there was one.
type report struct {
	Data  string `json:"data"`
	Train int    `json:"train"`
	Held  int    `json:"held_out"`
	// test of validity: "smiles", or "syntax" (only brackets and ring digits) if the data are
	// not molecules that the judge can read
	Judge   string    `json:"judge"`
	Seed    uint64    `json:"seed"`
	Weights int       `json:"weights"`
	NLL     float64   `json:"nll"`
	Error   float64   `json:"nll_error"`
	Steps   int       `json:"steps"`
	Seconds float64   `json:"train_seconds"`
	Loss    *float64  `json:"loss,omitempty"`
	Runs    []figures `json:"runs"`
	Warned  []string  `json:"warnings,omitempty"`

	// scores of synthetic accessibility above which molecules are counted; empty without an
	// accessible run
	Thresholds []float64 `json:"thresholds,omitempty"`

	picture.Album `json:"-"`
	everyStep     bool                 // whether every step is projected
	losses        []loss               // losses of this training
	least         float64              // polar surface that guidance aims at
	score         func(string) float64 // synthetic accessibility; nil without an accessible run
}

// figures holds the results of one run: counts among n samples. Novel samples are not in the
// data or, for small molecules, not in the training set; the other samples are known. ValidNovel
// counts distinct samples that are valid and novel. If the data are molecules, these counts
// compare molecules, so that two strings of one molecule are equal. Strings counts distinct
// strings.
type figures struct {
	Name       string `json:"name"`
	Constraint string `json:"constraint"`
	Exact      string `json:"exact"` // which distribution the samples follow
	N          int    `json:"n"`
	Valid      int    `json:"valid"`
	Novel      int    `json:"novel"`
	Unique     int    `json:"unique"`
	ValidNovel int    `json:"valid_novel"`
	Known      int    `json:"known"`
	Violations int    `json:"violations"`

	// Reached counts the samples with the polar surface that guidance aims at, in all runs.
	Reached int `json:"reached"`

	// Of the valid samples, if there is an accessible run: the mean score of synthetic
	// accessibility, the numbers of scores above the thresholds, and the mean drug-likeness (QED).
	Accessibility float64 `json:"accessibility,omitempty"`
	Above         []int   `json:"above,omitempty"`
	QED           float64 `json:"qed,omitempty"`

	Strings int     `json:"strings"`
	Seconds float64 `json:"seconds"`

	// NotConverged is the number of the n samples for which no solution was found. They are not
	// included in the other counts.
	NotConverged int `json:"not_converged"`

	samples []string
}

func newReport(c *corpus.Corpus, least float64, o options) *report {
	return &report{Data: c.Name, Train: len(c.Train), Held: len(c.Held), Judge: c.Judge(), Seed: o.seed, least: least, everyStep: o.every == 1 && o.start == 1}
}

// Warnings returns the warnings about the embedded networks. It implements [command.Cautious].
func (r *report) Warnings() []string { return r.Warned }

// add evaluates the samples of a run and adds the results.
func (r *report) add(c *corpus.Corpus, j job, out []string, failed int, seconds float64) {
	f := figures{Name: j.name, Constraint: j.what, Exact: j.exact(r.everyStep), N: len(out) + failed, NotConverged: failed, Seconds: seconds, samples: out}
	different, strings := make(map[string]bool), make(map[string]bool)
	if r.score != nil {
		f.Above = make([]int, len(r.Thresholds))
	}
	for _, s := range out {
		id := c.Identity(s)
		valid := c.Valid(s)
		if valid {
			f.Valid++
			r.judge(&f, s)
		}
		if c.Known[id] {
			f.Known++
		} else if f.Novel++; valid && !different[id] {
			f.ValidNovel++
		}
		if area(s) >= r.least {
			f.Reached++
		}
		different[id], strings[s] = true, true
		if !j.holds(s) {
			f.Violations++
		}
	}
	if f.Valid > 0 {
		f.Accessibility /= float64(f.Valid)
		f.QED /= float64(f.Valid)
	}
	f.Unique, f.Strings = len(different), len(strings)
	r.Runs = append(r.Runs, f)
}

// judge adds the synthetic accessibility and the drug-likeness of a valid sample to the sums of its
// run, if there is an accessible run.
func (r *report) judge(f *figures, s string) {
	if r.score == nil {
		return
	}
	v := r.score(s)
	f.Accessibility += v
	for k, most := range r.Thresholds {
		if v > most {
			f.Above[k]++
		}
	}
	if q, err := corpus.DrugLikeness(s); err == nil {
		f.QED += q
	}
}

// dump writes all samples, one per line.
func (r *report) dump(path string) error {
	return command.Dump(path, func(yield func(run, sample string) bool) {
		for _, run := range r.Runs {
			for _, s := range run.samples {
				if !yield(run.Name, s) {
					return
				}
			}
		}
	})
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: learned from %d strings, %d held out, seed %d\n", r.Data, r.Train, r.Held, r.Seed)
	switch {
	case r.Loss != nil:
		fmt.Fprintf(&b, "trained to step %d in %.0f s; loss of the last batch %.2f nats\n", r.Steps, r.Seconds, *r.Loss)
	case r.Steps > 0:
		fmt.Fprintf(&b, "the training in the checkpoint has reached step %d: nothing was left to do\n", r.Steps)
	}
	fmt.Fprintf(&b, "%d weights, bound on −log p of a held-out string %.2f ± %.2f nats\n\n", r.Weights, r.NLL, r.Error)
	for _, s := range r.Warned {
		fmt.Fprintf(&b, "%s\n\n", s)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "run\tn\t%[1]s\tnovel\tunique\tstrings\t%[1]s & novel\tknown\tviolations\treached\tnot converged\tseconds\t", corpus.Judged(r.Judge))
	if r.score != nil {
		fmt.Fprint(w, "accessibility\t")
		for _, most := range r.Thresholds {
			fmt.Fprintf(w, "> %g\t", most)
		}
		fmt.Fprint(w, "QED\t")
	}
	fmt.Fprintln(w)
	var names, exact []string
	for _, f := range r.Runs {
		names, exact = append(names, f.Name), append(exact, f.Exact)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t", f.Name, f.N, f.Valid, f.Novel, f.Unique, f.Strings, f.ValidNovel, f.Known, f.Violations, f.Reached, f.NotConverged, f.Seconds)
		if r.score != nil {
			fmt.Fprintf(w, "%.2f\t", f.Accessibility)
			for _, n := range f.Above {
				fmt.Fprintf(w, "%d\t", n)
			}
			fmt.Fprintf(w, "%.2f\t", f.QED)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	command.WriteExact(&b, names, exact)
	if r.Judge == corpus.BySyntax {
		fmt.Fprintln(&b, "\n"+corpus.NoMolecules)
	}
	for _, f := range r.Runs {
		fmt.Fprintf(&b, "\n%s (%s): %s", f.Name, f.Constraint, strings.Join(f.samples[:min(6, len(f.samples))], " "))
	}
	fmt.Fprintln(&b)
	return b.String()
}
