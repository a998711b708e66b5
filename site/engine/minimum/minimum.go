// Package minimum is the tab of the playground that minimises the energy in an uploaded file.
package minimum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/site/engine"
)

// Problem is an uploaded file that defines an energy to minimise.
type Problem struct {
	Name   string // file name, whose extension helps to detect the format
	Text   string
	Format string // name of the file format; "" to detect the format
	Seed   uint64
	Rounds int // number of rounds that the Go program runs
}

// Tab registers the calls that minimise the energy read from a file.
func Tab(e *engine.Engine) {
	t := &tab{}
	engine.Handle(e, "minimise/start", t.start)
	engine.Handle(e, "minimise/run", t.run)
	engine.Handle(e, "minimise/bound", t.bound)
	engine.HandleProgram(e, "minimise", Problem.program)
}

// tab holds the search that calls share.
type tab struct{ search *search }

// formats maps the name of a format to the Go statement that reads it from r.
var formats = map[string]string{
	"rudy":    "graph, err := read.Rudy(r)",
	"dimacs":  "graph, err := read.DIMACS(r)",
	"coo":     "m, err := read.COO(r, read.COOConfig{})",
	"spins":   "m, err := read.COO(r, read.COOConfig{Spins: true})",
	"csv":     "m, _, err := read.CSV(r, read.CSVConfig{})",
	"qubo":    "m, err := read.QBSolv(r)",
	"bqm":     "m, _, err := read.BQM(r)",
	"bqpjson": "m, _, err := read.BQPJSON(r)",
}

// format returns p.Format, or detects the format from the file extension or else from the first
// line of data.
func (p Problem) format() string {
	if p.Format != "" {
		return p.Format
	}
	switch strings.ToLower(path.Ext(p.Name)) {
	case ".qubo":
		return "qubo"
	case ".col", ".clq", ".dimacs":
		return "dimacs"
	case ".csv":
		return "csv"
	}
	text := strings.TrimPrefix(strings.TrimSpace(p.Text), "\ufeff")
	if strings.HasPrefix(text, "{") {
		if strings.Contains(text, `"variable_domain"`) {
			return "bqpjson"
		}
		return "bqm"
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0, f[0] == "c", strings.HasPrefix(f[0], "#"), strings.HasPrefix(f[0], "%"):
			continue
		case f[0] == "p" && len(f) > 1 && f[1] == "qubo":
			return "qubo"
		case f[0] == "p":
			return "dimacs"
		case strings.Contains(line, ","):
			return "csv"
		case len(f) == 2 && number(f[0]) && number(f[1]):
			return "rudy"
		}
		break
	}
	return "coo"
}

func number(s string) bool { _, err := strconv.Atoi(s); return err == nil }

// watched is a reader that fails once its context is done.
type watched struct {
	ctx context.Context
	r   io.Reader
}

func (w watched) Read(b []byte) (int, error) {
	if poll.Err(w.ctx) != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(b)
}

// open reads the file. The returned graph is nil unless the energy is minus the weight of a cut
// of a graph.
func (p Problem) open(ctx context.Context) (m energy.Model, graph *model.Graph, labels []string, err error) {
	r := watched{ctx, strings.NewReader(p.Text)}
	switch f := p.format(); f {
	case "rudy":
		graph, err = read.Rudy(r)
	case "dimacs":
		graph, err = read.DIMACS(r)
	case "coo", "spins":
		m, err = read.COO(r, read.COOConfig{Spins: f == "spins"})
	case "csv":
		m, labels, err = read.CSV(r, read.CSVConfig{})
	case "qubo":
		m, err = read.QBSolv(r)
	case "bqm":
		m, labels, err = read.BQM(r)
	case "bqpjson":
		m, labels, err = read.BQPJSON(r)
	default:
		err = fmt.Errorf("no such format: %q", f)
	}
	if err == nil && poll.Err(ctx) != nil {
		err = context.Cause(ctx)
	}
	if err == nil && graph != nil {
		m, err = model.MaxCut(graph)
	}
	return m, graph, labels, err
}

// largest is the maximum size of a file in bytes. The steps after reading check for a cancellation
// only between them, so the size is limited.
const largest = 4 << 20

type search struct {
	*ground.Search
	model energy.Model
	sites int
	graph *model.Graph // nil unless the energy is minus the weight of a cut
	spent time.Duration
}

// SearchStarted is the reply to the call minimise/start, which begins a search for the minimum.
type SearchStarted struct {
	Format       string
	Sites, Pairs int
	Labels       []string
	Cut          bool // whether the search maximises a cut
}

func (t *tab) start(ctx context.Context, p Problem) (*SearchStarted, error) {
	if err := engine.Within("bytes of the file", len(p.Text), 0, largest); err != nil {
		return nil, err
	}
	m, graph, labels, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	s := &search{model: m, graph: graph}
	s.sites, _ = m.Shape()
	if poll.Err(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	if s.Search, err = ground.New(m, ground.Config{Seed: p.Seed}); err != nil {
		return nil, err
	}
	r := &SearchStarted{Format: p.format(), Sites: s.sites, Labels: labels, Cut: graph != nil}
	if pairs, ok := energy.As[energy.Pairwise](m); ok {
		_, adjacent, _, _, _ := pairs.Pairs()
		r.Pairs = len(adjacent) / 2
	}
	t.search = s
	return r, nil
}

// Best returns the best state that the search finds in the given number of rounds.
func (p Problem) Best(ctx context.Context, rounds int) ([]int32, error) {
	var t tab
	if _, err := t.start(ctx, p); err != nil {
		return nil, err
	}
	err := t.search.Run(ctx, rounds)
	x, _ := t.search.Best()
	return x, err
}

// Bounded is the reply to the call minimise/bound, which bounds the minimum.
type Bounded struct {
	// lower bound on the energy, or upper bound on the cut; nil if none was found in time
	Bound  *float64
	Method string // name of the method that proved the bound
}

// proving is the time limit for computing a bound.
const proving = 5 * time.Second

func (t *tab) bound(ctx context.Context, _ struct{}) (*Bounded, error) {
	s := t.search
	if s == nil {
		return nil, errNoFile
	}
	short, cancel := context.WithTimeout(ctx, proving)
	defer cancel()
	c, err := ground.Bound(short, s.model)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case short.Err() != nil:
		return &Bounded{}, nil
	case err != nil:
		return nil, err
	}
	b := &Bounded{&c.Energy, c.Method}
	if s.graph != nil { // cut + energy is constant
		zero := make([]int32, s.sites)
		var energy [1]float64
		s.model.Energy(energy[:], zero)
		cut := s.graph.Cut(zero) + energy[0] - c.Energy
		b.Bound = &cut
	}
	return b, nil
}

var errNoFile = errors.New("no file has been opened")

// Found is the reply to the call minimise/run, which continues the search: the best state found so
// far.
type Found struct {
	Rounds int
	Energy float64
	Cut    *float64
	State  string // best state, as a string of 0 and 1
	Spent  float64
	Digest string
}

func (t *tab) run(ctx context.Context, q struct {
	Rounds int
	MS     float64 // time limit in milliseconds; an unfinished round continues in the next call
}) (*Found, error) {
	s := t.search
	if s == nil {
		return nil, errNoFile
	}
	if err := engine.Within("rounds", q.Rounds, 0, 1_000_000); err != nil {
		return nil, err
	}
	began := time.Now()
	short, cancel := context.WithTimeout(ctx, time.Duration(q.MS*float64(time.Millisecond)))
	defer cancel()
	err := s.Run(short, max(0, q.Rounds-s.Len()))
	s.spent += time.Since(began)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) { // that of q.MS
		return nil, err
	}
	x, least := s.Best()
	f := &Found{Rounds: s.Len(), Energy: least, Spent: float64(s.spent.Microseconds()) / 1000, Digest: engine.Digest(x)}
	if s.graph != nil {
		c := s.graph.Cut(x)
		f.Cut = &c
	}
	state := make([]byte, len(x))
	for i, l := range x {
		state[i] = '0' + byte(l)
	}
	f.State = string(state)
	return f, nil
}

func (q Problem) program(context.Context) (*engine.Source, error) {
	format := q.format()
	read, ok := formats[format]
	if !ok {
		return nil, fmt.Errorf("no such format: %q", format)
	}
	p := &engine.Source{}
	p.Use(".os", "energy/read", "sampler/ground")
	p.Add(`
	r, err := os.Open(os.Args[1]) // the file
	check
	defer r.Close()
	%s
	check`, read)
	least, best := "least", "least"
	if strings.HasPrefix(read, "graph") {
		least, best = "_", "graph.Cut(x)"
		p.Use("energy/model")
		p.Add(`
	m, err := model.MaxCut(graph)
	check`)
	}
	p.Add(`
	s, err := ground.New(m, ground.Config{Seed: %d})
	check
	err = s.Run(ctx, %d)
	check
	x, %s := s.Best()
	fmt.Println(%s, x)`, q.Seed, q.Rounds, least, best)
	return p, nil
}
