package diagnose

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Summary computes the summary of the draws so far. In full mode it takes O(S log S) time and O(S)
// memory for S draws of all chains; draws that only some chains have (see [Trace.Len]) are not
// included.
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
	s.Accept.set(share(accept, float64(accepts)))
	s.Moves.set(share(float64(moves), float64(draws)))
	for i := range t.names {
		s.Rows = append(s.Rows, t.row(i))
	}
	return s
}

// Row summarises one function, or "energy", "accept" or "moves", as [Trace.Summary] does for the
// functions. Errors are those of [Trace.Values], except that a streaming trace has rows for its
// functions.
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
	row.once = row.Q5.Value == row.Q95.Value && stretches(draws, row.Q50.Value) == 1
	n := len(draws[0])
	var means, within moments
	for _, x := range draws {
		m, v := meanVariance(x)
		means.add(m)
		within.add(v)
	}
	row.across(len(draws), n, means.variance(), within.mean)
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
		row.Time.set(float64(len(draws))*float64(n)/row.ESSMean.Value, nil)
	}
}

// stretches returns the number of stretches of draws other than v.
func stretches(draws [][]float64, v float64) (n int) {
	for _, x := range draws {
		away := false
		for _, u := range x {
			if u != v && !away {
				n++
			}
			away = u != v
		}
	}
	return n
}
