package diagnose

import (
	"errors"
	"fmt"
	"math"
)

// Summary returns the figures of the chains that t counts. If some of the run's are
// missing, it also returns an error that names them.
func (t *Tally) Summary() (Summary, error) {
	s := Summary{Chains: t.Chains(), Draws: t.run.draws, Merged: true}
	if t.empty() {
		return s, t.Missing()
	}
	s.Invalid = int(min(t.moves.invalid, math.MaxInt))
	s.Accept.set(share(t.moves.accept.float64(), float64(t.moves.accepts)))
	s.Moves.set(share(float64(t.moves.moved), float64(s.Chains)*float64(s.Draws)))
	for i := range t.rows {
		row := Row{Name: t.run.names[i]}
		t.rows[i].summarize(&row, s.Chains, s.Draws, t.run.nested)
		row.undefine(ErrRanks, &row.Q5, &row.Q50, &row.Q95, &row.ESSBulk, &row.ESSTail)
		s.Rows = append(s.Rows, row)
	}
	return s, t.Missing()
}

// LogMeanExp returns log((1/n) Σ exp(l)) over the n chains that t counts, l being
// the values of the first function, log-weights: a tally that
// TallyConfig.LogWeights asks for them keeps Σ exp(l) and Σ exp(2l) in exact sums,
// whatever the size of l, so parts merged in any order give the same bits. stdErr
// is the relative standard error of the mean of the weights, which is that of its
// logarithm to first order (0 of one chain says nothing), and ess is
// (Σw)²/Σw².
//
// Errors: a tally that does not keep them, a log-weight that is NaN, +Inf or beyond
// ±2²⁸, no positive weight (where mean is −Inf), and [Tally.Missing].
func (t *Tally) LogMeanExp() (mean, stdErr, ess float64, err error) {
	if err := t.Missing(); err != nil && t.empty() {
		return 0, 0, 0, err
	}
	if len(t.rows) == 0 || t.rows[0].weights == nil {
		return 0, 0, 0, errors.New("diagnose: Tally.LogMeanExp: the tally keeps no weights, see TallyConfig.LogWeights")
	}
	w := t.rows[0].weights
	if w.bad.some {
		return 0, 0, 0, fmt.Errorf("diagnose: Tally.LogMeanExp: chain %d: log-weight = %v, want −Inf … 2²⁸", w.bad.chain, w.bad.value)
	}
	mean, stdErr, ess, err = w.mean(t.Chains())
	if err != nil {
		return mean, 0, 0, fmt.Errorf("diagnose: Tally.LogMeanExp: %w", err)
	}
	return mean, stdErr, ess, t.Missing()
}
