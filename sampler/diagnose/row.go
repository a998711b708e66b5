package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Estimate is a figure that may be undefined. Then Err says why, Value is 0,
// and Err wraps [ErrConstant], [ErrTooFew], [ErrRange], [ErrStreaming] or a
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
	Q5, Q50, Q95 Estimate // quantiles, interpolated linearly
	RHat         Estimate // [RHat]; in streaming mode as [RHatBasic]
	ESSBulk      Estimate // [ESSBulk]
	ESSTail      Estimate // [ESSTail]
	ESSMean      Estimate // [ESSMean]; in streaming mode (SD/MCSE)²
	Time         Estimate // integrated autocorrelation time in draws; [AutocorrelationTime]
}

// all returns all figures of the row.
func (r *Row) all() []*Estimate {
	return []*Estimate{&r.Mean, &r.SD, &r.MCSE, &r.Q5, &r.Q50, &r.Q95, &r.RHat, &r.ESSBulk, &r.ESSTail, &r.ESSMean, &r.Time}
}

// undefine gives figures the error err.
func (r *Row) undefine(err error, figures ...*Estimate) {
	for _, e := range figures {
		e.set(0, err)
	}
}

// summarizeDraws fills in the row from all draws.
func summarizeDraws(row *Row, draws [][]float64) {
	err := checkDraws(draws, 1)
	row.undefine(err, row.all()...)
	if err != nil && !errors.Is(err, ErrConstant) {
		return
	}
	mean, sd := meanSD(draws)
	ascending := sorted(draws)
	row.Mean.set(mean, nil)
	row.SD.set(sd, nil)
	if len(ascending) == 1 {
		row.SD.set(0, ErrTooFew)
	}
	row.Q5.set(quantile(ascending, tail), nil)
	row.Q50.set(quantile(ascending, 0.5), nil)
	row.Q95.set(quantile(ascending, 1-tail), nil)
	if err != nil {
		return
	}
	n := len(draws[0])
	row.undefine(tooFew(n, MinDraws), &row.MCSE, &row.ESSBulk, &row.ESSTail, &row.ESSMean, &row.Time)
	row.undefine(tooFew(n, minRHat), &row.RHat)
	if n < minRHat {
		return
	}
	halves := splitChains(draws)
	z := rankNormalize(halves)
	row.RHat.Value, row.RHat.Err = rhat(draws, z, row.Q50.Value)
	if n < MinDraws {
		return
	}
	row.ESSBulk.set(effective(z))
	row.ESSTail.set(essTail(draws, ascending))
	row.ESSMean.set(effective(halves))
	row.MCSE, row.Time = row.ESSMean, row.ESSMean
	if row.ESSMean.Defined() {
		row.MCSE.set(sd/math.Sqrt(row.ESSMean.Value), nil)
		row.Time.set(float64(len(draws)*n)/row.ESSMean.Value, nil)
	}
}
