package diagnose

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
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
	Merged    bool    // from a [Tally]: figures that need ranks are not defined
	Seconds   float64 // how long the run took: for the caller to set; 0 is unknown

	Accept  Estimate // mean acceptance probability of the steps that ended in a draw
	Moves   Estimate // mean number of sites that changed in one of them
	Invalid int      // evaluations in them that gave NaN
}

// ranked reports whether figures that need the ranks of draws are defined.
func (s Summary) ranked() bool { return !s.Streaming && !s.Merged }

// ESSPerSecond returns the bulk ESS (in streaming mode and of a tally that of the mean) of one
// row divided by Seconds. Its error is [ErrTooFew] while Seconds is 0.
func (s Summary) ESSPerSecond(row int) Estimate {
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
		if !s.ranked() {
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

// share divides a sum by a count.
func share(sum, count float64) (float64, error) {
	if count == 0 {
		return 0, ErrTooFew
	}
	return sum / count, nil
}
