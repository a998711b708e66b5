package diagnose

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Summary holds the diagnostics of a [Trace] or a [Tally]. When printed, it is a table similar to
// Stan's, followed by warnings.
type Summary struct {
	Rows      []Row // diagnostics, one row per function
	Chains    int   // number of chains
	Draws     int   // number of draws per chain, see [Trace.Len]
	Streaming bool  // whether the trace is from [NewStreamingTrace]
	// Merged reports whether the summary is from a [Tally]. Estimates that need ranks are then
	// undefined.
	Merged  bool
	Seconds float64 // duration of the run in seconds, set by the caller; 0 means unknown

	Accept  Estimate // mean acceptance probability in the last step before each draw
	Moves   Estimate // mean number of sites changed in the last step before each draw
	Invalid int      // number of proposals with energy NaN or −Inf, in the last step before each draw
}

// ranked reports whether the estimates that need the ranks of draws are defined.
func (s Summary) ranked() bool { return !s.Streaming && !s.Merged }

// ESSPerSecond returns the bulk effective sample size of the given row divided by Seconds. In
// streaming mode and for a [Tally] it uses the effective sample size of the mean. If Seconds is 0,
// the error of the estimate is [ErrTooFew].
func (s Summary) ESSPerSecond(row int) Estimate {
	check.Index("diagnose", "row", row, len(s.Rows))
	e := s.Rows[row].ESSBulk
	if !s.ranked() {
		e = s.Rows[row].ESSMean
	}
	if e.Defined() && !(s.Seconds > 0) {
		e.set(0, fmt.Errorf("diagnose: Summary.Seconds = %v, want > 0: %w", s.Seconds, ErrTooFew))
	}
	if e.Defined() {
		e.Value /= s.Seconds
	}
	return e
}

// Reasons returns the reasons not to use the draws, or nil if there are none. They are
//
//   - an evaluation that returned NaN,
//   - an R-hat above 1.01, or undefined,
//   - an effective sample size below 400, or at its cap,
//   - a function that has the same value in all draws except for one stretch of one chain.
func (s Summary) Reasons() []Reason {
	var w []Reason
	for _, r := range s.Rows {
		w = append(w, r.mixed()...)
		bulk, figure, of := r.ESSBulk, "ess_bulk", "bulk ESS"
		if !s.ranked() {
			bulk, figure, of = r.ESSMean, "ess_mean", "ESS of the mean"
		}
		w = append(w, r.few(bulk, figure, of)...)
		w = append(w, r.few(r.ESSTail, "ess_tail", "tail ESS")...)
		w = append(w, r.capped(bulk, s.Chains*s.Draws, figure, of)...)
		w = append(w, r.rare()...)
	}
	if s.Invalid > 0 {
		w = append(w, Reason{
			Figure: "invalid", Value: float64(s.Invalid), Advice: adviceInvalid,
			Text: fmt.Sprintf("%d evaluations gave NaN", s.Invalid),
		})
	}
	return w
}

// Warnings returns the text of each reason in [Summary.Reasons].
func (s Summary) Warnings() []string {
	var w []string
	for _, r := range s.Reasons() {
		w = append(w, r.Text)
	}
	return w
}

// String returns the summary as a table: a line about the run, one line per function, and the
// warnings.
func (s Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d chains × %d draws, acceptance %v, %v moves per step\n", s.Chains, s.Draws, s.Accept, s.Moves)
	if len(s.Rows) > 0 {
		b.WriteByte('\n')
	}
	writeTable(&b, s.table())
	if s.Merged {
		b.WriteString("\nRank statistics (quantiles, bulk and tail ESS, rank-normalised R-hat) do not merge.\n")
	}
	if w := s.Warnings(); len(w) > 0 {
		b.WriteString("\nWarning: " + strings.Join(w, "\nWarning: ") + "\n")
	}
	return b.String()
}

func (s Summary) table() [][]string {
	head := []string{"", "Mean", "MCSE", "StdDev", "5%", "50%", "95%", "ESS_bulk", "ESS_tail"}
	if !s.ranked() {
		head = []string{"", "Mean", "MCSE", "StdDev", "ESS_mean"}
	}
	if s.Merged {
		head = []string{"", "Mean", "MCSE", "MCSE_chains", "StdDev", "ESS_mean"}
	}
	if s.Seconds > 0 {
		head = append(head, "ESS/s")
	}
	head = append(head, "R_hat")
	if s.Merged {
		head = append(head, "R_hat_nested")
	}
	cells := [][]string{head}
	for i, r := range s.Rows {
		line := []string{r.Name, r.Mean.String(), r.MCSE.String()}
		if s.Merged {
			line = append(line, r.MCSEChains.String())
		}
		line = append(line, r.SD.String())
		if !s.ranked() {
			line = append(line, r.ESSMean.format('f', 0))
		} else {
			line = append(line, r.Q5.String(), r.Q50.String(), r.Q95.String(),
				r.ESSBulk.format('f', 0), r.ESSTail.format('f', 0))
		}
		if s.Seconds > 0 {
			line = append(line, s.ESSPerSecond(i).String())
		}
		line = append(line, r.RHat.format('f', 3))
		if s.Merged {
			line = append(line, r.RHatNested.format('f', 3))
		}
		cells = append(cells, line)
	}
	if len(s.Rows) == 0 {
		return nil
	}
	return cells
}

// writeTable writes cells as a table whose first column is left-aligned and whose other columns are
// right-aligned.
func writeTable(b *strings.Builder, cells [][]string) {
	var width []int
	for _, line := range cells {
		for k, cell := range line {
			if k == len(width) {
				width = append(width, 0)
			}
			width[k] = max(width[k], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range cells {
		for k, cell := range line {
			blank := strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell))
			if k == 0 {
				b.WriteString(cell + blank)
			} else {
				b.WriteString("  " + blank + cell)
			}
		}
		b.WriteByte('\n')
	}
}

// share returns sum/count, or ErrTooFew if count is 0.
func share(sum, count float64) (float64, error) {
	if count == 0 {
		return 0, ErrTooFew
	}
	return sum / count, nil
}

// MarshalJSON encodes the estimates and the warnings, each warning with its reason:
//
//	{"chains": 4, "draws": 1000, "accept": 0.57, "moves": 3.1, "invalid": 0,
//	 "rows": [{"name": "mag", "mean": 0.48, "sd": …, "mcse": …, "mcse_chains": …,
//	   "q5": …, "q50": …, "q95": …, "rhat": …, "rhat_nested": …, "ess_bulk": …,
//	   "ess_tail": …, "ess_mean": …, "time": …}],
//	 "warnings": [{"row": "mag", "figure": "rhat", "value": 1.2, "limit": 1.01,
//	   "text": …, "advice": …}]}
//
// It adds "streaming": true, "merged": true and "seconds" where they apply. Estimates have the
// format of [Estimate.MarshalJSON].
func (s Summary) MarshalJSON() ([]byte, error) {
	type row struct {
		Name   string   `json:"name"`
		Mean   Estimate `json:"mean"`
		SD     Estimate `json:"sd"`
		MCSE   Estimate `json:"mcse"`
		Apart  Estimate `json:"mcse_chains"`
		Q5     Estimate `json:"q5"`
		Q50    Estimate `json:"q50"`
		Q95    Estimate `json:"q95"`
		RHat   Estimate `json:"rhat"`
		Nested Estimate `json:"rhat_nested"`
		Bulk   Estimate `json:"ess_bulk"`
		Tail   Estimate `json:"ess_tail"`
		ESS    Estimate `json:"ess_mean"`
		Time   Estimate `json:"time"`
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
		Merged    bool      `json:"merged,omitempty"`
		Seconds   float64   `json:"seconds,omitempty"`
		Accept    Estimate  `json:"accept"`
		Moves     Estimate  `json:"moves"`
		Invalid   int       `json:"invalid"`
		Rows      []row     `json:"rows"`
		Warnings  []warning `json:"warnings"`
	}{
		Chains: s.Chains, Draws: s.Draws, Streaming: s.Streaming, Merged: s.Merged, Seconds: s.Seconds,
		Accept: s.Accept, Moves: s.Moves, Invalid: s.Invalid, Rows: []row{}, Warnings: []warning{},
	}
	for _, r := range s.Rows {
		out.Rows = append(out.Rows, row{r.Name, r.Mean, r.SD, r.MCSE, r.MCSEChains, r.Q5, r.Q50, r.Q95, r.RHat, r.RHatNested, r.ESSBulk, r.ESSTail, r.ESSMean, r.Time})
	}
	for _, w := range s.Reasons() {
		out.Warnings = append(out.Warnings, warning{w.Row, w.Figure, Estimate{Value: w.Value}, w.Limit, w.Text, w.Advice})
	}
	return json.Marshal(out)
}

// Thresholds of the warnings: the draws may be used if R̂ < 1.01 and the bulk and tail ESS exceed
// 400 (Vehtari et al. 2021, recommendations).
const (
	rHatLimit = 1.01
	essLimit  = 400
)

// Reason is a reason not to use the draws. A [Summary] shows it as a warning.
type Reason struct {
	Row string // name of the function; empty if the reason concerns the whole run
	// Figure is the name of the statistic: "rhat", "ess_bulk", "ess_tail", "ess_mean", "invalid" or
	// "visits". The statistic "visits" counts the stretches of consecutive draws in which the value
	// is not the most frequent one.
	Figure string
	Value  float64 // value of the statistic named by Figure; 0 if it is undefined
	Limit  float64 // bound that Value should not cross
	Text   string  // warning as a sentence, also returned by [Summary.Warnings]
	Advice string  // what the user can do to remove the reason
}

// String returns the warning as a sentence.
func (r Reason) String() string { return r.Text }

// Texts for Reason.Advice.
const (
	adviceMix      = "run longer; if that does not help, use another method or tempering, or look for chains stuck in modes of their own"
	adviceLonger   = "run longer or with more chains"
	adviceConstant = "observe a function that varies, or check that the chains move at all"
	adviceCapped   = "check that the function does not follow the parity of the step; the error is at most the one stated"
	adviceFinite   = "check the observed function"
	adviceInvalid  = "check the model: these proposals were rejected"
)
