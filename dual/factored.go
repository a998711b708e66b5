package dual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// factored evaluates the dual function of a base model and bounds whose tables form a graph of low
// width. Values and gradients are exact. The curvature, which affects only the number of steps of a
// climb, is estimated from independent draws.
type factored struct {
	l       *Lagrangian
	reduced *elimination.Reduced
	run     *elimination.Run
	base    int // number of tables that belong to the base
	// all tables before weighting: those of the base, then those of the bounds
	tables  [][]float64
	terms   []term        // term of each table after those of the base
	offset  []float64     // constant part of each bound
	now     [][]float64   // tables weighted by the present λ
	src     []*rand.PCG   // random generators, one per draw
	sources []rand.Source // the generators of src as interfaces
	y       []int32       // draws, ordered by variable
	g       []float64     // violations of a part of the draws, bounds × draws
	size    []float64     // upper bound on |g_j| for each bound
	ctx     context.Context
	at      []float64 // multipliers at which curv was estimated; nil before the first estimate
	curv    []float64
	err     error
}

// term is a table that contributes to bound j with factor coef.
type term struct {
	j     int
	coef  float64
	scope []int32
}

// newFactored returns the factored dual function of l, or nil if l has no tables that allow one.
func newFactored(ctx context.Context, l *Lagrangian) (*factored, error) {
	cards, scopes, tables, ok := factorsOf(l.base)
	if !ok || l.values != nil || l.language != nil || l.beta != 1 && len(cards) > l.sites {
		return nil, nil // e.g. half the free energy of hidden units has no tables
	}
	f := &factored{l: l, base: len(scopes), offset: make([]float64, len(l.bounds)), size: make([]float64, len(l.bounds)), ctx: ctx}
	var err error
	if f.reduced, err = elimination.Reduce(cards, scopes, tables); err != nil {
		return nil, fmt.Errorf("dual: Solve: %w", err)
	}
	scopes, f.tables = f.reduced.Scopes, f.reduced.Tables
	for j := range l.bounds {
		b := &l.bounds[j]
		f.offset[j] = b.offset
		most := math.Abs(b.offset)
		for k, m := range b.models {
			own, s, t, ok := factorsOf(m)
			if !ok || len(own) > l.sites || !slices.Equal(own, cards[:l.sites]) {
				return nil, nil
			}
			for i, scope := range s {
				left := f.reduced.Table(own, scope, t[i])
				if !slices.ContainsFunc(left, func(v float64) bool { return v != left[0] }) {
					f.offset[j] += float64(b.coef[k] * left[0])
					most += math.Abs(float64(b.coef[k] * left[0]))
					continue
				}
				scopes, f.tables = append(scopes, f.reduced.Scope(scope)), append(f.tables, left)
				f.terms = append(f.terms, term{j, b.coef[k], scopes[len(scopes)-1]})
				most += float64(math.Abs(b.coef[k]) * largest(left))
			}
		}
		f.size[j] = most
	}
	plan, err := elimination.New(ctx, f.reduced.Cards, scopes, elimination.Options{})
	if err != nil {
		return nil, fmt.Errorf("dual: Solve: %w", err)
	}
	f.run = plan.NewRun()
	for _, t := range f.tables {
		f.now = append(f.now, make([]float64, len(t)))
	}
	n := (max(1024, draws*len(l.bounds)) + part - 1) / part * part
	f.curv = make([]float64, len(l.bounds)*len(l.bounds))
	for s := range n {
		f.src = append(f.src, rand.NewPCG(0, uint64(s)))
		f.sources = append(f.sources, f.src[s])
	}
	f.y, f.g = make([]int32, n*len(f.reduced.Cards)), make([]float64, part*len(l.bounds))
	return f, nil
}

// factorsOf returns the tables of a model. It also handles a model that is a sum over sites but not
// an energy.Factored. The result ok is false for all other models.
func factorsOf(m energy.Model) (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	if v, is := energy.As[energy.Varying](m); is {
		m = v.Now()
	}
	if f, is := energy.As[energy.Factored](m); is {
		return f.Factors()
	}
	t, ok := tableOf(m)
	if !ok {
		return nil, nil, nil, false
	}
	sites, levels := m.Shape()
	scopes, tables = [][]int32{nil}, [][]float64{t[:1]}
	for i := range sites {
		scopes, tables = append(scopes, []int32{int32(i)}), append(tables, t[1+i*levels:1+(i+1)*levels])
	}
	return slices.Repeat([]int32{int32(levels)}, sites), scopes, tables, true
}

// largest returns the largest absolute value among the finite entries of v.
func largest(v []float64) (most float64) {
	for _, x := range v {
		if check.Finite(x) {
			most = max(most, math.Abs(x))
		}
	}
	return most
}

// weigh computes the weighted tables. Tables of the base are multiplied by scale. A table of
// bound j is multiplied by lambda[j]/β and its coefficient.
func (f *factored) weigh(scale float64, lambda []float64) {
	for k, t := range f.tables {
		c := scale
		if k >= f.base {
			c = lambda[f.terms[k-f.base].j] * f.terms[k-f.base].coef / f.l.beta
		}
		for i, e := range t {
			f.now[k][i] = e
			if !math.IsInf(e, 1) {
				f.now[k][i] = c * e
			}
		}
	}
}

// Value returns the value of the dual function at the multipliers lambda, and stores its gradient
// in grad and its curvature in curv. It also stores in size[j] the scale of the violation g_j. This
// is the standard deviation of g_j or, if smaller, the sum of the mean deviations of the tables
// that make up g_j. It implements concave.Func.
func (f *factored) Value(lambda, grad, curv, size []float64) float64 {
	if f.err != nil {
		return math.NaN()
	}
	f.weigh(1/f.l.beta, lambda)
	copy(grad, f.offset)
	clear(size)
	logZ, err := f.run.Marginals(f.ctx, f.now, func(k int, p []float64) {
		if k < f.base {
			return
		}
		t := f.terms[k-f.base]
		mean := 0.0
		for i, v := range p {
			if v > 0 {
				mean += float64(v * f.tables[k][i])
			}
		}
		grad[t.j] += float64(t.coef * mean)
		for i, v := range p {
			if v > 0 {
				size[t.j] += math.Abs(float64(t.coef * float64(v*(f.tables[k][i]-mean))))
			}
		}
	}, nil)
	if err == nil && f.moved(lambda) {
		f.at = slices.Clone(lambda)
		err = f.covariance(grad, f.curv)
	}
	copy(curv, f.curv)
	for j := range size {
		if v := curv[j*len(size)+j]; v > 0 { // it is 0 if all draws are equal
			size[j] = min(size[j], math.Sqrt(v*f.l.beta))
		}
	}
	if err != nil {
		f.err = err
		return math.NaN()
	}
	value := -f.l.beta * logZ
	for j, b := range f.offset {
		value += float64(lambda[j] * b)
	}
	return value
}

// minVariance is the smallest variance of a bound, relative to the square of its size, that counts
// as variation. A bound with a smaller variance counts as fixed at its extreme value. A margin
// below rounded times the size counts as 0.
const (
	minVariance = 1e-11
	rounded     = 1e-10
)

// draws is the number of draws per bound for the estimate of the curvature. The error is then
// about a quarter in every direction (2·√(1/draws)), and a Newton step leaves a quarter of its
// error.
const draws = 64

// part is the number of draws whose products are added together.
const part = 512

// moved reports whether lambda is too far from the multipliers at which the curvature was
// estimated.
func (f *factored) moved(lambda []float64) bool {
	if f.at == nil {
		return true
	}
	for j, v := range lambda {
		if math.Abs(v-f.at[j]) > 1e-3*f.l.beta/f.size[j] {
			return true
		}
	}
	return false
}

// covariance stores in curv the covariance of the bounds divided by β. It estimates the covariance
// from draws at the present weighted tables.
func (f *factored) covariance(mean, curv []float64) error {
	n, m := len(f.src), len(f.offset)
	for s, r := range f.src {
		r.Seed(44, uint64(s)) // the same random numbers at every λ
	}
	if _, err := f.run.Prepare(f.ctx, f.now); err != nil {
		return err
	}
	if err := f.run.Draw(f.ctx, f.y, f.sources); err != nil {
		return err
	}
	clear(curv)
	at, first, products := make([]int, part), make([]int32, m), make([]float64, m)
	for j := range first {
		first[j] = int32(j * part)
	}
	for from := 0; from < n; from += part {
		for j := range m {
			row := f.g[j*part:][:part]
			for s := range row {
				row[s] = f.offset[j] - mean[j]
			}
		}
		for k, t := range f.terms {
			clear(at)
			for _, v := range t.scope {
				for s, l := range f.y[int(v)*n+from:][:part] {
					at[s] = at[s]*int(f.reduced.Cards[v]) + int(l)
				}
			}
			table, row := f.tables[f.base+k], f.g[t.j*part:][:part]
			for s, i := range at {
				row[s] += float64(t.coef * table[i])
			}
		}
		for j := range m {
			clear(products)
			simd.Dots(products[:j+1], part, f.g, first[:j+1], f.g[j*part:(j+1)*part])
			for i, v := range products[:j+1] {
				curv[j*m+i] += v
			}
		}
	}
	for j := range m {
		for i := range j + 1 {
			curv[j*m+i] /= float64(n) * f.l.beta
			curv[i*m+j] = curv[j*m+i]
		}
	}
	return nil
}

// margin returns the minimum of uᵀg over the support of the base.
func (f *factored) margin(u []float64) (float64, error) {
	f.weigh(0, u)
	_, e, err := f.run.Best(f.ctx, f.now, 1)
	if err != nil {
		return 0, err
	}
	margin := f.l.beta * e[0] // the bound tables are divided by β
	for j, b := range f.offset {
		margin += float64(u[j] * b)
	}
	return margin, nil
}

// solve returns the optimum. The search begins at the multipliers start.
func (f *factored) solve(start []float64) (*Solution, error) {
	n := len(start)
	top, err := concave.Maximize(f.ctx, f.Value, start, f.l.beta, f.l.equal)
	if f.err != nil {
		err = f.err
	}
	// the dual function overflows; the checks below decide what that means
	var away *concave.Unbounded
	if errors.As(err, &away) {
		top, err = &concave.Top{Lambda: away.Lambda, Last: away.Lambda, Residual: math.Inf(1)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dual: Solve: %w", err)
	}
	s := &Solution{Lambda: top.Lambda, Violation: make([]float64, n), Rows: f.l.rows}
	curv, size := make([]float64, n*n), make([]float64, n)
	if s.Dual = f.Value(s.Lambda, s.Violation, curv, size); f.err != nil {
		return nil, fmt.Errorf("dual: Solve: %w", f.err)
	}
	attained := top.Residual <= concave.Accepted
	var proofs [][]float64
	if !attained && tilt.SumAbs(top.Last) > 0 {
		proofs = append(proofs, tilt.Direction(top.Last))
	}
	// if a bound does not vary, it may be at its extreme value, where λ_j is infinite
	for j, v := range s.Lambda {
		if v != 0 && curv[j*n+j]*f.l.beta <= minVariance*f.size[j]*f.size[j] {
			u := make([]float64, n)
			u[j] = math.Copysign(1, v)
			proofs = append(proofs, u)
		}
	}
	for _, u := range proofs {
		margin, err := f.margin(u)
		if err != nil {
			return nil, fmt.Errorf("dual: Solve: %w", err)
		}
		most := 0.0
		for j, v := range u {
			most += math.Abs(float64(v * f.size[j]))
		}
		if margin >= -rounded*most {
			return nil, &DivergedError{Lambda: top.Last, Direction: u, Margin: max(0, margin), Steps: 1, Proven: margin > rounded*most, Rows: f.l.rows}
		}
	}
	if !attained {
		return nil, &UndecidedError{Lambda: s.Lambda, Violation: s.Violation, Deviation: size, Rows: f.l.rows}
	}
	return s, nil
}
