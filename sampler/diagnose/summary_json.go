package diagnose

import (
	"encoding/json"
	"math"
)

// MarshalJSON writes the value as a number; a figure that is not defined as
// {"undefined": reason}; and an R̂ of +Inf as {"infinite": true}, for which JSON
// has no number.
func (e Estimate) MarshalJSON() ([]byte, error) {
	switch {
	case !e.Defined():
		return json.Marshal(map[string]string{"undefined": e.Err.Error()})
	case math.IsInf(e.Value, 0) || math.IsNaN(e.Value):
		return []byte(`{"infinite":true}`), nil
	}
	return json.Marshal(e.Value)
}

// MarshalJSON writes the figures, and the warnings with their reasons:
//
//	{"chains": 4, "draws": 1000, "accept": 0.57, "moves": 3.1, "invalid": 0,
//	 "rows": [{"name": "mag", "mean": 0.48, "sd": …, "mcse": …, "q5": …, "q50": …,
//	   "q95": …, "rhat": …, "ess_bulk": …, "ess_tail": …, "ess_mean": …, "time": …}],
//	 "warnings": [{"row": "mag", "figure": "rhat", "value": 1.2, "limit": 1.01,
//	   "text": …, "advice": …}]}
//
// and "streaming": true and "seconds" where they are so. Figures are as
// [Estimate.MarshalJSON] writes them.
func (s Summary) MarshalJSON() ([]byte, error) {
	type row struct {
		Name string   `json:"name"`
		Mean Estimate `json:"mean"`
		SD   Estimate `json:"sd"`
		MCSE Estimate `json:"mcse"`
		Q5   Estimate `json:"q5"`
		Q50  Estimate `json:"q50"`
		Q95  Estimate `json:"q95"`
		RHat Estimate `json:"rhat"`
		Bulk Estimate `json:"ess_bulk"`
		Tail Estimate `json:"ess_tail"`
		ESS  Estimate `json:"ess_mean"`
		Time Estimate `json:"time"`
	}
	type warning struct {
		Row    string   `json:"row,omitempty"`
		Figure string   `json:"figure"`
		Value  Estimate `json:"value"`
		Limit  float64  `json:"limit"`
		Text   string   `json:"text"`
		Advice string   `json:"advice"`
	}
	out := struct {
		Chains    int       `json:"chains"`
		Draws     int       `json:"draws"`
		Streaming bool      `json:"streaming,omitempty"`
		Seconds   float64   `json:"seconds,omitempty"`
		Accept    Estimate  `json:"accept"`
		Moves     Estimate  `json:"moves"`
		Invalid   int       `json:"invalid"`
		Rows      []row     `json:"rows"`
		Warnings  []warning `json:"warnings"`
	}{
		Chains: s.Chains, Draws: s.Draws, Streaming: s.Streaming, Seconds: s.Seconds,
		Accept: s.Accept, Moves: s.Moves, Invalid: s.Invalid, Rows: []row{}, Warnings: []warning{},
	}
	for _, r := range s.Rows {
		out.Rows = append(out.Rows, row{r.Name, r.Mean, r.SD, r.MCSE, r.Q5, r.Q50, r.Q95, r.RHat, r.ESSBulk, r.ESSTail, r.ESSMean, r.Time})
	}
	for _, w := range s.Reasons() {
		out.Warnings = append(out.Warnings, warning{w.Row, w.Figure, Estimate{Value: w.Value}, w.Limit, w.Text, w.Advice})
	}
	return json.Marshal(out)
}
