package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Row summarises the values of one function over all chains. It is a row of a [Summary].
type Row struct {
	Name string
	// Mean and SD are the mean and standard deviation of all S draws. The divisor of the variance
	// is S − 1.
	Mean, SD Estimate
	MCSE     Estimate // Monte Carlo standard error of Mean, see [MCSEMean]
	// MCSEChains is the standard error of Mean, estimated from the means of the chains alone. It is
	// the standard deviation of these means divided by √chains.
	MCSEChains   Estimate
	Q5, Q50, Q95 Estimate // 5 %, 50 % and 95 % quantiles of all draws, interpolated linearly
	// RHat is R-hat as the function [RHat] computes it. In streaming mode and for a [Tally], it is
	// the split R-hat without ranks.
	RHat Estimate
	// RHatNested is the nested R-hat of Margossian et al. 2024, which compares groups of chains and
	// is meant for many short chains. For a [Trace], every chain is a group of its own.
	RHatNested Estimate
	ESSBulk    Estimate // bulk effective sample size, see [ESSBulk]
	ESSTail    Estimate // tail effective sample size, see [ESSTail]
	// ESSMean is the effective sample size of the mean as the function [ESSMean] computes it. In
	// streaming mode it is (SD/MCSE)².
	ESSMean Estimate
	Time    Estimate // integrated autocorrelation time in draws, see [AutocorrelationTime]

	// The draws that differ from Q50 are one stretch of one chain, and fewer than 5 % of all draws.
	once bool
}

// all returns pointers to all estimates of the row.
func (r *Row) all() []*Estimate {
	return []*Estimate{&r.Mean, &r.SD, &r.MCSE, &r.MCSEChains, &r.RHatNested, &r.Q5, &r.Q50, &r.Q95, &r.RHat, &r.ESSBulk, &r.ESSTail, &r.ESSMean, &r.Time}
}

// across sets MCSEChains and RHatNested, which compare the chains. within is the mean of the
// variances of the chains, and between is the variance of their means, which is defined for at
// least two chains.
func (r *Row) across(chains, draws int, between, within float64) {
	r.MCSEChains.set(math.Sqrt(between/float64(chains)), nil)
	r.RHatNested.Value, r.RHatNested.Err = nestedScale(between, within)
	if chains < 2 {
		r.undefine(fmt.Errorf("1 chain, want ≥ 2: %w", ErrTooFew), &r.MCSEChains, &r.RHatNested)
	}
	if draws < 2 {
		r.undefine(tooFew(draws, 2), &r.RHatNested)
	}
}

// undefine marks the given estimates as undefined because of err.
func (r *Row) undefine(err error, figures ...*Estimate) {
	for _, e := range figures {
		e.set(0, err)
	}
}

// mixed returns a warning if R̂ is undefined or too large.
func (r *Row) mixed() []Reason {
	w := Reason{Row: r.Name, Figure: "rhat", Value: r.RHat.Value, Limit: rHatLimit}
	var bad *NotFinite
	switch {
	case hollow(r.RHat.Err):
		w.Text, w.Advice = fmt.Sprintf("%s: %v", r.Name, r.RHat.Err), adviceLonger
	case errors.Is(r.RHat.Err, ErrConstant):
		w.Text, w.Advice = r.Name+": all draws are equal, so mixing cannot be judged", adviceConstant
	case !r.RHat.Defined():
		w.Text, w.Advice = fmt.Sprintf("%s: %v", r.Name, r.RHat.Err), adviceLonger
		if errors.As(r.RHat.Err, &bad) || errors.Is(r.RHat.Err, ErrRange) {
			w.Advice = adviceFinite
		}
	case r.RHat.Value > rHatLimit:
		w.Text = fmt.Sprintf("%s: R-hat = %s > %v: the chains have not mixed", r.Name, r.RHat.format('f', 3), rHatLimit)
		w.Advice = adviceMix
	default:
		return nil
	}
	return []Reason{w}
}

// wraps and joins are the two interfaces through which package errors unwraps an error.
type (
	wraps interface{ Unwrap() error }
	joins interface{ Unwrap() []error }
)

// hollow reports whether err is, or wraps, a non-nil interface that holds a nil value. Package
// errors cannot check this, because the methods of such an error may panic.
func hollow(err error) bool {
	if err == nil {
		return false
	}
	if check.Nil(err) {
		return true
	}
	switch e := err.(type) {
	case wraps:
		return hollow(e.Unwrap())
	case joins:
		return slices.ContainsFunc(e.Unwrap(), hollow)
	}
	return false
}

// few returns a warning if the effective sample size ess is below essLimit. figure is its key in
// JSON, and name its name in the text.
func (r *Row) few(ess Estimate, figure, name string) []Reason {
	if !ess.Defined() || ess.Value >= essLimit {
		return nil
	}
	return []Reason{{
		Row: r.Name, Figure: figure, Value: ess.Value, Limit: essLimit, Advice: adviceLonger,
		Text: fmt.Sprintf("%s: %s = %s < %d: estimates are unreliable", r.Name, name, ess.format('f', 0), essLimit),
	}}
}

// capped returns a warning if the effective sample size ess is at its cap, so that its true value
// is not known. figure is its key in JSON, and name its name in the text.
func (r *Row) capped(ess Estimate, draws int, figure, name string) []Reason {
	most := essCap(float64(draws))
	if !ess.Defined() || !(ess.Value >= most) {
		return nil
	}
	return []Reason{{
		Row: r.Name, Figure: figure, Value: ess.Value, Limit: most, Advice: adviceCapped,
		Text: fmt.Sprintf("%s: %s = %s is the largest that is stated for %d draws: successive draws are so different that it is not known", r.Name, name, ess.format('f', 0), draws),
	}}
}

// rare returns a warning if all draws are equal except for one stretch of one chain.
func (r *Row) rare() []Reason {
	if !r.once {
		return nil
	}
	return []Reason{{
		Row: r.Name, Figure: "visits", Value: 1, Limit: 2, Advice: adviceLonger,
		Text: fmt.Sprintf("%s: all draws but one stretch of one chain are %v: how often it has other values is not known", r.Name, r.Q50),
	}}
}

// Estimate is a statistic that may be undefined. If it is undefined, Value is 0 and Err states the
// reason. Err wraps [ErrConstant], [ErrTooFew], [ErrRange], [ErrStreaming], [ErrRanks] or a
// [*NotFinite]. Value is never NaN, but an R-hat may be +Inf.
type Estimate struct {
	Value float64
	Err   error
}

// Defined reports whether the estimate has a value, that is, whether Err is nil.
func (e Estimate) Defined() bool { return e.Err == nil }

// String returns the value with four significant digits, or "–" if it is undefined.
func (e Estimate) String() string {
	if size := math.Abs(e.Value); size >= 1e4 && size < 1e9 {
		return e.format('f', 0) // 12345 rather than 1.234e+04
	}
	return e.format('g', 4)
}

func (e Estimate) format(verb byte, precision int) string {
	if !e.Defined() {
		return "–"
	}
	return strconv.FormatFloat(e.Value, verb, precision, 64)
}

func (e *Estimate) set(value float64, err error) {
	if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
		err = ErrRange
	}
	if err != nil {
		value = 0
	}
	e.Value, e.Err = value, err
}

// MarshalJSON encodes the value as a number, and an undefined estimate as {"undefined": reason}. An
// R-hat of +Inf, for which JSON has no number, becomes {"infinite": true}.
func (e Estimate) MarshalJSON() ([]byte, error) {
	switch {
	case !e.Defined():
		return json.Marshal(map[string]string{"undefined": fmt.Sprint(e.Err)})
	case math.IsInf(e.Value, 0) || math.IsNaN(e.Value):
		return []byte(`{"infinite":true}`), nil
	}
	return json.Marshal(e.Value)
}
