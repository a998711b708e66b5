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

// Renoiser is diffusion.Renoiser with the clock of its steps.
type Renoiser interface {
	Next(x []int32, t float64, step, steps int, r *sampler.Stream) (s float64)
	Condition(v []float32, x []int32, t float64, leaveOneOut bool)
	Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream)
}

// Joint is diffusion.Joint with the clock of its steps.
type Joint interface {
	Renoiser
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Drawer is diffusion.Drawer.
type Drawer interface {
	Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)
	LogZ(ctx context.Context, v []float32) (float64, error)
}

// committer is diffusion.Committer.
type committer interface {
	Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error
}

// DrawerOf returns a projection as a Drawer. It returns an error, which begins with who, if the
// projection is not a Drawer or has a memory, which weights cannot account for.
func DrawerOf(who string, projection any) (Drawer, error) {
	d, draws := projection.(Drawer)
	_, keeps := projection.(committer)
	return d, cmp.Or(
		check.If(!draws, "%s: the projection is a %T, want a diffusion.Drawer", who, projection),
		check.If(keeps, "%s: the projection %T has a memory, which weights do not know", who, projection),
	)
}

// Joints returns the steps of a process as Joint steps. It returns an error, which begins with
// who, if steps cannot be given weights.
func Joints[T any](who string, process any, steps []T) ([]Joint, error) {
	joint := make([]Joint, len(steps))
	for i, s := range steps {
		var ok bool
		if joint[i], ok = any(s).(Joint); !ok {
			return nil, fmt.Errorf("%s: %T cannot be weighed: its steps are no diffusion.Joint", who, process)
		}
	}
	return joint, nil
}

// Paths moves tokens by steps that are conditioned on a set C, and weights the paths. In the step
// from x_t to x_s the weight of a path is multiplied by
//
//	Z_C(p(·|x_s)) / Z_C(ρ),  ρ_i(v) ∝ p_i(v|x_t)·q(x_s,i | x_t,i, v),
//
// so that E[W·1[path ends in x]] = p(x, C), with W the weight of the path.
//
// This requires paths wherever p has probability. A prediction with zeros, such as one restricted
// to the K likeliest tokens, may rule out at x_t what the prediction at x_s allows. Paths then
// draws from the defensive mixture p' of [Mix] (Hesterberg 1995), in place of p everywhere above,
// and multiplies the weight by
//
//	p(x_s | x_t) / p'(x_s | x_t) = ∏_i Σ_v ρ'_i(v)·p_i(v|x_t) / p'_i(v|x_t),
//
// whose factor is 0 if a token of probability 0 is unmasked, and 1 if a mask remains. The last
// step draws from p itself.
type Paths struct {
	*Engine[int32]
	drawer      Drawer
	Joint       []Joint // by slot
	Grid        int     // number of steps requested
	leaveOneOut bool
	mask        int32 // −1 for none

	// Saw, unless nil, is called after every step: worker w has moved slot i from time t
	// to s.
	Saw func(w, i int, t, s, logZ float64)

	LogW   []float64 // by slot: the log-weight of its path
	logZ   []float64 // of the prediction
	logRho []float64 // of ρ of the last step, less log p/p'
	work   []pathWork
}

// pathWork is the scratch of a worker.
type pathWork struct {
	before, clean []int32
	v             []float32
	lse           []float64
	mixed         []bool // by site: v has the row of Mix
}

// NewPaths returns the Paths of the slots of an engine.
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

// BeginPath sets the weight of slot i to 1.
func (p *Paths) BeginPath(i int) { p.LogW[i], p.logRho[i] = 0, 0 }

// CopyPath gives slot dst the weights of slot src, except LogW.
func (p *Paths) CopyPath(dst, src int) { p.logZ[dst], p.logRho[dst] = p.logZ[src], p.logRho[src] }

// mix returns the rows that the next x_0 of slot i is drawn from, and whether they are
// those of [Mix], in the scratch of worker w.
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

// Weigh multiplies the weight of slot i by Z_C of its prediction and divides it by Z_C(ρ).
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

// Move moves slot i, whose weight is up to date, by one conditioned step.
func (p *Paths) Move(w, i int) error { return p.step(w, i, false) }

// Pass does what Weigh and Move do in one call, for a prediction that is not kept.
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
		if !pass { // Weigh has taken Z_C(p') for Z_C(p)
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

// die ends the path of slot i with weight zero.
func (p *Paths) die(i int) { p.LogW[i], p.Slots[i].Time = math.Inf(-1), 0 }

// share returns log p(x_s | x_t)/p'(x_s | x_t), given x_s, the prediction p, and the rows v that
// Reweight has made from those of Mix. The factor of a remaining mask does not depend on its row.
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

// logProb returns log Z_C of the normalised rows of v, or −Inf if C cannot be reached.
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

// Normalise returns log Z_C of the normalised rows of v, given log Z_C = z of the rows
// themselves. lse is scratch, one entry per site. The error is an *[algebra.WeightError] for a
// NaN or +Inf; at tokens that C never uses, z alone does not reveal these.
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

// undefined returns the first level of a row whose weight is NaN or +Inf, −1 if there is
// none.
func undefined(row []float32) int {
	return slices.IndexFunc(row, func(w float32) bool { return w != w || math.IsInf(float64(w), 1) })
}

// Defence is the share δ of [Mix]. If zeros never change, at most this share of the tokens drawn
// is lost; if they do change, the tokens of probability 0 have together had this probability of
// being drawn. With 16 paths or more, both cost little.
const Defence = 1.0 / 16

// Mix stores in dst the rows p of v. Rows of unknown sites that give tokens probability 0 are
// replaced by the defensive mixtures
//
//	p'(l) = (1−δ)·p(l),  p'(l) = δ/n for each of n tokens with p(l) = 0.
//
// A row without any weight becomes uniform: a mask with such a row may remain, and be unmasked
// once its row has weight. Rows with a NaN or +Inf are not changed. mask is a level that is not a
// token, or −1. Mix sets mixed for the sites that it changes and reports whether there are any.
// If there are none, dst is undefined.
func Mix(dst, v []float32, mixed []bool, unknown func(i int) bool, mask int32) bool {
	levels, some := len(v)/len(mixed), false
	for i := range mixed {
		mixed[i] = false
		if !unknown(i) {
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

// MaskOf returns the level that is the mask of steps (see diffusion.Absorbing), or −1 if there is
// none.
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

// Condition turns a new prediction of a slot into the full posterior.
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

// Estimate is the mean of numbers ≥ 0, given by their logarithms.
type Estimate struct {
	N           int
	Sum, square float64 // logarithms of the sums of the numbers and of their squares, if any
}

// Add includes one more number in the mean.
func (e *Estimate) Add(log float64) {
	if e.N++; e.N == 1 {
		e.Sum, e.square = math.Inf(-1), math.Inf(-1)
	}
	e.Sum, e.square = simd.LogAdd(e.Sum, log), simd.LogAdd(e.square, float64(2*log))
}

// Mean returns the logarithm of the mean, and the relative standard error of the mean. The former
// is NaN if there are no numbers, the latter if there are fewer than two.
func (e *Estimate) Mean() (log, stderr float64) {
	n := float64(e.N)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	// Var/mean² = n·ΣẐ²/(ΣẐ)² − 1, times n/(n−1) and over n for the mean.
	ratio := float64(simd.Exp(e.square-float64(2*e.Sum)) * n)
	return e.Sum - simd.Log(n), math.Sqrt(max(0, ratio-1) / (n - 1))
}

// Effective returns the effective number of samples, (Σw)²/Σw², or NaN if all numbers w are 0.
func (e *Estimate) Effective() float64 {
	if e.N == 0 {
		return math.NaN()
	}
	return simd.Exp(float64(2*e.Sum) - e.square)
}
