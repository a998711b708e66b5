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
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"gonum.org/v1/gonum/stat"
)

// concepts maps the name of a concept that a network can forget to the letters that express it
// in SMILES.
var concepts = map[string]string{"rings": "123456789%", "nitrogen": "Nn", "triple": "#"}

const (
	// forgetting is the ratio of pre-training steps to unlearning steps.
	forgetting = 10

	// precision sets the number of judged samples, n = precision·(1−s)/s. A share s then has a
	// standard error of 5 %: precision = 1/0.05².
	precision   = 400
	mostJudged  = 50_000
	leastJudged = 1000

	// Numbers of the first samples drawn for evaluation (judge), for the share before unlearning
	// (prior), for the second estimate (second) and for relearning (anew). They keep these
	// samples distinct from the samples used in training.
	judge, prior, second, anew = 1 << 40, 1 << 41, 1 << 42, 1 << 43

	uncertain = 0.05 // error probability of the reported upper limit on the share
)

// forgotten is the report on a network after unlearning. Share is the share of samples with the
// concept among Judged fresh samples. Valid shares refer to the samples without it. Unique is
// the share of distinct strings among the first leastJudged samples. The bounds on −log p, in
// nats, are averages over held-out strings without the concept.
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

	// Item describes the samples around a string that was repeated and forgotten; nil for other
	// concepts.
	Item *item `json:"item,omitempty"`

	picture.Album `json:"-"`
	before        tally
	changeError   float64 // standard error of NELBO − NELBOBefore
	has           int     // number of samples with the concept
	old           []string
	samples       []string
}

// item holds the shares of samples that are one molecule, in any spelling, and of those near it,
// before and after unlearning, and in the data without repeats. A string is near if its edit distance
// from the item is at most nearby.
type item struct {
	SameBefore float64 `json:"same_before"`
	Same       float64 `json:"same"`
	NearBefore float64 `json:"near_before"`
	Near       float64 `json:"near"`
	NearData   float64 `json:"near_data"`
}

const (
	nearby   = 2   // largest edit distance of a near string
	repeated = 0.2 // share of the repeated string in the rows from which the network learns it
)

// concept returns a function that reports whether a string has the concept named by -forget. For a
// concept of letters it also returns their tokens. For a string of the data, named by a leading =,
// it returns the string as single.
func (o options) concept(c *corpus.Corpus) (tokens []int32, shows func(s string) bool, single string, err error) {
	if single, ok := strings.CutPrefix(o.forget, "="); ok {
		if !slices.Contains(c.Train, single) {
			return nil, nil, "", fmt.Errorf("-forget = %q: want a string that the network learns from behind the =, such as %q", o.forget, c.Train[0])
		}
		return nil, func(s string) bool { return s == single }, single, nil
	}
	has, named := concepts[o.forget]
	if !named {
		has = strings.ReplaceAll(o.forget, ",", "")
	}
	for _, r := range has {
		t := slices.Index(c.Letters, r)
		if t < 0 && !named {
			return nil, nil, "", fmt.Errorf("-forget = %q: no string of the data has %q, want rings, nitrogen, triple, or comma-separated letters of %q", o.forget, r, string(c.Letters))
		}
		if t >= 0 {
			tokens = append(tokens, int32(t))
		}
	}
	if len(tokens) == 0 {
		return nil, nil, "", fmt.Errorf("-forget = %q: no string of the data has one of %q, want comma-separated letters of %q", o.forget, has, string(c.Letters))
	}
	return tokens, func(s string) bool { return strings.ContainsAny(s, has) }, "", nil
}

// around returns the share of samples that are the molecule of a string, and the share near it.
func around(c *corpus.Corpus, single string, samples []string) (same, near float64) {
	id, n := c.Identity(single), 1/float64(len(samples))
	for _, s := range samples {
		if c.Identity(s) == id {
			same += n
		} else if distance(s, single) <= nearby {
			near += n
		}
	}
	return same, near
}

// distance returns the edit distance of two strings: the smallest number of letters to insert,
// delete or replace.
func distance(a, b string) int {
	d := make([]int, len(b)+1) // from the first letters of a to every beginning of b
	for j := range d {
		d[j] = j
	}
	for i := range len(a) {
		last := d[0]
		d[0] = i + 1
		for j := range len(b) {
			replace := last
			if a[i] != b[j] {
				replace++
			}
			last = d[j+1]
			d[j+1] = min(replace, last+1, d[j]+1)
		}
	}
	return d[len(b)]
}

// tally counts samples: with the concept, without it, valid ones among the latter, and distinct
// ones among the first leastJudged.
type tally struct{ has, kept, valid, different int }

func judgeAll(c *corpus.Corpus, shows func(string) bool, samples []string) (v tally) {
	seen := make(map[string]bool)
	for i, s := range samples {
		if i < leastJudged {
			seen[s] = true
		}
		if shows(s) {
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

// task is a concept to forget, with the network before and the data for evaluating the result.
type task struct {
	options
	c      *corpus.Corpus
	net    *neural.Transformer // network before unlearning
	tokens []int32             // tokens that express the concept; nil for a single string
	shows  func(s string) bool // whether a string has the concept
	single string              // the repeated string to be forgotten; "" for other concepts
	rows   []int32             // tokens of the training strings
	has    []bool              // whether the row has the concept, by row

	made   int // steps of pre-training
	before tally
	old    []string  // samples of the network before unlearning
	kept   []int32   // held-out rows without the concept
	loss   []float64 // bounds of the rows in kept before unlearning
}

// task loads the data and the network and evaluates it.
func (o options) task(ctx context.Context) (*task, error) {
	c, own, err := o.load()
	if err != nil {
		return nil, err
	}
	t := &task{options: o, c: c, made: o.steps}
	if own != nil && own.steps > 0 {
		t.made = own.steps
	}
	if t.tokens, t.shows, t.single, err = o.concept(c); err != nil {
		return nil, err
	}
	if t.net, err = o.network(c, own); err != nil {
		return nil, err
	}
	t.rows = flat(c, c.Train)
	for _, s := range c.Train {
		t.has = append(t.has, t.shows(s))
	}
	if t.single != "" {
		if err := t.memorise(ctx); err != nil {
			return nil, err
		}
	}
	model, err := t.model(t.net)
	if err != nil {
		return nil, err
	}
	if t.old, err = t.texts(ctx, model, o.seed, prior, leastJudged); err != nil {
		return nil, err
	}
	t.before = judgeAll(c, t.shows, t.old)
	if before := t.shareBefore(); !(o.share < before) {
		return nil, fmt.Errorf("-share = %v, want less than %.3f, the share of the samples that have %s now: there is nothing to forget", o.share, before, o.forget)
	}
	var kept []string
	for _, s := range c.Held {
		if !t.shows(s) && len(kept) < judged {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("-forget = %q: every held-out string has it: nothing would be kept", o.forget)
	}
	t.kept = flat(c, kept)
	t.loss, err = t.bounds(ctx, t.net)
	return t, err
}

// memorise repeats the single string in the rows and trains the network on them, as if its training
// set had held the string many times.
func (t *task) memorise(ctx context.Context) error {
	row := flat(t.c, []string{t.single})
	for range int(repeated / (1 - repeated) * float64(len(t.has))) {
		t.rows, t.has = append(t.rows, row...), append(t.has, true)
	}
	return t.fit(ctx, t.net, train.Config{Steps: max(1, t.steps/4), Rate: t.rate, Seed: t.seed}, t.weights(1, 1))
}

func (t *task) shareBefore() float64 { return fraction(t.before.has, len(t.old)) }

// objective returns the training loss.
func (t *task) objective() train.Masked { return train.Masked{Mask: mask(t.c)} }

// model returns the denoiser that a network computes with its current weights.
func (t *task) model(net *neural.Transformer) (energy.Denoiser[int32], error) {
	return neural.NewMasked(net, mask(t.c), neural.Options{TimeFree: true})
}

// bounds returns the bounds on −log p of the held-out rows without the concept.
func (t *task) bounds(ctx context.Context, net *neural.Transformer) ([]float64, error) {
	return train.Losses(ctx, net, t.objective(), t.kept, draws, 1, runtime.GOMAXPROCS(0))
}

// drawing returns a function that fills x with samples of a model: those with the numbers first,
// first+1, and so on.
func (t *task) drawing(seed uint64) func(ctx context.Context, m energy.Denoiser[int32], first int, x []int32) error {
	return func(ctx context.Context, m energy.Denoiser[int32], first int, x []int32) error {
		d, err := diffusion.New(ctx, m, diffusion.Process[int32](diffusion.Masked{Mask: mask(t.c), FirstHitting: true}), diffusion.Config{Seed: seed, First: first})
		if err != nil {
			return err
		}
		return d.Sample(ctx, x)
	}
}

// texts returns n samples of a model as strings, from number first on.
func (t *task) texts(ctx context.Context, m energy.Denoiser[int32], seed uint64, first, n int) ([]string, error) {
	x := make([]int32, n*t.c.Sites)
	if err := t.drawing(seed)(ctx, m, first, x); err != nil {
		return nil, err
	}
	out := make([]string, n)
	for i := range out {
		out[i] = t.c.Text(x[i*t.c.Sites : (i+1)*t.c.Sites])
	}
	return out, nil
}

// tune changes the weights of net until the bound holds, and returns λ.
func (t *task) tune(ctx context.Context, net *neural.Transformer, seed uint64) (lambda float64, err error) {
	model, err := t.model(net)
	if err != nil {
		return 0, err
	}
	bar := progress.New("forget " + t.forget)
	defer bar.Done()
	cfg := finetune.Config[int32]{
		Objective: t.objective(), Model: model, Sample: t.drawing(seed),
		Train:   train.Config{Steps: t.fewer(), Batch: t.batch, Decay: decay, Seed: seed},
		Observe: func(k finetune.Round) { bar.Set(k.Step, t.fewer()) },
	}
	if t.rank > 0 {
		cfg.Train.Rank, cfg.Train.Rate = t.rank, 10*tuning
	}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = t.checkpoint, 1
	concept := finetune.Concept[int32]{Name: t.forget, Tokens: t.tokens, Bound: t.share}
	if t.single != "" {
		row := flat(t.c, []string{t.single})
		concept.Has = func(x []int32) float64 {
			if slices.Equal(x, row) {
				return 1
			}
			return 0
		}
	}
	f, err := finetune.New(ctx, net, t.rows, []finetune.Concept[int32]{concept}, cfg)
	if err != nil {
		return 0, err
	}
	if t.checkpoint != "" {
		if err := f.LoadFile(ctx, t.checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	if err := f.Run(ctx); err != nil {
		return 0, err
	}
	return f.Lambda()[0], nil
}

// fewer returns the number of unlearning steps.
func (t *task) fewer() int { return max(1, t.steps/forgetting) }

// judge evaluates net after the given number of unlearning steps.
func (t *task) judge(ctx context.Context, net *neural.Transformer, seed uint64, lambda float64, steps int) (*forgotten, error) {
	r := &forgotten{Concept: t.forget, Wanted: t.share, Lambda: lambda, Steps: steps, Pretraining: t.made, before: t.before, old: t.old}
	r.ValidBefore = fraction(r.before.valid, r.before.kept)
	if r.Judged = t.judged; r.Judged == 0 {
		r.Judged = min(max(leastJudged, int(precision*(1-t.share)/t.share)), mostJudged)
	}
	model, err := t.model(net)
	if err != nil {
		return nil, err
	}
	if r.samples, err = t.texts(ctx, model, seed, judge, r.Judged); err != nil {
		return nil, err
	}
	v := judgeAll(t.c, t.shows, r.samples)
	r.has = v.has
	r.Share, r.ValidKept, r.Unique = fraction(v.has, r.Judged), fraction(v.valid, v.kept), fraction(v.different, min(r.Judged, leastJudged))
	if r.Upper, err = dual.UpperBound(v.has, r.Judged, uncertain); err != nil {
		return nil, err
	}
	if t.single != "" {
		r.Item = &item{}
		r.Item.SameBefore, r.Item.NearBefore = around(t.c, t.single, t.old)
		r.Item.Same, r.Item.Near = around(t.c, t.single, r.samples)
		_, r.Item.NearData = around(t.c, t.single, t.c.Train)
	}
	loss, err := t.bounds(ctx, net)
	if err != nil {
		return nil, err
	}
	r.NELBOBefore, _ = stat.MeanStdDev(t.loss, nil)
	r.NELBO, _ = stat.MeanStdDev(loss, nil)
	for i := range loss { // of the same corruptions
		loss[i] -= t.loss[i]
	}
	_, deviation := stat.MeanStdDev(loss, nil)
	r.changeError = stat.StdErr(deviation, float64(len(loss)))
	return r, nil
}

// forget makes the network forget the concept of -forget and evaluates it.
func forget(ctx context.Context, o options) (*forgotten, error) {
	t, err := o.task(ctx)
	if err != nil {
		return nil, err
	}
	net := t.net.Clone()
	lambda, err := t.tune(ctx, net, o.seed)
	if err != nil {
		return nil, err
	}
	r, err := t.judge(ctx, net, o.seed, lambda, t.fewer())
	if err != nil {
		return nil, err
	}
	if o.Dir != "" {
		if err := r.draw(); err != nil {
			return nil, err
		}
	}
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

// draw adds a plot of the samples before and after unlearning.
func (r *forgotten) draw() error {
	n := len(r.old)
	f, err := picture.Shares("forget", "Samples before and after", "% of samples", []string{r.Concept, "valid, of the others", "different"}, []picture.Group{
		{Name: "before", Height: []float64{100 * fraction(r.before.has, n), 100 * r.ValidBefore, 100 * fraction(r.before.different, n)}},
		{Name: "after", Height: []float64{100 * r.Share, 100 * r.ValidKept, 100 * r.Unique}},
	})
	if err != nil {
		return err
	}
	f.Caption = fmt.Sprintf("The bound allows the concept in at most %g %% of the samples.", 100*r.Wanted)
	r.Add(f)
	return nil
}

// network returns the network of -weights, or the embedded one.
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

// fits returns an error if the network's length or vocabulary does not match the data.
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
	if i := r.Item; i != nil {
		fmt.Fprintf(&b, "\nthe same molecule: %.4f before, %.4f after; others at an edit distance of %d or less: %.4f and %.4f (%.4f of the data)\n", i.SameBefore, i.Same, nearby, i.NearBefore, i.Near, i.NearData)
	}
	fmt.Fprintf(&b, "\nthe bound has changed by %+.2f ± %.2f nats\nbefore: %s\nafter:  %s\n", r.NELBO-r.NELBOBefore, r.changeError, few(r.old), few(r.samples))
	return b.String()
}

// few returns the first samples, at most eight, in one line.
func few(samples []string) string { return strings.Join(samples[:min(8, len(samples))], " ") }
