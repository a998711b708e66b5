package diagnose

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Estimate is a figure that may be undefined. Then Value is 0 and Err states the reason;
// it wraps [ErrConstant], [ErrTooFew], [ErrRange], [ErrStreaming], [ErrRanks] or a
// [*NotFinite]. Value never is NaN; an R̂ may be +Inf.
type Estimate struct {
	Value float64
	Err   error
}

// Defined reports whether there is a value.
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
