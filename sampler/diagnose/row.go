package diagnose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Row summarises one function over all chains.
type Row struct {
	Name         string
	Mean, SD     Estimate // of all draws; SD with divisor S − 1
	MCSE         Estimate // Monte Carlo standard error of Mean; [MCSEMean]
	MCSEChains   Estimate // the same by the means of the chains alone: their SD/√chains
	Q5, Q50, Q95 Estimate // quantiles, interpolated linearly
	RHat         Estimate // [RHat]; in streaming mode and of a [Tally] as [rHatBasic]
	RHatNested   Estimate // nested R̂ of Margossian et al. 2024; chains of a [Trace] are groups of one
	ESSBulk      Estimate // [ESSBulk]
	ESSTail      Estimate // [ESSTail]
	ESSMean      Estimate // [ESSMean]; in streaming mode (SD/MCSE)²
	Time         Estimate // integrated autocorrelation time in draws; [AutocorrelationTime]
}

// all returns all figures of the row.
func (r *Row) all() []*Estimate {
	return []*Estimate{&r.Mean, &r.SD, &r.MCSE, &r.MCSEChains, &r.RHatNested, &r.Q5, &r.Q50, &r.Q95, &r.RHat, &r.ESSBulk, &r.ESSTail, &r.ESSMean, &r.Time}
}

// across fills in the figures that compare chains, from the variance of their means,
// if there are two or more, and the mean of their variances.
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

// undefine gives figures the error err.
func (r *Row) undefine(err error, figures ...*Estimate) {
	for _, e := range figures {
		e.set(0, err)
	}
}

// mixed is what R̂ says.
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

// wraps and joins are what package errors asks of an error that wraps others.
type (
	wraps interface{ Unwrap() error }
	joins interface{ Unwrap() []error }
)

// hollow reports whether err is, or wraps, an interface that holds nil, which package
// errors cannot ask: its methods may need a value.
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

// few is what an effective sample size says.
func (r *Row) few(ess Estimate, figure, name string) []Reason {
	if !ess.Defined() || ess.Value >= essLimit {
		return nil
	}
	return []Reason{{
		Row: r.Name, Figure: figure, Value: ess.Value, Limit: essLimit, Advice: adviceLonger,
		Text: fmt.Sprintf("%s: %s = %s < %d: estimates are unreliable", r.Name, name, ess.format('f', 0), essLimit),
	}}
}
