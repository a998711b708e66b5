package scored

import "github.com/gibbsite-go/gibbsite/internal/simd"

// scratch belongs to one worker.
type scratch struct {
	row   row
	clean []int32 // a draw of all tokens, which decides what a step shows
	u     []float64
	order []int // sites to show, or to take back

	// Candidates for a site.
	token  []int32
	prior  []float64 // their shares without a look ahead, which sum to 1
	beside []float64 // log of p_i(v), less the log of the share that the language gives v
	psi    []float64
	joint  []int32   // draws of all tokens within the language
	states []int32   // completions, candidates × completions × sites
	scores []float64 // of those
	g      []float64
	table  []float32 // a prediction with one row changed, for languages

	// For the last mask.
	level  []int32
	weight []float64 // of every level, 0 where the judge refuses
}

func (e *engine) newScratch() scratch {
	k, n := max(e.cfg.Candidates, allLevels), e.cfg.Completions
	wide := e.cfg.Judge.Len()
	if e.cfg.Guide != nil {
		wide = max(wide, e.cfg.Guide.Len())
	}
	w := scratch{
		row: newRow(e.levels), clean: make([]int32, e.sites), order: make([]int, 0, e.sites),
		u:     make([]float64, max(n, e.sites, e.cfg.Candidates)),
		level: make([]int32, 0, k*n), weight: make([]float64, e.levels),
		token: make([]int32, 0, k), prior: make([]float64, 0, k), beside: make([]float64, 0, k), psi: make([]float64, k),
		states: make([]int32, k*n*e.sites), scores: make([]float64, k*n), g: make([]float64, k*n*wide),
	}
	if e.within != nil {
		w.joint = make([]int32, e.cfg.Candidates*e.sites)
		w.table = make([]float32, e.sites*e.levels)
	}
	return w
}

// show draws the token of the masked site i of a slot with a look ahead, and
// multiplies the weight of the slot by p_i(v)/q(v).
func (e *engine) show(w *scratch, s *slot, i int) error {
	if s.masks == 1 {
		return e.settle(w, s, i)
	}
	if err := w.row.load(s.v, i); err != nil {
		return err
	}
	var err error
	if e.within == nil {
		err = e.complete(w, s, i)
	} else {
		err = e.completeWithin(w, s, i)
	}
	if err != nil {
		return err
	}
	k, n := len(w.token), e.cfg.Completions
	chosen, mean := 0, 1.0
	w.psi = w.psi[:k]
	if k > 1 { // one candidate is taken whatever it promises
		set := e.cfg.Judge
		if e.cfg.Guide != nil && !s.mend { // where it misled, the judge leads
			set = e.cfg.Guide
		}
		s.judged += k * n
		if err := violations(w.scores[:k*n], w.g, set, w.states[:k*n*e.sites]); err != nil {
			return err
		}
		if e.exact {
			soften(w.psi, w.scores[:k*n], n, s.masks-1, e.sites)
			defend(w.psi, w.prior)
		} else {
			promise(w.psi, w.scores[:k*n], n)
		}
		mean = 0
		share := w.scores[:k]
		for c, p := range w.prior {
			share[c] = float64(p * w.psi[c])
			mean += share[c]
		}
		chosen = pickWeight(share, s.stream.Float64())
		mean /= w.psi[chosen]
	}
	s.logW += simd.Log(mean) + w.beside[chosen]
	s.put(i, w.token[chosen])
	if e.within != nil { // later draws of the same step must know
		own := s.v[i*e.levels : (i+1)*e.levels]
		own[w.token[chosen]] = 0
		only(own, w.token[chosen])
	}
	return nil
}
