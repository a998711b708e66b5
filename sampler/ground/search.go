// Package ground searches for the states of least energy (ground states) of [Pairwise] models. Such
// a model has two levels, and its energy is a sum over sites and pairs of sites. Examples are
// ground states of Ising models, large cuts of graphs, and minima of QUBOs.
//
//	s, err := ground.New(m, ground.Config{Seed: 1})
//	err = s.Run(ctx, 200)
//	x, e := s.Best()
//
// A [Search] anneals repeatedly from the best state so far, each time from a different temperature.
// The new state differs from the best one in clusters (connected groups) of sites. The best state
// adopts each cluster in which the new state is no worse, so distant parts of a large sparse model
// improve independently. Several searches run side by side and also adopt clusters from each other.
// [Bound] returns a lower bound on the energy. If the best state found reaches this bound, it is
// optimal.
//
// For other models, for constraints and for more than two levels use package anneal.
package ground

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Search minimises the energy of a model by several searches that help each other. Create it with
// [New]. Its methods must not be called concurrently with each other.
//
// A Run consists of rounds. In a round every search does the following:
//
//   - It anneals by sweeps of Metropolis updates over all sites. The inverse temperature rises
//     linearly from a random value within a range fitted to the model.
//   - It lets the annealed state descend to a local minimum.
//   - It finds the clusters: connected groups of sites at which the new state differs from the best
//     state of the search. The best state adopts every cluster in which the new state is no worse.
//
// The number of sweeps in a round is Config.Sweeps times 1, 2, 1, 4, 1, 2, 1, 8, …. After every
// fourth round each search adopts clusters from another search.
//
// Except on square lattices without fields, [New] first removes sites with few neighbours. Their
// best levels follow from the other sites, so this is exact up to rounding.
//
// Some models are searched in a faster way:
//
//   - If all weights are small multiples of one number (as in the cut of an unweighted graph), 64
//     states are annealed at a time, with 32 times as many sweeps. Fields must also be multiples of
//     this number. The mean number of neighbours per site must be at most 64, or less if weights
//     differ. Square lattices without fields are not annealed in this way.
//   - If the remaining sites have at most three neighbours on average, a sweep redraws an induced
//     forest from its exact distribution given the other sites (Hamze and de Freitas 2004).
//   - If penalties tie groups of sites (exactly one site of each group at level one, say), every
//     second sweep flips a site together with a strongly bound neighbour.
//   - On square lattices without fields (open or periodic, numbered row by row), the best of the
//     searches optimises a window at the beginning of every fourth round. A window is a part of at
//     most 4,096 sites that omits a row and a column. A matching as in [Bound] finds the optimum
//     given the levels outside. The matching continues when ctx ends.
type Search struct {
	model   energy.Model
	cfg     Config
	sites   int
	reduced *reduction // removed sites; nil if there are none
	seekers []seeker

	rounds int // number of completed rounds
	lent   int // number of searches that have adopted clusters from others after the current round

	e    []float64 // lowest energy of each search
	x    []int32   // state with the lowest energy of each search
	life session.Session
}

// New returns a search that is ready to start. It returns an error if m is not a [Pairwise] model
// of finite energies or if a setting is out of range.
func New(m energy.Model, cfg Config) (*Search, error) {
	sites, levels, err := check.Shape("ground: New", m, 1, 1)
	if err == nil {
		err = cfg.fill(sites)
	}
	if err != nil {
		return nil, err
	}
	b := bonds.Of(m)
	if err := cmp.Or(
		check.If(b == nil, "ground: New: the model is %T, want one of pairs (ground.Pairwise) without fixed sites; package anneal minimises others", m),
		check.If(levels != 2, "ground: New: the model has %d levels, want 2", levels),
	); err != nil {
		return nil, err
	}
	if err := b.Check(sites); err != nil {
		return nil, fmt.Errorf("ground: New: %T: %w", m, err)
	}
	if reach := b.Reach(); !check.Finite(4 * reach) {
		return nil, fmt.Errorf("ground: New: a difference of energies may be %v, want a finite number", reach)
	}
	cfg.Init = slices.Clone(cfg.Init)
	s := &Search{model: m, cfg: cfg, sites: sites}
	s.life = session.Session{Who: "ground: Search", Checkpoint: cfg.Checkpoint, Len: s.Len, Progress: cfg.Progress, Write: s.write, Read: s.read}
	var l *lattice
	if len(b.Adj) <= 4*sites {
		if q, err := quantise(m); err == nil { // fails if differences of energies are near 1e-300
			l = q.lattice()
		}
	}
	if l == nil {
		if s.reduced = reduce(b); s.reduced != nil {
			b = s.reduced.kernel
		}
	}
	if w, f, _, ok := b.Integers(maxReach); ok {
		s.seekers = newSeekers(cfg.Chains, newSystem(b, w, f), l, cfg.Seed)
	} else {
		s.seekers = newSeekers(cfg.Chains, newSystem(b, b.Weight, b.Field), l, cfg.Seed)
	}
	s.cfg.Chains = len(s.seekers)
	s.e, s.x = make([]float64, s.cfg.Chains), make([]int32, s.cfg.Chains*sites)
	for i, k := range s.seekers {
		x := s.x[i*sites : (i+1)*sites]
		switch len(cfg.Init) {
		case 0:
			k.begin(nil)
			s.levels(x, k)
			continue
		case sites:
			copy(x, cfg.Init)
		default:
			copy(x, cfg.Init[i*sites:])
		}
		k.begin(s.kernel(x))
	}
	m.Energy(s.e, s.x)
	return s, sampler.CheckStart(s.e)
}

// kernel returns the levels of the kernel in a state.
func (s *Search) kernel(x []int32) []int32 {
	if s.reduced == nil {
		return x
	}
	y := make([]int32, len(s.reduced.sites))
	s.reduced.restrict(y, x)
	return y
}

// levels sets x to the best state of a search.
func (s *Search) levels(x []int32, k seeker) {
	if s.reduced == nil {
		k.levels(x)
		return
	}
	y := make([]int32, len(s.reduced.sites))
	k.levels(y)
	s.reduced.lift(x, y)
}

// newSeekers returns n searches; 0 selects the default of Config.Chains.
func newSeekers[T number](n int, g *system[T], l *lattice, seed uint64) []seeker {
	p := newPairs(g)
	c, gain := newScale(g, p)
	var forests []forest[T]
	var w *crowd
	if !gain {
		p, forests = nil, newForests(g)
		if forests == nil && l == nil {
			w = newCrowd(g)
		}
	}
	if n == 0 {
		if n = defaultChains; w != nil && g.sites() > crowdAlone {
			n = 1
		}
	}
	seekers := make([]seeker, n)
	for i := range seekers {
		seekers[i] = newSearcher(g, l, p, forests, w, c, seed, uint64(i))
	}
	return seekers
}

// Run makes n rounds of annealing and improvement (see [Search]). If the context ends, the best
// state so far is kept. A later Run then continues in the middle of the round, bit for bit as if
// there had been no stop. Calling Run while another call is under way is an error.
func (s *Search) Run(ctx context.Context, n int) error {
	workers := pool.New(min(s.cfg.Workers, len(s.seekers)))
	workers.Start()
	defer workers.Stop()
	stop := func() bool { return poll.Err(ctx) != nil }
	return s.life.Run(ctx, n, func(int) error {
		if done, err := s.round(workers, stop); !done || err != nil {
			return cmp.Or(err, ctx.Err())
		}
		if s.cfg.Stop != nil && s.cfg.Stop(slices.Min(s.e)) {
			return session.ErrDone
		}
		return nil
	})
}

// round makes or continues a round. It returns done = false if stop interrupted it.
func (s *Search) round(workers *pool.Pool, stop func() bool) (done bool, err error) {
	if s.lent == 0 {
		sweeps, best := s.sweeps(), -1
		if s.rounds%lendEvery == lendEvery-1 {
			best = slices.Index(s.e, slices.Min(s.e))
		}
		stopped, errs := make([]bool, len(s.seekers)), make([]error, len(s.seekers))
		workers.Each(0, len(s.seekers), func(_, i int) {
			if s.seekers[i].rounds() == s.rounds {
				done, err := s.seekers[i].round(stop, sweeps, i == best)
				stopped[i], errs[i] = !done, err
			}
		})
		if err := errors.Join(errs...); err != nil || slices.Contains(stopped, true) {
			return false, err
		}
	}
	if n := len(s.seekers); s.rounds%lendEvery == lendEvery-1 && n > 1 {
		ahead := 1 + s.rounds/lendEvery%(n-1)
		for ; s.lent < n; s.lent++ {
			if !s.seekers[s.lent].borrow(stop, s.seekers[(s.lent+ahead)%n]) {
				return false, nil
			}
		}
	}
	s.rounds, s.lent = s.rounds+1, 0
	s.look()
	return true, nil
}

const (
	lendEvery = 4  // number of rounds between two exchanges of clusters among the searches
	doublings = 10 // the longest round is 2^doublings times the shortest
)

// sweeps returns the number of sweeps of the current round: 1, 2, 1, 4, 1, 2, 1, 8, … times
// Config.Sweeps.
func (s *Search) sweeps() int {
	return s.cfg.Sweeps << min(bits.TrailingZeros(uint(s.rounds+1)), doublings)
}

// look records the best states of the searches. It evaluates their energies with the model,
// because running sums of reals have rounding errors.
func (s *Search) look() {
	x, e := make([]int32, s.sites), make([]float64, 1)
	for i, k := range s.seekers {
		best := s.x[i*s.sites : (i+1)*s.sites]
		s.levels(x, k)
		if slices.Equal(x, best) {
			continue
		}
		if s.model.Energy(e, x); e[0] <= s.e[i] {
			s.e[i] = e[0]
			copy(best, x)
		}
	}
}

// Best returns a copy of the state of lowest energy found so far, and its energy.
func (s *Search) Best() (x []int32, e float64) {
	best := slices.Index(s.e, slices.Min(s.e))
	return slices.Clone(s.x[best*s.sites : (best+1)*s.sites]), s.e[best]
}

// Energies returns the lowest energy that each of the simultaneous searches has found. Do not
// modify the slice.
func (s *Search) Energies() []float64 { return s.e }

// Len returns the number of complete rounds made.
func (s *Search) Len() int { return s.rounds }

// magic begins a checkpoint, which consists of a frame of settings, a frame with the position and
// the best states, and one frame per search.
const magic = "gibbsite ground 3\n"

// method holds the fields of a Config that determine how a search moves.
type method struct{ Sweeps int }

func (method) Name() string { return "Config" }

func (s *Search) frames() *session.Frames {
	l := &fingerprint.List{}
	l.Sites, l.Levels = s.model.Shape()
	l.Add("sites", l.Sites)
	probe.Target(l.Add, s.model, method{s.cfg.Sweeps}, sampler.NewStream(probe.States, 0).IntN)
	l.Add("Config.Chains", s.cfg.Chains)
	limit := 64*s.sites + 4*len(s.x) + 8*len(s.e) + 4096
	return &session.Frames{Magic: magic, Settings: l, Count: 1 + len(s.seekers), Limit: limit, Frame: s.frame}
}

func (s *Search) frame(f *wire.Fields, i int) {
	if i > 0 {
		k := s.seekers[i-1]
		k.fields(f, s.sweeps())
		if made := k.rounds(); made != s.rounds && made != s.rounds+1 {
			f.Fail(fmt.Errorf("a search has made %d rounds, want %d or one more", made, s.rounds))
		}
		return
	}
	f.Int("rounds", &s.rounds, 0, math.MaxInt-1)
	f.Int("searches that have taken over", &s.lent, 0, len(s.seekers)-1)
	f.Float64s(s.e)
	f.Tokens(s.x, 2)
	if !f.Reading() {
		return
	}
	energies := make([]float64, len(s.e))
	s.model.Energy(energies, s.x)
	f.Fail(fingerprint.Energies("energies of the best states", s.e, energies, 1))
	f.Fail(sampler.CheckStart(s.e))
}

func (s *Search) write(w io.Writer) error { return s.frames().Write(w, nil) }

func (s *Search) read(ctx context.Context, r io.Reader) error {
	n, err := New(s.model, s.cfg)
	if err == nil {
		err = n.frames().Read(ctx, r, nil)
	}
	if err == nil {
		s.rounds, s.lent, s.e, s.x, s.seekers = n.rounds, n.lent, n.e, n.x, n.seekers
	}
	return err
}

// Save writes a checkpoint to w. If a context ended during a round, the checkpoint holds the
// unfinished round, and a later Run finishes it.
func (s *Search) Save(w io.Writer) error { return s.life.Save(w) }

// Load restores a checkpoint into a search that was made with the same arguments. Only Seed, Init,
// Workers, Stop, Checkpoint and Progress may differ. If another setting differs, the error names
// the first such setting. On an error the search is unchanged.
func (s *Search) Load(ctx context.Context, r io.Reader) error { return s.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure; see [sampler.Runner.SaveFile].
func (s *Search) SaveFile(path string) error { return s.life.SaveFile(path) }

// LoadFile restores a checkpoint that SaveFile saved; see Load. If the file is missing or damaged,
// it restores the previous checkpoint, path.old.
func (s *Search) LoadFile(ctx context.Context, path string) error { return s.life.LoadFile(ctx, path) }
