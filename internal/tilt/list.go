package tilt

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// List is a finite list of states. Each state has a value f0 and a vector g, which has one entry
// for each inequality E[g_j] ≤ 0. A List keeps scratch and must be used by one goroutine at a time.
type List struct {
	beta float64
	n    int
	f0   []float64
	g    []float64 // values of g in states × n order
	free []bool    // multipliers that may have either sign; nil means none
	low  float64   // smallest f0
	p, d []float64 // scratch: probability of each state, and partial sums of the gradient

	values int
	depth  int // depth of nested Maximize calls, see limit
}

// New returns an empty list for n inequalities E[g_j] ≤ 0, at temperature beta. If equal[j] is
// true, the condition is E[g_j] = 0, whose multiplier may have either sign. If equal is nil, there
// are no equalities.
func New(beta float64, n int, equal []bool) *List {
	return &List{beta: beta, n: n, free: equal, low: math.Inf(1)}
}

// Append adds a state with value f0 and inequality values g. All numbers must be finite.
func (t *List) Append(f0 float64, g []float64) {
	t.low = min(t.low, f0)
	t.f0 = append(t.f0, f0)
	t.g = append(t.g, g...)
}

// Len returns the number of states.
func (t *List) Len() int { return len(t.f0) }

// Beta returns the temperature β of the list.
func (t *List) Beta() float64 { return t.beta }

// row returns the values g of the inequalities in state k.
func (t *List) row(k int) []float64 { return t.g[k*t.n : (k+1)*t.n] }

// Value returns the dual function −β log Z at the multipliers λ = lambda, where
//
//	Z = Σ_k exp(−(f0[k] + λᵀg[k])/β).
//
// Value is a [concave.Func]. It stores the gradient E[g] in grad, Cov(g)/β in curv, and
// E|g_j − E[g_j]| in size[j]. Here E and Cov weight the states by the terms of Z. Value
// returns +Inf if λᵀg > 0 in every state. In that case no distribution satisfies the inequalities,
// and the function grows without bound along λ.
func (t *List) Value(lambda, grad, curv, size []float64) float64 {
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
	clear(size)
	for k, p := range t.p {
		if p < negligible {
			continue
		}
		for j, v := range t.row(k) {
			t.d[j] = v - grad[j]
		}
		for i, v := range t.d {
			c, row := float64(p*v), curv[i*t.n:i*t.n+i+1]
			size[i] += math.Abs(c)
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
	return t.low - float64(t.beta*logZ)
}

// negligible is the probability below which Value skips a state. States with a smaller probability
// cannot change a sum of 2²² terms whose sizes differ by a factor of less than 10²⁰⁰.
const negligible = 1e-250

// weigh stores in t.p the probabilities of the states under λ and returns log Z for the energies f0
// − t.low. Without this shift, large energies would round away the effect of λ. The result proven
// reports whether λᵀg > 0 in every state, by more than the rounding error of λᵀg.
func (t *List) weigh(lambda []float64) (logZ float64, proven bool) {
	t.p = slices.Grow(t.p[:0], len(t.f0))[:len(t.f0)]
	proven = true
	for k, f := range t.f0 {
		along, size := dot(lambda, t.row(k))
		proven = proven && along > t.roundoff()*size
		t.p[k] = -(f - t.low + along) / t.beta
	}
	return Normalize(t.p), proven
}

// roundoff bounds the rounding error of a sum of n products, relative to the sum of their
// absolute values.
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

// Direction returns λ/Σ|λ|. The absolute values of the entries then sum to 1.
func Direction(lambda []float64) []float64 {
	u := slices.Clone(lambda)
	sum := SumAbs(u)
	if math.IsInf(sum, 1) { // the sum overflows although all terms are finite
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

// Evaluations returns the number of times the dual function was evaluated.
func (t *List) Evaluations() int { return t.values }

// Outcome is the outcome of a search for the maximum of a dual function.
type Outcome int

const (
	Undecided  Outcome = iota
	Attained           // the maximum is at Lambda, up to rounding
	Infeasible         // every state has uᵀg > 0 for u = Direction, so no distribution has E[g] ≤ 0
	// every state has uᵀg ≥ 0 and some have uᵀg = 0, so E[g] ≤ 0 requires a distribution on the
	// states with uᵀg = 0
	Limit
)

// Optimum is the result of [List.Maximize].
type Optimum struct {
	Outcome Outcome
	Lambda  []float64 // multipliers at the maximum, or the best ones found if there is none
	// direction u of a proof that there is no maximum, with Σ|u_j| = 1; nil without a proof
	Direction []float64
	Margin    float64 // smallest uᵀg over the states; set only for Infeasible
}

// Maximize returns the multipliers that maximise the dual function, or a proof that no maximum
// exists. The argument start holds the multipliers with which the search begins. Either result is
// checked. A maximum must have a small [concave.Residual], which measures each gradient component
// in units of its mean deviation. A proof is checked in exact arithmetic. The only possible error
// is the error of the context.
func (t *List) Maximize(ctx context.Context, start []float64) (*Optimum, error) {
	o, err := t.climb(ctx, start)
	if err == nil && o.Outcome == Undecided && SumAbs(start) > 0 {
		// Far from the origin, where one state has all of the probability, the function
		// is flat up to rounding and a climb cannot return. Start again from 0.
		return t.climb(ctx, make([]float64, len(start)))
	}
	return o, err
}

func (t *List) climb(ctx context.Context, start []float64) (*Optimum, error) {
	top, err := concave.Maximize(ctx, t.Value, start, t.beta, t.free)
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

// infeasible returns the Optimum for a direction u in which every state has uᵀg > 0.
func (t *List) infeasible(u []float64) *Optimum {
	o := &Optimum{Outcome: Infeasible, Lambda: u, Direction: Direction(u), Margin: math.Inf(1)}
	for k := range t.f0 {
		along, _ := dot(o.Direction, t.row(k))
		o.Margin = min(o.Margin, along)
	}
	return o
}

// rounding is the relative size below which a positive margin may be a rounding error. It is
// relative to the sum of the absolute values of the terms, of which there may be a million.
const rounding = 1e-10

// Positive returns margin, or 0 if rounding errors alone could have made margin positive. The
// argument margin is the sum λᵀg at a state, and largest is the largest absolute value of a term of
// the sum.
func Positive(margin, largest float64) float64 {
	if margin > rounding*largest {
		return margin
	}
	return 0
}

// block is the number of terms in a partial sum. Summing blocks first keeps the rounding error of
// a million terms at the error of a few thousand.
const block = 1 << 10

// Normalize replaces log-weights by probabilities and returns the logarithm of the sum of the
// weights. At least one log-weight must be above −Inf.
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
