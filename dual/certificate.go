package dual

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
)

// Certificate measures how well multipliers satisfy the optimality conditions of Karush, Kuhn and
// Tucker. Each slice has one entry per row, that is, per inequality E[g_j] ≤ 0 or equality E[g_j] =
// 0 (see [Row]). All numbers are estimates with Monte Carlo errors.
type Certificate struct {
	Lambda []float64 // multipliers λ̄: their mean over the steps or, if Frozen, their fixed values
	// mean of each violation g_j; ≤ 0 if the constraint holds (0 for an equality)
	Violation   []float64
	ViolationSE []float64 // standard error of each Violation
	// λ̄_j times the mean violation of row j, in units of the base energy f0; 0 at the optimum
	Slack   []float64
	SlackSE []float64 // standard error of each Slack
	// R-hat (potential scale reduction factor) of the chains for each row; 1 if they agree, NaN if
	// undefined
	RHat []float64
	// largest RHat at which the chains count as converged, for each row; nil or +Inf if there is no
	// limit
	RHatLimit []float64
	// effective sample size: number of independent draws with the same standard error; NaN where
	// RHat is NaN
	ESS []float64

	// number of dual steps (updates of λ) that the certificate covers; if Frozen, the number of
	// draws per chain
	Steps  int
	States int // number of states measured per step, or per draw if Frozen
	// whether all samples were drawn at the fixed multipliers λ̄, instead of while λ moved
	Frozen bool

	Rows []Row // description of each constraint

	Max float64 // upper bound on every |λ_j|; +Inf if there is none

	// Dual is the dual value D(λ̄), a lower bound on the optimum. It is set only if HasDual is
	// true. This requires that Frozen is true and that the target can be enumerated.
	Dual    float64
	HasDual bool
}

// Residual returns the largest violation or absolute slack of any row. A slack is a multiplier
// times its mean violation. The residual is 0 if all optimality conditions hold.
func (c *Certificate) Residual() float64 {
	r := 0.0
	for j, v := range c.Violation {
		r = max(r, c.Rows[j].off(v), math.Abs(c.Slack[j]))
	}
	return r
}

// atMax is the fraction of Max at and above which a mean multiplier counts as being at Max.
const atMax = 0.99

// capped reports whether the multiplier of row j is at its bound Max.
func (c *Certificate) capped(j int) bool { return math.Abs(c.Lambda[j]) >= float64(atMax*c.Max) }

// disagrees reports whether the chains disagree on row j.
func (c *Certificate) disagrees(j int) bool { return c.RHatLimit != nil && c.RHat[j] > c.RHatLimit[j] }

// failures describes the rows that miss their conditions by more than tol, the worst rows first.
func (c *Certificate) failures(tol float64) string {
	var rows []int
	for j := range c.Violation {
		if c.over(j, tol) > 0 {
			rows = append(rows, j)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(c.over(b, tol), c.over(a, tol)) })
	var parts []string
	for _, j := range rows {
		parts = append(parts, c.failure(j, tol))
	}
	const most = 3
	if n := len(parts); n > most {
		parts = append(parts[:most], fmt.Sprintf("%d more rows", n-most))
	}
	return strings.Join(parts, "; ")
}

// over returns the amount by which row j misses its conditions, in multiples of the tolerance. It
// returns +Inf if the chains disagree. A result ≤ 0 means that the conditions hold.
func (c *Certificate) over(j int, tol float64) float64 {
	if c.disagrees(j) {
		return math.Inf(1)
	}
	own := c.Rows[j].tolerance(tol)
	violation := c.Rows[j].off(c.Violation[j]) + float64(confidence*c.ViolationSE[j]) - own
	slack := math.Abs(c.Slack[j]) + float64(confidence*c.SlackSE[j]) - tol
	if math.IsNaN(violation) || math.IsNaN(slack) {
		return math.Inf(1)
	}
	if own > 0 && tol > 0 {
		return max(violation/own, slack/tol)
	}
	return max(violation, slack)
}

// failure describes the figures of row j that miss their conditions.
func (c *Certificate) failure(j int, tol float64) string {
	r := c.Rows[j]
	s := fmt.Sprintf("%s has the mean %s ± %.2g, want %s within %g", r.label(j), estimate(r.value(c.Violation[j]), c.ViolationSE[j]), c.ViolationSE[j], r.limit(), r.tolerance(tol))
	s += fmt.Sprintf(", and the slack λ·g = %.4g ± %.2g, want within ±%g, two standard errors included, at λ = %.6g", c.Slack[j], c.SlackSE[j], tol, c.Lambda[j])
	return s + c.reason(j)
}

// reason describes likely causes of a failure of row j: a multiplier at its bound, or chains that
// disagree.
func (c *Certificate) reason(j int) (s string) {
	if c.capped(j) {
		s += fmt.Sprintf(", which is at its bound Max = %g: raise it, or relax the constraint", c.Max)
	}
	if c.disagrees(j) {
		s += fmt.Sprintf("; its chains disagree, R-hat = %.4g, want ≤ %.4g: run longer, or use a method that moves between their parts", c.RHat[j], c.RHatLimit[j])
	}
	return s
}

// held describes the rows whose constraint is violated although the multiplier is at its bound.
// It returns "" if there are none, or if there are too few steps for an error estimate.
func (c *Certificate) held() string {
	var parts []string
	for j, r := range c.Rows {
		if c.Max > 0 && c.capped(j) && r.off(c.Violation[j]) > r.Tolerance && !math.IsInf(c.ViolationSE[j], 1) {
			parts = append(parts, fmt.Sprintf("%s has the mean %s ± %.2g, want %s, at λ = %.6g%s", r.label(j), estimate(r.value(c.Violation[j]), c.ViolationSE[j]), c.ViolationSE[j], r.limit(), c.Lambda[j], c.reason(j)))
		}
	}
	return shortened(parts, "; ")
}

// confidence is the number of standard errors that [Certificate.Holds] adds to each figure. Two
// give a one-sided confidence of 97.7 % per figure.
const confidence = 2

// Converged reports whether the chains agree on the mean of every g_j. The test is R-hat, which
// compares the variance between chains with the variance within chains. The limit is 1.01, or
// higher in a short run, where chance alone raises R-hat. Chains that disagree have each seen only
// a part of the distribution, and standard errors are then unreliable.
func (c *Certificate) Converged() bool {
	for j := range c.Lambda {
		if c.disagrees(j) {
			return false
		}
	}
	return true
}

// Holds reports whether the optimality conditions hold within the tolerance tol:
//
//   - the chains agree (see [Certificate.Converged]);
//   - every mean violation is at most the constraint's own tolerance, or tol if it has none;
//   - every slack (a multiplier times its mean violation) is within ±tol.
//
// Violations and absolute slacks are increased by two standard errors before the comparison.
func (c *Certificate) Holds(tol float64) bool {
	for j := range c.Lambda {
		if !(c.over(j, tol) <= 0) {
			return false
		}
	}
	return true
}

// Gap returns −Σ_j λ̄_j E[g_j] and its standard error, where λ̄ are the multipliers and g_j the
// violations. Suppose that all samples were drawn at λ̄ (see Certificate.Frozen) and that their
// mean violations satisfy the constraints. The objective at λ̄ then exceeds the optimum by at most
// the gap. The standard error is the sum of the standard errors of the terms, and therefore an
// upper bound.
func (c *Certificate) Gap() (gap, se float64) {
	for j, v := range c.Slack {
		gap -= v
		se += c.SlackSE[j]
	}
	return gap, se
}

// String returns the table of [Certificate.Report] with tolerance 0.
func (c *Certificate) String() string {
	s := c.Report(0).String()
	for j := range c.Lambda {
		if c.capped(j) {
			s += fmt.Sprintf("\nλ of %s is at its bound Max = %g", c.Rows[j].label(j), c.Max)
		}
	}
	if !c.Converged() {
		s += "\nnot converged: chains disagree"
	}
	return s
}

// newCertificate returns a certificate of the multipliers lambda. The caller fills in the figures
// with set or agree.
func newCertificate(lambda []float64, rows []Row, states int) *Certificate {
	m := len(lambda)
	return &Certificate{Lambda: lambda, Rows: slices.Clone(rows), States: states, Max: math.Inf(1),
		Violation: make([]float64, m), ViolationSE: make([]float64, m), Slack: make([]float64, m), SlackSE: make([]float64, m),
		RHat: slices.Repeat([]float64{math.NaN()}, m), ESS: make([]float64, m)}
}

// agree stores the figures of row j and the agreement of its chains. se is the standard error of
// the mean within chains.
func (c *Certificate) agree(j int, violation, se float64, a agreement) {
	se = max(se, a.se)
	c.set(j, violation, se)
	c.RHat[j], c.ESS[j] = a.rhat, math.NaN()
	if !math.IsNaN(a.rhat) {
		c.ESS[j] = a.variance / float64(se*se)
	}
	if c.RHatLimit == nil {
		c.RHatLimit = slices.Repeat([]float64{math.Inf(1)}, len(c.Lambda))
	}
	c.RHatLimit[j] = a.limit
}

// set stores the violation and slack of row j with their standard errors.
func (c *Certificate) set(j int, violation, se float64) {
	l := c.Lambda[j]
	c.Violation[j], c.ViolationSE[j] = violation, se
	c.Slack[j], c.SlackSE[j] = float64(l*violation), 0
	if l != 0 {
		c.SlackSE[j] = math.Abs(float64(l * se))
	}
}

// Judge returns the certificate of independent samples, for example the output of a diffusion. The
// slice x holds the samples (states × sites). The target is a [Target], or the predictor of a
// diffusion. The argument lambda holds the multipliers at which the samples were drawn, or those
// that the diffusion reached. If the samples shared multipliers while they were drawn, the standard
// errors are overestimates.
//
// Judge returns an error if x holds fewer than two states or an incomplete state, or if the number
// of multipliers is wrong. Multipliers must be finite, and ≥ 0 for inequalities.
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
	if err := cmp.Or(
		check.If(n < 2 || len(x)%sites != 0, "dual: Judge: len(x) = %d, want a multiple of %d, ≥ 2 states", len(x), sites),
		check.If(len(lambda) != m, "dual: Judge: len(lambda) = %d, want %d", len(lambda), m),
	); err != nil {
		return nil, err
	}
	rows, equal, err := rowsOf(target, m)
	if err == nil {
		err = multiplier.Check("dual: Judge", lambda, equal)
	}
	if err != nil {
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
	c := newCertificate(slices.Clone(lambda), rows, n)
	c.Steps = 1
	for j, v := range b.Mean {
		c.set(j, v, math.Sqrt(variance[j]/float64(n)))
		c.ESS[j] = float64(n)
	}
	return c, nil
}

// batchMeans returns the mean of a series of n values f(0) … f(n−1) and its standard error. The
// error is estimated by batch means with batches of ⌈√n⌉ (Flegal and Jones 2010). It is +Inf if
// there are fewer than two batches.
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
