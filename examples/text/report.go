package main

import (
	"bytes"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// report is the program's output, printed as a table or as JSON. NLL is the masked bound on −log
// p of held-out lines in nats per byte, including line ends; Error is its standard error. Steps
// and Seconds refer to the training of this run, if there was one.
type report struct {
	Data    string    `json:"data"`
	Train   int       `json:"train"`
	Held    int       `json:"held_out"`
	Seed    uint64    `json:"seed"`
	Weights int       `json:"weights"`
	NLL     float64   `json:"nll"`
	Error   float64   `json:"nll_error"`
	Steps   int       `json:"steps"`
	Seconds float64   `json:"train_seconds"`
	Runs    []figures `json:"runs"`
	Studies []study   `json:"studies,omitempty"`

	HeldPerplexity float64 `json:"held_perplexity"` // perplexity of the held-out lines

	picture.Album `json:"-"`
	losses        []point // losses of this training

	leftToRight *neural.Transformer // see autoregressive; nil before its first call
	judges      *periodJudges       // see periodJudges; nil before its first call
}

// point is the loss of a batch at a step, in nats per line.
type point struct {
	step int
	loss float64
}

// figures holds the results of one run. Violations counts samples rejected by a check that does
// not use the constraint's automaton. Different counts distinct samples. Distinct is the number
// of distinct byte pairs divided by the number of all pairs. SelfBLEU measures how much lines
// repeat each other. Perplexity is computed under an n-gram model of the training lines.
type figures struct {
	Name       string  `json:"name"`
	Constraint string  `json:"constraint"`
	Exact      string  `json:"exact"` // which distribution the samples follow
	N          int     `json:"n"`
	Violations int     `json:"violations"`
	Parts      []share `json:"parts,omitempty"`
	Different  int     `json:"different"`
	Distinct   float64 `json:"distinct_2"`
	SelfBLEU   float64 `json:"self_bleu"`
	CorpusBLEU float64 `json:"corpus_bleu,omitempty"` // of filled-in lines against the held-out ones
	Perplexity float64 `json:"perplexity"`
	// share of hidden bytes that were restored to the original
	Recovered float64 `json:"recovered,omitempty"`
	// loss of the autoregressive network
	NLL   float64 `json:"nll,omitempty"`
	Error float64 `json:"nll_error,omitempty"`
	// share of words that the text has, and number of different ones
	Known          float64  `json:"known_words"`
	KnownDifferent int      `json:"different_known_words"`
	Seconds        float64  `json:"seconds"`
	Samples        []string `json:"samples"`
}

// share is one of several demands, with the number of samples that violate it.
type share struct {
	Constraint string `json:"constraint"`
	Violations int    `json:"violations"`
}

// generate draws the samples of a job, one byte per step in random order.
func (r *report) generate(ctx context.Context, net *neural.Transformer, j job, l *lines, o options) error {
	model, err := neural.NewMasked(net, l.mask(), neural.Options{TimeFree: true})
	if err != nil {
		return err
	}
	bar := progress.New(j.name)
	defer bar.Done()
	d, err := diffusion.New(ctx, denoise.Tempered{Denoiser: model, Temperature: o.temperature}, diffusion.Masked{Mask: l.mask(), FirstHitting: true},
		diffusion.Config{Seed: o.seed, Projector: j.projector, Progress: bar.Set})
	if err != nil {
		return err
	}
	start := time.Now()
	x := make([]int32, o.n*l.length)
	if err := d.Sample(ctx, x); err != nil {
		return err
	}
	f := figures{Name: j.name, Constraint: j.what, Exact: exact(j.name, o.temperature), N: o.n, Seconds: time.Since(start).Seconds()}
	for _, d := range j.parts {
		f.Parts = append(f.Parts, share{Constraint: d.name})
	}
	for ; len(x) > 0; x = x[l.length:] {
		s := l.text(x[:l.length])
		if !j.holds(s) {
			f.Violations++
		}
		for i, d := range j.parts {
			if !d.holds(s) {
				f.Parts[i].Violations++
			}
		}
		f.Samples = append(f.Samples, s)
	}
	f.judge(l)
	r.Runs = append(r.Runs, f)
	return nil
}

// judge computes the statistics that depend only on the samples.
func (f *figures) judge(l *lines) {
	different, pairs, all := map[string]bool{}, map[string]bool{}, 0
	for _, s := range f.Samples {
		different[s] = true
		for k := 1; k < len(s); k++ {
			pairs[s[k-1:k+1]] = true
			all++
		}
	}
	f.Different, f.Distinct = len(different), float64(len(pairs))/float64(max(1, all))
	f.Known, f.KnownDifferent = l.known(f.Samples)
	f.SelfBLEU, f.Perplexity = selfBLEU(f.Samples), l.judge.perplexity(f.Samples)
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: learned from %d lines, %d held out, seed %d\n", r.Data, r.Train, r.Held, r.Seed)
	if r.Steps > 0 {
		fmt.Fprintf(&b, "trained to step %d in %.0f s\n", r.Steps, r.Seconds)
	}
	fmt.Fprintf(&b, "%d weights, bound on −log p of held-out lines %.3f ± %.3f nats a byte\n\n", r.Weights, r.NLL, r.Error)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "run\tn\tviolations\tdifferent\tdistinct-2\tself-BLEU\tcorpus BLEU\tperplexity\tseconds\t")
	var names, exact []string
	for _, f := range r.Runs {
		names, exact = append(names, f.Name), append(exact, f.Exact)
		corpus := ""
		if f.CorpusBLEU > 0 {
			corpus = fmt.Sprintf("%.3f", f.CorpusBLEU)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.2f\t%.2f\t%s\t%.2f\t%.1f\t\n", f.Name, f.N, f.Violations, f.Different, f.Distinct, f.SelfBLEU, corpus, f.Perplexity, f.Seconds)
	}
	fmt.Fprintf(w, "held out\t%d\t\t\t\t\t\t%.2f\t\t\n", r.Held, r.HeldPerplexity)
	w.Flush()
	command.WriteExact(&b, names, exact)
	for _, s := range r.Studies {
		s.print(&b)
	}
	for _, f := range r.Runs {
		fmt.Fprintf(&b, "\n%s (%s)\n", f.Name, f.Constraint)
		fmt.Fprintf(&b, "  %.1f %% of the words are in the text, %d different ones\n", 100*f.Known, f.KnownDifferent)
		for _, p := range f.Parts {
			fmt.Fprintf(&b, "  %d of %d break %s\n", p.Violations, f.N, p.Constraint)
		}
		for _, s := range f.Samples[:min(8, len(f.Samples))] {
			fmt.Fprintf(&b, "  %q\n", s)
		}
	}
	return b.String()
}

// draw adds a plot of the training loss, if there was training.
func (r *report) draw() error {
	if len(r.losses) < 2 {
		return nil
	}
	p := picture.Panel("step", "loss (nats a line)")
	line := make(plotter.XYs, len(r.losses))
	for i, l := range r.losses {
		line[i] = plotter.XY{X: float64(l.step), Y: l.loss}
	}
	mark, err := picture.Curve(p, 0, line)
	if err != nil {
		return err
	}
	r.Add(&picture.Figure{
		Name: "loss", Title: "Training", Height: 8 * vg.Centimeter, Panels: []*plot.Plot{p}, Caption: "The bound on −log p of a line, of single batches.",
		Legend: []picture.Entry{{Name: "batches", Mark: mark}},
	})
	return nil
}
