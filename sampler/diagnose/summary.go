package diagnose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Summary is what a [Trace] says about a run. Printing it gives a table in the
// manner of Stan's, with warnings below.
type Summary struct {
	Rows      []Row   // one per function
	Chains    int     //
	Draws     int     // per chain; see [Trace.Len]
	Streaming bool    // from [NewStreamingTrace]
	Seconds   float64 // how long the run took: for the caller to set; 0 is unknown

	Accept  Estimate // mean acceptance probability of the steps that ended in a draw
	Moves   Estimate // mean number of sites that changed in one of them
	Invalid int      // evaluations in them that gave NaN
}

// Summary computes the summary of the draws so far. In full mode it takes
// O(S log S) time and O(S) memory for S draws of all chains; the draws that
// only some chains have (see [Trace.Len]) do not count.
func (t *Trace) Summary() Summary {
	s := Summary{Chains: t.Chains(), Draws: t.Len(), Streaming: t.streaming}
	var draws, moves, accepts int
	var accept float64
	for _, r := range t.records() {
		draws += r.draws
		moves += r.moves
		accepts += r.accepts
		accept += r.accept
		s.Invalid += r.invalid
	}
	s.Accept.set(ratio(accept, accepts))
	s.Moves.set(ratio(float64(moves), draws))
	for i := range t.names {
		s.Rows = append(s.Rows, t.row(i))
	}
	return s
}

// Row summarises one function, or "energy", "accept" or "moves", as
// [Trace.Summary] does the functions. Errors are those of [Trace.Draws], but that a
// streaming trace has rows of its functions.
func (t *Trace) Row(name string) (Row, error) {
	if i := slices.Index(t.names, name); i >= 0 {
		return t.row(i), nil
	}
	k, err := t.find(name)
	if err != nil {
		return Row{}, fmt.Errorf("diagnose: Row: %w", err)
	}
	row := Row{Name: name}
	summarizeDraws(&row, t.column(k))
	return row, nil
}

// row summarises function i.
func (t *Trace) row(i int) Row {
	row := Row{Name: t.names[i]}
	if !t.streaming {
		summarizeDraws(&row, t.column(columnFirst+i))
		return row
	}
	var chains []*series
	for _, r := range t.records() {
		chains = append(chains, &r.condense[i])
	}
	summarizeBatches(&row, chains)
	return row
}

// ESSPerSecond returns the bulk ESS (in streaming mode that of the mean) of one
// row divided by Seconds. Its error is [ErrTooFew] while Seconds is 0.
func (s Summary) ESSPerSecond(row int) Estimate {
	check.Index("diagnose", "row", row, len(s.Rows))
	e := s.Rows[row].ESSBulk
	if s.Streaming {
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

// Reasons returns what speaks against using the draws: rows with R̂ > [RHatLimit]
// or an ESS < [ESSLimit], rows whose R̂ is undefined, and invalid evaluations.
func (s Summary) Reasons() []Reason {
	var w []Reason
	for _, r := range s.Rows {
		w = append(w, r.mixed()...)
		bulk, figure, of := r.ESSBulk, "ess_bulk", "bulk ESS"
		if s.Streaming {
			bulk, figure, of = r.ESSMean, "ess_mean", "ESS of the mean"
		}
		w = append(w, r.few(bulk, figure, of)...)
		w = append(w, r.few(r.ESSTail, "ess_tail", "tail ESS")...)
	}
	if s.Invalid > 0 {
		w = append(w, Reason{
			Figure: "invalid", Value: float64(s.Invalid), Advice: adviceInvalid,
			Text: fmt.Sprintf("%d evaluations gave NaN", s.Invalid),
		})
	}
	return w
}

// Warnings returns the sentences of [Summary.Reasons].
func (s Summary) Warnings() []string {
	var w []string
	for _, r := range s.Reasons() {
		w = append(w, r.Text)
	}
	return w
}

// String returns the table: a line about the run, one line per function, and
// the warnings.
func (s Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d chains × %d draws, acceptance %v, %v moves per step\n", s.Chains, s.Draws, s.Accept, s.Moves)
	if len(s.Rows) > 0 {
		b.WriteByte('\n')
	}
	writeTable(&b, s.table())
	if w := s.Warnings(); len(w) > 0 {
		b.WriteString("\nWarning: " + strings.Join(w, "\nWarning: ") + "\n")
	}
	return b.String()
}

func (s Summary) table() [][]string {
	head := []string{"", "Mean", "MCSE", "StdDev", "5%", "50%", "95%", "ESS_bulk", "ESS_tail"}
	if s.Streaming {
		head = []string{"", "Mean", "MCSE", "StdDev", "ESS_mean"}
	}
	if s.Seconds > 0 {
		head = append(head, "ESS/s")
	}
	head = append(head, "R_hat")
	cells := [][]string{head}
	for i, r := range s.Rows {
		line := []string{r.Name, r.Mean.String(), r.MCSE.String(), r.SD.String()}
		if s.Streaming {
			line = append(line, r.ESSMean.format('f', 0))
		} else {
			line = append(line, r.Q5.String(), r.Q50.String(), r.Q95.String(),
				r.ESSBulk.format('f', 0), r.ESSTail.format('f', 0))
		}
		if s.Seconds > 0 {
			line = append(line, s.ESSPerSecond(i).String())
		}
		cells = append(cells, append(line, r.RHat.format('f', 3)))
	}
	if len(s.Rows) == 0 {
		return nil
	}
	return cells
}

// writeTable aligns the first column to the left and the others to the right.
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

// ratio divides a sum by a count.
func ratio(sum float64, count int) (float64, error) {
	if count == 0 {
		return 0, ErrTooFew
	}
	return sum / float64(count), nil
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
