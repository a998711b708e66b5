package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

const (
	searchRounds = 200  // enough to find the largest known cut of graph G1 of the Gset
	annealSteps  = 1000 // steps per annealing pass
)

// minimiser is the common interface of a search and an annealing run.
type minimiser interface {
	Best() (x []int32, e float64)
	LoadFile(ctx context.Context, path string) error
	SaveFile(path string) error
}

// minimise looks for a state of lowest energy. It runs cooperating searches if the model has
// only pair terms and no kernel was chosen. Otherwise it anneals with a kernel.
func minimise(ctx context.Context, o options, p *problem, name string) (*report, error) {
	pairs := false
	if m, ok := energy.As[ground.Pairwise](p.model); ok && !o.named {
		_, _, _, _, pairs = m.Pairs()
	}
	bar := progress.New("annealing")
	clock := newStopwatch()
	var proof *ground.Certificate
	if o.bound {
		if !pairs {
			return nil, errors.New("-bound: the model is not pairwise with two levels")
		}
		var err error
		if proof, err = ground.Bound(ctx, p.model); err != nil {
			return nil, err
		}
	}
	var m minimiser
	var pass func(ctx context.Context) error
	var err error
	if pairs {
		m, pass, err = o.search(p, bar, proof)
	} else {
		m, pass, err = o.kernel(ctx, p, name, bar)
	}
	if err != nil {
		return nil, err
	}
	r := newReport(p, o)
	if err := o.Load(ctx, "anneal", m.LoadFile); err != nil {
		return nil, err
	}
	if err := o.within(ctx, newStopwatch(), p, m, pass); err != nil { // without the time of the proof
		return nil, err
	}
	bar.Done()
	r.Seconds, r.CPUSeconds = clock.wall(), clock.cpu()
	x, e := m.Best()
	r.BestEnergy, r.Partition = &e, x
	if s, ok := m.(*ground.Search); ok {
		r.Model.Steps = s.Len()
		r.rounds = true
	}
	if p.graph != nil {
		best := p.graph.Cut(x)
		r.BestCut = &best
	}
	if proof != nil {
		r.prove(p, proof, x, e)
	}
	if o.Dir != "" {
		if len(p.lattice) == 2 {
			r.Add(snapshot(p, x, "The state of lowest energy"))
		}
		if err := writePartition(o.Dir, x); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// prove adds the proven bound and its distance from the best state to the report.
func (r *report) prove(p *problem, proof *ground.Certificate, x []int32, e float64) {
	bound, gap, optimal := proof.Energy, max(0, e-proof.Energy), proof.Proves(x)
	if p.graph != nil { // the energy is half the weight of all edges minus the cut
		total := 0.0
		for edge := range p.graph.Edges() {
			total += edge.W
		}
		bound = total/2 - bound
		gap = max(0, bound-*r.BestCut)
	}
	if optimal {
		gap = 0
	}
	r.Bound, r.BoundBy, r.Gap, r.Optimal = &bound, proof.Method, &gap, &optimal
}

// search returns a search and a function that runs -steps rounds, or unlimited rounds if
// -seconds or -target ends the run.
func (o *options) search(p *problem, bar *progress.Bar, proof *ground.Certificate) (minimiser, func(context.Context) error, error) {
	total := o.steps
	if total == 0 && !o.limited() {
		total = searchRounds
	}
	cfg := ground.Config{Chains: o.chains, Seed: o.seed}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = o.Path("anneal"), max(1, max(total, searchRounds)/20)
	var s *ground.Search
	cfg.Progress = func(int, int) {
		if total > 0 {
			bar.Set(s.Len(), total)
		}
	}
	cfg.Stop = func(float64) bool {
		if proof != nil {
			if x, _ := s.Best(); proof.Proves(x) {
				return true
			}
		}
		return o.reached(p, s)
	}
	if proof != nil && proof.State != nil {
		cfg.Init = proof.State
	}
	s, err := ground.New(p.model, cfg)
	if err == nil {
		o.chains = len(s.Energies())
	}
	return s, func(ctx context.Context) error {
		if proof != nil {
			if x, _ := s.Best(); proof.Proves(x) {
				return nil
			}
		}
		left := math.MaxInt - s.Len()
		if total > 0 {
			left = max(0, total-s.Len())
		}
		return s.Run(ctx, left)
	}, err
}

// kernel returns an annealing run and a function that makes passes of -steps steps with the
// named kernel: one pass, or passes until -seconds or -target ends the run.
func (o *options) kernel(ctx context.Context, p *problem, name string, bar *progress.Bar) (minimiser, func(context.Context) error, error) {
	if o.chains == 0 {
		o.chains = defaultChains
	}
	if o.steps == 0 {
		o.steps = annealSteps
	}
	cfg := anneal.Config{Chains: o.chains, Seed: o.seed, Progress: bar.Set}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = o.Path("anneal"), max(1, o.steps/20)
	a, err := anneal.New(ctx, p.model, o.kernels[name], cfg)
	return a, func(ctx context.Context) error {
		if a.Len() >= o.steps && !o.limited() {
			return nil // a run that was resumed after its end
		}
		for {
			if err := a.Run(ctx, o.steps-a.Len()%o.steps); err != nil || !o.limited() || o.reached(p, a) {
				return err
			}
		}
	}, err
}

// limited reports whether -seconds or -target ends the search.
func (o *options) limited() bool { return o.seconds > 0 || o.targeted }

// reached reports whether the best state is at least as good as -target.
func (o *options) reached(p *problem, m minimiser) bool {
	if !o.targeted {
		return false
	}
	x, e := m.Best()
	if p.graph != nil {
		return p.graph.Cut(x) >= o.target
	}
	return e <= o.target
}

var errTime = errors.New("the time of -seconds is over")

// within calls pass with a context that ends after -seconds of processor time.
func (o *options) within(ctx context.Context, clock *stopwatch, p *problem, m minimiser, pass func(context.Context) error) error {
	if o.reached(p, m) {
		return nil
	}
	if o.seconds <= 0 {
		return pass(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for ctx.Err() == nil {
			if clock.cpu() >= o.seconds {
				cancel(errTime)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	err := pass(ctx)
	if err != nil && errors.Is(err, context.Canceled) && context.Cause(ctx) == errTime {
		if path := o.Path("anneal"); path != "" {
			return m.SaveFile(path) // again, as its error was one with that of the time
		}
		return nil
	}
	return err
}

// writePartition writes the levels of the sites, one per line.
func writePartition(dir string, x []int32) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var b []byte
	for _, v := range x {
		b = append(strconv.AppendInt(b, int64(v), 10), '\n')
	}
	if err := os.WriteFile(filepath.Join(dir, "partition.txt"), b, 0o666); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	return nil
}

// stopwatch measures the time since its creation.
type stopwatch struct {
	began time.Time
	used  float64
}

func newStopwatch() *stopwatch { return &stopwatch{time.Now(), command.Processor()} }

func (s *stopwatch) wall() float64 { return time.Since(s.began).Seconds() }

// cpu returns the processor time of all cores since the start, or the elapsed time if the system
// does not report it.
func (s *stopwatch) cpu() float64 {
	if now := command.Processor(); now > 0 {
		return now - s.used
	}
	return s.wall()
}
