package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// The pair that occurs most often is merged first, and never over the border of a word; a text
// is the same after encoding, whether its words were seen or not.
func TestTokenizer(t *testing.T) {
	k := learnTokenizer([]string{"aab aab", "aab caab", "x.x.x.x."}, 260)
	if got := k.tokens[256:]; !slices.Equal(got, []string{"aa", "aab"}) { // no other pair occurs twice
		t.Errorf("%q", got)
	}
	all := log(1)[:500]
	k = learnTokenizer(all, 400)
	if len(k.tokens) != 400 || k.levels() != 402 || k.pad() != 400 || k.mask() != 401 {
		t.Fatal(len(k.tokens))
	}
	fresh := *k
	fresh.known = nil
	for _, s := range append(all, "", " ", "  two  blanks ", "Wörter, 12:34!", "\xff\x00") {
		text := ""
		for _, x := range k.encode(s) {
			text += k.tokens[x]
		}
		if text != s {
			t.Fatalf("%q: %q", s, text)
		}
		if !slices.Equal(k.encode(s), fresh.encode(s)) {
			t.Fatalf("%q: %v, and as an unseen text %v", s, k.encode(s), fresh.encode(s))
		}
	}
	if n := len(k.encode(all[0])); n >= len(all[0])/2 {
		t.Errorf("%d tokens for %q", n, all[0])
	}
	if got := words("Now, 'tis 12 o'clock: go!"); !slices.Equal(got, []string{"Now", "'tis", "o'clock", "go"}) {
		t.Errorf("%q", got)
	}
}

// periodText is a file whose first half and second half differ in some words.
func periodText(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range 800 {
		own := []string{"thou", "hast", "the", "moon"}
		if i >= 400 {
			own = []string{"you", "have", "the", "sun"}
		}
		for range 5 {
			b.WriteString(own[r.IntN(4)] + " ")
		}
		b.WriteByte('\n')
	}
	return file(t, b.String())
}

func periodLines(t *testing.T) *lines {
	t.Helper()
	o, err := parse([]string{"-data", periodText(t), "-tokens", "280", "-length", "10"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := read(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Both classifiers know the period of lines that neither has seen. The language holds the
// sequences that the constraint accepts, and the table of the classifier of hidden lines is what
// evaluating every change gives.
func TestPeriods(t *testing.T) {
	l := periodLines(t)
	p := newPeriodJudges(l, 1)
	if p.right < 0.95 || p.judgeRight < 0.95 {
		t.Errorf("%v and %v of the periods are right", p.right, p.judgeRight)
	}
	a, b := p.late(l.states([]string{"you have sun"}), "you have sun")
	c, d := p.late(l.states([]string{"thou moon hast"}), "thou moon hast")
	if a < 0.8 || b < 0.8 || c > 0.2 || d > 0.2 {
		t.Errorf("late with %v, %v; %v, %v", a, b, c, d)
	}
	r := rand.New(rand.NewPCG(2, 2))
	in, all := 0, append(l.states(l.held[:50]), make([]int32, 200*l.length)...)
	for i := 50 * l.length; i < len(all); i++ {
		all[i] = int32(r.IntN(l.levels() - 1))
	}
	for _, most := range thresholds {
		language, err := p.language(l, most)
		if err != nil {
			t.Fatal(err)
		}
		bound, g := p.bound(l.levels(), most, 3), make([]float64, 1)
		for x := range slices.Chunk(all, l.length) {
			bound.Violation(g, x)
			own, _ := p.late(x, "")
			if accepts := constraint.Accepts(language, x); accepts != (g[0] <= 1e-9) || accepts != (own <= most+1e-12) {
				t.Fatalf("%v: %v, violation %v, p(late) %v", x, accepts, g[0], own)
			} else if accepts {
				in++
			}
			v := make([]float32, l.length*l.levels())
			for i, token := range x {
				v[i*l.levels()+int(token)] = 1
			}
			soft := make([]float64, 1)
			bound.Value(soft, v)
			if math.Abs(soft[0]-g[0]) > 1e-9 {
				t.Fatalf("%v on rows, %v on tokens", soft[0], g[0])
			}
			dst := make([]float32, len(v))
			bound.Pull(dst, v, []float64{2})
			if k := int(x[0]); math.Abs(float64(dst[k])-6*p.surrogate.weight[k]) > 1e-6 {
				t.Fatalf("slope %v, weight %v", dst[k], p.surrogate.weight[k])
			}
		}
	}
	if in < 50 || in > 700 {
		t.Errorf("%d of 750 are in: the test is weak", in)
	}
	x := l.states(l.held[:1])
	x[1] = l.mask()
	table := make([]float32, l.length*l.levels())
	if err := (shown{p.hidden, l.levels()}).Table(table, x, 0); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		for token := range l.levels() {
			y := slices.Clone(x)
			y[i] = int32(token)
			if want := math.Log(1 - logistic(p.hidden.score(y))); math.Abs(float64(table[i*l.levels()+token])-want) > 1e-5 {
				t.Fatalf("site %d, token %d: %v, want %v", i, token, table[i*l.levels()+token], want)
			}
		}
	}
}

// The first tokens of a line have the probabilities of the network's first rows; steering
// multiplies them. No position sees what it predicts.
func TestAutoregressive(t *testing.T) {
	l := periodLines(t)
	shape := neural.Config{Length: l.length, Levels: l.levels(), Width: 32, Heads: 1, Blocks: 2, Positions: true}
	if err := (next{l.mask()}).Check(shape); err == nil {
		t.Error("a network that sees all positions was accepted")
	}
	shape.Block = 1
	net, err := neural.New(shape, rand.NewPCG(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range net.Weights() { // the last layer begins at zero
		net.Weights()[i] += 0.2 * float32(math.Sin(float64(i)))
	}
	outputs := func(clean []int32) []float32 {
		x, w := make([]int32, l.length), make([]float64, l.length)
		next{l.mask()}.Corrupt(x, w, clean, 0, nil)
		pass, y := net.NewPass(1), make([]float32, l.length*l.levels())
		pass.Forward(neural.Input{Tokens: x, Level: []float64{0}})
		pass.Output(y, nil)
		return y
	}
	x := l.states(l.held[:1])
	y := slices.Clone(x)
	y[2] = 'z'
	a, b := outputs(x), outputs(y)
	if !slices.Equal(a[:3*l.levels()], b[:3*l.levels()]) {
		t.Error("a prediction depends on the token that it predicts or on a later one")
	}
	if slices.Equal(a[3*l.levels():4*l.levels()], b[3*l.levels():4*l.levels()]) {
		t.Error("a prediction does not depend on the token before it")
	}
	const n = 1000
	first := func(seed uint64, s steer) []float64 {
		x, err := write(t.Context(), net, l, n, seed, 1, s)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]float64, l.levels())
		for line := range slices.Chunk(x, l.length) {
			p[line[0]] += 1. / n
			if k := slices.Index(line, l.pad()); k >= 0 && slices.ContainsFunc(line[k:], func(x int32) bool { return x != l.pad() }) {
				t.Fatalf("tokens after the end: %v", line)
			}
		}
		return p
	}
	want := make([]float64, l.levels())
	for i := range want {
		want[i] = float64(a[i])
	}
	want[l.mask()] = math.Inf(-1)
	normalise(want)
	m := &linear{bias: 0.3, weight: make([]float64, l.levels())}
	for i := range m.weight {
		m.weight[i] = math.Sin(float64(7 * i))
	}
	led := slices.Clone(want)
	fudge(m, 2)(led, nil)
	normalise(led)
	for i := range led {
		exact := math.Log(math.Exp(want[i]) * math.Pow(1-logistic(0.3+m.weight[i]), 2))
		if d := led[i] - exact; i > 0 && i != int(l.mask()) && math.Abs(d-(led[0]-math.Log(math.Exp(want[0])*math.Pow(1-logistic(0.3+m.weight[0]), 2)))) > 1e-9 {
			t.Fatalf("token %d is off by %v", i, d)
		}
	}
	for _, c := range []struct {
		p, logp []float64
	}{{first(1, nil), want}, {first(2, fudge(m, 2)), led}} {
		for i := range c.p { // Hoeffding: false with 1e-6 for all tokens together
			if d := math.Abs(c.p[i] - math.Exp(c.logp[i])); d > math.Sqrt(math.Log(2*600/1e-6)/2/n) {
				t.Errorf("token %d: %v, want %v", i, c.p[i], math.Exp(c.logp[i]))
			}
		}
	}
	mean := func(logp []float64) (s float64) {
		for i, a := range logp {
			s += math.Exp(a) * m.weight[i]
		}
		return s
	}
	pushed := slices.Clone(want)
	pplm(m)(pushed, nil)
	normalise(pushed)
	if mean(pushed) > mean(want)-0.05 || !math.IsInf(pushed[l.mask()], -1) {
		t.Errorf("mean weight %v, before %v", mean(pushed), mean(want))
	}
}

// A small network answers every question. Demands are met by all samples that were drawn under
// them and not by the others, and rows have their standard errors.
func TestStudies(t *testing.T) {
	small := []string{"-data", periodText(t), "-tokens", "280", "-length", "8", "-width", "32", "-blocks", "1", "-steps", "10", "-batch", "8"}
	r := do(t, append(small, "-n", "3", "-seeds", "2", "-study", "tasks,period,when,cost")...)
	r.Studies = append(r.Studies, do(t, append(small, "-n", "1", "-seeds", "2", "-study", "fudge,grid")...).Studies...)
	if len(r.Studies) != 6 || len(r.Runs) != 0 {
		t.Fatalf("%+v", r)
	}
	free := 0.0
	for _, s := range r.Studies {
		for _, row := range s.Rows {
			if len(row.Mean) != len(s.Columns) || len(row.Error) != len(s.Columns) {
				t.Fatalf("%s: %+v", s.Name, row)
			}
			switch {
			case s.Name == "tasks" && strings.HasSuffix(row.Method, "given the task"), s.Name == "when" && row.Method == "exact, every step",
				s.Name == "period" && strings.HasSuffix(row.Method, "≤ 0.25"):
				if row.Mean[0] != 0 {
					t.Errorf("%s: %+v", s.Name, row)
				}
			case s.Name == "tasks":
				free += float64(row.Mean[0])
			}
		}
	}
	if free == 0 {
		t.Error("unconstrained lines meet all demands: the test cannot fail")
	}
	for k, want := range map[int]int{4: 9, 5: 36} {
		if n := len(r.Studies[k].Rows); n != want {
			t.Errorf("%s: %d rows, want %d", r.Studies[k].Name, n, want)
		}
	}
	for _, s := range r.Studies {
		if !strings.Contains(r.String(), "  "+strings.Join(s.Exact, "\n  ")+"\n") || len(s.Exact) == 0 {
			t.Errorf("%s: %q is not under the table", s.Name, s.Exact)
		}
	}
	if text := r.String(); !strings.Contains(text, "study period") || !strings.Contains(text, " ± ") || !strings.Contains(text, "right period") {
		t.Error(text)
	}
}

// The error of a lost sample is reported, and the other samples are kept.
func TestLostSamples(t *testing.T) {
	s := &setting{l: &lines{length: 2}}
	broken := errors.New("site 3 has no value")
	x, lost, err := s.kept([]int32{1, 2, 3, 4, 5, 6}, fmt.Errorf("sample: %w", diffusion.SampleErrors{nil, broken, nil}))
	if !slices.Equal(x, []int32{1, 2, 5, 6}) || !slices.Equal(lost, []error{broken}) || err != nil {
		t.Errorf("%v, %v, %v", x, lost, err)
	}
	if _, err := whole(x, lost, err); err != broken {
		t.Errorf("%v, want %v", err, broken)
	}
	if _, lost, err := s.kept(nil, broken); err != broken || lost != nil {
		t.Errorf("%v, %v: want an error that is not of a sample", lost, err)
	}
	if x, err := whole([]int32{1, 2}, nil, nil); len(x) != 2 || err != nil {
		t.Errorf("%v, %v", x, err)
	}
}

// The mean and the error are over the seeds that have samples, and the row states how many have none.
func TestSeedsWithoutSamples(t *testing.T) {
	s := &setting{o: options{seeds: 3}, out: &study{Columns: []string{"lost", "perplexity"}}, bar: progress.New("")}
	figures := func(samples ...int) func(uint64) ([]float64, error) {
		k := 0
		return func(uint64) ([]float64, error) {
			x := make([]int32, samples[k])
			k++
			return append([]float64{1 - float64(len(x))/16}, ofSamples(x, float64(len(x)))...), nil
		}
	}
	for _, samples := range [][]int{{6, 0, 8}, {12, 0, 0}, {0, 0, 0}, {3, 3, 3}} {
		if err := s.row("m", figures(samples...)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(s.out.Rows[1:])
	want := `[{"method":"m","mean":[0.75,12],"error":[0.25,null],"seeds_without_samples":2},` +
		`{"method":"m","mean":[1,null],"error":[0,null],"seeds_without_samples":3},{"method":"m","mean":[0.8125,3],"error":[0,0]}]`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	if r := s.out.Rows[0]; r.Mean[1] != 7 || math.Abs(float64(r.Error[1])-1) > 1e-12 || r.Empty != 1 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	s.out.print(&text)
	for _, want := range []string{" 7.000 ± 1.000  seeds without samples: 1\n", " – ± –  seeds without samples: 3\n", " 3.000 ± 0.000\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
}

// A task that too few held-out lines suggest has no rows, and a note states it, even if the lines of
// some seeds suffice.
func TestTasksWithoutTargets(t *testing.T) {
	common := []string{"-tokens", "256", "-length", "16", "-width", "32", "-blocks", "1", "-steps", "1", "-batch", "2", "-n", "1", "-seeds", "2"}
	r := do(t, append(common, "-data", file(t, strings.Repeat("ö ä ü\nß ö ä\n", 20)), "-study", "tasks,cost")...)
	if a, b := r.Studies[0], r.Studies[1]; len(a.Rows) != 0 || len(a.Notes) != len(kinds) || len(b.Rows) != 4 || len(b.Notes) != 1 {
		t.Errorf("%+v", r.Studies)
	}
	if !strings.Contains(r.String(), "number of a letter: no rows; among 100 random held-out lines, fewer than 1 ") {
		t.Error(r)
	}
	l := periodLines(t)
	before, calls := kinds, 0
	defer func() { kinds = before }()
	kinds = []task{{"of one seed", func(line string, words []string, r *rand.Rand) (asked, bool) {
		calls++
		return asked{characters: exactly(len(line))}, calls > 100 // none for the first seed
	}}}
	net, err := neural.New(l.shape(options{width: 32, blocks: 1, tokens: 256}), rand.NewPCG(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{r: &report{}, l: l, o: options{n: 1, seeds: 2, steps: 1, batch: 1, width: 32, blocks: 1, rate: 1e-3, train: true, asked: asked{separators: " "}}, net: net,
		fluency: newJudge(l.held), out: &study{Columns: studies[0].columns}, bar: progress.New("")}
	if err := tasks(t.Context(), s); err != nil || len(s.out.Rows) != 0 || len(s.out.Notes) != 1 {
		t.Errorf("%+v, %v", s.out, err)
	}
}

// All studies of a run use one autoregressive network, which is trained once, even if a checkpoint
// would let another training go on.
func TestStudiesShareTheNetwork(t *testing.T) {
	o, err := parse([]string{"-data", periodText(t), "-tokens", "256", "-length", "8", "-width", "32", "-blocks", "1",
		"-batch", "2", "-steps", "100", "-minutes", "1e-9", "-checkpoint", t.TempDir() + "/ckpt"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := read(o)
	if err != nil {
		t.Fatal(err)
	}
	network := func(r *report) *neural.Transformer {
		net, err := r.autoregressive(t.Context(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	r := &report{}
	a := network(r)
	if network(r) != a {
		t.Error("the second call trained another network")
	}
	if b := network(&report{}); slices.Equal(a.Weights(), b.Weights()) {
		t.Error("another run did not go on with the checkpoint: the test cannot fail")
	}
}

// Reading back both networks gives the figures of training them.
func TestStudyFromFiles(t *testing.T) {
	weights := t.TempDir() + "/weights"
	options := []string{"-data", periodText(t), "-tokens", "270", "-length", "8", "-width", "32", "-blocks", "1", "-n", "2", "-seeds", "1", "-study", "period", "-weights", weights}
	a := do(t, append(options, "-steps", "4", "-next", "3", "-batch", "4", "-train")...)
	for _, suffix := range []string{"", ".next"} {
		if _, err := os.Stat(weights + suffix); err != nil {
			t.Error(err)
		}
	}
	c := do(t, slices.Concat(options[:len(options)-4], []string{"-run", "next", "-weights", weights})...)
	if f := c.Runs[0]; f.Name != "next" || len(f.Samples) != 2 || !(f.NLL > 0) || !(f.Error > 0) || !strings.Contains(c.String(), "autoregressive, −log p of held-out lines") {
		t.Errorf("%+v", f)
	}
	b := do(t, options...)
	if a.Steps != 4 || b.Steps != 0 || len(a.Studies[0].Rows) != len(b.Studies[0].Rows) || b.Studies[0].Rows[0].Error != nil {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestErrorsOfStudies(t *testing.T) {
	for want, args := range map[string][]string{
		`-study: no study "other"; there are tasks (`:           {"-study", "other"},
		"-tokens = 255, want 0 or 256 … 65536":                  {"-tokens", "255"},
		"-seeds = 0":                                            {"-seeds", "0"},
		"-study with -temperature = 0.5":                        {"-study", "tasks", "-temperature", "0.5"},
		`-study = "tasks" with -run = "free", want only one`:    {"-study", "tasks", "-run", "free"},
		`-study = "tasks" with -last = "end", want no option`:   {"-study", "tasks", "-last", "end"},
		`-study = "tasks" with -list = "words", want no option`: {"-study", "tasks", "-list", "words"},
		"a network for 0 classes of lines, want 2":              small("-study", "period"),
		`-letters = "e", "e" in it: want an ASCII`:              {"-letters", "e"},
		`-letters = "e=x", "e=x" in it: want 0 … 1024`:          {"-letters", "e=x"},
		"no line of at most 5 tokens has -letters a=40":         {"-letters", "a=40", "-tokens", "256", "-length", "5"},
	} {
		if _, err := try(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
