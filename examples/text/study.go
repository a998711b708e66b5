package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// question is a study of methods, as in the experiments of Cardei et al. 2025. Its name is an
// argument of -study.
type question struct {
	name, words string
	columns     []string
	answer      func(ctx context.Context, s *setting) error
}

var studies = []question{
	{"tasks", "lines with given numbers of letters and words and with given words", []string{"violations", "perplexity", "distinct-2", "known words", "seconds"}, tasks},
	{"period", "lines from the first half of the text, by a surrogate and a judge", periodColumns, periodStudy},
	{"fudge", "the same by FUDGE with weights of 1 to 9", periodColumns, fudgeStudy},
	{"grid", "the settings of the augmented Lagrangian", []string{"lost", "judge > .5", "perplexity", "seconds"}, grid},
	{"when", "projection in some of the steps", []string{"lost", "surrogate > .25", "judge > .5", "perplexity", "seconds"}, when},
	{"cost", "processor time of a line relative to that of an unconstrained one", []string{"mean", "median", "largest"}, cost},
}

var periodColumns = []string{
	"surrogate > .25", "> .5", "> .75", "judge > .25", "> .5", "> .75", "perplexity", "distinct-1", "distinct-2", "known words", "lost", "seconds"}

func questions() string {
	var all []string
	for _, q := range studies {
		all = append(all, q.name+" ("+q.words+")")
	}
	return strings.Join(all, ", ")
}

// study is the answer to a question: a table of means over seeds of the samples, with standard
// errors. Notes describe what all rows share, and say which rows are missing.
type study struct {
	Name    string     `json:"name"`
	Columns []string   `json:"columns"`
	Rows    []studyRow `json:"rows"`
	Notes   []string   `json:"notes,omitempty"`
	Exact   []string   `json:"exact"` // which distribution the samples of the methods follow
}

// studyRow is a row of a study. The samples of a seed can all be lost; what only samples show is
// then a mean over the other seeds.
type studyRow struct {
	Method string  `json:"method"`
	Mean   []entry `json:"mean"`
	Error  []entry `json:"error,omitempty"`                 // nil for a single seed
	Empty  int     `json:"seeds_without_samples,omitempty"` // number of seeds all of whose samples are lost
}

// entry is a number in a row, or NaN if too few seeds have samples. JSON has null for NaN.
type entry float64

func (e entry) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(e)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(e))
}

func (e entry) String() string {
	if math.IsNaN(float64(e)) {
		return "–"
	}
	return fmt.Sprintf("%.3f", float64(e))
}

func (s *study) print(to io.Writer) {
	fmt.Fprintf(to, "\nstudy %s\n", s.Name)
	for _, n := range s.Notes {
		fmt.Fprintf(to, "  %s\n", n)
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "method\t%s\t\n", strings.Join(s.Columns, "\t"))
	for _, r := range s.Rows {
		fmt.Fprintf(w, "%s\t", r.Method)
		for k, m := range r.Mean {
			if r.Error == nil {
				fmt.Fprintf(w, "%v\t", m)
			} else {
				fmt.Fprintf(w, "%v ± %v\t", m, r.Error[k])
			}
		}
		if r.Empty > 0 {
			fmt.Fprintf(w, "  seeds without samples: %d", r.Empty)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for _, e := range s.Exact {
		fmt.Fprintf(to, "  %s\n", e)
	}
}

// setting holds what the methods of a study need.
type setting struct {
	r       *report
	l       *lines
	o       options
	net     *neural.Transformer
	fluency *judge // perplexity model of the held-out lines, which no network has seen
	out     *study
	bar     *progress.Bar
}

// study makes a study and adds it to the report.
func (r *report) study(ctx context.Context, q question, net *neural.Transformer, l *lines, o options) error {
	s := &setting{r: r, l: l, o: o, net: net, fluency: newJudge(l.held), out: &study{Name: q.name, Columns: q.columns, Rows: []studyRow{}, Exact: exactOf(q.name)}, bar: progress.New(q.name)}
	defer s.bar.Done()
	if err := q.answer(ctx, s); err != nil {
		return err
	}
	r.Studies = append(r.Studies, *s.out)
	return nil
}

// exactOf says which distributions the samples of a study's methods follow.
func exactOf(study string) []string {
	all := []string{"without a demand or bound: " + command.Free}
	switch study {
	case "tasks":
		return append(all, "given the demand: "+command.Steps)
	case "fudge":
		return []string{command.Changed("guidance", "samples follow no stated distribution")}
	case "when":
		return []string{"exact, every step: " + command.Steps, "exact, otherwise: " + command.SomeSteps, "Lagrangian: " + command.Moved}
	case "grid":
		return []string{command.Moved}
	case "cost":
		all = append(all, "number of a letter: "+command.Steps)
	case "period":
		all = append(all, "FUDGE, PPLM, CFG, CBG: "+command.Changed("guidance", "samples follow no stated distribution"))
	}
	return append(all, "exact: "+command.Steps, "looking ahead: "+command.Ahead, "Lagrangian: "+command.Moved)
}

// seeds returns the seeds of the samples.
func (s *setting) seeds() []uint64 {
	all := make([]uint64, s.o.seeds)
	for k := range all {
		all[k] = s.o.seed + 1000*uint64(k+1)
	}
	return all
}

// row adds a row: for every seed, figures returns the entries. Those that are NaN are left out of
// the mean.
func (s *setting) row(method string, figures func(seed uint64) ([]float64, error)) error {
	var all [][]float64
	for _, seed := range s.seeds() {
		f, err := figures(seed)
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		all = append(all, f)
	}
	r := studyRow{Method: method, Mean: make([]entry, len(s.out.Columns))}
	if len(all) > 1 {
		r.Error = make([]entry, len(s.out.Columns))
	}
	for _, f := range all {
		if slices.ContainsFunc(f, math.IsNaN) {
			r.Empty++
		}
	}
	for c := range s.out.Columns {
		var own []float64
		for _, f := range all {
			if !math.IsNaN(f[c]) {
				own = append(own, f[c])
			}
		}
		mean, deviation := stat.MeanStdDev(own, nil) // NaN without seeds, as is the error of a single one
		r.Mean[c] = entry(mean)
		if len(all) > 1 {
			r.Error[c] = entry(stat.StdErr(deviation, float64(len(own))))
		}
	}
	s.out.Rows = append(s.out.Rows, r)
	s.bar.Set(len(s.out.Rows), len(s.out.Rows)+1)
	return nil
}

// model returns the denoiser of the network, which gets the period of a line unless it is −1.
func (s *setting) model(period int) (*neural.Masked, error) {
	net := s.net
	if period >= 0 {
		var err error
		if net, err = net.Given(period); err != nil {
			return nil, err
		}
	}
	return neural.NewMasked(net, s.l.mask(), neural.Options{TimeFree: true})
}

// diffuse draws lines by masked diffusion, one token at a time, and drops those that fail because
// the constraint cannot be met any more.
func (s *setting) diffuse(ctx context.Context, model energy.Denoiser[int32], n int, cfg diffusion.Config) (x []int32, lost []error, err error) {
	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: s.l.mask(), FirstHitting: true}, cfg)
	if err != nil {
		return nil, nil, err
	}
	x = make([]int32, n*s.l.length)
	return s.kept(x, d.Sample(ctx, x))
}

// kept returns the samples without error and the errors of the others.
func (s *setting) kept(x []int32, err error) (good []int32, lost []error, _ error) {
	var each diffusion.SampleErrors
	if !errors.As(err, &each) {
		return x, nil, err
	}
	for i, err := range each {
		if err != nil {
			lost = append(lost, err)
			continue
		}
		good = append(good, x[i*s.l.length:(i+1)*s.l.length]...)
	}
	return good, lost, nil
}

// whole returns the samples, or the first error if some are lost.
func whole(x []int32, lost []error, err error) ([]int32, error) {
	if err == nil && len(lost) > 0 {
		err = lost[0]
	}
	return x, err
}

// ofSamples returns the figures of samples, all NaN if there are no samples.
func ofSamples(x []int32, figures ...float64) []float64 {
	if len(x) == 0 {
		for i := range figures {
			figures[i] = math.NaN()
		}
	}
	return figures
}

// texts returns the lines with the given tokens.
func (s *setting) texts(x []int32) []string {
	var all []string
	for row := range slices.Chunk(x, s.l.length) {
		all = append(all, s.l.text(row))
	}
	return all
}

// task is a kind of demand with a target that a held-out line meets. It returns false if the line
// suggests none.
type task struct {
	name   string
	target func(line string, words []string, r *rand.Rand) (asked, bool)
}

var kinds = []task{
	{"number of a letter", func(line string, _ []string, r *rand.Rand) (asked, bool) {
		var found []byte
		for c := byte('a'); c <= 'z'; c++ {
			if strings.IndexByte(line, c) >= 0 {
				found = append(found, c)
			}
		}
		if len(found) == 0 {
			return asked{}, false
		}
		c := found[r.IntN(len(found))]
		return asked{letters: []letters{{c, exactly(strings.Count(line, string(rune(c))))}}}, true
	}},
	{"number of characters", func(line string, _ []string, _ *rand.Rand) (asked, bool) {
		return asked{characters: exactly(len(line))}, true
	}},
	{"number of words", func(_ string, words []string, _ *rand.Rand) (asked, bool) {
		return asked{words: exactly(len(words))}, len(words) >= 3
	}},
	{"a word at a position", func(_ string, words []string, r *rand.Rand) (asked, bool) {
		if len(words) < 3 {
			return asked{}, false
		}
		k := r.IntN(len(words))
		return asked{at: []place{{k + 1, words[k : k+1]}}}, true
	}},
	{"the last word", func(_ string, words []string, _ *rand.Rand) (asked, bool) {
		if len(words) < 3 {
			return asked{}, false
		}
		return asked{last: words[len(words)-1:]}, true
	}},
}

func exactly(n int) *text.Range { return &text.Range{Min: n, Max: n} }

// targets returns one job per sample of a task, with targets of random held-out lines; nil if too
// few lines suggest one.
func (s *setting) targets(ctx context.Context, k task, n int, seed uint64) ([]job, error) {
	r := rand.New(rand.NewPCG(seed, 94))
	var all []job
	for range 100 * n {
		line := s.l.held[r.IntN(len(s.l.held))]
		if !plain(line) {
			continue
		}
		a, ok := k.target(line, strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(s.o.separators, c) }), r)
		if !ok {
			continue
		}
		a.separators = s.o.separators
		parts, err := a.demands(ctx, s.l.vocabulary(), "")
		if err != nil {
			return nil, err
		}
		j, err := together(ctx, parts, s.l)
		if err != nil {
			return nil, err
		}
		if all = append(all, j); len(all) == n {
			return all, nil
		}
	}
	return nil, nil
}

// few notes that a task has no rows because too few lines suggest a target.
func (s *setting) few(k task) {
	s.out.Notes = append(s.out.Notes, fmt.Sprintf("%s: no rows; among %d random held-out lines, fewer than %d of only ASCII characters suggest a target", k.name, 100*s.o.n, s.o.n))
}

// plain reports whether a line is ASCII, so that its bytes are its characters.
func plain(line string) bool {
	return !strings.ContainsFunc(line, func(c rune) bool { return c >= 0x80 })
}

// tasks asks for numbers of letters, characters and words and for words at positions. Every sample
// has its own target. Samples of methods that know nothing of it are judged by it, too.
func tasks(ctx context.Context, s *setting) error {
	net, err := s.r.autoregressive(ctx, s.l, s.o)
	if err != nil {
		return err
	}
	model, err := s.model(-1)
	if err != nil {
		return err
	}
	figures := func(lines []string, all []job, seconds float64) []float64 {
		wrong := 0
		for i, line := range lines {
			if !all[i].holds(line) {
				wrong++
			}
		}
		known, _ := s.l.known(lines)
		return []float64{float64(wrong) / float64(len(lines)), s.fluency.perplexity(lines), distinct(lines, 2), known, seconds}
	}
	for _, k := range kinds {
		all, missing := map[uint64][]job{}, false
		for _, seed := range s.seeds() {
			if all[seed], err = s.targets(ctx, k, s.o.n, seed); err != nil {
				return err
			}
			missing = missing || all[seed] == nil
		}
		if missing {
			s.few(k)
			continue
		}
		for _, m := range []struct {
			name string
			draw func(seed uint64, all []job) ([]int32, error)
		}{
			{"autoregressive", func(seed uint64, _ []job) ([]int32, error) {
				return write(ctx, net, s.l, s.o.n, seed, 1, nil)
			}},
			{"diffusion", func(seed uint64, _ []job) ([]int32, error) {
				return whole(s.diffuse(ctx, model, s.o.n, diffusion.Config{Seed: seed}))
			}},
			{"diffusion given the task", func(seed uint64, all []job) ([]int32, error) {
				var x []int32
				for i, j := range all {
					one, err := whole(s.diffuse(ctx, model, 1, diffusion.Config{Seed: seed, First: i, Projector: j.projector}))
					if err != nil {
						return nil, fmt.Errorf("%s: no sample: %w", j.what, err)
					}
					x = append(x, one...)
				}
				return x, nil
			}},
		} {
			err := s.row(k.name+": "+m.name, func(seed uint64) ([]float64, error) {
				start := command.Processor()
				x, err := m.draw(seed, all[seed])
				if err != nil {
					return nil, err
				}
				return figures(s.texts(x), all[seed], command.Processor()-start), nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// thresholds are the largest probabilities that a line is late.
var thresholds = []float64{0.25, 0.5, 0.75}

// rounds bounds the outer loops of the augmented Lagrangian, which meets the constraint early or
// never, since masked diffusion does not change a token again.
const rounds = 100

// guidance is the weight of all guidance: classifier-free, by a classifier, and FUDGE.
const guidance = 2

// periodFigures judges lines by the period.
func (s *setting) periodFigures(p *periodJudges, x []int32) (surrogate, judge []float64) {
	surrogate, judge = make([]float64, len(thresholds)), make([]float64, len(thresholds))
	n := len(x) / s.l.length
	for row := range slices.Chunk(x, s.l.length) {
		a, b := p.late(row, s.l.text(row))
		for k, most := range thresholds {
			if a > most+1e-9 {
				surrogate[k] += 1 / float64(n)
			}
			if b > most {
				judge[k] += 1 / float64(n)
			}
		}
	}
	return surrogate, judge
}

// periodStudy asks for lines that are late with at most a probability. Guidance knows no
// threshold, so that its samples are judged by all three.
func periodStudy(ctx context.Context, s *setting) error {
	if classes := s.net.Config().Classes; classes != periods {
		return fmt.Errorf("a network for %d classes of lines, want %d, the halves of the text; train it with -tokens", classes, periods)
	}
	p := s.r.periodJudges(s.l, s.o.seed)
	s.out.Notes = append(s.out.Notes, fmt.Sprintf("right period: %.1f %% of held-out lines by the surrogate, %.1f %% of training lines by the judge", 100*p.right, 100*p.judgeRight))
	net, err := s.r.autoregressive(ctx, s.l, s.o)
	if err != nil {
		return err
	}
	plain, err := s.model(-1)
	if err != nil {
		return err
	}
	given, err := s.model(early)
	if err != nil {
		return err
	}
	by := func(st steer) func(seed uint64) ([]int32, []error, error) { return s.steered(ctx, net, st) }
	from := func(m energy.Denoiser[int32], projector diffusion.Projector) func(seed uint64) ([]int32, []error, error) {
		return func(seed uint64) ([]int32, []error, error) {
			return s.diffuse(ctx, m, s.o.n, diffusion.Config{Seed: seed, Projector: projector})
		}
	}
	methods := []method{
		{"held-out lines", func(seed uint64) ([]int32, []error, error) {
			r := rand.New(rand.NewPCG(seed, 95))
			var all []string
			for range s.o.n {
				all = append(all, s.l.held[r.IntN(len(s.l.held))])
			}
			return s.l.states(all), nil, nil
		}},
		{"autoregressive", by(nil)},
		{"FUDGE", by(fudge(p.beginnings, guidance))},
		{"PPLM", by(pplm(p.beginnings))},
		{"diffusion", from(plain, nil)},
		{"CFG", from(diffusion.ClassifierFree{Conditional: given, Unconditional: plain, Scale: guidance}, nil)},
		{"CBG", from(diffusion.ClassifierGuided{Denoiser: plain, Classifier: shown{p.hidden, s.l.levels()}, Scale: guidance}, nil)},
	}
	for _, most := range thresholds {
		sum, err := p.language(s.l, most)
		if err != nil {
			return err
		}
		bound := p.bound(s.l.levels(), most, 1)
		methods = append(methods,
			method{fmt.Sprintf("Lagrangian, ≤ %g", most), from(plain, s.lagrangian(p, most, 1, lagrange.Projector{}))},
			method{fmt.Sprintf("looking ahead, ≤ %g", most), func(seed uint64) ([]int32, []error, error) {
				d, err := scored.New(ctx, plain, diffusion.Masked{Mask: s.l.mask(), FirstHitting: true}, scored.Config{Judge: bound, Seed: seed})
				if err != nil {
					return nil, nil, err
				}
				x := make([]int32, s.o.n*s.l.length)
				return s.kept(x, d.Sample(ctx, x))
			}},
			method{fmt.Sprintf("exact, ≤ %g", most), from(plain, projection.Path{Language: sum, Name: "the period"})},
		)
	}
	return s.compare(p, methods)
}

// fudgeStudy varies the weight of FUDGE, as Table 2 of Cardei et al. 2025 does.
func fudgeStudy(ctx context.Context, s *setting) error {
	p := s.r.periodJudges(s.l, s.o.seed)
	net, err := s.r.autoregressive(ctx, s.l, s.o)
	if err != nil {
		return err
	}
	var methods []method
	for scale := 1; scale <= 9; scale++ {
		methods = append(methods, method{fmt.Sprintf("λ = %d", scale), s.steered(ctx, net, fudge(p.beginnings, float64(scale)))})
	}
	return s.compare(p, methods)
}

// method draws the lines of a seed, of which some may be lost.
type method struct {
	name string
	draw func(seed uint64) (x []int32, lost []error, err error)
}

// steered returns how lines are drawn from an autoregressive network.
func (s *setting) steered(ctx context.Context, net *neural.Transformer, st steer) func(seed uint64) ([]int32, []error, error) {
	return func(seed uint64) ([]int32, []error, error) {
		x, err := write(ctx, net, s.l, s.o.n, seed, 1, st)
		return x, nil, err
	}
}

// compare judges the lines of each method by the period.
func (s *setting) compare(p *periodJudges, methods []method) error {
	for _, m := range methods {
		err := s.row(m.name, func(seed uint64) ([]float64, error) {
			start := command.Processor()
			x, lost, err := m.draw(seed)
			if err != nil {
				return nil, err
			}
			seconds, lines := command.Processor()-start, s.texts(x)
			surrogate, judge := s.periodFigures(p, x)
			known, _ := s.l.known(lines)
			own := slices.Concat(surrogate, judge, []float64{s.fluency.perplexity(lines), distinct(lines, 1), distinct(lines, 2), known})
			return append(ofSamples(x, own...), float64(len(lost))/float64(s.o.n), seconds), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lagrangian is the projection to p(late) ≤ most by an augmented Lagrangian whose first penalty is
// penalty. k holds its other settings.
func (s *setting) lagrangian(p *periodJudges, most, penalty float64, k lagrange.Projector) lagrange.Projector {
	k.Constraint, k.Outer = p.bound(s.l.levels(), most, math.Sqrt(penalty)), rounds
	return k
}

// grid varies the settings of the augmented Lagrangian as Table 3 of Cardei et al. 2025 does: the
// step size η, the first penalty μ and the number of inner steps.
func grid(ctx context.Context, s *setting) error {
	p := s.r.periodJudges(s.l, s.o.seed)
	model, err := s.model(-1)
	if err != nil {
		return err
	}
	for _, step := range []float64{0.2, 0.4, 0.6, 0.8} {
		for _, penalty := range []float64{1, 5, 10} {
			for _, inner := range []int{10, 25, 50} {
				err := s.row(fmt.Sprintf("η %g, μ %g, %d inner steps", step, penalty, inner), func(seed uint64) ([]float64, error) {
					start := command.Processor()
					x, lost, err := s.diffuse(ctx, model, s.o.n, diffusion.Config{Seed: seed,
						Projector: s.lagrangian(p, thresholds[0], penalty, lagrange.Projector{Step: step, Inner: inner})})
					seconds := command.Processor() - start
					_, judge := s.periodFigures(p, x)
					return slices.Concat([]float64{float64(len(lost)) / float64(s.o.n)}, ofSamples(x, judge[1], s.fluency.perplexity(s.texts(x))), []float64{seconds}), err
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// when projects in every so many steps, or from a time on, as Figures 8 and 9 of Cardei et al.
// 2025 do.
func when(ctx context.Context, s *setting) error {
	p := s.r.periodJudges(s.l, s.o.seed)
	model, err := s.model(-1)
	if err != nil {
		return err
	}
	sum, err := p.language(s.l, thresholds[0])
	if err != nil {
		return err
	}
	for _, w := range []struct {
		name  string
		every int
		start float64
	}{{"every step", 1, 1}, {"every 2nd", 2, 1}, {"every 4th", 4, 1}, {"every 8th", 8, 1}, {"only the last", -1, 1},
		{"from time 0.75 on", 1, 0.75}, {"from time 0.5 on", 1, 0.5}, {"from time 0.25 on", 1, 0.25}} {
		for _, m := range []struct {
			name      string
			projector diffusion.Projector
		}{{"exact", projection.Path{Language: sum, Name: "the period"}}, {"Lagrangian", s.lagrangian(p, thresholds[0], 1, lagrange.Projector{})}} {
			err := s.row(m.name+", "+w.name, func(seed uint64) ([]float64, error) {
				start := command.Processor()
				x, lost, err := s.diffuse(ctx, model, s.o.n, diffusion.Config{Seed: seed, Projector: m.projector, ProjectEvery: w.every, ProjectStart: w.start})
				seconds := command.Processor() - start
				surrogate, judge := s.periodFigures(p, x)
				return slices.Concat([]float64{float64(len(lost)) / float64(s.o.n)}, ofSamples(x, surrogate[0], judge[1], s.fluency.perplexity(s.texts(x))), []float64{seconds}), err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// cost measures the processor time of single lines, relative to the mean of unconstrained ones,
// as Table 4 of Cardei et al. 2025 does.
func cost(ctx context.Context, s *setting) error {
	p := s.r.periodJudges(s.l, s.o.seed)
	model, err := s.model(-1)
	if err != nil {
		return err
	}
	sum, err := p.language(s.l, thresholds[0])
	if err != nil {
		return err
	}
	bound := p.bound(s.l.levels(), thresholds[0], 1)
	process := diffusion.Masked{Mask: s.l.mask(), FirstHitting: true}
	x := make([]int32, s.l.length)
	by := func(projector func(i int) diffusion.Projector) func(seed uint64, i int) (func() error, error) {
		return func(seed uint64, i int) (func() error, error) {
			d, err := diffusion.New(ctx, model, process, diffusion.Config{Seed: seed, First: i, Projector: projector(i)})
			return func() error { return d.Sample(ctx, x) }, err
		}
	}
	same := func(p diffusion.Projector) func(int) diffusion.Projector {
		return func(int) diffusion.Projector { return p }
	}
	letter, err := s.targets(ctx, kinds[0], s.o.n, s.o.seed)
	if err != nil {
		return err
	}
	type single struct {
		name string
		make func(seed uint64, i int) (func() error, error)
	}
	methods := []single{{"unconstrained", by(same(nil))}}
	if letter == nil {
		s.few(kinds[0])
	} else {
		methods = append(methods, single{kinds[0].name, by(func(i int) diffusion.Projector { return letter[i].projector })})
	}
	methods = append(methods,
		single{"period, exact", by(same(projection.Path{Language: sum}))},
		single{"period, looking ahead", func(seed uint64, i int) (func() error, error) {
			d, err := scored.New(ctx, model, process, scored.Config{Judge: bound, Seed: seed, First: i})
			return func() error { return d.Sample(ctx, x) }, err
		}},
		single{"period, Lagrangian", by(same(s.lagrangian(p, thresholds[0], 1, lagrange.Projector{})))},
	)
	plain := map[uint64]float64{}
	for _, m := range methods {
		err := s.row(m.name, func(seed uint64) ([]float64, error) {
			var took []float64
			total := 0.0
			for i := range s.o.n {
				draw, err := m.make(seed, i)
				if err != nil {
					return nil, err
				}
				start := command.Processor()
				err = draw()
				if _, _, err = s.kept(x, err); err != nil {
					return nil, err
				}
				took = append(took, command.Processor()-start)
				total += took[i]
			}
			slices.Sort(took)
			mean := total / float64(s.o.n)
			if plain[seed] == 0 {
				plain[seed] = mean
			}
			return []float64{mean / plain[seed], took[len(took)/2] / plain[seed], took[len(took)-1] / plain[seed]}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
