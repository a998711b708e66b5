package diagnose

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Estimate is a figure that may be undefined. Then Err says why, Value is 0,
// and Err wraps [ErrConstant], [ErrTooFew], [ErrRange], [ErrStreaming], [ErrRanks] or a
// [*NotFinite]. Value never is NaN; an R̂ may be +Inf.
type Estimate struct {
	Value float64
	Err   error
}

// Defined tells whether there is a value.
func (e Estimate) Defined() bool { return e.Err == nil }

// String formats the value with four significant digits, or "–".
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

// MarshalJSON writes the value as a number; a figure that is not defined as
// {"undefined": reason}; and an R̂ of +Inf as {"infinite": true}, for which JSON
// has no number.
func (e Estimate) MarshalJSON() ([]byte, error) {
	switch {
	case !e.Defined():
		return json.Marshal(map[string]string{"undefined": fmt.Sprint(e.Err)})
	case math.IsInf(e.Value, 0) || math.IsNaN(e.Value):
		return []byte(`{"infinite":true}`), nil
	}
	return json.Marshal(e.Value)
}

// Row summarises one function over all chains.
type Row struct {
	Name         string
	Mean, SD     Estimate // of all draws; SD with divisor S − 1
	MCSE         Estimate // Monte Carlo standard error of Mean; [MCSEMean]
	MCSEChains   Estimate // the same by the means of the chains alone: their SD/√chains
	Q5, Q50, Q95 Estimate // quantiles, interpolated linearly
	RHat         Estimate // [RHat]; in streaming mode and of a [Tally] as [RHatBasic]
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
