package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn/finetune"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"gonum.org/v1/gonum/stat"
)

// concepts are names of what a network can forget, and the letters that have it in SMILES.
var concepts = map[string]string{"rings": "123456789%", "nitrogen": "Nn", "triple": "#"}

const (
	// forgetting is the part of the steps of pre-training that forgetting takes.
	forgetting = 10

	// precision is such that the judged share has a standard error of 5 %: n = (1−s)/s/.05².
	precision   = 400
	mostJudged  = 50_000
	leastJudged = 1000

	// Streams of the judge and of the share before, apart from those that steer.
	judge, prior = 1 << 40, 1 << 41

	uncertain = 0.05 // that the share is above the stated limit
)

// forgotten is the report of a network that forgot. Shares are those of samples with the
// concept, among Judged fresh ones; valid ones are those among the samples without it, and
// Unique is the share of different ones among the first leastJudged. The bounds on −log p,
// in nats, are those of held-out strings without it.
type forgotten struct {
	Concept     string  `json:"concept"`
	Wanted      float64 `json:"share_wanted"`
	Share       float64 `json:"share"`
	Upper       float64 `json:"upper95"`
	Judged      int     `json:"judged"`
	ValidKept   float64 `json:"valid_kept"`
	ValidBefore float64 `json:"valid_before"`
	Unique      float64 `json:"unique"`
	NELBO       float64 `json:"nelbo_kept"`
	NELBOBefore float64 `json:"nelbo_kept_before"`
	Lambda      float64 `json:"lambda"`
	Steps       int     `json:"steps"`
	Pretraining int     `json:"steps_pretraining"`

	before      tally
	changeError float64 // of the difference of the bounds
	samples     []string
}

// letters returns what a concept is written with: the letters of its name, or those of a
// list.
func letters(c *corpus.Corpus, name string) (tokens []int32, has string, err error) {
	has, named := concepts[name]
	if !named {
		has = strings.ReplaceAll(name, ",", "")
	}
	for _, r := range has {
		t := slices.Index(c.Letters, r)
		if t < 0 && !named {
			return nil, "", fmt.Errorf("-forget = %q: no string of the data has %q, want rings, nitrogen, triple, or letters of %q with commas", name, r, string(c.Letters))
		}
		if t >= 0 {
			tokens = append(tokens, int32(t))
		}
	}
	if len(tokens) == 0 {
		return nil, "", fmt.Errorf("-forget = %q: no string of the data has one of %q, want letters of %q with commas", name, has, string(c.Letters))
	}
	return tokens, has, nil
}

// tally is what a judge finds in samples: counts of those with the concept, of those
// without it, of valid ones among these, and of different ones among the first leastJudged.
type tally struct{ has, kept, valid, different int }

func judgeAll(c *corpus.Corpus, letters string, samples []string) (v tally) {
	seen := make(map[string]bool)
	for i, s := range samples {
		if i < leastJudged {
			seen[s] = true
		}
		if strings.ContainsAny(s, letters) {
			v.has++
			continue
		}
		v.kept++
		if c.Valid(s) {
			v.valid++
		}
	}
	v.different = len(seen)
	return v
}

func fraction(a, b int) float64 { return float64(a) / float64(max(1, b)) }

// forget has the network forget a concept.
func forget(ctx context.Context, o options) (*forgotten, error) {
	c, own, err := o.load()
	if err != nil {
		return nil, err
	}
	tokens, has, err := letters(c, o.forget)
	if err != nil {
		return nil, err
	}
	net, err := o.network(c, own)
	if err != nil {
		return nil, err
	}
	model, err := neural.NewMasked(net, mask(c), neural.Options{TimeFree: true})
	if err != nil {
		return nil, err
	}
	r := &forgotten{Concept: o.forget, Wanted: o.share, Pretraining: o.steps, Steps: max(1, o.steps/forgetting)}
	draw := func(ctx context.Context, m energy.Denoiser[int32], first int, x []int32) error {
		d, err := diffusion.New(ctx, m, diffusion.Process[int32](diffusion.Masked{Mask: mask(c), FirstHitting: true}), diffusion.Config{Seed: o.seed, First: first})
		if err != nil {
			return err
		}
		return d.Sample(ctx, x)
	}
	texts := func(first, n int) ([]string, error) {
		x := make([]int32, n*c.Sites)
		if err := draw(ctx, model, first, x); err != nil {
			return nil, err
		}
		out := make([]string, n)
		for i := range out {
			out[i] = c.Text(x[i*c.Sites : (i+1)*c.Sites])
		}
		return out, nil
	}
	old, err := texts(prior, leastJudged)
	if err != nil {
		return nil, err
	}
	r.before = judgeAll(c, has, old)
	if before := fraction(r.before.has, len(old)); !(o.share < before) {
		return nil, fmt.Errorf("-share = %v, want less than %.3f, the share of the samples that have %s now: there is nothing to forget", o.share, before, o.forget)
	}
	r.ValidBefore = fraction(r.before.valid, r.before.kept)
	var kept []string
	for _, s := range c.Held {
		if !strings.ContainsAny(s, has) && len(kept) < judged {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("-forget = %q: every held-out string has it: nothing would be kept", o.forget)
	}
	objective := train.Masked{Mask: mask(c)}
	lossBefore, err := train.Losses(ctx, net, objective, flat(c, kept), draws, 1, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	bar := progress.New("forget " + o.forget)
	cfg := finetune.Config[int32]{
		Objective: objective, Model: model, Sample: draw,
		Train:   train.Config{Steps: r.Steps, Batch: o.batch, Decay: decay, Seed: o.seed},
		Observe: func(k finetune.Round) { bar.Set(k.Step, r.Steps) },
	}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = o.checkpoint, 1
	f, err := finetune.New(ctx, net, flat(c, c.Train), []finetune.Concept[int32]{{Name: o.forget, Tokens: tokens, Bound: o.share}}, cfg)
	if err != nil {
		return nil, err
	}
	if o.checkpoint != "" {
		if err := f.LoadFile(ctx, o.checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	err = f.Run(ctx)
	bar.Done()
	if err != nil {
		return nil, err
	}
	r.Lambda = f.Lambda()[0]
	if r.Judged = o.judged; r.Judged == 0 {
		r.Judged = min(max(leastJudged, int(precision*(1-o.share)/o.share)), mostJudged)
	}
	if r.samples, err = texts(judge, r.Judged); err != nil {
		return nil, err
	}
	v := judgeAll(c, has, r.samples)
	r.Share, r.ValidKept, r.Unique = fraction(v.has, r.Judged), fraction(v.valid, v.kept), fraction(v.different, min(r.Judged, leastJudged))
	if r.Upper, err = dual.UpperBound(v.has, r.Judged, uncertain); err != nil {
		return nil, err
	}
	loss, err := train.Losses(ctx, net, objective, flat(c, kept), draws, 1, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	r.NELBOBefore, _ = stat.MeanStdDev(lossBefore, nil)
	r.NELBO, _ = stat.MeanStdDev(loss, nil)
	for i := range loss { // of the same corruptions
		loss[i] -= lossBefore[i]
	}
	_, deviation := stat.MeanStdDev(loss, nil)
	r.changeError = stat.StdErr(deviation, float64(len(loss)))
	if o.save != "" {
		if err := checkpoint.Write(o.save, func(w io.Writer) error { return net.Write(w, neural.F16) }); err != nil {
			return nil, err
		}
	}
	if o.dump != "" {
		return r, command.Dump(o.dump, func(yield func(run, sample string) bool) {
			for _, s := range r.samples {
				if !yield("forget", s) {
					return
				}
			}
		})
	}
	return r, nil
}

// network returns the network of the options, or the program's own.
func (o options) network(c *corpus.Corpus, own *shipped) (net *neural.Transformer, err error) {
	if own != nil {
		net, err = own.network("")
	} else {
		net, err = neural.Open(o.weights, neural.Config{})
	}
	if err != nil {
		return nil, err
	}
	return net, fits(net, c)
}

// fits returns an error unless a network is for strings like those of the data.
func fits(net *neural.Transformer, c *corpus.Corpus) error {
	if got := net.Config(); got.Length != c.Sites || got.Levels != c.Levels+1 {
		return fmt.Errorf("the network is for strings of %d of %d tokens, the data need %d of %d", got.Length, got.Levels, c.Sites, c.Levels+1)
	}
	return nil
}

func (r *forgotten) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: at most %v of the samples wanted; %d steps of %d of pre-training, λ = %.3f\n\n", r.Concept, r.Wanted, r.Steps, r.Pretraining, r.Lambda)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tsamples\tshare\tat most (95 %)\tvalid, of the others\tdifferent\tbound on −log p of the others\t")
	n := r.before.has + r.before.kept
	fmt.Fprintf(w, "before\t%d\t%.4f\t\t%.3f\t%.3f\t%.2f\t\n", n, fraction(r.before.has, n), r.ValidBefore, fraction(r.before.different, n), r.NELBOBefore)
	fmt.Fprintf(w, "after\t%d\t%.4f\t%.4f\t%.3f\t%.3f\t%.2f\t\n", r.Judged, r.Share, r.Upper, r.ValidKept, r.Unique, r.NELBO)
	w.Flush()
	fmt.Fprintf(&b, "\nthe bound has changed by %+.2f ± %.2f nats\nafter: %s\n", r.NELBO-r.NELBOBefore, r.changeError, strings.Join(r.samples[:min(8, len(r.samples))], " "))
	return b.String()
}
