// Package lattice is the tab of the playground that runs chains of one method on a lattice.
package lattice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/site/engine"
)

// Lattice describes a run: chains of one sampler on a torus of Side×Side sites. With two levels
// the energy is Ising's, −(1/T)·(Σ s_i s_j + h Σ s_i), where T is the temperature, h the field,
// and the first sum runs over neighbours. With more levels it is the Potts energy.
type Lattice struct {
	Levels      int
	Side        int
	Method      string
	Temperature float64
	Field       float64
	Seed        uint64
}

// Tab registers the calls that run chains of one method on a lattice.
func Tab(e *engine.Engine) {
	t := &tab{}
	engine.Handle(e, "lattice/start", t.start)
	engine.Handle(e, "lattice/run", t.run)
	engine.HandleProgram(e, "lattice", Lattice.program)
	e.Pixels = func() []byte {
		if t.lattice == nil {
			return nil
		}
		return t.lattice.pixels
	}
}

// tab holds the run that calls share.
type tab struct{ lattice *lattice }

// latticeChains is the number of chains in a run.
const latticeChains = 4

// kernel is a sampler with the Go expression that constructs it.
type kernel struct {
	method sampler.Method
	source string
}

// methods returns the samplers of the lattice tab by name.
func methods() map[string]kernel {
	return map[string]kernel{
		"gibbs":       {mcmc.Gibbs{}, "mcmc.Gibbs{}"},
		"dmala":       {mcmc.DMALA{}, "mcmc.DMALA{}"},
		"metropolis":  {mcmc.Metropolis{Scan: mcmc.Chromatic}, "mcmc.Metropolis{Scan: mcmc.Chromatic}"},
		"gwg":         {mcmc.GWG{}, "mcmc.GWG{}"},
		"hammingball": {mcmc.HammingBall{}, "mcmc.HammingBall{}"},
		"tempering":   {mcmc.Tempering{Base: mcmc.Gibbs{}}, "mcmc.Tempering{Base: mcmc.Gibbs{}}"},
		"sw":          {cluster.SwendsenWang{}, "cluster.SwendsenWang{}"},
		"wolff":       {cluster.Wolff{}, "cluster.Wolff{}"},
	}
}

// warmup returns the warm-up steps for a sampler that tunes its step size or its temperature
// ladder, and −1, no warm-up, for others.
func (l Lattice) warmup() int {
	switch l.Method {
	case "dmala", "gwg", "tempering":
		return 100
	}
	return -1
}

func (l Lattice) check() error {
	if err := errors.Join(engine.Within("side", l.Side, 2, 512), engine.Within("levels", l.Levels, 2, 12)); err != nil {
		return err
	}
	if !(l.Temperature >= 0.1 && l.Temperature <= 100) {
		return fmt.Errorf("temperature = %v, want 0.1 … 100", l.Temperature)
	}
	if !(math.Abs(l.Field) <= 10) {
		return fmt.Errorf("field = %v, want −10 … 10", l.Field)
	}
	if _, ok := methods()[l.Method]; !ok {
		return fmt.Errorf("no such method: %q", l.Method)
	}
	return nil
}

// model returns the energy and the order parameter. For two levels the order parameter is the
// mean spin; for more it is [model.OrderParameter], which measures the lead of the most frequent
// level.
func (l Lattice) model() (m energy.Model, order func([]int32) float64, err error) {
	torus := model.Lattice{l.Side, l.Side}
	if l.Levels == 2 {
		m, err = model.NewIsing(torus, 1/l.Temperature, l.Field/l.Temperature)
		return m, energy.Magnetization, err
	}
	field := make([]float64, l.Levels)
	field[0] = l.Field / l.Temperature
	m, err = model.NewPotts(torus, l.Levels, 1/l.Temperature, field)
	return m, model.OrderParameter(l.Levels), err
}

// perSite returns the energy per site in units of the coupling.
func (l Lattice) perSite(m energy.Model) func(x []int32) float64 {
	return func(x []int32) float64 {
		var e [1]float64
		m.Energy(e[:], x)
		return e[0] * l.Temperature / float64(len(x))
	}
}

// critical returns the transition temperature of the infinite square lattice: Onsager's for two
// levels (spins ±1), and the self-dual point for Potts levels.
func critical(levels int) float64 {
	if levels == 2 {
		return 2 / math.Log(1+math.Sqrt2)
	}
	return 1 / math.Log(1+math.Sqrt(float64(levels)))
}

// Known is a theoretical value with its source.
type Known struct {
	Value  float64
	Source string
}

// exact returns the exact means of |order| and of the energy per site, or nil for a mean that is
// not known.
func (l Lattice) exact(ctx context.Context, m energy.Model, order func([]int32) float64) (o, e *Known, err error) {
	sites := l.Side * l.Side
	if states := math.Pow(float64(l.Levels), float64(sites)); states <= 1<<18 {
		all, err := energy.Enumerate(ctx, m, func(x []int32) float64 { return math.Abs(order(x)) }, l.perSite(m))
		if err != nil {
			return nil, nil, err
		}
		source := fmt.Sprintf("sum over all %.0f states", states)
		return &Known{all.Means[0], source}, &Known{all.Means[1], source}, nil
	}
	if l.Levels > 2 || l.Field != 0 {
		return nil, nil, nil
	}
	_, perSite, err := model.TorusIsing(l.Side, l.Side, 1/l.Temperature)
	if err != nil {
		return nil, nil, err
	}
	return &Known{spontaneous(1 / l.Temperature), "infinite lattice, Yang 1952"},
		&Known{perSite * l.Temperature, fmt.Sprintf("torus of %d×%d, Kaufman 1949", l.Side, l.Side)}, nil
}

type lattice struct {
	Lattice
	chains  *sampler.Chains
	order   func([]int32) float64
	perSite func([]int32) float64
	trace   *diagnose.Trace // trace of the later part of the run, at least its second half
	// trace started later, which replaces trace once the run has doubled in length
	next     *diagnose.Trace
	looks    int // number of draws observed
	begun    int // number of draws observed when next began
	pixels   []byte
	original bool // whether no slider has moved, so that the seed determines the states
	marked   int  // step at which digest was taken
	digest   string
}

// mark is the number of steps between two digests.
const mark = 500

// Started is the reply to the call lattice/start, which begins a run.
type Started struct {
	Critical      float64 // critical temperature
	Order, Energy *Known  // theoretical means of |order| and of the energy per site; nil if not known
	MS            float64 // time of the call in milliseconds
}

// start starts a run. If a run exists and only the temperature or the field has changed, start
// updates that run instead.
func (t *tab) start(ctx context.Context, l struct {
	Lattice
	Anew bool
}) (*Started, error) {
	began := time.Now()
	if err := l.check(); err != nil {
		return nil, err
	}
	m, order, err := l.model()
	if err != nil {
		return nil, err
	}
	s := t.lattice
	if s != nil && !l.Anew && s.same(l.Lattice) {
		if err := sampler.Retarget(ctx, s.chains, m); err != nil {
			return nil, err
		}
		s.Lattice, s.original, s.looks, s.begun = l.Lattice, false, 0, 0
	} else {
		s = &lattice{Lattice: l.Lattice, order: order, original: true, pixels: make([]byte, latticeChains*l.Side*l.Side)}
		s.chains, err = sampler.NewChains(ctx, m, methods()[l.Method].method, sampler.Config{Chains: latticeChains, Seed: l.Seed, Warmup: l.warmup()})
		if err != nil {
			return nil, err
		}
	}
	s.perSite = l.perSite(m)
	s.trace, s.next = s.watch(), s.watch()
	t.lattice = s
	s.paint()
	reply := &Started{Critical: critical(l.Levels)}
	if reply.Order, reply.Energy, err = l.exact(ctx, m, order); err != nil {
		return nil, err
	}
	reply.MS = engine.Milliseconds(began)
	return reply, nil
}

// Run returns the states of the default number of chains after the given number of steps.
func (l Lattice) Run(ctx context.Context, steps int) ([]int32, error) {
	m, _, err := l.model()
	if err != nil {
		return nil, err
	}
	c, err := sampler.NewChains(ctx, m, methods()[l.Method].method, sampler.Config{Seed: l.Seed, Warmup: l.warmup()})
	if err != nil {
		return nil, err
	}
	err = c.Run(ctx, steps)
	return c.States(), err
}

// same reports whether o differs from l at most in temperature and field.
func (l Lattice) same(o Lattice) bool {
	l.Temperature, l.Field = o.Temperature, o.Field
	return l == o
}

func (s *lattice) watch() *diagnose.Trace {
	return diagnose.NewStreamingTrace(func(x []int32) float64 { return math.Abs(s.order(x)) }, s.perSite).Name("order", "energy")
}

// look records the current states in both traces. Whenever the run has doubled in length, next
// replaces trace and a new trace begins. The early part of the run is thus discarded.
func (s *lattice) look() {
	if s.looks >= max(100, 2*s.begun) {
		s.trace, s.next, s.begun = s.next, s.watch(), s.looks
	}
	s.looks++
	x, n, info := s.chains.States(), s.Side*s.Side, s.chains.Info()
	for c := range info {
		s.trace.Observe(c, s.chains.Len(), x[c*n:(c+1)*n], &info[c])
		s.next.Observe(c, s.chains.Len(), x[c*n:(c+1)*n], &info[c])
	}
}

func (s *lattice) paint() {
	for i, l := range s.chains.States() {
		s.pixels[i] = byte(l)
	}
}

// Frame is the reply to the call lattice/run, which makes some more steps of the run.
type Frame struct {
	Steps int       // steps of each chain since the start
	Order []float64 // order parameter of each chain's current state
	// mean and Monte Carlo standard error of |order|; nil if not defined
	Mean, MCSE *float64
	// mean energy per site and its Monte Carlo standard error; nil if not defined
	Energy, EnergyMCSE *float64
	// R-hat and effective sample size of |order|; nil if not defined
	RHat, ESS *float64
	Draws     int     // number of draws that the means average
	Accept    float64 // mean acceptance probability
	DigestOf  int     // step at which Digest was taken; 0 for none
	Digest    string  // hash of all states
	MS        float64 // time of the call in milliseconds
}

func (t *tab) run(ctx context.Context, q struct {
	Steps int
	MS    float64 // time limit in milliseconds; at least one step is always made
}) (*Frame, error) {
	s := t.lattice
	if s == nil {
		return nil, errors.New("no lattice has been started")
	}
	if err := engine.Within("steps", q.Steps, 0, 1_000_000); err != nil {
		return nil, err
	}
	began := time.Now()
	every := 1
	if s.Side > 16 {
		every = 5 // looking costs as much as a step, and neighbouring draws say little
	}
	for k := 0; k < q.Steps && (k == 0 || engine.Milliseconds(began) < q.MS); k++ {
		if err := s.chains.Run(ctx, 1); err != nil {
			return nil, err
		}
		if s.chains.Len()%every == 0 {
			s.look()
		}
		if s.original && s.chains.Len()%mark == 0 {
			s.marked, s.digest = s.chains.Len(), engine.Digest(s.chains.States())
		}
	}
	s.paint()
	f := &Frame{Steps: s.chains.Len(), Draws: s.trace.Len() * s.trace.Chains(), MS: engine.Milliseconds(began)}
	if f.Steps > 0 {
		f.Accept = s.chains.Stats().Accept
	}
	if s.original {
		f.DigestOf, f.Digest = s.marked, s.digest
	}
	for x, n := s.chains.States(), s.Side*s.Side; len(x) > 0; x = x[n:] {
		f.Order = append(f.Order, s.order(x[:n]))
	}
	if row, err := s.trace.Row("order"); err == nil {
		f.Mean, f.MCSE, f.RHat, f.ESS = value(row.Mean), value(row.MCSE), value(row.RHat), value(row.ESSMean)
	}
	if row, err := s.trace.Row("energy"); err == nil {
		f.Energy, f.EnergyMCSE = value(row.Mean), value(row.MCSE)
	}
	return f, nil
}

// value returns the estimate's value, or nil if it is not defined or infinite.
func value(e diagnose.Estimate) *float64 {
	if !e.Defined() || math.IsInf(e.Value, 0) {
		return nil
	}
	return &e.Value
}

func (l Lattice) program(context.Context) (*engine.Source, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	method := methods()[l.Method].source
	p := &engine.Source{}
	kernels := "sampler/mcmc"
	if strings.HasPrefix(method, "cluster") {
		kernels = "sampler/mcmc/cluster"
	}
	p.Use(".math", "energy/model", "sampler", "sampler/diagnose", kernels)
	p.Add("\tconst temperature, field = %v, %v", l.Temperature, l.Field)
	p.Add("\ttorus := model.Lattice{%d, %d}", l.Side, l.Side)
	if l.Levels == 2 {
		p.Use("energy")
		p.Add(`
	m, err := model.NewIsing(torus, 1/temperature, field/temperature)
	check
	order := energy.Magnetization`)
	} else {
		p.Add(`
	fields := make([]float64, %d)
	fields[0] = field / temperature
	m, err := model.NewPotts(torus, len(fields), 1/temperature, fields)
	check
	order := model.OrderParameter(len(fields))`, l.Levels)
	}
	p.Add(`
	trace := diagnose.NewTrace(func(x []int32) float64 { return math.Abs(order(x)) }).Name("|m|")
	chains, err := sampler.NewChains(ctx, m, %s, sampler.Config{
		Chains: %d, Seed: %d, Warmup: %d, Observe: trace.Observe,
	})
	check
	err = chains.Run(ctx, 2000)
	check
	fmt.Println(trace.Summary())`, method, latticeChains, l.Seed, l.warmup())
	return p, nil
}

// spontaneous returns the magnetisation |m| of the infinite lattice without a field
// (Yang, Phys. Rev. 85, 808, 1952).
func spontaneous(k float64) float64 {
	s := math.Sinh(2 * k)
	if s <= 1 {
		return 0
	}
	return math.Pow(1-math.Pow(s, -4), 1./8)
}
