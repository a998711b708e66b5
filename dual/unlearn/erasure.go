package unlearn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Erasure implements reverse-KL unlearning for a masked diffusion (Khalafi, Ribeiro and Ding 2026).
// Let q be the original distribution, and let q_i be the unwanted distributions. An Erasure is a
// denoiser that combines the predictions q̂ for q and q̂_i for the q_i at each site:
//
//	log p̂_λ = (log q̂ − Σ_i λ_i log q̂_i)/(1−s) + const,  s = Σλ_i < 1.
//
// An Erasure also measures how far the diffusion with the predictions p̂_λ is from a diffusion with
// q̂_i, by the path divergence
//
//	Σ_t E KL(p_λ(x_t'|x_t) ‖ q_i(x_t'|x_t)) = Σ_t E Σ_n (α_t'−α_t)/(1−α_t)·KL(p̂_λ ‖ q̂_i),
//
// where step t goes from x_t to x_t', n runs over the masked sites, and α is the signal level. The
// path divergence is an upper bound on the divergence KL(p‖q_i), where p is the distribution of the
// samples.
//
// An Erasure is a [dual.Target]. For each sample, its violations are b_i minus the path divergence,
// where b_i are the bounds on KL(p‖q_i). The dual ascent of the paper is a [dual.Inference] with a
// [dual.Resampler] around the diffusion. Use [dual.Ascent], with step size 0.02 as in the paper,
// and a Config.Max below 1.
//
// For λ ≠ 0 this method is a heuristic. The path divergence exceeds KL(p‖q_i), so it never
// certifies KL(p‖q_i) ≥ b_i. The mean violation is not the dual gradient, and p_λ is not the
// optimum. If tokens are revealed one by one, [Erasure.Terminal] corrects all three faults. If the
// space can be enumerated or log Z is known, use [Experts].
//
// An Erasure must be used by one diffusion, whose process is diffusion.Masked, with or without
// FirstHitting. With a projector, guidance, particles or another process, Denoise returns an error.
// An Erasure keeps a record for every sample and is not safe for concurrent use.
type Erasure struct {
	base          energy.Denoiser[int32]
	away          []energy.Denoiser[int32]
	mask          int32
	sites, levels int
	lambda, bound []float64

	records []pathRecord
	slot    map[int]int // index in records for each sample index
	tables  [][]float32
	p, q    []float64

	terminal        bool // whether [Erasure.Terminal] has been called
	logZ, effective float64
}

// ErasureConfig holds the settings of an [Erasure].
type ErasureConfig struct {
	Mask int32 // level that stands for a masked token
}

// NewErasure returns an erasure whose multipliers λ are 0. The denoiser q is for the original
// distribution. For each unwanted distribution q_i, away[i] is its denoiser and b[i] is the bound
// b_i on KL(p‖q_i).
//
// NewErasure returns an error if a denoiser is nil, if shapes differ, or if the bounds are invalid.
// It also returns an error if the mask is not a level, or differs from the mask of a denoiser that
// is [energy.Masking].
func NewErasure(q energy.Denoiser[int32], away []energy.Denoiser[int32], b []float64, cfg ErasureConfig) (*Erasure, error) {
	if check.Nil(q) || len(away) == 0 || len(b) != len(away) {
		return nil, fmt.Errorf("unlearn: NewErasure: q set = %t, %d distributions, %d bounds, want q and as many bounds as distributions, ≥ 1", !check.Nil(q), len(away), len(b))
	}
	e := &Erasure{base: q, away: slices.Clone(away), mask: cfg.Mask, lambda: make([]float64, len(b)), bound: slices.Clone(b), slot: map[int]int{}, tables: make([][]float32, len(b))}
	e.sites, e.levels = q.Shape()
	if e.sites < 1 || cfg.Mask < 0 || int(cfg.Mask) >= e.levels || e.levels < 2 {
		return nil, fmt.Errorf("unlearn: NewErasure: Mask = %d of %d levels and %d sites, want a level, ≥ 2 levels and ≥ 1 site", cfg.Mask, e.levels, e.sites)
	}
	if err := e.masked("q", q); err != nil {
		return nil, err
	}
	for i, a := range away {
		if check.Nil(a) {
			return nil, fmt.Errorf("unlearn: NewErasure: away[%d] is nil", i)
		}
		if s, l := a.Shape(); s != e.sites || l != e.levels {
			return nil, fmt.Errorf("unlearn: NewErasure: away[%d] has %d sites and %d levels, want %d and %d", i, s, l, e.sites, e.levels)
		}
		if err := e.masked(fmt.Sprintf("away[%d]", i), a); err != nil {
			return nil, err
		}
		if !check.Finite(b[i]) {
			return nil, fmt.Errorf("unlearn: NewErasure: b[%d] = %v, want a finite number", i, b[i])
		}
	}
	e.p, e.q = make([]float64, e.levels), make([]float64, e.levels)
	return e, nil
}

// masked returns an error if a denoiser reports a mask level that differs from that of e.
func (e *Erasure) masked(name string, d energy.Denoiser[int32]) error {
	m, ok := energy.As[energy.Masking](d)
	if !ok || check.Nil(m) || m.MaskLevel() == e.mask {
		return nil
	}
	if l := m.MaskLevel(); l >= 0 {
		return fmt.Errorf("unlearn: NewErasure: %s predicts tokens masked by level %d, want Mask = %d", name, l, e.mask)
	}
	return fmt.Errorf("unlearn: NewErasure: %s predicts tokens that were replaced by others, want one of masked tokens (Mask = %d)", name, e.mask)
}

// MaskLevel returns the level that stands for a masked token; it implements [energy.Masking].
// Diffusions that do not use this mask reject the Erasure.
func (e *Erasure) MaskLevel() int32 { return e.mask }

// Shape returns the numbers of sites and levels of the denoisers.
func (e *Erasure) Shape() (sites, levels int) { return e.sites, e.levels }

// Sites returns the number of sites of a state.
func (e *Erasure) Sites() int { return e.sites }

// Len returns the number of distributions q_i (see [Erasure]).
func (e *Erasure) Len() int { return len(e.lambda) }

// Rows returns a description of the bounds on KL(p‖q_i), in nats.
func (e *Erasure) Rows() []dual.Row { return divergences(e.bound) }

// Beta returns the temperature (not its inverse) of the target: 1, or 1 − Σλ_i after a call of
// [Erasure.Terminal]. After that call, the Hessian of the dual function is −Cov(g)/(1−Σλ_i), where
// g are the violations.
func (e *Erasure) Beta() float64 {
	if e.terminal {
		return e.rest()
	}
	return 1
}

// SetLambda sets the multipliers and discards all measurements. It returns an error and changes
// nothing if a multiplier is negative or the sum of the multipliers is not below 1. It panics
// unless there is one multiplier per distribution.
func (e *Erasure) SetLambda(lambda []float64) error {
	check.Len("unlearn", "lambda", len(lambda), len(e.lambda))
	if err := expert(lambda); err != nil {
		return err
	}
	copy(e.lambda, lambda)
	e.forget()
	return nil
}

// rest returns 1 − Σλ_i.
func (e *Erasure) rest() float64 { return rest(e.lambda) }

// forget discards the records of all samples.
func (e *Erasure) forget() {
	e.records = e.records[:0]
	clear(e.slot)
}

// pathRecord is the path divergence of one sample up to its last prediction.
type pathRecord struct {
	sample int
	alpha  float64 // signal level at the last prediction
	// for each distribution: sum of the divergences over the masked sites at the last
	// prediction
	pending []float64
	sum     []float64
	path    tokenPath // tokens revealed so far; only after [Erasure.Terminal]
}

// settle adds to the record the divergence of the step from signal level r.alpha to signal level
// alpha.
func (r *pathRecord) settle(alpha float64) {
	reveal := (alpha - r.alpha) / (1 - r.alpha)
	for i, k := range r.pending {
		if k != 0 { // at α = 1 no site is masked
			r.sum[i] += float64(reveal * k)
		}
		r.pending[i] = 0
	}
}

// tokenPath is the record of one sample whose tokens are revealed one by one. It holds log q(x)
// and log q_i(x) of the tokens revealed so far, by the chain rule. It also holds the sum of the
// log totals of the combined rows.
//
// Let p be the product of experts q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)} with s = Σλ_i. The sample was
// drawn with probability p(x)·Z/∏ totals, so ∏ totals is its importance weight.
type tokenPath struct {
	x []int32 // state at the last prediction
	// sites × (1 + distributions) × levels: log-probabilities at the last prediction, of q
	// first
	rows   []float64
	totals []float64 // for each site: log total of the combined row at the last prediction
	logp   []float64 // log-probability of the revealed tokens under q, then under each q_i
	weight float64
}

// reveal adds to the record the tokens that are revealed in x but masked in the last recorded
// state.
func (e *Erasure) reveal(r *tokenPath, x []int32) {
	if r.x == nil {
		return
	}
	laws := 1 + len(e.away)
	for site, v := range x {
		if r.x[site] != e.mask || v == e.mask {
			continue
		}
		for i := range laws {
			r.logp[i] += r.rows[(site*laws+i)*e.levels+int(v)]
		}
		r.weight += r.totals[site]
	}
	copy(r.x, x)
}

// follow records the rows of a masked site. base holds the log-weights of q before the combination.
// The rows of the other distributions start at offset at in e.tables. rest is 1 − s with s = Σλ_i.
// follow also records the log total of the combined row, log Σ_k exp((log q(k) − Σλ_i log
// q_i(k))/(1−s)), computed from normalised rows.
func (e *Erasure) follow(r *tokenPath, site, at int, base []float32, rest float64) {
	laws := 1 + len(e.away)
	rows := r.rows[site*laws*e.levels : (site+1)*laws*e.levels]
	for i := range laws {
		from := base
		if i > 0 {
			from = e.tables[i-1][at : at+e.levels]
		}
		row := rows[i*e.levels : (i+1)*e.levels]
		for k, v := range from {
			row[k] = float64(v)
		}
		row[e.mask] = math.Inf(-1)
		copy(e.q, row)
		logZ := tilt.Normalize(e.q)
		for k := range row {
			row[k] -= logZ
		}
	}
	for k := range e.q {
		e.q[k] = math.Inf(-1)
		if v := rows[k]; !math.IsInf(v, -1) {
			for i, l := range e.lambda {
				if l > 0 {
					v -= float64(l * rows[(i+1)*e.levels+k])
				}
			}
			e.q[k] = v / rest
		}
	}
	r.totals[site] = tilt.Normalize(e.q)
}

// terminals stores in g the values b_i − log(p_λ(x)/q_i(x)) of one sample.
func (e *Erasure) terminals(g []float64, r *tokenPath) {
	rest := e.rest()
	logp := r.logp[0]
	for i, l := range e.lambda {
		if l > 0 {
			logp -= float64(l * r.logp[1+i])
		}
	}
	logp = logp/rest - e.logZ
	for i, b := range e.bound {
		g[i] = b - (logp - r.logp[1+i])
	}
}

// predictions stores the predictions of base in v and those of each denoiser of away in tables.
func predictions[S energy.Site](ctx context.Context, v []float32, tables [][]float32, base energy.Denoiser[S], away []energy.Denoiser[S], q energy.Noised[S]) error {
	if err := base.Denoise(ctx, v, q); err != nil {
		return err
	}
	for i, a := range away {
		tables[i] = slices.Grow(tables[i][:0], len(v))[:len(v)]
		if err := a.Denoise(ctx, tables[i], q); err != nil {
			return err
		}
	}
	return nil
}

// Denoise stores in v the predictions p̂_λ, which combine the predictions for q and the q_i (see
// [Erasure]). It implements energy.Denoiser. It returns an error if the prediction for q allows a
// token that the prediction for some q_i excludes. It also returns an error if tokens are revealed
// in a way for which the divergence cannot be measured.
func (e *Erasure) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := e.follows(q.Reveals); err != nil {
		return err
	}
	if e.terminal && slices.Contains(q.Clean, true) {
		return fmt.Errorf("unlearn: Erasure: tokens are given, want none after Terminal: it measures all that was drawn")
	}
	if err := predictions(ctx, v, e.tables, e.base, e.away, q); err != nil {
		return err
	}
	if q.Sample == nil && len(q.Time) > 0 {
		return fmt.Errorf("unlearn: Erasure: Noised.Sample = nil, want the number of every state: what was erased is counted by sample")
	}
	for s, sample := range q.Sample {
		r := e.record(sample, q.Alpha[s])
		if e.terminal {
			e.reveal(&r.path, q.X[s*e.sites:(s+1)*e.sites])
			copy(r.path.x, q.X[s*e.sites:(s+1)*e.sites])
		}
		masked := 0
		for site := range e.sites {
			if q.X[s*e.sites+site] == e.mask {
				masked++
			}
		}
		for site := range e.sites {
			if q.X[s*e.sites+site] != e.mask {
				continue
			}
			at := (s*e.sites + site) * e.levels
			if e.terminal {
				e.follow(&r.path, site, at, v[at:at+e.levels], e.rest())
			}
			if err := e.combine(v[at:at+e.levels], at, r, masked, q.Reveals); err != nil {
				return fmt.Errorf("unlearn: Erasure: sample %d, site %d: %w", sample, site, err)
			}
		}
	}
	return nil
}

// follows returns an error unless e can measure the path of samples whose tokens are revealed in
// the way r.
func (e *Erasure) follows(r energy.Reveals) error {
	switch {
	case r != energy.RevealsOne && e.terminal:
		return fmt.Errorf("unlearn: Erasure: Noised.Reveals = %d, want RevealsOne after Terminal: sample by diffusion.Masked{FirstHitting: true}, without a projector, guidance or particles", r)
	case r != energy.RevealsOne && r != energy.RevealsEach:
		return fmt.Errorf("unlearn: Erasure: Noised.Reveals = %d, want RevealsOne or RevealsEach: sample by diffusion.Masked, without a projector, guidance or particles", r)
	}
	return nil
}

// record returns the record of a sample, after adding the step that ends at signal level alpha.
// It creates the record of a new sample.
func (e *Erasure) record(sample int, alpha float64) *pathRecord {
	k, known := e.slot[sample]
	if !known {
		k = len(e.records)
		e.slot[sample] = k
		n := len(e.away)
		e.records = append(e.records, pathRecord{sample: sample, pending: make([]float64, n), sum: make([]float64, n)})
		if e.terminal {
			e.records[k].path = tokenPath{
				x: slices.Repeat([]int32{e.mask}, e.sites), rows: make([]float64, e.sites*(1+n)*e.levels),
				totals: make([]float64, e.sites), logp: make([]float64, 1+n),
			}
		}
	}
	r := &e.records[k]
	if known {
		r.settle(alpha)
	}
	r.alpha = alpha
	return r
}

// combine replaces a row of log-weights of q by the row of p_λ, and records the divergences of the
// new row from the unwanted distributions.
func (e *Erasure) combine(row []float32, at int, r *pathRecord, masked int, how energy.Reveals) error {
	c := e.rest()
	for k, w := range row {
		if int32(k) == e.mask || math.IsInf(float64(w), -1) {
			e.p[k] = math.Inf(-1)
			continue
		}
		sum := float64(w)
		for i, l := range e.lambda {
			a := float64(e.tables[i][at+k])
			if math.IsInf(a, -1) {
				return fmt.Errorf("distribution %d gives level %d no weight where q gives %v", i, k, w)
			}
			sum -= float64(l * a)
		}
		e.p[k] = sum / c
		row[k] = float32(e.p[k])
	}
	top := slices.Max(e.p)
	if !check.Finite(top) {
		return fmt.Errorf("q gives every level weight zero")
	}
	tilt.Normalize(e.p)
	for i := range e.away {
		for k := range e.q {
			e.q[k] = float64(e.tables[i][at+k])
		}
		e.q[e.mask] = math.Inf(-1)
		tilt.Normalize(e.q)
		if k := KL(e.p, e.q); how == energy.RevealsOne {
			r.sum[i] += k / float64(masked)
		} else {
			r.pending[i] += k
		}
	}
	return nil
}

// Violation stores in g the violations of each of the most recent samples. A violation is b_i
// minus the path divergence (see [Erasure]). After [Erasure.Terminal] it is b_i −
// log(p_λ(x)/q_i(x)) instead. The slice x must hold these samples in the order in which the
// diffusion began them. Violation panics if fewer samples have been drawn since SetLambda, or if
// the lengths do not match.
func (e *Erasure) Violation(g []float64, x []int32) {
	n, states := len(e.lambda), len(x)/e.sites
	check.Len("unlearn", "g", len(g), states*n)
	if len(e.records) < states {
		panic(fmt.Sprintf("unlearn: Erasure: %d samples since SetLambda, want ≥ %d", len(e.records), states))
	}
	for s := range e.records[len(e.records)-states:] {
		r := &e.records[len(e.records)-states+s]
		if e.terminal {
			e.terminals(g[s*n:(s+1)*n], &r.path)
			continue
		}
		r.settle(1) // every run ends at α = 1
		for i, b := range e.bound {
			g[s*n+i] = b - r.sum[i]
		}
	}
}

// Terminal makes the Erasure measure the finished samples of the diffusion instead of the paths
// that lead to them. It returns a function that fills x with draws from the optimum,
//
//	p_λ ∝ q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)},  s = Σλ_i.
//
// The site-wise combination of predictions only approximates p_λ. For every state in x, the
// function draws a number of candidates (particles) by calling sample. It then resamples x from all
// candidates by importance weights, so a state may occur twice. The weights correct the error that
// the combination makes along the path of each candidate. The function sample must reveal one token
// at a time (diffusion.Masked{FirstHitting: true}). With exact denoisers the error is
// O(1/(states·particles)).
//
// After the call, [Erasure.Violation] stores b_i − log(p_λ(x)/q_i(x)), in the notation of
// [Erasure]. The mean of these values is the dual gradient b_i − KL(p_λ‖q_i); if it is at most 0,
// KL(p_λ‖q_i) ≥ b_i. [Erasure.Beta] returns 1 − s, so [dual.Auto] can find λ:
//
//	p, err := dual.NewResampler(sites, 256, e.Terminal(d.Sample, 4, src))
//	inf, err := dual.NewInference(ctx, e, p, dual.Config{Max: new(0.9)})
//
// The function needs memory for sites·levels·(1 + distributions) numbers per particle. It returns
// the errors of sample, and an error in these cases:
//
//   - sample reveals tokens in another way;
//   - tokens were given (Config.Clamp);
//   - particles < 1, or all weights are zero.
func (e *Erasure) Terminal(sample func(ctx context.Context, x []int32) error, particles int, src rand.Source) func(ctx context.Context, x []int32) error {
	e.terminal = true
	return func(ctx context.Context, x []int32) error {
		if particles < 1 {
			return fmt.Errorf("unlearn: Terminal: particles = %d, want ≥ 1", particles)
		}
		e.forget()
		all := make([]int32, len(x)*particles)
		if err := sample(ctx, all); err != nil {
			return err
		}
		n := len(all) / e.sites
		if len(e.records) != n {
			return fmt.Errorf("unlearn: Terminal: %d samples measured, want %d", len(e.records), n)
		}
		w := make([]float64, n)
		for s := range n {
			r := &e.records[s].path
			e.reveal(r, all[s*e.sites:(s+1)*e.sites])
			w[s] = r.weight
		}
		if !check.Finite(slices.Max(w)) {
			return fmt.Errorf("unlearn: Terminal: largest log-weight of %d particles = %v, want a finite number", n, slices.Max(w))
		}
		e.logZ = tilt.Normalize(w) - simd.Log(float64(n))
		squares := 0.0
		for _, v := range w {
			squares += float64(v * v)
		}
		e.effective = 1 / squares
		e.choose(x, all, w, src)
		return nil
	}
}

// Effective returns the effective number of particles (Σw)²/Σw², where w are the weights of the
// particles. It refers to the last call of the function that [Erasure.Terminal] returned. Before
// the first call it is 0. If it is below about a hundred, the draws are unreliable.
func (e *Erasure) Effective() float64 { return e.effective }

// choose fills x with states from the list all, resampled by the weights w, and keeps the records
// of the chosen states.
func (e *Erasure) choose(x, all []int32, w []float64, src rand.Source) {
	n := len(x) / e.sites
	// convert explicitly: a compiler may otherwise fuse this product with a sum
	u := float64(rand.New(src).Float64())
	chosen := make([]pathRecord, n)
	k, sum := 0, w[0]
	for s := range n {
		at := (float64(s) + u) / float64(n)
		for sum < at && k+1 < len(w) {
			k++
			sum += w[k]
		}
		copy(x[s*e.sites:(s+1)*e.sites], all[k*e.sites:(k+1)*e.sites])
		chosen[s] = e.records[k]
	}
	e.records = chosen
	clear(e.slot)
}
