package denoise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Likelihood is the distribution of the samples that a masked diffusion generates with a denoiser,
// such as a network. The diffusion reveals one token at a time in random order (diffusion.Masked
// with FirstHitting). The probability of a sample x is a mean over random orders σ of the sites,
//
//	q(x) = E_σ ∏_k q̂(x_σ(k) | x_σ(1), …, x_σ(k−1)),
//
// where q̂ is the prediction of the denoiser. A Likelihood takes the mean over K random orders,
// which are the same for all states. The result is also a distribution that sums to 1. Averaged
// over all choices of orders, it equals q. The logarithm of the result is the bound of Khalafi,
// Ribeiro and Ding (2026, C.4) with K importance weights.
//
// Likelihood is an energy.Model with E(x) = −log q(x) in nats and partition function 1. Use it to
// form ratios of the likelihoods of networks (unlearn.Ratio, unlearn.LogRatio, unlearn.Experts).
// Evaluating a state takes sites·K predictions. States that contain the mask have energy +Inf. An
// energy of NaN means that the denoiser failed or has no prediction. A Likelihood is safe for
// concurrent use if the denoiser is.
type Likelihood struct {
	base          energy.Denoiser[int32]
	mask          int32
	sites, levels int
	order         []int32 // random orders of the sites, orders × sites
}

// NewLikelihood returns the distribution of the samples that a masked diffusion generates with the
// denoiser d. The argument mask is the level of a masked token. Tokens are revealed in random
// orders. The argument orders is the number of these orders, and seed determines them.
//
// NewLikelihood returns an error in these cases:
//
//   - d is nil, or its predictions also depend on something other than the states (see
//     energy.TimeFree);
//   - mask is not a level, or not the mask of d;
//   - orders < 1, or there are too many orders to store.
func NewLikelihood(d energy.Denoiser[int32], mask int32, orders int, seed uint64) (*Likelihood, error) {
	if err := check.Given("denoise: NewLikelihood", "d", d); err != nil {
		return nil, err
	}
	l := &Likelihood{base: d, mask: mask}
	l.sites, l.levels = d.Shape()
	if l.sites < 1 || mask < 0 || int(mask) >= l.levels {
		return nil, fmt.Errorf("denoise: NewLikelihood: mask = %d of %d levels and %d sites, want a level and ≥ 1 site", mask, l.levels, l.sites)
	}
	if m, ok := energy.As[energy.Masking](d); ok && !check.Nil(m) && m.MaskLevel() != mask {
		return nil, fmt.Errorf("denoise: NewLikelihood: mask = %d, the denoiser's is %d (−1: it has none)", mask, m.MaskLevel())
	}
	if !energy.TimeFree(d) {
		return nil, fmt.Errorf("denoise: NewLikelihood: d is not TimeFree, want a denoiser whose predictions depend on the states alone")
	}
	if orders < 1 {
		return nil, fmt.Errorf("denoise: NewLikelihood: orders = %d, want ≥ 1", orders)
	}
	if err := check.Entries("denoise: NewLikelihood", "orders × sites", orders, l.sites); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0x6c696b65))
	for range orders {
		for _, i := range r.Perm(l.sites) {
			l.order = append(l.order, int32(i))
		}
	}
	return l, nil
}

// Shape returns the shape of the denoiser.
func (l *Likelihood) Shape() (sites, levels int) { return l.sites, l.levels }

// Energy stores in e the energy −log q(x) of each state, where q is the distribution of the samples
// of the diffusion. It implements [energy.Model]. If the denoiser fails, it stores NaN.
func (l *Likelihood) Energy(e []float64, x []int32) {
	check.Len("denoise", "x", len(x), len(e)*l.sites)
	if err := l.LogProb(context.Background(), e, nil, x); err != nil {
		for s := range e {
			e[s] = math.NaN()
		}
		return
	}
	for s, v := range e {
		e[s] = -v
	}
}

// LogProb stores in logp the logarithm of q(x) for each state x, in nats, where q is the
// distribution of the samples of the diffusion. If se is not nil, it receives the standard error of
// each logarithm.
//
// The standard error is estimated from the spread of the probabilities among the random orders. It
// is +Inf for a single order, and 0 for a state of probability 0. Above about 0.5 it is unreliable.
//
// LogProb returns an error of ctx or of the denoiser, or if a row of a prediction has no weight. It
// panics if the lengths do not match.
func (l *Likelihood) LogProb(ctx context.Context, logp, se []float64, x []int32) error {
	n := check.Rows("denoise", "x", len(x), l.sites)
	check.Len("denoise", "logp", len(logp), n)
	if se != nil {
		check.Len("denoise", "se", len(se), n)
	}
	orders := len(l.order) / l.sites
	path := scratch.Float64s.Get(orders)
	defer scratch.Float64s.Put(path)
	for s := range n {
		if err := l.paths(ctx, *path, x[s*l.sites:(s+1)*l.sites]); err != nil {
			return fmt.Errorf("denoise: Likelihood: state %d: %w", s, err)
		}
		mean, spread := meanExp(*path)
		logp[s] = mean
		if se != nil {
			se[s] = spread
		}
	}
	return nil
}

// Repair changes states of probability zero until the likelihood is positive. It visits the sites
// in the first of the random orders (see [Likelihood]) and replaces every token of probability zero
// by the most likely one. If the denoiser fails, Repair leaves the rest of the state unchanged. It
// implements [energy.Supported].
func (l *Likelihood) Repair(x []int32) {
	e := make([]float64, 1)
	for s := range check.Rows("denoise", "x", len(x), l.sites) {
		state := x[s*l.sites : (s+1)*l.sites]
		if l.Energy(e, state); math.IsInf(e[0], 1) {
			_ = l.some(context.Background(), e, 0, state, true)
		}
	}
}

// meanExp returns the logarithm of the mean of e^v over the entries of v, and the relative
// standard error of that mean.
func meanExp(v []float64) (mean, se float64) {
	top := math.Inf(-1)
	for _, p := range v {
		top = max(top, p)
	}
	if math.IsInf(top, -1) {
		return top, 0
	}
	sum, n := 0.0, float64(len(v))
	for _, p := range v {
		sum += simd.Exp(p - top)
	}
	if len(v) == 1 {
		return top, math.Inf(1)
	}
	sum /= n
	squares := 0.0
	for _, p := range v {
		d := simd.Exp(p-top)/sum - 1
		squares += float64(d * d)
	}
	return top + simd.Log(sum), math.Sqrt(squares / (n - 1) / n)
}

// pathRows is the largest number of states in one call of the denoiser.
const pathRows = 64

// paths stores the log-probability of x along every order in path.
func (l *Likelihood) paths(ctx context.Context, path []float64, x []int32) error {
	for from := 0; from < len(path); from += pathRows {
		if err := l.some(ctx, path[from:min(len(path), from+pathRows)], from, x, false); err != nil {
			return err
		}
	}
	return nil
}

// some stores the log-probability of x along the orders from number first in path. If repair is
// true, it replaces tokens of x that the order cannot reveal by the most likely ones; path must
// then have one entry.
func (l *Likelihood) some(ctx context.Context, path []float64, first int, x []int32, repair bool) error {
	clear(path)
	n := len(path)
	shown, v := scratch.Int32s.Get(n*l.sites), scratch.Float32s.Get(n*l.sites*l.levels)
	defer scratch.Int32s.Put(shown)
	defer scratch.Float32s.Put(v)
	when := scratch.Float64s.Get(2 * n)
	defer scratch.Float64s.Put(when)
	q := energy.Noised[int32]{X: *shown, Time: (*when)[:n], Alpha: (*when)[n:], Reveals: energy.RevealsOne}
	for i := range q.X {
		q.X[i] = l.mask
	}
	for k := range l.sites {
		for s := range n {
			q.Time[s] = float64(l.sites-k) / float64(l.sites)
			q.Alpha[s] = 1 - q.Time[s]
		}
		if err := l.base.Denoise(ctx, *v, q); err != nil {
			return err
		}
		for s := range path {
			if math.IsInf(path[s], -1) {
				continue // this order already has probability zero
			}
			i := l.order[(first+s)*l.sites+k]
			row := (*v)[(s*l.sites+int(i))*l.levels : (s*l.sites+int(i)+1)*l.levels]
			p, err := l.logProb(row, x[i])
			if err != nil {
				return fmt.Errorf("site %d: %w", i, err)
			}
			if repair && math.IsInf(p, -1) {
				row[l.mask] = float32(math.Inf(-1))
				best := slices.Index(row, slices.Max(row))
				x[i], p = int32(best), 0
			}
			path[s] += p
			q.X[s*l.sites+int(i)] = x[i]
		}
	}
	return nil
}

// logProb returns the logarithm of the probability of a token under a row of log-weights, without
// the mask.
func (l *Likelihood) logProb(row []float32, token int32) (float64, error) {
	top := math.Inf(-1)
	for k, w := range row {
		if int32(k) != l.mask {
			top = max(top, float64(w))
		}
	}
	if !check.Finite(top) {
		return 0, fmt.Errorf("the largest log-weight is %v, want a finite number", top)
	}
	if token == l.mask {
		return math.Inf(-1), nil
	}
	sum := 0.0
	for k, w := range row {
		if int32(k) != l.mask {
			sum += simd.Exp(float64(w) - top)
		}
	}
	return float64(row[token]) - top - simd.Log(sum), nil
}

var _ energy.Model = (*Likelihood)(nil)
