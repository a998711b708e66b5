package scored

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// show draws the token of the masked site i of a path with a look-ahead. It multiplies the weight
// of the path by p_i(v)/q(v), where q is the distribution of the draw.
func (e *engine) show(w *scratch, p *path, i int) error {
	if p.masks == 1 {
		return e.settle(w, p, i)
	}
	if err := w.row.load(p.V, i); err != nil {
		return err
	}
	var err error
	if e.within == nil {
		err = e.complete(w, p, i)
	} else {
		err = e.completeWithin(w, p, i)
	}
	if err != nil {
		return err
	}
	k, n := len(w.token), e.cfg.Completions
	chosen, mean := 0, 1.0
	w.psi = w.psi[:k]
	if k > 1 { // a single candidate is always chosen
		set := e.cfg.Judge
		// where the guide was wrong, the judge replaces it
		if e.cfg.Guide != nil && !p.mend {
			set = e.cfg.Guide
		}
		p.judged += k * n
		if err := violations(w.scores[:k*n], w.g, set, w.states[:k*n*e.Sites]); err != nil {
			return err
		}
		if e.exact {
			soften(w.psi, w.scores[:k*n], n, p.masks-1, e.Sites)
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
		chosen = algebra.Pick(share, mean, &p.Stream)
		mean /= w.psi[chosen]
	}
	p.logW += simd.Log(mean) + w.logShare[chosen]
	p.put(i, w.token[chosen])
	if e.within != nil { // later draws of the same step depend on this token
		slots.OneHot(p.V[i*e.Levels:(i+1)*e.Levels], w.token[chosen])
	}
	return nil
}

// complete lists the candidates for site i, whose row is loaded, and fills in their remaining
// masks. All candidates use the same draws, which are independent across sites.
func (e *engine) complete(w *scratch, p *path, i int) error {
	w.token, w.prior, w.logShare = w.token[:0], w.prior[:0], w.logShare[:0]
	if total := w.row.total(); w.row.levels <= allLevels {
		for l, p := range w.row.p {
			if p > 0 {
				w.token = append(w.token, int32(l))
				w.prior = append(w.prior, float64(p)/total)
			}
		}
	} else {
		u := w.u[:e.cfg.Candidates]
		p.Stream.Float64s(u)
		for _, u := range u {
			w.count(w.row.pick(u))
		}
		w.share(len(u))
	}
	for range w.token {
		w.logShare = append(w.logShare, 0)
	}
	k, n := len(w.token), e.cfg.Completions
	if k == 1 {
		return nil
	}
	states := w.states[:k*n*e.Sites]
	for m := range n {
		copy(states[m*e.Sites:], p.X)
	}
	u := w.u[:n]
	for j := range p.X {
		if j == i || !p.masked(j) {
			continue
		}
		if err := w.row.load(p.V, j); err != nil {
			return err
		}
		p.Stream.Float64s(u)
		for m, u := range u {
			states[m*e.Sites+j] = w.row.pick(u)
		}
	}
	for c := 1; c < k; c++ {
		copy(states[c*n*e.Sites:], states[:n*e.Sites])
	}
	for c, l := range w.token {
		for m := c * n; m < (c+1)*n; m++ {
			states[m*e.Sites+i] = l
		}
	}
	return nil
}

// completeWithin does the work of complete for a language. Candidates are the levels that members
// of the language have at site i, weighted by the share of these members. Completions are joint
// draws within the language.
//
// A path draws level v with probability q(v), so its weight has the factor p_i(v)/q(v). Let Z be
// the weight of the language under the rows, and Z_v the weight of its members with x_i = v.
// Candidates have the shares Z_v/Z. So the weight has the factor p_i(v)·Z/Z_v in addition to that
// of the look-ahead.
func (e *engine) completeWithin(w *scratch, p *path, i int) error {
	n := e.cfg.Completions
	w.token, w.prior, w.logShare = w.token[:0], w.prior[:0], w.logShare[:0]
	copy(w.table, p.V)
	all := w.row.levels <= allLevels
	logZ := 0.0
	if all {
		for l, p := range w.row.p {
			if p > 0 {
				w.token = append(w.token, int32(l))
			}
		}
	} else {
		var err error
		if logZ, err = e.within.fill(e.Ctx, w.joint, p.V, e.Sites, &p.Stream); err != nil {
			return err
		}
		for c := range e.cfg.Candidates {
			w.count(w.joint[c*e.Sites+i])
		}
		w.share(e.cfg.Candidates)
	}
	var lse [1]float64
	own, given := w.table[i*e.Levels:(i+1)*e.Levels], p.V[i*e.Levels:(i+1)*e.Levels]
	simd.LogSumExp(lse[:], given, e.Levels)
	kept, top := 0, math.Inf(-1)
	for _, l := range w.token {
		copy(own, given)
		only(own, l)
		z, err := e.within.fill(e.Ctx, w.states[kept*n*e.Sites:(kept+1)*n*e.Sites], w.table, e.Sites, &p.Stream)
		if errors.Is(err, constraint.ErrInfeasible) && all {
			continue
		}
		if err != nil {
			return err
		}
		w.token[kept] = l
		w.logShare = append(w.logShare, float64(given[l])-lse[0]-z)
		if all {
			w.prior = append(w.prior, z)
			top = max(top, z)
		}
		kept++
	}
	w.token = w.token[:kept]
	if kept == 0 {
		return constraint.ErrInfeasible
	}
	if all {
		total := 0.0
		for c, z := range w.prior {
			w.prior[c] = simd.Exp(z - top)
			total += w.prior[c]
		}
		logZ = top + simd.Log(total)
		for c := range w.prior {
			w.prior[c] /= total
		}
	}
	for c := range w.logShare {
		w.logShare[c] += logZ
	}
	return nil
}

// settle draws the last token from its row, restricted to the levels that the judge accepts. If
// the judge accepts none, settle takes the level with the smallest violation and sets the weight
// of the path to 0.
func (e *engine) settle(w *scratch, p *path, i int) error {
	if err := w.row.load(p.V, i); err != nil {
		return err
	}
	if e.within != nil {
		copy(w.table, p.V)
	}
	clear(w.weight)
	w.level = w.level[:0]
	best, least := int32(-1), math.Inf(1)
	for l, weight := range w.row.p {
		if weight > 0 {
			ok, err := e.admits(w, p, i, int32(l))
			if err != nil {
				return err
			}
			if ok {
				w.level = append(w.level, int32(l))
			}
		}
		if n := len(w.level); n == 0 || n < cap(w.level) && l < e.Levels-1 {
			continue
		}
		var err error
		if best, least, err = e.decide(w, p, i, best, least); err != nil {
			return err
		}
		w.level = w.level[:0]
	}
	if best < 0 {
		return fmt.Errorf("scored: the language admits no token at site %d: %w", i, constraint.ErrInfeasible)
	}
	total := 0.0
	for _, weight := range w.weight {
		total += weight
	}
	if total == 0 {
		p.logW = math.Inf(-1)
		p.put(i, best)
		return nil
	}
	p.logW += simd.Log(total / w.row.total())
	p.put(i, int32(algebra.Pick(w.weight, total, &p.Stream)))
	return nil
}

// admits reports whether the language allows level l at site i, the only masked site.
func (e *engine) admits(w *scratch, p *path, i int, l int32) (bool, error) {
	if e.within == nil {
		return true, nil
	}
	own := w.table[i*e.Levels : (i+1)*e.Levels]
	copy(own, p.V[i*e.Levels:(i+1)*e.Levels])
	only(own, l)
	copy(w.clean, p.X)
	w.clean[i] = l
	return e.within.accepts(e.Ctx, w.clean, w.table)
}

// decide passes the listed levels at site i to the judge. It stores the weights of accepted levels.
// It updates and returns best, the level with the smallest violation so far, and least, that
// violation.
func (e *engine) decide(w *scratch, p *path, i int, best int32, least float64) (int32, float64, error) {
	n := len(w.level)
	for k, l := range w.level {
		x := w.states[k*e.Sites : (k+1)*e.Sites]
		copy(x, p.X)
		x[i] = l
	}
	p.judged += n
	if err := violations(w.scores[:n], w.g, e.cfg.Judge, w.states[:n*e.Sites]); err != nil {
		return best, least, err
	}
	for k, l := range w.level {
		v := w.scores[k]
		if v <= 0 {
			w.weight[l] = float64(w.row.p[l])
		}
		if best < 0 || v < least {
			best, least = l, v
		}
	}
	return best, least, nil
}

const (
	// least is the smallest value ψ of a candidate. It keeps every candidate possible, even if
	// all candidates look hopeless.
	least = 1e-9

	// narrow is the smallest standard deviation within candidates, relative to the spread of
	// all scores.
	narrow = 1e-3

	// defence is the share of the mean value that every candidate receives in exact sampling.
	// It bounds every factor of a weight by 1/defence. Without it the effective number of
	// paths is 1–4 %.
	defence = 0.1
)

// promise stores in psi, for each candidate, the share of feasible states among its n completions.
// The share is smoothed by the normal distribution Φ with the mean score of the candidate and the
// standard deviation sd pooled over all candidates,
//
//	ψ_v = max(1e-9, (#{m: S_vm ≤ 0} + Φ(−mean_v/sd))/(n+1)),
//
// where S_vm is the score of completion m of candidate v.
func promise(psi, s []float64, n int) {
	sd := deviation(s, n)
	for k := range psi {
		own, total := s[k*n:(k+1)*n], 0.0
		for _, v := range own {
			if v <= 0 {
				total++
			}
		}
		if mean, finite := centre(own); finite > 0 {
			total += float64(phi(distance(mean, sd)) * float64(finite) / float64(n))
		}
		psi[k] = max(least, total/float64(n+1))
	}
}

// centre returns the mean of the finite scores, and the number of finite scores.
func centre(s []float64) (mean float64, finite int) {
	for _, v := range s {
		if !math.IsInf(v, 0) {
			mean += v
			finite++
		}
	}
	return mean / float64(max(1, finite)), finite
}

// distance returns −mean/sd, or ±Inf if sd is 0.
func distance(mean, sd float64) float64 {
	switch {
	case sd > 0:
		return -mean / sd
	case mean <= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// soften stores in psi, for each candidate, the mean of e^{−max(0, S)/Θ} over the scores S of its
// n completions. Θ = ½·sd·left/sites, where left is the number of remaining masks.
func soften(psi, s []float64, n, left, sites int) {
	theta := float64(deviation(s, n)*float64(left)) / float64(2*sites)
	for k := range psi {
		total := 0.0
		for _, v := range s[k*n : (k+1)*n] {
			switch {
			case v <= 0:
				total++
			case theta > 0:
				total += simd.Exp(-v / theta)
			}
		}
		psi[k] = max(least, total/float64(n+1))
	}
}

// defend replaces every value in psi by a mixture of the value and the mean of psi under the prior.
// The share of the mean is the constant defence.
func defend(psi, prior []float64) {
	mean := 0.0
	for k, v := range psi {
		mean += float64(prior[k] * v)
	}
	for k, v := range psi {
		psi[k] = float64((1-defence)*v) + float64(defence*mean)
	}
}

// deviation returns the standard deviation of finite scores within candidates of n completions
// each. The result is at least a thousandth of the spread of all scores.
func deviation(s []float64, n int) float64 {
	lowest, highest := math.Inf(1), math.Inf(-1)
	squares, free := 0.0, 0
	for ; len(s) >= n; s = s[n:] {
		mean, finite := centre(s[:n])
		free += max(0, finite-1)
		for _, v := range s[:n] {
			if !math.IsInf(v, 0) {
				lowest, highest = min(lowest, v), max(highest, v)
				squares += float64((v - mean) * (v - mean))
			}
		}
	}
	if highest <= lowest {
		return 0 // all scores are equal, or none is finite
	}
	return max(math.Sqrt(squares/float64(max(1, free))), float64(narrow*(highest-lowest)))
}

// erfcTerms are the coefficients of the rational Chebyshev fit of the complementary error
// function with a relative error below 1.2e-7 (Press et al., Numerical Recipes, erfcc). math.Erfc
// is not used because its last bits differ between processors.
var erfcTerms = [...]float64{
	-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806,
	0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277,
}

// phi returns the standard normal distribution function at z.
func phi(z float64) float64 {
	x := math.Abs(z) / math.Sqrt2
	t := 1 / (1 + float64(x/2))
	sum := 0.0
	for k := len(erfcTerms) - 1; k >= 0; k-- {
		sum = float64(sum*t) + erfcTerms[k]
	}
	tail := float64(float64(t*simd.Exp(sum-float64(x*x))) / 2)
	if z > 0 {
		return 1 - tail
	}
	return tail
}

// row holds the weights of one row of log-weights and their cumulative sums, for many draws.
type row struct {
	p      []float32
	sum    []float64 // cumulative sums of p
	levels int       // number of levels with positive weight
}

func newRow(levels int) row {
	return row{p: make([]float32, levels), sum: make([]float64, levels)}
}

// load prepares the row of one site in the prediction v. It returns a [*diffusion.PredictionError]
// if the row has no weight or is not finite.
func (r *row) load(v []float32, site int) error {
	var total [1]float64
	v = v[site*len(r.p) : (site+1)*len(r.p)]
	simd.Weights(r.p, total[:], v, len(v), 0)
	if !(total[0] > 0) {
		return &diffusion.PredictionError{Site: site, Empty: total[0] == 0}
	}
	r.levels = 0
	reached := 0.0
	for l, p := range r.p {
		if p > 0 {
			r.levels++
			reached += float64(p)
		}
		r.sum[l] = reached
	}
	return nil
}

// total returns the sum of all weights.
func (r *row) total() float64 { return r.sum[len(r.sum)-1] }

// pick returns the level that a uniform number u in [0, 1) selects.
func (r *row) pick(u float64) int32 {
	goal := float64(u * r.total())
	k := sort.SearchFloat64s(r.sum, goal)
	// find the first level whose sum exceeds the goal
	for ; k < len(r.sum) && r.sum[k] <= goal; k++ {
	}
	// skip levels without weight at the end, which rounding can select
	for k = min(k, len(r.sum)-1); r.p[k] == 0; k-- {
	}
	return int32(k)
}

// only sets a row to −Inf except at one level, which keeps its log-weight.
func only(row []float32, level int32) {
	keep := row[level]
	for l := range row {
		row[l] = float32(math.Inf(-1))
	}
	row[level] = keep
}

// scratch is the memory of one worker.
type scratch struct {
	row row
	// draw of all tokens, from which the process determines the sites that a step reveals
	clean []int32
	u     []float64
	order []int // sites to reveal, or to mask again

	token []int32 // levels of the candidates for a site
	// prior share of each candidate without a look-ahead; the shares sum to 1
	prior    []float64
	logShare []float64 // log p_i(v) minus the log of the share that the language gives v
	psi      []float64 // value ψ of each candidate
	joint    []int32   // draws of all tokens within the language
	states   []int32   // completions, candidates × completions × sites
	scores   []float64 // scores of the completions in states
	g        []float64
	table    []float32 // prediction with one row changed, for languages

	level  []int32   // levels of the last mask that are to be judged
	weight []float64 // weight of every level of the last mask; 0 where the judge rejects
}

// newScratch allocates the scratch for samples of the given shape. cfg must have its defaults
// filled in.
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
		token: make([]int32, 0, k), prior: make([]float64, 0, k), logShare: make([]float64, 0, k), psi: make([]float64, k),
		states: make([]int32, k*n*sites), scores: make([]float64, k*n), g: make([]float64, k*n*wide),
	}
	if cfg.Within != nil {
		w.joint = make([]int32, cfg.Candidates*sites)
		w.table = make([]float32, sites*levels)
	}
	return w
}

// count increases the count of candidate l by one.
func (w *scratch) count(l int32) {
	if c := slices.Index(w.token, l); c >= 0 {
		w.prior[c]++
		return
	}
	w.token, w.prior = append(w.token, l), append(w.prior, 1)
}

// share divides the counts of n draws by n.
func (w *scratch) share(n int) {
	for c := range w.prior {
		w.prior[c] /= float64(n)
	}
}

// many is a drawer that can share work between draws from the same rows.
type many interface {
	// Sample fills dst with independent draws, each with the distribution of a draw by Draw.
	Sample(ctx context.Context, dst []int32, v []float32, src rand.Source) (logZ float64, err error)
}

// member is a drawer that can test whether a sequence belongs to its language.
type member interface{ Accepts(x []int32) bool }

// language restricts the completions to the sequences of a projector.
type language struct {
	slots.Drawer
	many   many   // draws many sequences at once; nil if the drawer cannot
	member member // tests membership; nil if the drawer cannot
}

// bindLanguage returns the language of a projector for the given shape.
func bindLanguage(ctx context.Context, p diffusion.Projector, sites, levels, samples int) (*language, error) {
	projection, err := p.Bind(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	l := &language{}
	if l.Drawer, err = slots.DrawerOf("scored: Config.Within", projection); err != nil {
		return nil, err
	}
	l.many, _ = projection.(many)
	l.member, _ = projection.(member)
	return l, nil
}

// fill fills dst with draws from the rows of v within the language.
func (l *language) fill(ctx context.Context, dst []int32, v []float32, sites int, src rand.Source) (logZ float64, err error) {
	if l.many != nil {
		return l.many.Sample(ctx, dst, v, src)
	}
	for ; len(dst) > 0; dst = dst[sites:] {
		if logZ, err = l.Draw(ctx, dst[:sites], v, src); err != nil {
			return 0, err
		}
	}
	return logZ, nil
}

// accepts reports whether x is in the language. The table v must give weight only to the tokens of
// x.
func (l *language) accepts(ctx context.Context, x []int32, v []float32) (bool, error) {
	if l.member != nil {
		return l.member.Accepts(x), nil
	}
	_, err := l.LogZ(ctx, v)
	if errors.Is(err, constraint.ErrInfeasible) {
		return false, nil
	}
	return err == nil, err
}
