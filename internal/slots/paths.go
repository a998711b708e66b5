package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Renoiser holds the steps of a diffusion process that can move a state towards a given clean
// sample x0. It is the interface diffusion.Renoiser plus the method Next. Next returns the time s
// at which the next step ends.
type Renoiser interface {
	Next(x []int32, t float64, step, steps int, r *sampler.Stream) (s float64)
	Condition(v []float32, x []int32, t float64, leaveOneOut bool)
	Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream)
}

// Joint is a [Renoiser] that can also compute the probability of a step for each possible clean
// token. It is the interface diffusion.Joint plus the method Next.
type Joint interface {
	Renoiser
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Drawer has the methods of the interface diffusion.Drawer, for a projection onto a constraint set.
// Draw draws a sample from the prediction v under the condition that the constraint holds. LogZ
// returns the log of the probability of the constraint under v.
type Drawer interface {
	Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)
	LogZ(ctx context.Context, v []float32) (float64, error)
}

// committer is a copy of the interface diffusion.Committer, for a projection whose state depends on
// the samples committed so far.
type committer interface {
	Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error
}

// DrawerOf returns a projection as a Drawer, or an error if it is not a Drawer. It also returns an
// error if the projection remembers earlier samples, because the weights of [Paths] cannot account
// for these. Errors begin with caller.
func DrawerOf(caller string, projection any) (Drawer, error) {
	d, draws := projection.(Drawer)
	_, keeps := projection.(committer)
	return d, cmp.Or(
		check.If(!draws, "%s: the projection is a %T, want a diffusion.Drawer, which draws samples with their probabilities: use another Projector", caller, projection),
		check.If(keeps, "%s: the projection %T has a memory of earlier samples, which the weights of paths would ignore: use one without", caller, projection),
	)
}

// Joints converts the steps of a process to the type [Joint], which [Paths] requires. It returns an
// error if a step does not implement diffusion.Joint. The error begins with caller.
func Joints[T any](caller string, process any, steps []T) ([]Joint, error) {
	joint := make([]Joint, len(steps))
	for i, s := range steps {
		var ok bool
		if joint[i], ok = any(s).(Joint); !ok {
			return nil, fmt.Errorf("%s: %T cannot be weighed, because its steps have no joint probabilities (they are no diffusion.Joint): use another process, such as diffusion.Masked", caller, process)
		}
	}
	return joint, nil
}

// Paths draws token sequences by diffusion. The steps are conditioned on a constraint, which is a
// set C of sequences. For each path of states, Paths computes an importance weight. In the step
// from x_t to x_s the weight of a path is multiplied by
//
//	Z_C(p(·|x_s)) / Z_C(ρ),  ρ_i(v) ∝ p_i(v|x_t)·q(x_s,i | x_t,i, v),
//
// where p is the prediction, i a site, v a token, q the transition probability of the process, and
// Z_C(r) the total probability of C under r. The weight W of a path satisfies
//
//	E[W·1[path ends in x]] = p(x)·1[x ∈ C],
//
// where p(x) is the probability that the diffusion without the constraint ends in x, and 1[…] is 1
// if the condition holds and 0 otherwise.
//
// This holds only if paths can reach every state to which p gives probability. A prediction may
// exclude a token that a later one allows, for instance if it is restricted to the K likeliest
// tokens. Paths therefore draws from a defensive mixture in place of p (see [Mix]; Hesterberg 1995)
// and corrects the weight. The last step draws from p itself.
type Paths struct {
	*Engine[int32]
	drawer      Drawer
	Joint       []Joint // steps of the process in each slot
	Grid        int     // number of steps requested for each path
	leaveOneOut bool
	mask        int32 // level of the mask, or −1 if the process has none

	// Saw, if not nil, is called after every step, in which worker w has moved slot i from
	// time t to time s. The argument logZ is the log-normaliser that the projection returned
	// when x_0 was drawn.
	Saw func(w, i int, t, s, logZ float64)

	LogW   []float64 // log-weight of the path in each slot
	logZ   []float64 // log Z_C of the current prediction, for each slot
	logRho []float64 // log Z_C(ρ) − log(p/p') of the last step, for each slot
	work   []pathWork
}

// pathWork is the scratch of one worker.
type pathWork struct {
	before, clean []int32
	v             []float32
	lse           []float64
	mixed         []bool // for each site: whether v holds the row from Mix
}

// NewPaths returns a Paths for the slots of the engine e. It draws states with d and moves slot i
// with the steps joint[i]. The argument grid is the number of steps requested for each path. The
// argument leaveOneOut is passed on to the method Condition of the steps.
func NewPaths(e *Engine[int32], d Drawer, joint []Joint, grid int, leaveOneOut bool) *Paths {
	p := &Paths{
		Engine: e, drawer: d, Joint: joint, Grid: grid, leaveOneOut: leaveOneOut,
		LogW: make([]float64, e.Batch), logZ: make([]float64, e.Batch), logRho: make([]float64, e.Batch),
		work: make([]pathWork, e.Workers),
	}
	p.mask = MaskOf(joint[0], e.Levels)
	for w := range p.work {
		p.work[w] = pathWork{
			before: make([]int32, e.Sites), clean: make([]int32, e.Sites), v: make([]float32, e.Sites*e.Levels),
			lse: make([]float64, e.Sites), mixed: make([]bool, e.Sites),
		}
	}
	return p
}

// BeginPath sets the weight of the path in slot i to 1, because a new path begins.
func (p *Paths) BeginPath(i int) { p.LogW[i], p.logRho[i] = 0, 0 }

// CopyPath copies the normalising constants of the path in slot src to slot dst. Call it when
// resampling has copied the sample of src to dst. CopyPath does not copy LogW.
func (p *Paths) CopyPath(dst, src int) { p.logZ[dst], p.logRho[dst] = p.logZ[src], p.logRho[src] }

// mix returns the rows from which the next x_0 of slot i is drawn. If [Mix] changed a row, the rows
// are in the scratch of worker w and the result mixed is true. Otherwise the rows are the
// prediction of the slot.
func (p *Paths) mix(w, i int) (v []float32, mixed bool) {
	s, k := &p.Slots[i], &p.work[w]
	if !Mix(k.v, s.V, k.mixed, func(j int) bool {
		if p.mask >= 0 {
			return s.X[j] == p.mask
		}
		return !s.Clean[j]
	}, p.mask) {
		return s.V, false
	}
	return k.v, true
}

// Weigh updates the path weight of slot i for a new prediction, using the workspace of worker w. It
// multiplies the weight by Z_C of the prediction, and divides it by Z_C(ρ) of the last step (see
// [Paths]).
func (p *Paths) Weigh(w, i int) error {
	s := &p.Slots[i]
	if s.Fresh {
		Condition(p.Joint[i], s, p.leaveOneOut)
		v, _ := p.mix(w, i)
		var err error
		if p.logZ[i], err = p.logProb(w, v); err != nil {
			return err
		}
	}
	p.LogW[i] += p.logZ[i] - p.logRho[i]
	if math.IsInf(p.LogW[i], -1) {
		s.Time = 0
	}
	return nil
}

// Move makes one conditioned step of slot i, using the workspace of worker w. [Paths.Weigh] must
// have updated the weight of the slot for the current prediction.
func (p *Paths) Move(w, i int) error { return p.step(w, i, false) }

// Pass is [Paths.Weigh] followed by [Paths.Move], for a prediction that is not used again.
func (p *Paths) Pass(w, i int) error { return p.step(w, i, true) }

func (p *Paths) step(w, i int, pass bool) error {
	s, k, j := &p.Slots[i], &p.work[w], p.Joint[i]
	t := s.Time
	if pass {
		Condition(j, s, p.leaveOneOut)
	}
	next := j.Next(s.X, t, p.Step, p.Grid, &s.Stream)
	if err := s.Goes(next); err != nil {
		return err
	}
	v, mixed := p.mix(w, i)
	last := mixed && next <= 0
	if last {
		v, mixed = s.V, false
	}
	logZ, err := p.drawer.Draw(p.Ctx, k.clean, v, &s.Stream)
	if (pass || last) && errors.Is(err, constraint.ErrInfeasible) {
		p.die(i)
		return nil
	}
	if err != nil {
		return err
	}
	if pass || last {
		before := p.logRho[i]
		if !pass { // Weigh used Z_C(p') in place of Z_C(p)
			before = p.logZ[i]
		}
		z, err := Normalise(k.lse, logZ, v)
		if err != nil {
			return err
		}
		p.LogW[i] += z - before
	}
	copy(k.before, s.X)
	j.Renoise(s.X, k.clean, s.V, t, next, &s.Stream)
	p.Restore(i)
	if p.Saw != nil {
		p.Saw(w, i, t, next, logZ)
	}
	p.Moved(i, next, !slices.Equal(k.before, s.X))
	p.logRho[i] = 0
	if next <= 0 {
		return nil
	}
	if !pass && !mixed {
		v = k.v
		copy(v, s.V)
	}
	j.Reweight(v, k.before, s.X, t, next)
	share := 0.0
	if mixed {
		if share = k.share(v, s.V, s.X, p.mask); math.IsInf(share, -1) {
			p.die(i)
			return nil
		}
	}
	rho, err := p.logProb(w, v)
	p.logRho[i] = rho - share
	return err
}

// die sets the weight of the path in slot i to zero and ends the path.
func (p *Paths) die(i int) { p.LogW[i], p.Slots[i].Time = math.Inf(-1), 0 }

// share returns log p(x_s | x_t)/p'(x_s | x_t). Its arguments are the rows v from Mix after
// Reweight, the prediction p, and x = x_s. A site that is still masked contributes the factor 1.
func (k *pathWork) share(v, p []float32, x []int32, mask int32) float64 {
	levels, log := len(v)/len(k.mixed), 0.0
	for i, mixed := range k.mixed {
		if !mixed || x[i] == mask {
			continue
		}
		row, from := v[i*levels:(i+1)*levels], p[i*levels:(i+1)*levels]
		top := float64(slices.Max(row))
		some, all := 0.0, 0.0
		for l, w := range row {
			q := simd.Exp(float64(w) - top)
			if all += q; !math.IsInf(float64(from[l]), -1) {
				some += q
			}
		}
		log += simd.Log(some/all) - simd.Log1p(-Defence)
	}
	return log
}

// logProb returns log Z_C of the normalised rows of v. It returns −Inf if no state in C has
// positive weight.
func (p *Paths) logProb(w int, v []float32) (float64, error) {
	z, err := p.drawer.LogZ(p.Ctx, v)
	if errors.Is(err, constraint.ErrInfeasible) {
		return math.Inf(-1), nil
	}
	if err != nil {
		return 0, err
	}
	return Normalise(p.work[w].lse, z, v)
}

// Normalise returns log Z_C for the normalised rows of v, given z = log Z_C for the rows as they
// are. The result is
//
//	z − Σ_i log Σ_l e^(v[i,l]),
//
// where Z_C is the probability of the constraint C (see [Paths]). The rows do not change. The slice
// lse is scratch, one entry per site. Normalise returns an *[algebra.WeightError] if any entry of v
// is NaN or +Inf, even for a token that no sequence in C uses.
func Normalise(lse []float64, z float64, v []float32) (float64, error) {
	levels := len(v) / len(lse)
	simd.LogSumExp(lse, v, levels)
	for i, l := range lse {
		if l != l || math.IsInf(l, 1) {
			if j := undefined(v[i*levels : (i+1)*levels]); j >= 0 {
				return 0, &algebra.WeightError{Site: i, Level: j, Weight: float64(v[i*levels+j])}
			}
		}
		z -= l
	}
	return z, nil
}

// undefined returns the first level of a row whose weight is NaN or +Inf, or −1 if there is none.
func undefined(row []float32) int {
	return slices.IndexFunc(row, func(w float32) bool { return w != w || math.IsInf(float64(w), 1) })
}

// Defence is the weight δ of the defensive part in the mixture of [Mix]. At every site, the tokens
// with predicted probability 0 are drawn with total probability δ. Such draws are wasted if later
// predictions exclude these tokens, too. With 16 paths or more, this cost is small.
const Defence = 1.0 / 16

// Mix copies the rows of v to dst and gives some probability to tokens that a row excludes. Row i
// is the prediction for site i. Suppose that hidden(i) is true and that row i, called p, gives
// probability 0 to n > 0 tokens. Mix replaces p by the defensive mixture
//
//	p'(l) = (1−δ)·p(l) if p(l) > 0,  p'(l) = δ/n if p(l) = 0,
//
// where l is a token and δ is [Defence]. A row without any weight becomes uniform. Rows with a NaN
// or +Inf are copied unchanged. The function hidden reports whether the token of a site is not yet
// known. The argument mask is the level that is not a token, or −1. Mix sets mixed[i] for each site
// i whose row it changes, and reports whether it changed any row. If not, the content of dst is
// undefined.
func Mix(dst, v []float32, mixed []bool, hidden func(i int) bool, mask int32) bool {
	levels, some := len(v)/len(mixed), false
	for i := range mixed {
		mixed[i] = false
		if !hidden(i) {
			continue
		}
		row, zeros := v[i*levels:(i+1)*levels], 0
		for l, w := range row {
			if int32(l) != mask && math.IsInf(float64(w), -1) {
				zeros++
			}
		}
		if zeros == 0 || undefined(row) >= 0 {
			continue
		}
		if !some {
			copy(dst, v)
			some = true
		}
		var lse [1]float64
		simd.LogSumExp(lse[:], row, levels)
		low := float32(0)
		if !math.IsInf(lse[0], -1) {
			low = float32(lse[0] + simd.Log(Defence/(1-Defence)/float64(zeros)))
		}
		for l, w := range dst[i*levels : (i+1)*levels] {
			if int32(l) != mask && math.IsInf(float64(w), -1) {
				dst[i*levels+l] = low
			}
		}
		mixed[i] = true
	}
	return some
}

// MaskOf returns the mask of a diffusion process. The mask is the level that replaces tokens (see
// diffusion.Absorbing). MaskOf returns −1 if the process has no mask.
func MaskOf(steps any, levels int) int32 {
	if a, ok := steps.(corruption.Absorbing); ok {
		for l := range int32(levels) {
			if a.Masks(l) {
				return l
			}
		}
	}
	return -1
}

// Condition turns a new prediction of slot s into the posterior distribution of each site's
// token, given the state of the slot. Rows of clamped sites become one-hot at the given values.
func Condition(j Renoiser, s *Slot[int32], leaveOneOut bool) {
	s.Fresh = false
	j.Condition(s.V, s.X, s.Time, leaveOneOut)
	levels := len(s.V) / len(s.X)
	for i, clean := range s.Clean {
		if clean {
			OneHot(s.V[i*levels:(i+1)*levels], s.Given[i])
		}
	}
}

// Estimate accumulates non-negative numbers, given by their logarithms, and estimates their mean.
type Estimate struct {
	N int
	// logarithms of the sum of the numbers and of the sum of their squares; undefined while N
	// is 0
	Sum, square float64
}

// Add adds the number with logarithm log to the estimate.
func (e *Estimate) Add(log float64) {
	if e.N++; e.N == 1 {
		e.Sum, e.square = math.Inf(-1), math.Inf(-1)
	}
	e.Sum, e.square = simd.LogAdd(e.Sum, log), simd.LogAdd(e.square, float64(2*log))
}

// Mean returns the logarithm of the mean, and the relative standard error of the mean. The mean is
// NaN if there are no numbers. The standard error is NaN if there are fewer than two numbers.
func (e *Estimate) Mean() (log, stderr float64) {
	n := float64(e.N)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	// Var/mean² = n·ΣẐ²/(ΣẐ)² − 1. The factor n/(n−1) makes the variance unbiased, and
	// division by n gives the variance of the mean.
	ratio := float64(simd.Exp(e.square-float64(2*e.Sum)) * n)
	return e.Sum - simd.Log(n), math.Sqrt(max(0, ratio-1) / (n - 1))
}

// Effective returns the effective number of samples, (Σw)²/Σw², where w are the accumulated
// numbers. It returns NaN if all of them are 0.
func (e *Estimate) Effective() float64 {
	if e.N == 0 {
		return math.NaN()
	}
	return simd.Exp(float64(2*e.Sum) - e.square)
}
