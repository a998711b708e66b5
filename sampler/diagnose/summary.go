package diagnose

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Thresholds of the warnings: draws are good enough if R̂ < 1.01 and the bulk
// and tail ESS exceed 400 (Vehtari et al. 2021, recommendations).
const (
	RHatLimit = 1.01
	ESSLimit  = 400
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
	for c := range t.records {
		r := &t.records[c]
		draws += r.draws
		moves += r.moves
		accepts += r.accepts
		accept += r.accept
		s.Invalid += r.invalid
	}
	s.Accept.set(ratio(accept, accepts))
	s.Moves.set(ratio(float64(moves), draws))
	for i, name := range t.names {
		row := Row{Name: name}
		if t.streaming {
			chains := make([]*series, len(t.records))
			for c := range chains {
				chains[c] = &t.records[c].condense[i]
			}
			summarizeBatches(&row, chains)
		} else {
			summarizeDraws(&row, t.column(columnFirst+i))
		}
		s.Rows = append(s.Rows, row)
	}
	return s
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

// Warnings returns what speaks against using the draws, a sentence each: rows
// with R̂ > [RHatLimit] or an ESS < [ESSLimit], rows whose R̂ is undefined, and
// invalid evaluations.
func (s Summary) Warnings() []string {
	var w []string
	add := func(format string, a ...any) { w = append(w, fmt.Sprintf(format, a...)) }
	for _, r := range s.Rows {
		switch {
		case errors.Is(r.RHat.Err, ErrConstant):
			add("%s: all draws are equal, so mixing cannot be judged", r.Name)
		case !r.RHat.Defined():
			add("%s: %v", r.Name, r.RHat.Err)
		case r.RHat.Value > RHatLimit:
			add("%s: R-hat = %s > %v: the chains have not mixed", r.Name, r.RHat.format('f', 3), RHatLimit)
		}
		bulk := "bulk ESS"
		if s.Streaming {
			bulk, r.ESSBulk = "ESS of the mean", r.ESSMean
		}
		for _, e := range []struct {
			name string
			ess  Estimate
		}{{bulk, r.ESSBulk}, {"tail ESS", r.ESSTail}} {
			if e.ess.Defined() && e.ess.Value < ESSLimit {
				add("%s: %s = %s < %d: estimates are unreliable", r.Name, e.name, e.ess.format('f', 0), ESSLimit)
			}
		}
	}
	if s.Invalid > 0 {
		add("%d evaluations gave NaN", s.Invalid)
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
	row.undefine(tooFew(n, MinDraws), &row.MCSE, &row.ESSBulk, &row.ESSTail, &row.ESSMean)
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
	row.MCSE = row.ESSMean
	if row.MCSE.Defined() {
		row.MCSE.set(sd/math.Sqrt(row.ESSMean.Value), nil)
	}
}

// ratio divides a sum by a count.
func ratio(sum float64, count int) (float64, error) {
	if count == 0 {
		return 0, ErrTooFew
	}
	return sum / float64(count), nil
}
