package tilt

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// List is a finite list of states with f0 and n inequalities g ≤ 0 each. It keeps
// scratch: it belongs to one goroutine.
type List struct {
	beta float64
	n    int
	f0   []float64
	g    []float64 // states × n
	free []bool    // multipliers of either sign; nil means none
	most float64   // largest |g_j|
	p, d []float64 // scratch: probabilities after Value

	values int
}

// New returns an empty list; free marks the multipliers of equalities, which have
// either sign, nil none.
func New(beta float64, n int, free []bool) *List { return &List{beta: beta, n: n, free: free} }

// Append adds a state; numbers must be finite.
func (t *List) Append(f0 float64, g []float64) {
	t.f0 = append(t.f0, f0)
	t.g = append(t.g, g...)
	for _, v := range g {
		t.most = max(t.most, math.Abs(v))
	}
}

// Len returns the number of states.
func (t *List) Len() int { return len(t.f0) }

// row returns the inequalities of state k.
func (t *List) row(k int) []float64 { return t.g[k*t.n : (k+1)*t.n] }

// Value is the dual function −β log Z(λ) as a [concave.Func]: its gradient is
// E_λ[g], its curvature Cov_λ(g)/β. It is +Inf where every state has λᵀg > 0: no
// distribution meets the inequalities then, and it grows without bound along λ.
func (t *List) Value(lambda, grad, curv []float64) float64 {
	t.values++
	logZ, low := t.weigh(lambda)
	clear(grad)
	t.d = slices.Grow(t.d[:0], t.n)[:t.n]
	for from := 0; from < len(t.p); from += block {
		clear(t.d)
		for k, p := range t.p[from:min(from+block, len(t.p))] {
			if p < negligible {
				continue
			}
			for j, v := range t.row(from + k) {
				t.d[j] += float64(p * v)
			}
		}
		for j, v := range t.d {
			grad[j] += v
		}
	}
	if size := sumAbs(lambda); size > 0 && Positive(low/size, t.largest()) > 0 {
		return math.Inf(1)
	}
	clear(curv)
	for k, p := range t.p {
		if p < negligible {
			continue
		}
		for j, v := range t.row(k) {
			t.d[j] = v - grad[j]
		}
		for i, v := range t.d {
			c, row := float64(p*v), curv[i*t.n:i*t.n+i+1]
			d := t.d[:len(row)]
			for j := range row {
				row[j] += float64(c * d[j])
			}
		}
	}
	for i := range t.n {
		for j := range i + 1 {
			curv[i*t.n+j] /= t.beta
			curv[j*t.n+i] = curv[i*t.n+j]
		}
	}
	return -t.beta * logZ
}

// negligible probabilities change no sum of 2²² terms.
const negligible = 1e-40

// weigh stores the probabilities in t.p and returns log Z and min λᵀg.
func (t *List) weigh(lambda []float64) (logZ, low float64) {
	t.p = slices.Grow(t.p[:0], len(t.f0))[:len(t.f0)]
	low = math.Inf(1)
	for k, f := range t.f0 {
		along := weighted.Dot(lambda, t.row(k))
		low = min(low, along)
		t.p[k] = -(f + along) / t.beta
	}
	return Normalize(t.p), low
}

// sumAbs returns Σ|v|.
func sumAbs(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Abs(x)
	}
	return sum
}

// Evaluations returns how often the dual function was evaluated.
func (t *List) Evaluations() int { return t.values }

// Maximize returns the multipliers at which the dual function is largest, from a
// start. found is false if there are none: λ then is a point on the way to
// infinity. The error is the context's.
func (t *List) Maximize(ctx context.Context, start []float64) (lambda []float64, found bool, err error) {
	lambda, found, err = t.climb(ctx, start)
	if !found && err == nil && sumAbs(start) > 0 {
		// Far out, where one state has all of the probability, the function is flat
		// to rounding, and a climb does not find back.
		return t.climb(ctx, make([]float64, len(start)))
	}
	return lambda, found, err
}

func (t *List) climb(ctx context.Context, start []float64) (lambda []float64, found bool, err error) {
	largest := t.largest()
	lambda, err = concave.Maximize(ctx, t.Value, start, concave.Tolerance*largest, t.free)
	var away *concave.Unbounded
	if errors.As(err, &away) {
		return away.Lambda, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return lambda, t.determined(lambda, largest), nil
}

// largest returns the largest |g_j| of all states.
func (t *List) largest() float64 { return t.most }

// minVariance is the variance of an active g_j, relative to its square range,
// below which its multiplier is not determined: the distribution has all but
// frozen on the states where g_j is smallest, and concave.Tolerance leaves λ_j
// open.
const minVariance = 1e-11

// determined reports whether λ is a maximum and not a point on the way to one
// at infinity.
func (t *List) determined(lambda []float64, largest float64) bool {
	grad, curv := make([]float64, t.n), make([]float64, t.n*t.n)
	t.Value(lambda, grad, curv)
	// A stalled climb ends many orders below this.
	if concave.Projected(lambda, grad, t.free) > 1e-6*largest {
		return false
	}
	for j, v := range lambda {
		if v != 0 && t.varies(j) && curv[j*t.n+j]*t.beta < minVariance*largest*largest {
			return false
		}
	}
	return true
}

// varies reports whether g_j is not constant.
func (t *List) varies(j int) bool {
	for k := range t.f0 {
		if t.row(k)[j] != t.row(0)[j] {
			return true
		}
	}
	return false
}

// rounding is the margin, relative to the violations, below which a positive
// one may be a rounding error of a sum of up to a million terms.
const rounding = 1e-10

// Margin returns min_k uᵀg[k], for u_j ≥ 0 at inequalities, if that is positive beyond
// rounding, which proves that no distribution on the list has E[g] ≤ 0. Otherwise it
// returns 0.
func (t *List) Margin(u []float64) float64 {
	low := math.Inf(1)
	for k := range t.f0 {
		low = min(low, weighted.Dot(u, t.row(k)))
	}
	return Positive(low, t.largest())
}

// Positive returns the margin of a combination of inequalities whose values go up
// to largest, 0 if it may be a rounding error.
func Positive(margin, largest float64) float64 {
	if margin > rounding*largest {
		return margin
	}
	return 0
}

// block is the number of terms that are added up before their sum is: the rounding
// error of a sum of a million terms is that of some thousands then.
const block = 1 << 10

// Normalize replaces log-weights by probabilities and returns the logarithm of
// their sum. One weight must be above −Inf.
func Normalize(w []float64) float64 {
	top := slices.Max(w)
	sum := 0.0
	for from := 0; from < len(w); from += block {
		part := 0.0
		for k, v := range w[from:min(from+block, len(w))] {
			v = simd.Exp(v - top)
			w[from+k] = v
			part += v
		}
		sum += part
	}
	for k := range w {
		w[k] /= sum
	}
	return top + simd.Log(sum)
}
