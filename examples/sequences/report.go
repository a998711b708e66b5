package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as a table or as JSON.
type report struct {
	Data  string `json:"data"`
	Train int    `json:"train"`
	Held  int    `json:"held_out"`
	Order int    `json:"order"` // number of preceding tokens on which the chain conditions
	// test of validity: "smiles", or "syntax" (only brackets and ring digits) if the data are
	// not molecules that the judge can read
	Judge string    `json:"judge"`
	Seed  uint64    `json:"seed"`
	Runs  []figures `json:"runs"`

	picture.Album `json:"-"`
	particles     int // particles per sample of the runs within a language
}

// figures holds the results of one run: counts among n samples, and in NLL the mean of −log p(x)
// in nats under the chain. Only the run's own constraint can be violated, except that the
// unconstrained run counts unbalanced strings as violations. Recovered is the number of distinct
// held-out strings among the samples.
type figures struct {
	Name       string  `json:"name"`
	Constraint string  `json:"constraint"`
	Exact      string  `json:"exact"` // which distribution the samples follow
	N          int     `json:"n"`
	Valid      int     `json:"valid"`
	Novel      int     `json:"novel"`
	Unique     int     `json:"unique"`
	Violations int     `json:"violations"`
	NLL        float64 `json:"nll"`
	Seconds    float64 `json:"seconds"`
	Recovered  int     `json:"recovered"`

	// NotConverged is the number of the n samples for which no solution was found. They are not
	// included in the other counts.
	NotConverged int `json:"not_converged"`

	samples []string
}

func newReport(c *corpus.Corpus, o options) *report {
	return &report{Data: c.Name, Train: len(c.Train), Held: len(c.Held), Order: o.order, Judge: c.Judge(), Seed: o.seed, particles: o.particles}
}

// add evaluates the samples of a run and adds the results.
func (r *report) add(c *corpus.Corpus, m *model.Markov, j job, out []string, x []int32, failed int, seconds float64) {
	f := figures{Name: j.name, Constraint: j.what, Exact: j.exact(r.particles), N: len(out) + failed, NotConverged: failed, Seconds: seconds, samples: out}
	different := make(map[string]bool)
	for i, s := range out {
		id := c.Identity(s)
		if c.Valid(s) {
			f.Valid++
		}
		if !c.Known[id] {
			f.Novel++
		}
		if !different[id] && c.HeldKey[id] {
			f.Recovered++
		}
		different[id] = true
		if !j.holds(s) {
			f.Violations++
		}
		f.NLL -= m.LogProb(x[i*c.Sites:(i+1)*c.Sites]) / float64(len(out))
	}
	f.Unique = len(different)
	r.Runs = append(r.Runs, f)
}

// write writes the files requested by -dump and -out.
func (r *report) write(c *corpus.Corpus, o options) (err error) {
	if o.dump != "" {
		if err := r.dump(o.dump); err != nil {
			return err
		}
	}
	if o.Dir != "" {
		err = r.draw()
	}
	return err
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
	fmt.Fprintf(&b, "%s: learned from %d strings by a chain that remembers %d tokens, %d held out, seed %d\n\n", r.Data, r.Train, r.Order, r.Held, r.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "run\tn\t%s %%\tnovel %%\tunique %%\tviolations\tnot converged\tNLL\trecovered\tseconds\t\n", corpus.Judged(r.Judge))
	var names, exact []string
	for _, f := range r.Runs {
		names, exact = append(names, f.Name), append(exact, f.Exact)
		share := func(k int) float64 { return 100 * float64(k) / float64(f.N) }
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%d\t%d\t%.2f\t%d\t%.1f\t\n", f.Name, f.N, share(f.Valid), share(f.Novel), share(f.Unique), f.Violations, f.NotConverged, f.NLL, f.Recovered, f.Seconds)
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
