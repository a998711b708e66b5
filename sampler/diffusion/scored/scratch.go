package scored

import "slices"

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

// newScratch makes room for samples of a shape. The configuration has no zeros.
func newScratch(cfg *Config, sites, levels int) scratch {
	k, n := max(cfg.Candidates, allLevels), cfg.Completions
	wide := cfg.Judge.Len()
	if cfg.Guide != nil {
		wide = max(wide, cfg.Guide.Len())
	}
	w := scratch{
		row: newRow(levels), clean: make([]int32, sites), order: make([]int, 0, sites),
		u:     make([]float64, max(n, sites, cfg.Candidates)),
		level: make([]int32, 0, k*n), weight: make([]float64, levels),
		token: make([]int32, 0, k), prior: make([]float64, 0, k), beside: make([]float64, 0, k), psi: make([]float64, k),
		states: make([]int32, k*n*sites), scores: make([]float64, k*n), g: make([]float64, k*n*wide),
	}
	if cfg.Within != nil {
		w.joint = make([]int32, cfg.Candidates*sites)
		w.table = make([]float32, sites*levels)
	}
	return w
}

// count adds a draw of a candidate.
func (w *scratch) count(l int32) {
	if c := slices.Index(w.token, l); c >= 0 {
		w.prior[c]++
		return
	}
	w.token, w.prior = append(w.token, l), append(w.prior, 1)
}

// share makes counts of n draws shares.
func (w *scratch) share(n int) {
	for c := range w.prior {
		w.prior[c] /= float64(n)
	}
}
