package dual

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
)

// Certificate measures how well multipliers meet the optimality conditions (Karush, Kuhn
// and Tucker), with the Monte Carlo error of every figure.
type Certificate struct {
	Lambda      []float64 // λ̄
	Violation   []float64 // mean of g_j: ≤ 0 is feasible, at equalities 0
	ViolationSE []float64 // its standard error
	Slack       []float64 // λ̄_j times the violation: 0 at the optimum, in units of f0
	SlackSE     []float64 // its standard error
	RHat        []float64 // how far chains disagree, 1 if they do not; NaN where it is not defined
	ESS         []float64 // independent draws with the same standard error; NaN where R-hat is

	Steps  int  // dual steps, or draws per chain if Frozen, that it is computed from
	States int  // states per step
	Frozen bool // drawn at λ̄, not along the trajectory

	Equal []bool // rows that are equalities; nil if none is

	Max float64 // upper bound on every |λ_j|, +Inf if there is none

	most []float64 // the largest RHat of chains that have converged; nil means none has one

	// Dual is D(λ̄), a lower bound on the optimum, if HasDual: the target can
	// be enumerated and the certificate is a frozen one.
	Dual    float64
	HasDual bool
}

// Residual returns the largest of all violations and of all |slacks|, 0 if all
// are met.
func (c *Certificate) Residual() float64 {
	r := 0.0
	for j, v := range c.Violation {
		r = max(r, c.off(j, v), math.Abs(c.Slack[j]))
	}
	return r
}

// atMax is the part of Max from which a mean multiplier counts as being at it.
const atMax = 0.99

// worst describes the row that is farthest from what a tolerance asks for.
func (c *Certificate) worst(tol float64) string {
	row, most := 0, math.Inf(-1)
	for j, v := range c.Violation {
		over := max(c.off(j, v)+float64(confidence*c.ViolationSE[j]), math.Abs(c.Slack[j])+float64(confidence*c.SlackSE[j]))
		if c.most != nil && c.RHat[j] > c.most[j] {
			over = math.Inf(1)
		}
		if over > most {
			row, most = j, over
		}
	}
	j, want := row, "≤"
	if c.Equal != nil && c.Equal[j] {
		want = "within ±"
	}
	s := fmt.Sprintf("row %d has the violation %.4g ± %.2g, want %s %g with two standard errors to spare, and the slack %.4g ± %.2g, want within ±%g, at λ = %.6g", j, c.Violation[j], c.ViolationSE[j], want, tol, c.Slack[j], c.SlackSE[j], tol, c.Lambda[j])
	switch {
	case c.most != nil && c.RHat[j] > c.most[j]:
		s += fmt.Sprintf("; its chains disagree, R-hat = %.4g, want ≤ %.4g: run longer, or use a method that moves between their parts", c.RHat[j], c.most[j])
	case math.Abs(c.Lambda[j]) >= float64(atMax*c.Max):
		s += fmt.Sprintf(", which is at its bound Max = %g: raise it", c.Max)
	}
	return s
}

// off returns by how much a violation is one.
func (c *Certificate) off(j int, v float64) float64 {
	if c.Equal != nil && c.Equal[j] {
		return math.Abs(v)
	}
	return v
}

// confidence is the number of standard errors that Holds adds: a one-sided
// confidence of 97.7 % per figure.
const confidence = 2

// Converged reports whether chains agree in every row: an R-hat of at most 1.01, and what
// chance explains in a short run. Where they do not, each of them has seen a part of the
// distribution only, and standard errors mean little.
func (c *Certificate) Converged() bool {
	for j := range c.most {
		if c.RHat[j] > c.most[j] {
			return false
		}
	}
	return true
}

// Holds reports whether chains agree, every violation is ≤ tol and every slack within
// ±tol, two standard errors included.
func (c *Certificate) Holds(tol float64) bool {
	if !c.Converged() {
		return false
	}
	for j, v := range c.Violation {
		if !(c.off(j, v)+float64(confidence*c.ViolationSE[j]) <= tol && math.Abs(c.Slack[j])+float64(confidence*c.SlackSE[j]) <= tol) {
			return false
		}
	}
	return true
}

// Gap returns −Σ_j λ̄_j E[g_j] and its standard error, an upper bound that treats the
// slacks' errors as fully correlated. For a frozen certificate and feasible means it
// bounds how far the distribution at λ̄ is above the optimum of the constrained problem:
// its objective is D(λ̄) + Gap, and D(λ̄) is below the optimum.
func (c *Certificate) Gap() (gap, se float64) {
	for j, v := range c.Slack {
		gap -= v
		se += c.SlackSE[j]
	}
	return gap, se
}

// String returns a table.
func (c *Certificate) String() string {
	var b strings.Builder
	what := "along the trajectory"
	if c.Frozen {
		what = "at fixed λ"
	}
	fmt.Fprintf(&b, "%d steps of %d states %s\n%4s %12s %12s %10s %12s %10s %8s %8s", c.Steps, c.States, what, "j", "λ", "violation", "± se", "slack", "± se", "R-hat", "ESS")
	for j := range c.Lambda {
		fmt.Fprintf(&b, "\n%4d %12.5g %12.5g %10.2g %12.5g %10.2g %8.4g %8.3g", j, c.Lambda[j], c.Violation[j], c.ViolationSE[j], c.Slack[j], c.SlackSE[j], c.RHat[j], c.ESS[j])
		if math.Abs(c.Lambda[j]) >= float64(atMax*c.Max) {
			b.WriteString(" λ at its bound")
		}
	}
	if !c.Converged() {
		b.WriteString("\nnot converged: chains disagree")
	}
	if c.HasDual {
		fmt.Fprintf(&b, "\ndual value %.10g", c.Dual)
	}
	return b.String()
}

// newCertificate returns a certificate of multipliers, to be filled by set.
func newCertificate(lambda []float64, states int) *Certificate {
	m := len(lambda)
	return &Certificate{Lambda: lambda, States: states, Max: math.Inf(1),
		Violation: make([]float64, m), ViolationSE: make([]float64, m), Slack: make([]float64, m), SlackSE: make([]float64, m),
		RHat: slices.Repeat([]float64{math.NaN()}, m), ESS: make([]float64, m)}
}

// agree fills in what chains say of inequality j, whose mean varies by se within them.
func (c *Certificate) agree(j int, violation, se float64, a agreement) {
	se = max(se, a.se)
	c.set(j, violation, se)
	c.RHat[j], c.ESS[j] = a.rhat, math.NaN()
	if !math.IsNaN(a.rhat) {
		c.ESS[j] = a.variance / float64(se*se)
	}
	if c.most == nil {
		c.most = slices.Repeat([]float64{math.Inf(1)}, len(c.Lambda))
	}
	c.most[j] = a.limit
}

// set fills in the figures of inequality j.
func (c *Certificate) set(j int, violation, se float64) {
	l := c.Lambda[j]
	c.Violation[j], c.ViolationSE[j] = violation, se
	c.Slack[j], c.SlackSE[j] = float64(l*violation), 0
	if l != 0 {
		c.SlackSE[j] = math.Abs(float64(l * se))
	}
}

// Judge returns the certificate of independent samples x, states × sites, such as those
// of a diffusion, drawn at the multipliers lambda or on the way to them. The target is
// anything with violations: a [Target], or the predictor of a diffusion. Standard errors
// are those of independent draws; means of samples that shared multipliers while they
// were drawn vary less.
//
// It returns an error unless there are at least two whole samples and one finite
// multiplier ≥ 0 per inequality.
func Judge[S energy.Site](target interface {
	Len() int
	Sites() int
	Violation(g []float64, x []S)
}, lambda []float64, x []S) (*Certificate, error) {
	if err := check.Given("dual: Judge", "target", target); err != nil {
		return nil, err
	}
	m, sites := target.Len(), target.Sites()
	if sites < 1 {
		return nil, fmt.Errorf("dual: Judge: the target has %d sites, want ≥ 1", sites)
	}
	n := len(x) / sites
	if n < 2 || len(x)%sites != 0 {
		return nil, fmt.Errorf("dual: Judge: len(x) = %d, want a multiple of %d, ≥ 2 states", len(x), sites)
	}
	if len(lambda) != m {
		return nil, fmt.Errorf("dual: Judge: len(lambda) = %d, want %d", len(lambda), m)
	}
	if err := multiplier.Check("dual: Judge", lambda, equalities(target)); err != nil {
		return nil, err
	}
	g := make([]float64, n*m)
	target.Violation(g, x)
	b := Batch{States: n, Mean: make([]float64, m)}
	if err := b.Measure(g); err != nil {
		return nil, fmt.Errorf("dual: Judge: %w", err)
	}
	variance := make([]float64, m)
	b.Variance(variance)
	c := newCertificate(slices.Clone(lambda), n)
	c.Steps, c.Equal = 1, equalities(target)
	for j, v := range b.Mean {
		c.set(j, v, math.Sqrt(variance[j]/float64(n)))
		c.ESS[j] = float64(n)
	}
	return c, nil
}

// batchMeans returns the mean of a series of n values and its standard error by
// batch means with batches of ⌈√n⌉ (Flegal and Jones 2010), +Inf if there are
// fewer than two batches.
func batchMeans(n int, f func(t int) float64) (mean, se float64) {
	for t := range n {
		mean += f(t)
	}
	mean /= float64(n)
	size := int(math.Ceil(math.Sqrt(float64(n))))
	if n < 2 || n/size < 2 {
		return mean, math.Inf(1)
	}
	batches := n / size
	means := make([]float64, batches)
	center := 0.0
	for b := range means {
		for t := range size {
			means[b] += f(n - batches*size + b*size + t)
		}
		means[b] /= float64(size)
		center += means[b]
	}
	center /= float64(batches)
	squares := 0.0
	for _, v := range means {
		squares += float64((v - center) * (v - center))
	}
	return mean, math.Sqrt(squares / float64(batches-1) / float64(batches))
}
