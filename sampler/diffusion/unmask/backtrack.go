package unmask

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// BacktrackConfig says how [Backtrack] runs.
type BacktrackConfig struct {
	Config
	Mask     int32
	Schedule noise.Schedule // what the denoiser is told; LogLinear{} if nil

	// Visits is how many complete states a walk meets; the last is the sample.
	// 0 means 8.
	Visits int

	// Moves bounds the moves of a walk, 0 for 1000 per site and visit.
	Moves int
}

// Backtrack draws samples by value-guided backtracking (Rohatgi et al. 2025; for
// masked diffusion MDM-VGB): a walk on the tree of unmasking paths, which shows a
// random site or takes the last one back. With Z(u) the probability that a
// prediction gives the language in state u, and V(u) the one that the state before
// gave it when u's last token was drawn, the walk takes back with probability
//
//	V(u) / (V(u) + Z(u)),
//
// and otherwise shows a random mask by a conditioned draw. It is reversible, for
// every denoiser, with weight p(path)·1[x ∈ C] on complete paths, so the complete
// states that it meets tend to p(x_0 | C), p being what one-by-one unmasking in
// random order draws from. From the start they do so as Visits grow; the cost is
// one prediction for every state that is new on its path.
//
// Walk i draws from stream (Seed, i). Walks advance in batches on the goroutine of
// Sample.
type Backtrack struct {
	m     *model
	masks masks
	cfg   BacktrackConfig
	walk  []walk
	part  []float32
	made  int
}

// walk is one path under way.
type walk struct {
	x      []int32
	site   []int     // shown, in order
	logV   []float64 // by depth: V
	logZ   []float64 // by depth: Z, NaN if it has not been asked for
	table  []float32 // by depth
	stream sampler.Stream
	visits int
	moves  int
	done   bool
}

const (
	defaultVisits = 8
	defaultMoves  = 1000
)

// NewBacktrack returns walks on the model given the language of cfg.Projector,
// which it binds under ctx. A walk keeps a prediction for every site of its path.
// Errors are those of [NewRejection], and a mask that is no level.
func NewBacktrack(ctx context.Context, model energy.Denoiser[int32], cfg BacktrackConfig) (*Backtrack, error) {
	if cfg.Visits == 0 {
		cfg.Visits = defaultVisits
	}
	if cfg.Visits < 0 || cfg.Moves < 0 {
		return nil, fmt.Errorf("unmask: NewBacktrack: Visits = %d, Moves = %d, want ≥ 0", cfg.Visits, cfg.Moves)
	}
	m, err := newModel(ctx, "NewBacktrack", model, &cfg.Config, func(sites int) int { return sites })
	if err != nil {
		return nil, err
	}
	b := &Backtrack{m: m, cfg: cfg, walk: make([]walk, cfg.Batch), part: make([]float32, cfg.Batch*m.sites*m.levels)}
	if b.masks, err = bind("NewBacktrack", cfg.Mask, cfg.Schedule, m.sites, m.levels); err != nil {
		return nil, err
	}
	if cfg.Moves == 0 {
		b.cfg.Moves = math.MaxInt
		if m.sites < math.MaxInt/defaultMoves/cfg.Visits {
			b.cfg.Moves = defaultMoves * m.sites * cfg.Visits
		}
	}
	for i := range b.walk {
		b.walk[i] = walk{
			x: make([]int32, m.sites), site: make([]int, 0, m.sites),
			logV: make([]float64, m.sites+1), logZ: make([]float64, m.sites+1),
			table: make([]float32, m.sites*m.sites*m.levels),
		}
	}
	return b, nil
}

// Len returns the number of samples made.
func (b *Backtrack) Len() int { return b.made }

// Predictions returns the number of states that the denoiser has been asked for.
func (b *Backtrack) Predictions() int { return b.m.rows }

// Sample fills x, any number of samples × sites. After an error Len says how many
// samples have been made; the next call begins with the walk after them, from its
// start. The error wraps constraint.ErrInfeasible if the language has no weight at
// the start of a walk or Moves did not suffice.
func (b *Backtrack) Sample(ctx context.Context, x []int32) error {
	sites := b.m.sites
	if len(x)%sites != 0 {
		panic(fmt.Sprintf("unmask: len(x) = %d, want a multiple of %d", len(x), sites))
	}
	for len(x) > 0 {
		n := min(len(b.walk), len(x)/sites)
		if err := b.batch(ctx, n); err != nil {
			return err
		}
		for i := range n {
			copy(x[i*sites:], b.walk[i].x)
		}
		x = x[n*sites:]
		b.made += n
	}
	return nil
}

// batch brings n walks to their ends.
func (b *Backtrack) batch(ctx context.Context, n int) error {
	m, size := b.m, b.m.sites*b.m.levels
	for i := range n {
		w := &b.walk[i]
		w.stream.Seed(b.cfg.Seed, uint64(b.made+i))
		b.masks.Prior(w.x, nil)
		w.site, w.visits, w.moves, w.done = w.site[:0], 0, 0, false
		w.logZ[0] = math.NaN()
	}
	slot := make([]int, n)
	for {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		k := 0
		for i := range n {
			w := &b.walk[i]
			if w.done {
				continue
			}
			copy(m.x[k*m.sites:], w.x)
			m.t[k] = b.masks.after(m.sites - len(w.site))
			m.a[k] = b.masks.Alpha(m.t[k])
			m.sample[k], m.src[k], slot[k] = b.made+i, &w.stream, i
			k++
		}
		if k == 0 {
			return nil
		}
		if err := m.predict(ctx, b.part, k); err != nil {
			return fmt.Errorf("unmask: Backtrack: denoiser: %w", err)
		}
		for j, i := range slot[:k] {
			w := &b.walk[i]
			copy(w.table[len(w.site)*size:(len(w.site)+1)*size], b.part[j*size:(j+1)*size])
			if err := b.advance(ctx, w); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("unmask: Backtrack: sample %d: %w", b.made+i, err)
			}
		}
	}
}

// advance moves a walk, whose present state has just been predicted, until it is
// in a state that has not, or done.
func (b *Backtrack) advance(ctx context.Context, w *walk) error {
	m, size := b.m, b.m.sites*b.m.levels
	h := len(w.site)
	v := w.table[h*size : (h+1)*size]
	b.masks.Condition(v, w.x, 0, false)
	z, err := m.drawer.LogZ(ctx, v)
	switch {
	case errors.Is(err, constraint.ErrInfeasible):
		w.logZ[h] = math.Inf(-1)
		if h == 0 {
			return err
		}
	case err != nil:
		return err
	default:
		w.logZ[h] = m.normalise(z, v)
	}
	for {
		h = len(w.site)
		if h == m.sites {
			if w.visits++; w.visits == b.cfg.Visits {
				w.done = true
				return nil
			}
			b.back(w)
			continue
		}
		if math.IsNaN(w.logZ[h]) {
			return nil
		}
		if w.moves++; w.moves > b.cfg.Moves {
			return fmt.Errorf("%d complete states after %d moves, want %d: %w", w.visits, b.cfg.Moves, b.cfg.Visits, constraint.ErrInfeasible)
		}
		if h > 0 && w.stream.Float64() < 1/(1+simd.Exp(w.logZ[h]-w.logV[h])) {
			b.back(w)
			continue
		}
		if err := b.show(ctx, w); err != nil {
			return err
		}
	}
}

// back masks the last site again.
func (b *Backtrack) back(w *walk) {
	h := len(w.site) - 1
	w.x[w.site[h]] = b.masks.mask
	w.site = w.site[:h]
}

// show reveals a random mask by a conditioned draw.
func (b *Backtrack) show(ctx context.Context, w *walk) error {
	m, h := b.m, len(w.site)
	size := m.sites * m.levels
	v := w.table[h*size : (h+1)*size]
	i := b.masks.shuffle(make([]int, 0, m.sites), w.x, 1, &w.stream)[0]
	clean := m.x[:m.sites]
	if _, err := m.drawer.Draw(ctx, clean, v, &w.stream); err != nil {
		return err
	}
	w.x[i] = clean[i]
	// What the state before gives the language, now that the token shows.
	row := b.masks.row(v, i)
	kept := b.masks.p
	copy(kept, row)
	for j := range row {
		row[j] = never
	}
	row[w.x[i]] = 0
	z, err := m.drawer.LogZ(ctx, v)
	if err == nil {
		w.logV[h+1] = m.normalise(z, v)
	}
	copy(row, kept)
	w.site, w.logZ[h+1] = append(w.site, i), math.NaN()
	return err
}
