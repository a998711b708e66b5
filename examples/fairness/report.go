package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as a table or as JSON. Values that were not computed
// are omitted.
type report struct {
	Roster      string   `json:"roster"`
	Nurses      int      `json:"nurses"`
	Shifts      int      `json:"shifts"`
	Chains      int      `json:"chains"`
	Steps       int      `json:"steps"`
	Seed        uint64   `json:"seed"`
	Constraints []mean   `json:"constraints"`
	Course      []moment `json:"course"`
	Residual    float64  `json:"residual"` // residual of the optimality conditions
	Certified   bool     `json:"certified"`
	Tol         float64  `json:"tol"` // tolerance of the certificate
	Rounds      int      `json:"rounds"`
	Warning     string   `json:"warning,omitempty"`
	Violations  int      `json:"violations"`
	Exact       string   `json:"exact"` // which distribution the rosters follow

	// mean energy, the nurses' discontent, without limits
	Before  *float64 `json:"energy_before,omitempty"`
	Average *float64 `json:"energy_average,omitempty"`
	// mean energy if each single roster had to satisfy the limits
	Each *float64 `json:"energy_each,omitempty"`

	// KL divergence from the distribution without limits, in nats
	Nats     float64  `json:"nats_average"`
	NatsSE   float64  `json:"nats_average_mcse"`
	NatsEach *float64 `json:"nats_each,omitempty"`
	EachSE   *float64 `json:"nats_each_mcse,omitempty"`
	// share of the sampled rosters that satisfy all limits
	Meet *float64 `json:"rosters_that_meet_all,omitempty"`

	picture.Album `json:"-"`
}

// mean describes one bounded mean: its limit, estimates without and with multipliers, and its
// multiplier.
type mean struct {
	Name   string  `json:"name"`
	Limit  float64 `json:"limit"`
	Before float64 `json:"mean_before"`
	Mean   float64 `json:"mean"`
	MCSE   float64 `json:"mcse"`
	Lambda float64 `json:"lambda"`
}

// moment is one dual step: the sum of the multipliers and the largest violation of a batch mean.
type moment struct {
	Step  int     `json:"step"`
	Sum   float64 `json:"sum_lambda"`
	Worst float64 `json:"worst"`
}

func newReport(o options, s *study) *report {
	return &report{Roster: s.name, Nurses: len(s.nurses), Shifts: len(s.shifts), Chains: o.chains, Steps: o.steps, Seed: o.seed, Exact: follows}
}

// settle fills in the results. With Z the partition sum and g the violations, E_λ[1{g ≤
// 0}·e^{λᵀg}] = Z_each/Z_λ. Limits on each roster therefore cost −log of this ratio more than
// −log Z_λ/Z_0.
func (r *report) settle(s *study) {
	way, before, after, ratio, se := s.was.Way, &s.was.Before, &s.was.After, s.was.Ratio, s.was.SE
	c := after.Cert
	r.Nats, r.NatsSE = -ratio, se
	for j, l := range s.limits {
		r.Constraints = append(r.Constraints, mean{l.name, l.most, l.most + before.Cert.Violation[j], l.most + c.Violation[j], c.ViolationSE[j], c.Lambda[j]})
		r.Nats -= c.Lambda[j] * c.Violation[j]
	}
	r.Steps = len(way)
	for t := 0; t < len(way); t = 2*t + 1 {
		r.Course = append(r.Course, way[t].moment(t))
	}
	r.Course = append(r.Course, way[len(way)-1].moment(len(way)-1))
	r.Residual = c.Residual()
	for _, n := range s.was.Wrong {
		r.Violations += n
	}
	r.Before, r.Average, r.Meet = before.Energy.pointer(), after.Energy.pointer(), after.Meets.pointer()
	if w := after.Weight; w.Defined && w.Value > 0 {
		nats, each := -ratio-math.Log(w.Value), after.Weighted.Value/w.Value
		r.NatsEach, r.Each = &nats, &each
		if after.WeightSE.Defined {
			both := math.Hypot(se, after.WeightSE.Value/w.Value)
			r.EachSE = &both
		}
	}
}

// certified fills in the certificate's results, and sets a warning if the certificate does not
// hold.
func (r *report) certified(o options, s *study) {
	c := s.was.After.Cert
	r.Certified, r.Tol, r.Rounds = c.Holds(slacks*o.tol), o.tol, s.was.Rounds
	if r.Certified {
		return
	}
	worst := 0
	over := func(j int) float64 { return (c.Violation[j] + 2*c.ViolationSE[j]) / s.limits[j].tol }
	for j := range c.Violation {
		if over(j) > over(worst) {
			worst = j
		}
	}
	r.Warning = fmt.Sprintf("the certificate does not hold within %g after %d rounds", o.tol, r.Rounds)
	if l := s.limits[worst]; over(worst) > 1 {
		r.Warning += fmt.Sprintf(": %s has %.3f ± %.3f, the limit is %.3f", l.name, l.most+c.Violation[worst], c.ViolationSE[worst], l.most)
	}
	r.Warning += "; raise -rounds, or -tol"
}

// course records every dual step: its multipliers and the mean violations of its batch.
type course []leg

type leg struct{ Lambda, Mean []float64 }

func (c *course) add(_ int, lambda, mean []float64) {
	*c = append(*c, leg{slices.Clone(lambda), slices.Clone(mean)})
}

func (l leg) moment(t int) moment {
	m := moment{Step: t + 1, Worst: slices.Max(l.Mean)}
	for _, v := range l.Lambda {
		m.Sum += v
	}
	return m
}

// pointer returns a pointer to the value, or nil if it is not defined.
func (f figure) pointer() *float64 {
	if !f.Defined {
		return nil
	}
	return &f.Value
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d nurses, %d shifts; %d chains, %d dual steps, seed %d\n\n", r.Roster, r.Nurses, r.Shifts, r.Chains, r.Steps, r.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "dual step\tsum of lambda\tworst batch mean\t")
	for _, m := range r.Course {
		fmt.Fprintf(w, "%d\t%.3f\t%+.3f\t\n", m.Step, m.Sum, m.Worst)
	}
	w.Flush()
	fmt.Fprintln(&b)
	fmt.Fprintln(w, "mean of\tat most\twithout\twith\tMCSE\tlambda\t")
	for _, c := range r.Constraints {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t\n", c.Name, c.Limit, c.Before, c.Mean, c.MCSE, c.Lambda)
	}
	w.Flush()
	fmt.Fprintf(&b, "\noptimality conditions met within %.3f; rosters with a wrong shift: %d\n", r.Residual, r.Violations)
	if r.Certified {
		fmt.Fprintf(&b, "no mean is more than %g, or a hundredth of its limit, above it, two standard errors included (rounds: %d)\n\n", r.Tol, r.Rounds)
	} else {
		fmt.Fprintf(&b, "WARNING: %s\n\n", r.Warning)
	}
	fmt.Fprintln(w, "limits\tmean discontent\tnats from no limits\t")
	fmt.Fprintf(w, "none\t%s\t0\t\n", show("%.2f", r.Before))
	fmt.Fprintf(w, "on average\t%s\t%.2f ± %.2f\t\n", show("%.2f", r.Average), r.Nats, r.NatsSE)
	fmt.Fprintf(w, "on each roster\t%s\t%s%s\t\n", show("%.2f", r.Each), show("%.2f", r.NatsEach), show(" ± %.2f", r.EachSE))
	w.Flush()
	fmt.Fprintln(&b, r.Exact)
	if r.Meet != nil {
		fmt.Fprintf(&b, "of the rosters that are fair on average, %.2f %% meet every limit by themselves\n", 100**r.Meet)
	}
	return b.String()
}

// follows says which distribution the rosters follow.
const follows = "the chains have the model with its multipliers, given the needs of every shift, as their stationary distribution; the MCSE is the error of a mean"

func show(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

// Warnings returns the certificate's warning, if there is one.
func (r *report) Warnings() []string {
	if r.Warning == "" {
		return nil
	}
	return []string{r.Warning}
}
