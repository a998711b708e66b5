package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/examples/internal/vocabulary"
)

// maskResults is the report that -masks adds to -maskbench. At some positions of every schema,
// all tokens of the vocabulary are compared with a byte automaton that [grammar.Grammar.Over]
// compiles separately. Every instance is also read token by token, as far as the masks allow.
// Errors counts tokens on which masks and automaton disagree, and instances on which masks and
// Accepts do. Undecided counts tokens that could not be decided within the limits. Times are per
// mask, including masks computed for the first time.
type maskResults struct {
	Tokens    int    `json:"tokens"`
	Errors    int    `json:"errors"`
	Undecided int    `json:"undecided"`
	Micros    spread `json:"us"`
	Masks     int    `json:"masks"`
	Schemas   int    `json:"schemas"`    // number of schemas whose tokens were checked
	Prepare   spread `json:"prepare_ms"` // time to prepare the masks of a schema

	wrong   []string
	worst   string // schema and text at which the slowest mask was computed
	slowest float64
	micros  []float64
	millis  []float64
}

func (r *maskResults) fail(format string, args ...any) {
	if r.Errors++; len(r.wrong) < 20 {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	}
}

func (r *maskResults) finish() {
	r.Masks = len(r.micros)
	r.Micros, r.Prepare = spreadOf(r.micros), spreadOf(r.millis)
}

func spreadOf(x []float64) spread {
	if len(x) == 0 {
		return spread{}
	}
	slices.Sort(x)
	return spread{x[len(x)/2], x[len(x)*99/100], x[len(x)-1]}
}

// tokens is a vocabulary with the tables needed to compute masks and to check them.
type tokens struct {
	text.Vocabulary
	prepared *grammar.Vocabulary
	number   map[string]int32
	longest  int
	order    []int32 // tokens with a text, sorted by text
}

func newTokens(ctx context.Context, v text.Vocabulary) (*tokens, error) {
	p, err := grammar.Prepare(v)
	if err != nil {
		return nil, err
	}
	spells, err := v.Spelling()
	if err != nil {
		return nil, err
	}
	t := &tokens{Vocabulary: v, prepared: p, number: map[string]int32{}}
	for id, s := range v.Tokens {
		if spells[id] {
			t.number[s] = int32(id)
			t.longest = max(t.longest, len(s))
			t.order = append(t.order, int32(id))
		}
	}
	// The first masks prepare the vocabulary.
	g, err := grammar.JSONSchema(ctx, []byte(`{"type":"null"}`), grammar.SchemaConfig{})
	if err != nil {
		return nil, err
	}
	if _, err := g.Masks(ctx, p); err != nil {
		return nil, err
	}
	slices.SortFunc(t.order, func(a, b int32) int { return strings.Compare(v.Tokens[a], v.Tokens[b]) })
	return t, nil
}

// cut splits a text into tokens, taking the longest token at each position.
func (t *tokens) cut(s string) (list []int32, ok bool) {
	for s != "" {
		n := min(len(s), t.longest)
		for ; n > 0; n-- {
			if id, ok := t.number[s[:n]]; ok {
				list = append(list, id)
				s = s[n:]
				break
			}
		}
		if n == 0 {
			return nil, false
		}
	}
	return list, true
}

// judging is the time limit for compiling the byte automaton that checks the masks.
const judging = 10 * time.Second

// places is the number of positions per schema at which all tokens are checked.
const places = 1

// masksOf reads all instances of a schema through its masks and adds the results.
func (r *maskResults) masksOf(ctx context.Context, name string, g *grammar.Grammar, t *tokens, texts []string, accepted []bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := processor()
	m, err := g.Masks(ctx, t.prepared)
	r.millis = append(r.millis, float64((processor()-start).Microseconds())/1000)
	if err != nil {
		r.fail("%s: %v", name, err)
		return nil
	}
	random := rand.New(rand.NewPCG(1, uint64(len(r.millis))))
	w := &walker{maskResults: r, t: t, m: m, name: name, dst: make([]uint32, m.Words())}
	limited, stop := context.WithTimeout(ctx, judging)
	w.bytes, err = g.Over(limited, text.Bytes())
	stop()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		w.bytes = nil
	}
	// The mask at the start is timed before anything else computes it.
	if err := w.mask("", m.Matcher()); err != nil {
		w.refuse("", err)
		return nil
	}
	// Where parts are read side by side, a run that goes on may still have no end.
	w.gated = errors.Is(m.Matcher().MaskWithin(w.dst, 1), errors.ErrUnsupported)
	w.found = map[int]int{}
	for i, s := range texts {
		for k := range s {
			if accepted[i] {
				w.suffixes = append(w.suffixes, s[k:])
			}
		}
		if accepted[i] && s[0] == '{' {
			w.suffixes = append(w.suffixes, `":0,`+s[1:], `,`+s[1:])
		}
	}
	all := slices.Clone(texts)
	if len(all) == 0 {
		all = append(all, "")
	}
	if w.bytes != nil {
		r.Schemas++
	}
	judged := map[int]int{}
	for range places {
		judged[random.IntN(len(all))]++
	}
	for i, s := range all {
		list, ok := t.cut(s)
		if !ok {
			continue
		}
		at := map[int]bool{}
		for range judged[i] {
			at[random.IntN(len(list)+1)] = true
		}
		if err := w.walk(s, list, i < len(accepted) && accepted[i], i < len(accepted), at, random); err != nil {
			return err
		}
	}
	return nil
}

// walker reads the instances of one schema through its masks.
type walker struct {
	*maskResults
	t     *tokens
	m     *grammar.Masks
	name  string
	dst   []uint32
	bytes *grammar.Language // byte automaton that checks the masks; nil if it has too many states
	gated bool
	found map[int]int // result of completes by state of bytes: 1 completable, −1 not, 2 undecided

	steps int // steps that completes has made

	suffixes []string // suffixes of accepted instances
}

// mask computes a mask and records its time.
func (w *walker) mask(read string, p *grammar.Matcher) error {
	start := thread()
	err := p.Mask(w.dst)
	us := float64((thread() - start).Nanoseconds()) / 1000
	if us > w.slowest {
		w.slowest, w.worst = us, fmt.Sprintf("%s after %.80q", w.name, read)
	}
	w.micros = append(w.micros, us)
	return err
}

func (w *walker) has(t int32) bool { return w.dst[t/32]>>(t%32)&1 == 1 }

// walk reads a text through the masks and checks all tokens at the positions in at. If is is
// set, the text is an instance, given as the tokens in list, and want is the expected result.
// Otherwise walk reads up to 24 random tokens that the masks allow.
func (w *walker) walk(s string, list []int32, want, is bool, at map[int]bool, random *rand.Rand) error {
	p := w.m.Matcher()
	read := ""
	for i := 0; ; i++ {
		if err := w.mask(read, p); err != nil {
			w.refuse(read, err)
			return nil
		}
		if at[i] {
			w.judge(read, p)
		}
		var next int32
		switch {
		case is && i == len(list):
			if p.MayEnd() != want {
				w.fail("%s: after all of %.80q the text may end: %v, want %v", w.name, s, p.MayEnd(), want)
			}
			return nil
		case is:
			next = list[i]
		case i == 24:
			return nil
		default:
			if next = w.any(random); next < 0 {
				return nil
			}
		}
		ok, err := p.Accept(next)
		if err != nil {
			w.refuse(read, err)
			return nil
		}
		if ok != w.has(next) {
			w.fail("%s: after %.80q token %q is in the mask: %v, accepted: %v", w.name, read, w.t.Tokens[next], w.has(next), ok)
		}
		if !ok {
			if want {
				w.fail("%s: after %.80q token %q is refused, but the instance is accepted", w.name, read, w.t.Tokens[next])
			}
			return nil
		}
		read += w.t.Tokens[next]
	}
}

func (w *walker) refuse(read string, err error) {
	w.Undecided += len(w.t.order)
	if len(w.wrong) < 20 {
		w.wrong = append(w.wrong, fmt.Sprintf("%s: after %.80q: %v", w.name, read, err))
	}
}

// any returns a random token of the mask that has a text, or −1 if there is none.
func (w *walker) any(random *rand.Rand) int32 {
	var list []int32
	for _, t := range w.t.order {
		if w.has(t) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return -1
	}
	return list[random.IntN(len(list))]
}

// judge compares a mask with the byte automaton, token by token. The tokens are sorted, so that
// common prefixes are read once.
func (w *walker) judge(read string, p *grammar.Matcher) {
	if w.bytes == nil {
		return
	}
	at := w.bytes.Start()
	for i := 0; i < len(read) && at >= 0; i++ {
		at = w.bytes.Next(at, int32(read[i]))
	}
	if at < 0 {
		w.fail("%s: %.80q was read, but nothing begins with it", w.name, read)
		return
	}
	path := []int{at} // states after the first bytes of the token before
	last := ""
	for _, t := range w.t.order {
		s := w.t.Tokens[t]
		n := 0
		for n < min(len(s), len(last)) && s[n] == last[n] {
			n++
		}
		path = path[:min(n+1, len(path))]
		for len(path) <= len(s) && path[len(path)-1] >= 0 {
			path = append(path, w.bytes.Next(path[len(path)-1], int32(s[len(path)-1])))
		}
		last = s
		w.Tokens++
		state := path[len(path)-1]
		got, want := w.has(t), state >= 0
		if want && w.gated {
			switch w.completes(state) {
			case -1:
				want = false
			case 2:
				if w.Undecided++; len(w.wrong) < 20 {
					w.wrong = append(w.wrong, fmt.Sprintf("%s: after %.80q token %q: undecided", w.name, read, s))
				}
				continue
			}
		}
		if got != want {
			w.fail("%s: after %.80q token %q in the mask: %v, want %v", w.name, read, s, got, want)
		}
	}
	for _, t := range w.t.Padding {
		if w.has(t) != (w.bytes.Accepting(at) && p.MayEnd()) {
			w.fail("%s: after %.80q the text may end: %v, want %v", w.name, read, w.has(t), w.bytes.Accepting(at))
		}
	}
}

// patient bounds the states that one call of completes visits; steps bounds its steps per
// schema.
const (
	patient = 4_000
	steps   = 2_000_000
)

// completes searches for a text that leads from state to an accepting state. It first tries the
// ends of instances, alone and after one more member, and then all texts, breadth first. It
// returns 1 if one is found, −1 if none exists and 2 if there are too many states to decide.
func (w *walker) completes(state int) int {
	if k := w.found[state]; k != 0 {
		return k
	}
	for _, s := range w.suffixes {
		at := state
		for i := 0; i < len(s) && at >= 0; i++ {
			at = w.bytes.Next(at, int32(s[i]))
		}
		if at >= 0 && w.bytes.Accepting(at) {
			w.found[state] = 1
			return 1
		}
	}
	type place struct{ state, from int }
	list := []place{{state, -1}}
	seen := map[int]bool{state: true}
	for i := 0; i < len(list); i++ {
		p := list[i]
		if w.found[p.state] == 1 || w.bytes.Accepting(p.state) {
			for ; i >= 0; i = list[i].from {
				w.found[list[i].state] = 1
			}
			return 1
		}
		for b := range int32(256) {
			if to := w.bytes.Next(p.state, b); to >= 0 && !seen[to] && w.found[to] != -1 {
				seen[to] = true
				list = append(list, place{to, i})
			}
		}
		if w.steps += 256; len(list) > patient || w.steps > steps {
			w.found[state] = 2
			return 2
		}
	}
	for x := range seen {
		w.found[x] = -1
	}
	return -1
}

// toolResults is the report of -tools.
type toolResults struct {
	Tools         int     `json:"tools"`
	CompileMillis float64 `json:"compile_ms"`
	Micros        spread  `json:"mask_us"`
	Bytes         uint64  `json:"bytes"`
	Masks         int     `json:"masks"`
	Calls         int     `json:"calls"`
}

func (r *toolResults) String() string {
	return fmt.Sprintf("%d tools: compiled in %.1f ms, %.1f MB; %d calls, %d masks: p50 %.1f µs, p99 %.1f µs, at most %.1f µs\n",
		r.Tools, r.CompileMillis, float64(r.Bytes)/1e6, r.Calls, r.Masks, r.Micros.P50, r.Micros.P99, r.Micros.Max)
}

// toolsOf returns the schema of a call to one of n tools with six arguments each, and a valid
// call to each tool.
func toolsOf(n int) (schema []byte, calls []string) {
	r := rand.New(rand.NewPCG(1, 2))
	verbs := strings.Fields("get list create update delete search send fetch compute convert")
	nouns := strings.Fields("weather user invoice ticket calendar_event email route stock_price file message order payment photo reminder document")
	names := strings.Fields("query limit unit location start_date end_date user_id verbose tags format priority amount currency title body recipient page sort language region")
	kinds := [6][2]string{{`{"type":"string"}`, `"some text"`}, {`{"type":"integer","minimum":1,"maximum":100}`, `42`},
		{`{"enum":["celsius","fahrenheit","kelvin"]}`, `"kelvin"`}, {`{"type":"array","items":{"type":"string"}}`, `["a", "b"]`},
		{`{"type":"boolean"}`, `true`}, {`{"type":"number"}`, `3.25`}}
	var all []string
	for i := range n {
		name := fmt.Sprintf("%s_%s_%d", verbs[r.IntN(len(verbs))], nouns[r.IntN(len(nouns))], i)
		var properties, required, values []string
		for k, j := range r.Perm(len(names))[:6] {
			properties = append(properties, fmt.Sprintf("%q:%s", names[j], kinds[k][0]))
			values = append(values, fmt.Sprintf("%q: %s", names[j], kinds[k][1]))
			if k < 3 {
				required = append(required, fmt.Sprintf("%q", names[j]))
			}
		}
		all = append(all, fmt.Sprintf(`{"type":"object","properties":{"name":{"const":%q},"arguments":{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}},`+
			`"required":["name","arguments"],"additionalProperties":false}`, name, strings.Join(properties, ","), strings.Join(required, ",")))
		calls = append(calls, fmt.Sprintf(`{"name": %q, "arguments": {%s}}`, name, strings.Join(values, ", ")))
	}
	return []byte(`{"anyOf":[` + strings.Join(all, ",") + `]}`), calls
}

// tools measures the masks of calls to o.tools tools.
func tools(ctx context.Context, o options) (*toolResults, error) {
	v, err := vocabulary.Read(o.vocab)
	if err != nil {
		return nil, err
	}
	t, err := newTokens(ctx, v)
	if err != nil {
		return nil, err
	}
	schema, calls := toolsOf(o.tools)
	r := &toolResults{Tools: o.tools}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := processor()
	g, err := grammar.JSONSchema(ctx, schema, grammar.SchemaConfig{})
	if err != nil {
		return nil, err
	}
	m, err := g.Masks(ctx, t.prepared)
	if err != nil {
		return nil, err
	}
	r.CompileMillis = float64((processor() - start).Microseconds()) / 1000
	w := &walker{maskResults: &maskResults{}, t: t, m: m, dst: make([]uint32, m.Words())}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := 0; i < len(calls); i += max(1, len(calls)/40) {
		list, ok := t.cut(calls[i])
		if !ok {
			return nil, errors.New("-vocab: some bytes have no token, want one for each")
		}
		if err := w.walk(calls[i], list, true, true, nil, nil); err != nil {
			return nil, err
		}
		r.Calls++
	}
	if len(w.wrong) > 0 {
		return nil, errors.New(w.wrong[0])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	r.Bytes = after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	r.Masks, r.Micros = len(w.micros), spreadOf(w.micros)
	runtime.KeepAlive(m)
	runtime.KeepAlive(calls)
	return r, nil
}
