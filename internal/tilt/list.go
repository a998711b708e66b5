package tilt

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// List is a finite list of states with f0 and n inequalities g ≤ 0 each. It keeps scratch
// and must be used by one goroutine at a time.
type List struct {
	beta float64
	n    int
	f0   []float64
	g    []float64 // states × n
	free []bool    // multipliers of either sign; nil means none
	p, d []float64 // scratch: probabilities after Value

	values int
	depth  int // of questions within questions, see limit
}

// New returns an empty list. free marks the multipliers of equalities, which may have
// either sign; nil means none.
func New(beta float64, n int, free []bool) *List { return &List{beta: beta, n: n, free: free} }

// Append adds a state; numbers must be finite.
func (t *List) Append(f0 float64, g []float64) {
	t.f0 = append(t.f0, f0)
	t.g = append(t.g, g...)
}

// Len returns the number of states.
func (t *List) Len() int { return len(t.f0) }

// Beta returns the temperature.
func (t *List) Beta() float64 { return t.beta }

// row returns the inequalities of state k.
func (t *List) row(k int) []float64 { return t.g[k*t.n : (k+1)*t.n] }

// Value is the dual function −β log Z(λ) as a [concave.Func]: its gradient is
// E_λ[g], its curvature Cov_λ(g)/β. It is +Inf where every state has λᵀg > 0: no
// distribution meets the inequalities then, and it grows without bound along λ.
func (t *List) Value(lambda, grad, curv []float64) float64 {
	t.values++
	logZ, proven := t.weigh(lambda)
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
	if proven {
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

// negligible probabilities change no sum of 2²² terms, of numbers that differ by less
// than a factor of 10²⁰⁰.
const negligible = 1e-250

// weigh stores the probabilities in t.p and returns log Z and whether λᵀg > 0 in every
// state, beyond its own rounding.
func (t *List) weigh(lambda []float64) (logZ float64, proven bool) {
	t.p = slices.Grow(t.p[:0], len(t.f0))[:len(t.f0)]
	proven = true
	for k, f := range t.f0 {
		along, size := dot(lambda, t.row(k))
		proven = proven && along > t.roundoff()*size
		t.p[k] = -(f + along) / t.beta
	}
	return Normalize(t.p), proven
}

// roundoff bounds the error of a sum of n products, relative to the sum of their sizes.
func (t *List) roundoff() float64 { return float64(t.n+2) * 0x1p-53 }

// dot returns Σ a_j b_j and Σ |a_j b_j|.
func dot(a, b []float64) (sum, size float64) {
	b = b[:len(a)]
	for j, v := range a {
		if v != 0 {
			v = float64(v * b[j])
			sum += v
			size += math.Abs(v)
		}
	}
	return sum, size
}

// Direction returns u = λ/Σ|λ|.
func Direction(lambda []float64) []float64 {
	u := slices.Clone(lambda)
	sum := SumAbs(u)
	if math.IsInf(sum, 1) { // of finite numbers
		for j := range u {
			u[j] = math.Ldexp(u[j], -64)
		}
		sum = SumAbs(u)
	}
	for j := range u {
		u[j] /= sum
	}
	return u
}

// SumAbs returns Σ|v|.
func SumAbs(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Abs(x)
	}
	return sum
}

// Evaluations returns how often the dual function was evaluated.
func (t *List) Evaluations() int { return t.values }

// Outcome is what is known about the maximum of a dual function.
type Outcome int

const (
	Undecided  Outcome = iota
	Attained           // at Lambda, to rounding
	Infeasible         // every state has uᵀg > 0 along Direction: no distribution has E[g] ≤ 0
	Limit              // every state has uᵀg ≥ 0, and some 0: only distributions on these do
)

// Optimum is the result of [List.Maximize].
type Optimum struct {
	Outcome   Outcome
	Lambda    []float64 // the maximum, or the best multipliers met
	Direction []float64 // u of a proof, Σ|u_j| = 1; nil otherwise
	Margin    float64   // min uᵀg of Infeasible
}

// Maximize returns the multipliers at which the dual function is largest, from a
// start, or a proof that there are none. Both are checked: a maximum by its residuals in
// standard deviations of every row ([concave.Residual]), a proof in exact arithmetic. The
// error is the context's.
func (t *List) Maximize(ctx context.Context, start []float64) (*Optimum, error) {
	o, err := t.climb(ctx, start)
	if err == nil && o.Outcome == Undecided && SumAbs(start) > 0 {
		// Far out, where one state has all of the probability, the function is flat
		// to rounding, and a climb does not find back.
		return t.climb(ctx, make([]float64, len(start)))
	}
	return o, err
}

func (t *List) climb(ctx context.Context, start []float64) (*Optimum, error) {
	top, err := concave.Maximize(ctx, t.Value, start, concave.Unit{Value: t.beta}, t.free)
	var away *concave.Unbounded
	if errors.As(err, &away) {
		return t.infeasible(away.Lambda), nil
	}
	if err != nil {
		return nil, err
	}
	for _, lambda := range [][]float64{top.Lambda, top.Last} {
		if o, err := t.limit(ctx, lambda); err != nil || o != nil {
			return o, err
		}
		if top.Residual <= concave.Accepted {
			break
		}
	}
	o := &Optimum{Lambda: top.Lambda}
	if top.Residual <= concave.Accepted {
		o.Outcome = Attained
	}
	return o, nil
}

// infeasible is the optimum of a direction in which every state has uᵀg > 0.
func (t *List) infeasible(u []float64) *Optimum {
	o := &Optimum{Outcome: Infeasible, Lambda: u, Direction: Direction(u), Margin: math.Inf(1)}
	for k := range t.f0 {
		along, _ := dot(o.Direction, t.row(k))
		o.Margin = min(o.Margin, along)
	}
	return o
}

// rounding is the margin, relative to the sum of sizes of the terms that it is the
// difference of, below which a positive one may be a rounding error of a sum of up to a
// million terms.
const rounding = 1e-10

// Positive returns the margin of a combination of inequalities whose terms are at most
// largest, or 0 if the margin may be a rounding error.
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
