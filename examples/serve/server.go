package main

import (
	"bytes"
	"container/list"
	"context"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// Limits of a request.
const (
	mostBody   = 1 << 20          // maximum size of a request body in bytes
	mostTokens = 4096             // maximum of max_tokens
	compiling  = 10 * time.Second // time limit for compiling a format
	keptForms  = 256              // number of cached schemas; the least recently used is evicted first
	shown      = 200              // maximum number of tokens that /v1/masks lists
)

// format is the response_format of OpenAI's API: it restricts the completion. The types regex,
// grammar and language are additions.
type format struct {
	Type       string `json:"type"` // text, json_object, json_schema, regex, grammar or language
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
	Pattern string `json:"pattern"` // pattern for the type regex, in the syntax of package regexp
	Grammar string `json:"grammar"` // grammar for the type grammar, in llama.cpp's notation

	Language string `json:"language"` // name of the language for the type language: json5
}

type request struct {
	Prompt      string   `json:"prompt"`
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Seed        *uint64  `json:"seed"`
	Format      format   `json:"response_format"`
}

type choice struct {
	Index  int    `json:"index"`
	Text   string `json:"text"`
	Reason string `json:"finish_reason"` // "stop" or "length"
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type completion struct {
	Object  string   `json:"object"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
	Exact   string   `json:"exact"` // which distribution the text follows
}

type maskRequest struct {
	Text   string `json:"text"`
	Format format `json:"response_format"`
}

type maskReport struct {
	Allowed int      `json:"allowed"`
	MayEnd  bool     `json:"may_end"`
	Forced  string   `json:"forced"`
	Tokens  []string `json:"tokens"` // first tokens of the mask
	// mask in base64: bit t mod 32 of little-endian word t/32 is token t
	Mask string `json:"mask"`
}

// problem is an error caused by the client's request.
type problem struct{ error }

// server answers completion and mask requests.
type server struct {
	words    text.Vocabulary
	prepared *grammar.Vocabulary
	net      *network
	seed     uint64
	byText   map[string]int32
	longest  int
	running  chan struct{} // semaphore with one slot per concurrent completion
	requests atomic.Int64

	mu    sync.Mutex
	forms map[string]*list.Element
	used  *list.List // list of *form, the most recently used first
}

// form is a compiled format, shared by all requests with the same key.
type form struct {
	key  string
	once sync.Once
	m    *grammar.Masks
	err  error
}

func newServer(v text.Vocabulary, seed uint64) (*server, error) {
	p, err := grammar.Prepare(v)
	if err != nil {
		return nil, err
	}
	s := &server{words: v, prepared: p, net: newNetwork(len(v.Tokens), seed), seed: seed, byText: map[string]int32{},
		running: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), forms: map[string]*list.Element{}, used: list.New()}
	spells, err := v.Spelling()
	if err != nil {
		return nil, err
	}
	for t, spelled := range spells {
		if spelled {
			s.byText[v.Tokens[t]] = int32(t)
			s.longest = max(s.longest, len(v.Tokens[t]))
		}
	}
	return s, nil
}

// page is the HTML page that the server shows at its root.
//
//go:embed page.html
var page []byte

// grammars holds the grammars of the languages that a request can name.
//
//go:embed grammars
var grammars embed.FS

func (s *server) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	m.HandleFunc("POST /v1/completions", answer(s, s.complete))
	m.HandleFunc("POST /v1/masks", answer(s, s.mask))
	return m
}

// answer returns a handler that decodes a request, calls f and writes the result.
func answer[Q, A any](s *server, f func(ctx context.Context, q *Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		q := new(Q)
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
		var a any
		err := d.Decode(q)
		if err != nil {
			err = problem{err}
		} else {
			a, err = f(r.Context(), q)
		}
		status := http.StatusOK
		if err != nil {
			kind := "server_error"
			status = http.StatusInternalServerError
			if errors.As(err, &problem{}) {
				kind, status = "invalid_request_error", http.StatusBadRequest
			}
			a = map[string]any{"error": map[string]string{"message": err.Error(), "type": kind}}
		}
		var body bytes.Buffer
		if err := json.NewEncoder(&body).Encode(a); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write(body.Bytes())
	}
}

// masks returns the masks of a format, or nil if it allows any text.
func (s *server) masks(ctx context.Context, f format) (*grammar.Masks, error) {
	key := ""
	switch f.Type {
	case "", "text":
		return nil, nil
	case "json_object":
		key = `{"type":"object"}`
	case "json_schema":
		key = string(f.JSONSchema.Schema)
	case "regex":
		key = f.Pattern
	case "grammar":
		key = f.Grammar
	case "language":
		source, err := grammars.ReadFile("grammars/" + f.Language + ".ebnf")
		if err != nil {
			return nil, problem{fmt.Errorf("response_format.language = %q, want json5", f.Language)}
		}
		key = string(source)
	default:
		return nil, problem{fmt.Errorf("response_format.type = %q, want text, json_object, json_schema, regex, grammar or language", f.Type)}
	}
	x := s.form(f.Type + " " + key)
	x.once.Do(func() {
		// Others may wait for it, so it does not end with this request.
		limited, stop := context.WithTimeout(context.WithoutCancel(ctx), compiling)
		defer stop()
		x.m, x.err = s.compile(limited, f.Type, key)
	})
	if x.err != nil {
		return nil, problem{x.err}
	}
	return x.m, nil
}

// form returns the cached form for key, or adds a new one.
func (s *server) form(key string) *form {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.forms[key]; e != nil {
		s.used.MoveToFront(e)
		return e.Value.(*form)
	}
	x := &form{key: key}
	s.forms[key] = s.used.PushFront(x)
	if s.used.Len() > keptForms {
		last := s.used.Back()
		delete(s.forms, s.used.Remove(last).(*form).key)
	}
	return x
}

func (s *server) compile(ctx context.Context, kind, source string) (*grammar.Masks, error) {
	limits := constraint.Limits{Bytes: 1 << 26}
	if kind == "regex" {
		d, err := text.Regexp(ctx, source, s.words, limits)
		if err != nil {
			return nil, err
		}
		return grammar.MasksOf(ctx, d, s.prepared, limits)
	}
	var g *grammar.Grammar
	var err error
	switch kind {
	case "grammar":
		g, err = grammar.ParseGBNF(ctx, source, limits)
	case "language":
		g, err = grammar.Parse(ctx, source, limits)
	default:
		g, err = grammar.JSONSchema(ctx, []byte(source), grammar.SchemaConfig{Limits: limits, Annotations: true})
	}
	if err != nil {
		return nil, err
	}
	return g.Masks(ctx, s.prepared)
}

// cut splits a text into tokens, taking the longest token at each position.
func (s *server) cut(text string) (tokens []int32, err error) {
	for text != "" {
		n := min(len(text), s.longest)
		for ; n > 0; n-- {
			if t, ok := s.byText[text[:n]]; ok {
				tokens = append(tokens, t)
				text = text[n:]
				break
			}
		}
		if n == 0 {
			return nil, problem{fmt.Errorf("the vocabulary has no token for %.20q", text)}
		}
	}
	return tokens, nil
}

// exact says which distribution a completion follows.
func exact(masked bool, temperature float64) string {
	switch {
	case masked && temperature != 1:
		return command.Changed("the temperature", exact(true, 1))
	case masked:
		return "exact in each token, given those before it and that a text of the format can follow; the whole text does not follow the model given the format"
	case temperature != 1:
		return command.Tempered
	}
	return command.Free
}

// complete completes a text token by token: the network computes weights, the mask excludes
// tokens, and the matcher reads the token drawn.
func (s *server) complete(ctx context.Context, q *request) (*completion, error) {
	temperature, seed := 1.0, s.seed
	if q.Temperature != nil {
		temperature = *q.Temperature
	}
	if q.Seed != nil {
		seed = *q.Seed
	}
	if q.MaxTokens == 0 {
		q.MaxTokens = 64
	}
	switch {
	case q.MaxTokens < 1 || q.MaxTokens > mostTokens:
		return nil, problem{fmt.Errorf("max_tokens = %d, want 1 … %d", q.MaxTokens, mostTokens)}
	case !(temperature >= 0 && temperature <= 2):
		return nil, problem{fmt.Errorf("temperature = %v, want 0 … 2", temperature)}
	}
	read, err := s.cut(q.Prompt)
	if err != nil {
		return nil, err
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m, err := s.masks(ctx, q.Format)
	if err != nil {
		return nil, err
	}
	var p *grammar.Matcher
	if m != nil {
		p = m.Matcher()
	}
	logits, mask := make([]float32, len(s.words.Tokens)), make([]uint32, (len(s.words.Tokens)+31)/32)
	r := rand.New(rand.NewPCG(seed, 2))
	prompt := len(read)
	var b strings.Builder
	reason := "length"
	for left := q.MaxTokens; left > 0; left-- {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.allowed(mask, p, left); err != nil {
			return nil, err
		}
		s.net.logits(logits, read)
		t := draw(logits, mask, temperature, r)
		if t < 0 {
			return nil, problem{fmt.Errorf("max_tokens = %d: too few for any text of response_format", q.MaxTokens)}
		}
		if p != nil {
			if ok, err := p.Accept(t); err != nil || !ok {
				return nil, fmt.Errorf("token %d of the mask is refused: %w", t, err)
			}
		}
		if s.words.Tokens[t] == "" {
			reason = "stop"
			break
		}
		read = append(read, t)
		b.WriteString(s.words.Tokens[t])
	}
	if p != nil && p.MayEnd() {
		reason = "stop"
	}
	n := len(read) - prompt
	return &completion{"text_completion", []choice{{0, strings.ToValidUTF8(b.String(), string(utf8.RuneError)), reason}}, usage{prompt, n, prompt + n}, exact(p != nil, temperature)}, nil
}

// allowed writes the mask of the next token. If possible, the mask guarantees that the text can
// end within left tokens.
func (s *server) allowed(mask []uint32, p *grammar.Matcher, left int) error {
	if p == nil {
		for t := range s.words.Tokens {
			mask[t/32] |= 1 << (t % 32)
		}
		return nil
	}
	err := p.MaskWithin(mask, left)
	var lacks *constraint.ArgumentError // a byte is no token
	if errors.Is(err, errors.ErrUnsupported) || errors.As(err, &lacks) {
		err = p.Mask(mask)
	}
	return err
}

// mask returns the tokens that may follow a text.
func (s *server) mask(ctx context.Context, q *maskRequest) (*maskReport, error) {
	m, err := s.masks(ctx, q.Format)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, problem{errors.New("response_format.type = text, want one that restricts the text")}
	}
	tokens, err := s.cut(q.Text)
	if err != nil {
		return nil, err
	}
	p := m.Matcher()
	at := 0
	for _, t := range tokens {
		ok, err := p.Accept(t)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, problem{fmt.Errorf("text: nothing in response_format continues with %.40q at byte %d", s.words.Tokens[t], at)}
		}
		at += len(s.words.Tokens[t])
	}
	mask := make([]uint32, m.Words())
	if err := p.Mask(mask); err != nil {
		return nil, err
	}
	a := &maskReport{MayEnd: p.MayEnd()}
	if a.Forced, _, err = p.Forced(); err != nil {
		return nil, err
	}
	var words []byte
	for w, x := range mask {
		a.Allowed += bits.OnesCount32(x)
		words = binary.LittleEndian.AppendUint32(words, x)
		for ; x != 0 && len(a.Tokens) < shown; x &= x - 1 {
			a.Tokens = append(a.Tokens, s.words.Tokens[32*w+bits.TrailingZeros32(x)])
		}
	}
	a.Mask = base64.StdEncoding.EncodeToString(words)
	return a, nil
}
