package diagnose

import "slices"

// KeepBest makes t keep the state of the lowest energy that each chain has been
// observed in. It returns t, and panics after the first draw.
func (t *Trace) KeepBest() *Trace {
	t.early("KeepBest")
	t.keepBest = true
	return t
}

// Best returns a copy of the observed state of the lowest energy so far and that
// energy in nats; of equal ones, the first of the first chain. It is an error if
// states were not kept ([Trace.KeepBest]) or no draw has had a known energy
// (ErrTooFew).
func (t *Trace) Best() (x []int32, energy float64, err error) {
	if !t.keepBest {
		return nil, 0, errNotKept("Best", "KeepBest")
	}
	var best *record
	for _, r := range t.records() {
		if r.best != nil && (best == nil || r.bestEnergy < best.bestEnergy) {
			best = r
		}
	}
	if best == nil {
		return nil, 0, ErrTooFew
	}
	return slices.Clone(best.best), best.bestEnergy, nil
}
