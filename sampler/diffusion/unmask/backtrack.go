package unmask

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// BacktrackConfig holds the settings of [Backtrack], which draws samples within a language by
// random walks. It adds the fields below to those of [Config].
type BacktrackConfig struct {
	Config
	Mask int32
	// Schedule gives the probability α(t) that a token is unmasked at time t; nil means
	// noise.LogLinear{}. The denoiser is given the time t at which (1−α(t))/(1−α(1)) is the share
	// of masked sites.
	Schedule noise.Schedule

	// Visits is the number of complete states that a walk visits before it ends; 0 means 8. The
	// last one is the sample.
	Visits int

	// Moves is the largest number of moves of a walk; 0 means 1000 per site and visit. A walk that
	// exceeds it fails.
	Moves int
}

// Backtrack draws samples within a language by value-guided backtracking (Rohatgi et al. 2025).
// Their method for masked diffusion is called MDM-VGB. Each sample is the end of a random walk over
// partly masked states. A move reveals a random site or masks the last revealed site again. For a
// state u, let
//
//   - Z(u) be the probability of the language under the prediction for u;
//   - V(u) be the probability of the language given the last token of u, under the prediction made
//     before that token was revealed.
//
// The walk masks the last site again with probability
//
//	V(u) / (V(u) + Z(u)),
//
// and otherwise reveals a random mask by a draw conditioned on the language C. The distribution of
// the complete states that the walk visits tends to p(x_0 | C) as Visits grows. Here p is the
// distribution of unmasking one site at a time in random order.
//
// A prediction may exclude a token that a later prediction allows. Z, V and the draws therefore
// give such tokens a small probability, as in diffusion.Particles. A walk costs one prediction for
// every new state on its path. Walk i draws from stream (Seed, i).
type Backtrack struct {
	e      *slots.Engine[int32]
	masks  masks
	drawer slots.Drawer
	cfg    BacktrackConfig
	walk   []walk // one walk per slot
	made   int

	order []int   // scratch: masked sites
	clean []int32 // scratch: a joint draw
	lse   []float64
	v     []float32
	mixed []bool // for each site: whether mix changed its row
}

// walk is one path in progress.
type walk struct {
	site   []int     // unmasked sites, in the order in which they were revealed
	logV   []float64 // log V at each depth
	logZ   []float64 // log Z at each depth; NaN before it has been computed
	mixed  []bool    // for each depth: whether the last site was drawn from a mixture
	table  []float32 // prediction at each depth
	visits int
	moves  int
}

const (
	defaultVisits = 8
	defaultMoves  = 1000
)

// NewBacktrack returns a sampler that draws from the model, conditioned on the language of
// cfg.Projector. It calls the projector's Bind method, which can take a long time but stops when
// ctx ends. A walk keeps one prediction per site in memory.
//
// NewBacktrack returns an error in these cases:
//
//   - the model is nil or guided at the posterior (see diffusion.Guide);
//   - the mask is not a level, or another field is out of range;
//   - the projection remembers earlier samples or is not a diffusion.Drawer.
func NewBacktrack(ctx context.Context, model energy.Denoiser[int32], cfg BacktrackConfig) (*Backtrack, error) {
	const who = "unmask: NewBacktrack"
	if err := check.Defaults(who+": ", check.Number("Visits", &cfg.Visits, 0, defaultVisits), check.Number("Moves", &cfg.Moves, 0, 0)); err != nil {
		return nil, err
	}
	drawer, sites, levels, err := language(ctx, who, model, &cfg.Config, 0)
	if err != nil {
		return nil, err
	}
	b := &Backtrack{
		drawer: drawer, walk: make([]walk, cfg.Batch),
		order: make([]int, 0, sites), clean: make([]int32, sites), lse: make([]float64, sites),
		v: make([]float32, sites*levels), mixed: make([]bool, sites),
	}
	if b.masks, err = bind("NewBacktrack", cfg.Mask, cfg.Schedule, sites, levels); err != nil {
		return nil, err
	}
	if cfg.Moves == 0 {
		cfg.Moves = math.MaxInt
		if sites < math.MaxInt/defaultMoves/cfg.Visits {
			cfg.Moves = defaultMoves * sites * cfg.Visits
		}
	}
	b.cfg = cfg
	for i := range b.walk {
		b.walk[i] = walk{
			site: make([]int, 0, sites), logV: make([]float64, sites+1), logZ: make([]float64, sites+1), mixed: make([]bool, sites+1),
			table: make([]float32, sites*sites*levels),
		}
	}
	b.e = engine(model, cfg.Config, sites, levels, func(int) slots.Steps[int32] { return &b.masks })
	b.e.Policy = slots.Policy{
		Next: b.next,
		Retry: func(i int, fault error) error {
			if fault != nil {
				fault = fmt.Errorf("unmask: Backtrack: sample %d: %w", b.made+i, fault)
			}
			return fault
		},
		Fault: func(err error) error { return fmt.Errorf("unmask: Backtrack: denoiser: %w", err) },
	}
	return b, nil
}

// Len returns the number of samples made so far.
func (b *Backtrack) Len() int { return b.made }

// Predictions returns the number of predictions that the denoiser has made so far.
func (b *Backtrack) Predictions() int { return b.e.Asked }

// Sample fills x with samples, each with one entry per site. The length of x determines the number
// of samples. After an error, Len is the number of completed samples, and the next call begins with
// the walk of the next sample. The error wraps constraint.ErrInfeasible if the language has no
// weight at the start of a walk or if a walk exceeds Moves.
func (b *Backtrack) Sample(ctx context.Context, x []int32) error {
	for left := samples(x, b.e.Sites); left > 0; {
		n := min(len(b.walk), left)
		for i := range n {
			w := &b.walk[i]
			w.site, w.visits, w.moves, w.logZ[0] = w.site[:0], 0, 0, math.NaN()
			b.e.Start(i, b.made+i, b.cfg.Seed, uint64(b.made+i))
			b.e.Moved(i, b.masks.after(b.e.Sites), true)
		}
		if err := b.e.Run(ctx, 0, n); err != nil {
			return err
		}
		for i := range n {
			x = x[copy(x, b.e.Slots[i].X):]
		}
		left -= n
		b.made += n
	}
	return nil
}

// next continues a walk whose current state has just been predicted. It moves until it reaches a
// state without a prediction, or the walk is done.
func (b *Backtrack) next(_, i int) error {
	s, w := &b.e.Slots[i], &b.walk[i]
	h, v := b.here(w)
	copy(v, s.V)
	b.masks.Condition(v, s.X, 0, false)
	v = b.mix(s, v)
	z, err := b.drawer.LogZ(b.e.Ctx, v)
	switch {
	case errors.Is(err, constraint.ErrInfeasible) && h > 0:
		w.logZ[h] = math.Inf(-1)
	case err != nil:
		return err
	default:
		if w.logZ[h], err = slots.Normalise(b.lse, z, v); err != nil {
			return err
		}
	}
	for {
		h = len(w.site)
		switch {
		case h == b.e.Sites:
			if w.visits++; w.visits == b.cfg.Visits {
				b.e.Moved(i, 0, true)
				return nil
			}
			b.back(s, w)
			continue
		case math.IsNaN(w.logZ[h]):
			b.e.Moved(i, b.masks.after(b.e.Sites-h), true)
			return nil
		}
		if w.moves++; w.moves > b.cfg.Moves {
			return fmt.Errorf("%d complete states after %d moves, want %d: %w", w.visits, b.cfg.Moves, b.cfg.Visits, constraint.ErrInfeasible)
		}
		if h > 0 && s.Stream.Float64() < 1/(1+simd.Exp(w.logZ[h]-w.logV[h])) {
			b.back(s, w)
			continue
		}
		if err := b.show(s, w); err != nil {
			return err
		}
	}
}

// mix returns the rows v of the prediction in a state, with the defensive mixtures of
// [slots.Mix].
func (b *Backtrack) mix(s *slots.Slot[int32], v []float32) []float32 {
	if slots.Mix(b.v, v, b.mixed, func(i int) bool { return s.X[i] == b.masks.Mask }, b.masks.Mask) {
		return b.v
	}
	return v
}

// here returns the depth h of a walk and the table of its prediction at that depth.
func (b *Backtrack) here(w *walk) (h int, v []float32) {
	h = len(w.site)
	size := b.e.Sites * b.e.Levels
	return h, w.table[h*size : (h+1)*size]
}

// back masks the last site again. If show drew the site from a mixture, back makes only a share
// 1−δ of these moves, with δ = [slots.Defence]: see show.
func (b *Backtrack) back(s *slots.Slot[int32], w *walk) {
	h := len(w.site) - 1
	if w.mixed[h+1] && s.Stream.Float64() < slots.Defence {
		return
	}
	s.X[w.site[h]] = b.masks.Mask
	w.site = w.site[:h]
}

// show reveals a random mask by a conditioned draw. If it draws from a mixture p' of the
// prediction p, the walk moves with probability (1−δ)·p/p', which is 0 or 1.
func (b *Backtrack) show(s *slots.Slot[int32], w *walk) error {
	h, p := b.here(w)
	v := b.mix(s, p)
	i := b.masks.shuffle(b.order, s.X, 0, b.e.Sites, 1, &s.Stream)[0]
	if _, err := b.drawer.Draw(b.e.Ctx, b.clean, v, &s.Stream); err != nil {
		return err
	}
	if b.mixed[i] && math.IsInf(float64(b.masks.Row(p, i)[b.clean[i]]), -1) {
		return nil
	}
	s.X[i] = b.clean[i]
	// the probability of the language under this prediction, given the new token
	row, kept := b.masks.Row(v, i), b.masks.p
	copy(kept, row)
	slots.OneHot(row, s.X[i])
	z, err := b.drawer.LogZ(b.e.Ctx, v)
	if err == nil {
		w.logV[h+1], err = slots.Normalise(b.lse, z, v)
	}
	copy(row, kept)
	w.site, w.logZ[h+1], w.mixed[h+1] = append(w.site, i), math.NaN(), b.mixed[i]
	return err
}
