package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// The shape of the samples of TestPairs: that of the registry of projectors.
const (
	pairSites  = 4
	pairLevels = 3
)

// oracle is a denoiser that predicts anything: rows are random functions of the state.
type oracle struct {
	salt   uint64
	mask   int32   // which has little weight; −1 for none
	timed  bool    // rows depend on the time
	alone  bool    // rows do not depend on the own token, and say so
	zeros  bool    // some levels have no weight
	sharp  float64 // deviation of log-weights
	noMask bool    // no weight on the mask
}

func (o oracle) Shape() (sites, levels int) { return pairSites, pairLevels }
func (o oracle) TimeFree() bool             { return !o.timed }
func (o oracle) LeaveOneOut() bool          { return o.alone }

func (o oracle) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	for s := range q.Time {
		o.rows(v[s*pairSites*pairLevels:(s+1)*pairSites*pairLevels], q.X[s*pairSites:(s+1)*pairSites], q.Time[s])
	}
	return nil
}

func (o oracle) rows(v []float32, x []int32, t float64) {
	for i := range pairSites {
		key := uint64(0)
		for j, l := range x {
			if !o.alone || j != i {
				key = key*4 + uint64(l) + 1
			}
		}
		r := rand.New(rand.NewPCG(o.salt*16+uint64(i), key))
		kept := r.IntN(pairLevels)
		if kept == int(o.mask) {
			kept = (kept + 1) % pairLevels
		}
		for l := range pairLevels {
			w := o.sharp * r.NormFloat64()
			if o.timed {
				w *= 1 + math.Sin(9*t+float64(l))
			}
			switch {
			case l == int(o.mask) && o.noMask:
				w = math.Inf(-1)
			case l == int(o.mask):
				w -= 2
			case o.zeros && l != kept && r.IntN(3) == 0:
				w = math.Inf(-1)
			}
			v[i*pairLevels+l] = float32(w)
		}
	}
}

// oracleEntry is a denoiser for a process with a mask, or −1.
type oracleEntry struct {
	name string
	of   func(mask int32) energy.Denoiser[int32]
}

func oracleEntries() []oracleEntry {
	return []oracleEntry{
		{"any", func(mask int32) energy.Denoiser[int32] { return oracle{salt: 1, mask: mask, sharp: 1} }},
		{"any of time", func(mask int32) energy.Denoiser[int32] { return oracle{salt: 2, mask: mask, sharp: 0.8, timed: true} }},
		{"any, leave-one-out", func(mask int32) energy.Denoiser[int32] {
			return oracle{salt: 3, mask: mask, sharp: 1, alone: true, noMask: true}
		}},
		{"with zeros", func(mask int32) energy.Denoiser[int32] {
			return oracle{salt: 4, mask: mask, sharp: 1, zeros: true, noMask: true}
		}},
		{"exact under masks", func(int32) energy.Denoiser[int32] {
			return exact.Must(denoise.NewTable(exact.NewRugged(pairSites, 2, 1, 0, 9), denoise.Absorbing))
		}},
		{"exact under replacement", func(int32) energy.Denoiser[int32] {
			return exact.Must(denoise.NewTable(exact.NewRugged(pairSites, pairLevels, 1, 0, 9), denoise.Noisy))
		}},
	}
}

// scheduleEntry replaces the schedule of a process.
type scheduleEntry struct {
	name string
	s    noise.Schedule
}

func scheduleEntries() []scheduleEntry {
	return []scheduleEntry{
		{"its own", nil},
		{"LogLinear", noise.LogLinear{}},
		{"Cosine", noise.Cosine{}},
		{"CosineSquared", noise.CosineSquared{}},
		{"GeometricSigma", noise.GeometricSigma{}},
		{"LinearSigma", noise.LinearSigma{}},
		{"LinearSigma from .1", noise.LinearSigma{Min: 0.1, Max: 5}},
		{"Straight", noise.Straight{}},
	}
}

// scheduled replaces the schedule of a process.
func scheduled(p diffusion.Process[int32], s noise.Schedule) diffusion.Process[int32] {
	if s == nil {
		return p
	}
	v := reflect.New(reflect.TypeOf(p)).Elem()
	v.Set(reflect.ValueOf(p))
	v.FieldByName("Schedule").Set(reflect.ValueOf(s))
	return v.Interface().(diffusion.Process[int32])
}

// maskOf returns the mask of a process, −1 if it has none.
func maskOf(p diffusion.Process[int32]) int32 {
	if f := reflect.ValueOf(p).FieldByName("Mask"); f.IsValid() {
		return int32(f.Int())
	}
	return -1
}

// temperEntry sharpens a prediction.
type temperEntry struct {
	name    string
	temper  denoise.Tempered
	outside bool // of the guidance
}

func temperEntries() []temperEntry {
	return []temperEntry{
		{"none", denoise.Tempered{}, false},
		{"temperature inside", denoise.Tempered{Temperature: 0.6}, false},
		{"temperature outside", denoise.Tempered{Temperature: 0.6}, true},
		{"TopK inside", denoise.Tempered{TopK: 1}, false},
		{"TopP outside", denoise.Tempered{TopP: 0.7}, true},
	}
}

// guidanceEntry leans towards a condition.
type guidanceEntry struct {
	name        string
	free        bool
	scale       float64 // 0: no guidance
	atPosterior bool
}

func guidanceEntries() []guidanceEntry {
	return []guidanceEntry{
		{"none", false, 0, false},
		{"ClassifierFree of ½", true, 0.5, false},
		{"ClassifierFree of 1.5", true, 1.5, false},
		{"ClassifierGuided of 1.5", false, 1.5, false},
		{"ClassifierFree of 1 at the posterior", true, 1, true},
		{"ClassifierFree of 1.5 at the posterior", true, 1.5, true},
		{"ClassifierGuided of 1.5 at the posterior", false, 1.5, true},
	}
}

// tokenProjectors are the projectors of the registry that are for tokens, behind none.
func tokenProjectors() (all []projector) {
	all = append(all, projector{name: "none"})
	for _, p := range projectors() {
		if p.o.Levels == 0 {
			all = append(all, p)
		}
	}
	return all
}

// Options of the other factors.
var (
	pairRunners = []string{"Runner", "Particles", "Rejection", "Backtrack"}
	pairSteps   = []int{1, 2, 4}
	pairStarts  = []float64{0, 0.5, 0.05}
	pairEvery   = []int{0, 2, -1}
	pairDecodes = []diffusion.Decoding{diffusion.DecodeLast, diffusion.DecodeRows, diffusion.DecodeGreedy}
)

// diffusionCase is a combination for diffusions of tokens.
type diffusionCase struct {
	entry     process
	process   diffusion.Process[int32]
	mask      int32
	oracle    int
	temper    temperEntry
	guidance  guidanceEntry
	projector func() projector // afresh, as some have a memory
	cold      bool
	clamp     int // site 1 at this token, −1 for none
	runner    string
	cfg       diffusion.Config

	base, other energy.Denoiser[int32]
	model       energy.Denoiser[int32]
	bound       diffusion.Steps[int32]
	projection  diffusion.Projection
	drawer      bool
	o           diffusiontest.ProjectionOptions
}

// judged is the classifier of ClassifierGuided.
func judged() diffusion.Classifier {
	return diffusion.ExactClassifier{Model: exact.NewRugged(pairSites, pairLevels, 1, 0, 4)}
}

// sharpened wraps a denoiser.
func (c *diffusionCase) sharpened(d energy.Denoiser[int32]) energy.Denoiser[int32] {
	t := c.temper.temper
	if c.temper.name == "none" {
		return d
	}
	if t.Denoiser = d; c.mask >= 0 {
		t.Without = []int32{c.mask}
	}
	return t
}

// make wraps the denoiser as the case says.
func (c *diffusionCase) make() {
	c.base, c.other = oracleEntries()[c.oracle].of(c.mask), oracleEntries()[c.oracle].of(c.mask)
	if o, ok := c.other.(oracle); ok && !o.zeros {
		o.salt += 10
		c.other = o
	}
	if !c.temper.outside {
		c.base, c.other = c.sharpened(c.base), c.sharpened(c.other)
	}
	g := c.guidance
	switch {
	case g.scale == 0:
		c.model = c.base
	case g.free:
		c.model = diffusion.ClassifierFree{Conditional: c.base, Unconditional: c.other, Scale: g.scale, AtPosterior: g.atPosterior}
	default:
		c.model = diffusion.ClassifierGuided{Denoiser: c.base, Classifier: judged(), Scale: g.scale, AtPosterior: g.atPosterior}
	}
	if c.temper.outside {
		c.model = c.sharpened(c.model)
	}
}

// predict returns the rows of a denoiser at a state.
func (c *diffusionCase) predict(d energy.Denoiser[int32], x []int32, t float64) ([]float64, error) {
	v, alpha := make([]float32, pairSites*pairLevels), c.bound.Alpha(t)
	var clean []bool
	if c.clamp >= 0 {
		clean = []bool{false, true, false, false}
	}
	err := d.Denoise(context.Background(), v, energy.Noised[int32]{Clean: clean, X: x, Time: []float64{t}, Alpha: []float64{alpha}, Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)}, Guided: true})
	rows := make([]float64, len(v))
	for i, w := range v {
		rows[i] = float64(w)
	}
	return rows, err
}

// prediction returns the rows of the case at a state, guided by the documented formula
// unless that is at the posterior.
func (c *diffusionCase) prediction(x []int32, t float64) ([]float64, error) {
	g := c.guidance
	if c.temper.outside && g.scale > 0 {
		return c.predict(c.model, x, t) // the order of the two is what is tested elsewhere
	}
	if g.scale == 0 || g.atPosterior {
		return c.predict(c.model, x, t)
	}
	rows, err := c.predict(c.base, x, t)
	if err != nil {
		return nil, err
	}
	var lean []float64
	if g.free {
		if lean, err = c.predict(c.other, x, t); err != nil {
			return nil, err
		}
	}
	return guidedRows(rows, lean, x, t, g)
}

// guidedRows applies guidance to log-weights.
func guidedRows(rows, other []float64, x []int32, t float64, g guidanceEntry) ([]float64, error) {
	if !g.free {
		table := make([]float32, len(rows))
		if err := judged().Table(table, x, t); err != nil {
			return nil, err
		}
		for i, w := range table {
			rows[i] += g.scale * float64(w)
		}
		return rows, nil
	}
	for i, w := range rows {
		if !math.IsInf(w, -1) {
			rows[i] = g.scale*w + (1-g.scale)*other[i]
		}
	}
	return rows, nil
}

// posterior turns rows at x_t into probabilities of x_0 given all of x_t.
func (c *diffusionCase) posterior(rows []float64, x []int32, t float64) [][]float64 {
	alpha := c.bound.Alpha(t)
	p := make([][]float64, pairSites)
	for i, l := range x {
		w := slices.Clone(rows[i*pairLevels : (i+1)*pairLevels])
		switch {
		case c.clamp >= 0 && i == 1, c.mask >= 0 && l != c.mask:
			w = oneOf(l)
			p[i] = w
			continue
		case c.mask >= 0:
			w[c.mask] = math.Inf(-1)
		case energy.LeaveOneOut(c.model):
			for k := range w {
				q := (1 - alpha) / pairLevels
				if k == int(l) {
					q += alpha
				}
				w[k] += math.Log(q)
			}
		}
		p[i] = normal(w)
	}
	return p
}

// oneOf is certain of a level.
func oneOf(l int32) []float64 {
	p := make([]float64, pairLevels)
	p[l] = 1
	return p
}

// normal returns the probabilities of log-weights, zeros if there is no weight.
func normal(w []float64) []float64 {
	p, top, sum := make([]float64, len(w)), slices.Max(w), 0.0
	if math.IsInf(top, -1) {
		return p
	}
	for k, v := range w {
		p[k] = math.Exp(v - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// siteStep is the documented step of one site between two times.
func (c *diffusionCase) siteStep(t, s float64) func(level int32, p []float64) []float64 {
	at, as := c.bound.Alpha(t), c.bound.Alpha(s)
	switch {
	case c.mask >= 0 && s <= 0: // no mask survives
		return diffusiontest.MaskedStep(c.mask, at, 1, 0)
	case c.entry.o.Step != nil:
		return c.entry.o.Step(t, s, at, as)
	case c.mask >= 0:
		return diffusiontest.MaskedStep(c.mask, at, as, 0)
	}
	return replacedStep(at, as)
}

// replacedStep is that of tokens that are replaced by any level: Σ_l p(l)·q(x_s | x_t, l)
// by Bayes' rule from the forward steps.
func replacedStep(at, as float64) func(level int32, p []float64) []float64 {
	forward := func(from, to int, alpha float64) float64 {
		w := (1 - alpha) / pairLevels
		if from == to {
			w += alpha
		}
		return w
	}
	return func(level int32, p []float64) []float64 {
		q := make([]float64, pairLevels)
		for l, w := range p {
			if w == 0 {
				continue
			}
			for z := range q {
				q[z] += w * forward(l, z, as) * forward(z, int(level), at/as) / forward(l, int(level), at)
			}
		}
		return q
	}
}

// shown returns the sets of masks of which one, drawn uniformly, gives way in a step; nil
// for processes whose sites move independently.
func (c *diffusionCase) shown(x []int32) (sites []int, one bool) {
	block := pairSites
	switch p := c.process.(type) {
	case diffusion.Masked:
		one = p.FirstHitting
	case unmask.Scheduled:
		one = true
	case unmask.Blocks:
		one, block = true, p.Size
	}
	if !one {
		return nil, false
	}
	first := max(0, slices.Index(x, c.mask)) / block * block
	for i := first; i < min(first+block, pairSites); i++ {
		if x[i] == c.mask {
			sites = append(sites, i)
		}
	}
	return sites, true
}

// errUnstated means that no distribution is stated.
var errUnstated = errors.New("no distribution is stated")

// stated reports whether the distribution of the steps is.
func (c *diffusionCase) stated() bool {
	switch p := c.process.(type) {
	case diffusion.Masked:
		// A clock draws the times that the denoiser sees.
		return !p.FirstHitting || energy.TimeFree(c.model)
	case diffusion.Uniform, unmask.Scheduled, unmask.Blocks:
		return true
	case diffusion.Remask:
		return p.Rule != diffusion.RemaskConfidence
	}
	return false
}

// expected returns the distribution of x_0, with the probability that a sample is given up
// behind it. constrained leaves the projector out if false.
func (c *diffusionCase) expected(ctx context.Context, constrained bool) ([]float64, error) {
	if !c.stated() {
		return nil, errUnstated
	}
	from := c.cfg.ProjectStart
	if from == 0 || from == 1 || !c.firstHitting() {
		return c.recursion(ctx, constrained, 0)
	}
	// The tokens show at independent times. A step is projected if it begins at a token's
	// time after which, in reverse, from has passed; the last always.
	n := pairSites
	if c.clamp >= 0 {
		n--
	}
	before := 1 - (1-c.bound.Alpha(from))/(1-c.bound.Alpha(1)) // of a token: it shows before from
	sum := make([]float64, exact.Size(pairSites, pairLevels)+1)
	weight := math.Pow(1-before, float64(n))
	for b := range n + 1 {
		p, err := c.recursion(ctx, constrained, 1+b)
		if err != nil {
			return nil, err
		}
		for k, w := range p {
			sum[k] += weight * w
		}
		weight *= float64(n-b) / float64(b+1) * before / (1 - before)
	}
	return sum, nil
}

// recursion is expected by recursion over the steps, of first hitting those of which are
// projected from the step first on.
func (c *diffusionCase) recursion(ctx context.Context, constrained bool, first int) ([]float64, error) {
	all := exact.States(pairSites, pairLevels)
	lost := len(all)
	now := make([]float64, lost+1)
	start := 0
	for k, x := range all {
		if c.clamp >= 0 && x[1] != int32(c.clamp) {
			continue
		}
		if c.mask < 0 || !slices.ContainsFunc(x, func(l int32) bool { return l != c.mask && l != int32(c.clamp) }) && times(x, c.mask) >= pairSites-1 && (c.clamp >= 0 || times(x, c.mask) == pairSites) {
			now[k] = 1
			start++
		}
	}
	for k := range now {
		now[k] /= float64(start)
	}
	steps, t := c.cfg.Steps, 1.0
	if m, ok := c.bound.(diffusion.Clocked); ok {
		steps = m.MaxSteps(steps)
	}
	for step := 0; t > 0 && step < steps; step++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next := make([]float64, len(now))
		next[lost] = now[lost]
		after := 0.0
		for k, x := range all {
			if now[k] == 0 {
				continue
			}
			s := c.bound.Next(x, t, step, c.cfg.Steps, sampler.NewStream(1, 1))
			sites, one := c.shown(x)
			if one && len(sites) == 0 {
				next[k] += now[k]
				continue
			}
			if one && c.firstHitting() && times(x, c.mask) > 1 {
				s = t / 2 // what is predicted, revealed and projected does not depend on it
			}
			after = s
			if err := c.spread(ctx, next, now[k], x, t, s, step, first, constrained); err != nil {
				return nil, err
			}
		}
		now, t = next, after
	}
	return now, nil
}

func (c *diffusionCase) firstHitting() bool {
	m, ok := c.process.(diffusion.Masked)
	return ok && m.FirstHitting
}

// projects reports whether a step is projected: as Config says, and the last. first is
// that of recursion.
func (c *diffusionCase) projects(t, s float64, step, first int) bool {
	from, every := c.cfg.ProjectStart, c.cfg.ProjectEvery
	begun := from == 0 || t <= from
	if c.firstHitting() {
		begun = step >= first
	}
	return s <= 0 || begun && every >= 0 && step%max(every, 1) == 0
}

// spread adds to next where the mass at x goes in a step.
func (c *diffusionCase) spread(ctx context.Context, next []float64, mass float64, x []int32, t, s float64, step, first int, constrained bool) error {
	rows, err := c.prediction(x, t)
	if err != nil {
		return err
	}
	if !drawable(rows) {
		return errUnstated // of ClassifierFree: only the condition allows a level
	}
	p := c.posterior(rows, x, t)
	move := c.siteStep(t, s)
	sites, one := c.shown(x)
	// put adds the states to which independent sites go; of is the row of a site.
	put := func(mass float64, of func(i int) []float64) {
		if !one {
			c.add(next, mass, func(i int) []float64 { return move(x[i], of(i)) })
			return
		}
		for _, shows := range sites {
			c.add(next, mass/float64(len(sites)), func(i int) []float64 {
				if i == shows {
					return of(i)
				}
				return oneOf(x[i])
			})
		}
	}
	if c.guidance.atPosterior {
		return c.guided(next, mass, x, p, t, s, move)
	}
	if !constrained || c.projection == nil || !c.projects(t, s, step, first) {
		put(mass, func(i int) []float64 { return p[i] })
		return nil
	}
	if !c.drawer || c.cfg.Decode != diffusion.DecodeLast {
		return c.projected(ctx, put, mass, p, t, s)
	}
	all := exact.States(pairSites, pairLevels)
	w, sum := c.conditioned(p)
	if sum == 0 {
		next[len(all)] += mass
		return nil
	}
	for k, y := range all {
		if w[k] > 0 {
			put(mass*w[k]/sum, func(i int) []float64 { return oneOf(y[i]) })
		}
	}
	return nil
}

// drawable reports whether log-weights are finite or −Inf.
func drawable(rows []float64) bool {
	return !slices.ContainsFunc(rows, func(w float64) bool { return math.IsNaN(w) || math.IsInf(w, 1) })
}

// conditioned returns the weights of all states under rows within the constraint.
func (c *diffusionCase) conditioned(p [][]float64) (w []float64, sum float64) {
	all := exact.States(pairSites, pairLevels)
	w = make([]float64, len(all))
	v := make([]float32, pairSites*pairLevels)
	for i := range v {
		v[i] = float32(math.Log(p[i/pairLevels][i%pairLevels]))
	}
	for k, y := range all {
		if !c.o.Accepts(y) {
			continue
		}
		if c.o.Weight != nil {
			w[k] = math.Exp(c.o.Weight(v, y))
		} else {
			w[k] = 1
			for i, l := range y {
				w[k] *= p[i][l]
			}
		}
		sum += w[k]
	}
	return w, sum
}

// projected is a step whose prediction is moved.
func (c *diffusionCase) projected(ctx context.Context, put func(float64, func(int) []float64), mass float64, p [][]float64, t, s float64) error {
	if warm, ok := c.projection.(diffusion.Warm); ok {
		if !c.cold {
			return errUnstated // it depends on the steps before
		}
		warm.Reset(0)
	}
	v := make([]float32, pairSites*pairLevels)
	for i := range v {
		v[i] = float32(math.Log(p[i/pairLevels][i%pairLevels]))
	}
	if _, err := c.projection.Project(ctx, 0, v, t, s, rand.NewPCG(1, 1)); err != nil {
		return errUnstated // which samples fail is seen in the samples
	}
	moved := make([][]float64, pairSites)
	for i := range moved {
		w := make([]float64, pairLevels)
		best := 0
		for l := range w {
			if w[l] = float64(v[i*pairLevels+l]); w[l] > w[best] {
				best = l
			}
		}
		if moved[i] = normal(w); c.cfg.Decode == diffusion.DecodeGreedy || c.cfg.Decode == diffusion.DecodeLast && s <= 0 {
			moved[i] = oneOf(int32(best))
			for l := range w {
				if l != best && w[best]-w[l] < 1e-4 {
					return errUnstated // rounding decides
				}
			}
		}
	}
	put(mass, func(i int) []float64 { return moved[i] })
	return nil
}

// guided is a step that is guided at the posterior.
func (c *diffusionCase) guided(next []float64, mass float64, x []int32, p [][]float64, t, s float64, move func(int32, []float64) []float64) error {
	var q [][]float64
	if c.guidance.free {
		rows, err := c.predict(c.other, x, t)
		if err != nil {
			return err
		}
		q = c.posterior(rows, x, t)
	}
	sites, one := c.shown(x)
	step := func(i int, row []float64) []float64 {
		if one { // which of the masks shows does not depend on the prediction
			return row
		}
		return move(x[i], row)
	}
	logs := func(p []float64) []float64 {
		w := make([]float64, len(p))
		for l := range p {
			w[l] = math.Log(p[l])
		}
		return w
	}
	rows, other := make([]float64, 0, pairSites*pairLevels), make([]float64, 0, pairSites*pairLevels)
	for i := range x {
		rows = append(rows, logs(step(i, p[i]))...)
		if q != nil {
			other = append(other, logs(step(i, q[i]))...)
		}
	}
	rows, err := guidedRows(rows, other, x, t, c.guidance)
	if err != nil {
		return err
	}
	if !drawable(rows) {
		return errUnstated
	}
	of := func(i int) []float64 { return normal(rows[i*pairLevels : (i+1)*pairLevels]) }
	if !one {
		c.add(next, mass, of)
		return nil
	}
	for _, shows := range sites {
		c.add(next, mass/float64(len(sites)), func(i int) []float64 {
			if i == shows {
				return of(i)
			}
			return oneOf(x[i])
		})
	}
	return nil
}

// add adds the mass of independent sites, those that are clamped where they are.
func (c *diffusionCase) add(next []float64, mass float64, row func(i int) []float64) {
	at, weights := []int{0}, []float64{mass}
	scale := 1
	for i := range pairSites {
		r := row(i)
		if c.clamp >= 0 && i == 1 {
			r = oneOf(int32(c.clamp))
		}
		var wider []int
		var heavier []float64
		for l, b := range r {
			if b == 0 {
				continue
			}
			for k, a := range weights {
				wider, heavier = append(wider, at[k]+scale*l), append(heavier, a*b)
			}
		}
		at, weights, scale = wider, heavier, scale*pairLevels
	}
	left := mass
	for k, w := range weights {
		next[at[k]] += w
		left -= w
	}
	if left > 1e-9*mass { // a row without weight ends the sample
		next[len(next)-1] += left
	}
}

func (c *diffusionCase) judge(ctx context.Context, scale int, seed uint64) error {
	c.make()
	p := c.projector()
	c.o = c.projector().o // what p has seen is no longer accepted
	cfg := c.cfg
	cfg.Seed, cfg.Projector, cfg.ColdStart = seed, p.part, c.cold
	if c.clamp >= 0 {
		if c.mask == int32(c.clamp) {
			c.clamp = (c.clamp + 1) % pairLevels
		}
		cfg.Clamp = []int32{-1, int32(c.clamp), -1, -1}
	}
	var err error
	if c.bound, err = c.process.Bind(ctx, pairSites, pairLevels); err != nil {
		return refusal{err}
	}
	if p.part != nil {
		if c.projection, err = c.projector().part.Bind(ctx, pairSites, pairLevels, 1); err != nil {
			return refusal{err}
		}
		_, c.drawer = c.projection.(diffusion.Drawer)
	}
	switch c.runner {
	case "Particles":
		return c.particles(ctx, cfg, scale)
	case "Rejection":
		return c.rejection(ctx, cfg, scale)
	case "Backtrack":
		return c.backtrack(ctx, cfg, scale)
	}
	return c.plain(ctx, cfg, scale)
}

func (c *diffusionCase) plain(ctx context.Context, cfg diffusion.Config, scale int) error {
	d, err := diffusion.New(ctx, c.model, c.process, cfg)
	if err != nil {
		return refusal{err}
	}
	_, remembers := c.projection.(diffusion.Committer)
	if err := c.lives(ctx, cfg, remembers); err != nil {
		return err
	}
	n := 3000 * scale
	switch {
	case remembers:
		n = 6
	case c.o.Search:
		n = 40 * scale // at some thousand iterations each
	}
	x := make([]int32, n*pairSites)
	counts := make([]int, exact.Size(pairSites, pairLevels)+1)
	err = d.Sample(ctx, x)
	if err := c.tally(counts, x, err); err != nil {
		return err
	}
	if remembers {
		for k, n := range counts[:len(counts)-1] {
			if n > 1 {
				return fmt.Errorf("%d samples are %v", n, exact.States(pairSites, pairLevels)[k])
			}
		}
		return nil
	}
	want, err := c.expected(ctx, true)
	if errors.Is(err, errUnstated) {
		return nil
	}
	if err != nil {
		return err
	}
	return agrees(counts, want)
}

// agrees compares counts of states with their distribution.
func agrees(counts []int, want []float64) error {
	if v := exact.PValue(counts, want); v < exact.Rate {
		k, _ := laws.WorstCell(counts, want)
		n, what := laws.Total(counts), "given up"
		if k < len(want)-1 {
			what = fmt.Sprint(exact.States(pairSites, pairLevels)[k])
		}
		return fmt.Errorf("%d of %d samples are %s, want about %.1f (p-value %.2g)", counts[k], n, what, want[k]*float64(n), v)
	}
	return nil
}

// tally counts samples by state, those that were given up behind.
func (c *diffusionCase) tally(counts []int, x []int32, err error) error {
	failed := make(diffusion.SampleErrors, len(x)/pairSites)
	if err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("d.Sample: %w", err)
	}
	for i := range len(x) / pairSites {
		y := x[i*pairSites : (i+1)*pairSites]
		switch {
		case failed[i] != nil && (errors.Is(failed[i], constraint.ErrInfeasible) || c.mayFail(failed[i])):
			counts[len(counts)-1]++
			continue
		case failed[i] != nil:
			return fmt.Errorf("sample %d: %w", i, failed[i])
		case slices.ContainsFunc(y, func(l int32) bool { return l < 0 || l == c.mask }):
			return fmt.Errorf("sample %d is %v", i, y)
		case c.clamp >= 0 && y[1] != int32(c.clamp):
			return fmt.Errorf("sample %d is %v, and site 1 is clamped at %d", i, y, c.clamp)
		case c.drawer && c.cfg.Decode == diffusion.DecodeLast && !c.o.Accepts(y):
			return fmt.Errorf("sample %d is %v, which is outside the constraint", i, y)
		}
		counts[exact.Index(y, pairLevels)]++
	}
	return nil
}

// mayFail reports whether the documentation says that a sample may end like this: a search
// that does not converge, or a level that only the condition allows under a scale above 1.
func (c *diffusionCase) mayFail(err error) bool {
	return strings.Contains(err.Error(), "lagrange: ") || c.guidance.free && c.guidance.scale > 1 && strings.HasPrefix(c.temper.name, "TopK") && strings.Contains(err.Error(), "+Inf")
}

// lives compares samples of one worker with those of others, of calls and of parts.
func (c *diffusionCase) lives(ctx context.Context, cfg diffusion.Config, remembers bool) error {
	const samples, cut = 10, 4
	draw := func(cfg diffusion.Config, calls ...int) ([]int32, error) {
		cfg.Projector = c.projector().part
		d, err := diffusion.New(ctx, c.model, c.process, cfg)
		if err != nil {
			return nil, err
		}
		var all []int32
		for _, n := range calls {
			x := make([]int32, n*pairSites)
			if err := d.Sample(ctx, x); err != nil {
				if failed := (diffusion.SampleErrors)(nil); !errors.As(err, &failed) {
					return nil, err
				}
			}
			all = append(all, x...)
		}
		return all, nil
	}
	one, several, part := cfg, cfg, cfg
	one.Workers, one.Batch = 1, 1
	several.Workers, several.Batch = 3, 3
	part.First = cut
	want, err := draw(one, samples)
	if err != nil {
		return fmt.Errorf("d.Sample: %w", err)
	}
	if remembers {
		several.Batch, part.First = 1, 0 // samples of a batch do not know each other
	}
	got, err := draw(several, cut, samples-cut)
	if err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("three workers, two calls: %v (%v), want %v", got, err, want)
	}
	if part.First > 0 {
		if got, err = draw(part, samples-cut); err != nil || !slices.Equal(got, want[cut*pairSites:]) {
			return fmt.Errorf("a part: %v (%v), want %v", got, err, want[cut*pairSites:])
		}
	}
	return nil
}

// evidence returns E[w(x_0)] without the constraint, w the weight of the projector in C,
// and the distribution ∝ p·w.
func (c *diffusionCase) evidence(ctx context.Context) (z float64, p []float64, err error) {
	free, err := c.expected(ctx, false)
	if err != nil {
		return 0, nil, err
	}
	all := exact.States(pairSites, pairLevels)
	p = make([]float64, len(free))
	v := make([]float32, pairSites*pairLevels)
	for k, x := range all {
		if !c.o.Accepts(x) {
			continue
		}
		if p[k] = free[k]; c.o.Weight != nil {
			p[k] *= math.Exp(c.o.Weight(v, x))
		}
		z += p[k]
	}
	for k := range p {
		p[k] /= z
	}
	return z, p, nil
}

// mostErrors is how many standard errors an estimate may be off: estimates of few
// particles are not quite normal.
const mostErrors = 7

func (c *diffusionCase) particles(ctx context.Context, cfg diffusion.Config, scale int) error {
	d, err := diffusion.NewParticles(ctx, c.model, c.process, diffusion.ParticlesConfig{Config: cfg, Particles: 4})
	if err != nil {
		return refusal{err}
	}
	x := make([]int32, 1000*scale*pairSites)
	counts := make([]int, exact.Size(pairSites, pairLevels)+1)
	err = d.Sample(ctx, x)
	if err := c.tally(counts, x, err); err != nil {
		return err
	}
	z, p, err := c.evidence(ctx)
	if errors.Is(err, errUnstated) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := supported(counts, p); err != nil {
		return err
	}
	got, stderr := d.LogProb()
	if off := math.Exp(got) - z; math.Abs(off) > mostErrors*stderr*math.Exp(got)+1e-6 {
		return fmt.Errorf("the estimate of P(C) = %.4f ± %.4f, want %.4f", math.Exp(got), stderr*math.Exp(got), z)
	}
	return nil
}

// inUnmask returns the configuration of the runners of package unmask, which have fewer
// fields, and forgets the others.
func (c *diffusionCase) inUnmask(cfg diffusion.Config) unmask.Config {
	c.clamp, c.cfg = -1, diffusion.Config{Steps: cfg.Steps}
	return unmask.Config{Seed: cfg.Seed, Projector: cfg.Projector}
}

// rejection judges samples that are wrong by those of a larger tuning run, as the
// documentation recommends where weights are heavy: paths that are too rare for a run to
// see can have any weight.
func (c *diffusionCase) rejection(ctx context.Context, cfg diffusion.Config, scale int) error {
	own := c.inUnmask(cfg)
	try := func(tuning, samples int) error {
		d, err := unmask.NewRejection(ctx, c.model, c.process, unmask.RejectionConfig{Config: own, Steps: cfg.Steps, Excess: 1e-3, Tuning: tuning, Trials: 8 * tuning})
		if err != nil {
			return refusal{err}
		}
		return c.rejects(ctx, d, make([]int32, samples*scale*pairSites))
	}
	err := try(512, 500)
	if _, refused := errors.AsType[refusal](err); err == nil || refused {
		return err
	}
	return try(1<<13, 100)
}

func (c *diffusionCase) rejects(ctx context.Context, d *unmask.Rejection, x []int32) error {
	err := d.Sample(ctx, x)
	heavy, above := errors.AsType[*unmask.ExcessError](err)
	switch {
	case err == nil || above && heavy.Made:
		return c.conditional(ctx, x, above)
	case above:
		return refusal{err}
	case !errors.Is(err, constraint.ErrInfeasible) && !c.mayFail(err):
		return fmt.Errorf("d.Sample: %w", err)
	}
	if z, _, err := c.evidence(ctx); err == nil && z > 1e-3 {
		return fmt.Errorf("no sample, and the constraint has the probability %.4f", z)
	}
	return nil
}

// conditional judges samples of p(x | C). loose looks at their support alone.
func (c *diffusionCase) conditional(ctx context.Context, x []int32, loose bool) error {
	counts := make([]int, exact.Size(pairSites, pairLevels)+1)
	if err := c.tally(counts, x, nil); err != nil {
		return err
	}
	_, p, err := c.evidence(ctx)
	if errors.Is(err, errUnstated) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := supported(counts, p); err != nil || loose {
		return err
	}
	return agrees(counts, p)
}

// supported returns an error for a sample of probability zero.
func supported(counts []int, p []float64) error {
	for k, n := range counts[:len(counts)-1] {
		if n > 0 && p[k] < 1e-12 {
			return fmt.Errorf("%d samples are %v, which has probability zero", n, exact.States(pairSites, pairLevels)[k])
		}
	}
	return nil
}

func (c *diffusionCase) backtrack(ctx context.Context, cfg diffusion.Config, scale int) error {
	own := c.inUnmask(cfg)
	if c.mask < 0 {
		c.mask = 2 // walks have no process but that of a mask
		c.make()
	}
	d, err := unmask.NewBacktrack(ctx, c.model, unmask.BacktrackConfig{Config: own, Mask: c.mask, Visits: 8})
	if err != nil {
		return refusal{err}
	}
	one := unmask.Scheduled{Mask: c.mask}
	c.process, c.entry = one, process{}
	if c.bound, err = one.Bind(ctx, pairSites, pairLevels); err != nil {
		return err
	}
	x := make([]int32, 12*scale*pairSites) // of which only the support is judged
	if err := d.Sample(ctx, x); err != nil {
		if !errors.Is(err, constraint.ErrInfeasible) && !c.mayFail(err) {
			return fmt.Errorf("d.Sample: %w", err)
		}
		return nil // a walk may be too short
	}
	return c.conditional(ctx, x, true)
}

// diffusionPairing is everything that diffusions of tokens accept.
func diffusionPairing() pairing {
	all, schedules, tempers, guides, projectors := processes(), scheduleEntries(), temperEntries(), guidanceEntries(), tokenProjectors()
	names := map[string]int{}
	factors := []factor{
		{"process", namesOf(all, func(p process) string { names[p.name]++; return fmt.Sprintf("%s/%d", p.name, names[p.name]) })},
		{"schedule", namesOf(schedules, func(e scheduleEntry) string { return e.name })},
		{"denoiser", namesOf(oracleEntries(), func(e oracleEntry) string { return e.name })},
		{"temper", namesOf(tempers, func(e temperEntry) string { return e.name })},
		{"guidance", namesOf(guides, func(e guidanceEntry) string { return e.name })},
		{"projector", namesOf(projectors, func(e projector) string { return e.name })},
		{"runner", pairRunners},
		{"steps", namesOf(pairSteps, func(n int) string { return fmt.Sprint(n) })},
		{"ProjectStart", namesOf(pairStarts, func(t float64) string { return fmt.Sprint(t) })},
		{"ProjectEvery", namesOf(pairEvery, func(n int) string { return fmt.Sprint(n) })},
		{"Decode", []string{"DecodeLast", "DecodeRows", "DecodeGreedy"}},
		{"Clamp", []string{"none", "site 1"}},
		{"ColdStart", []string{"false", "true"}},
		{"Observe", []string{"nobody", "somebody"}},
	}
	p := pairing{name: "diffusion", share: 4, again: 4, factors: factors}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := diffusionCase{
			entry: all[pick[0]], process: scheduled(all[pick[0]].part, schedules[pick[1]].s), mask: maskOf(all[pick[0]].part),
			oracle: pick[2], temper: tempers[pick[3]], guidance: guides[pick[4]],
			projector: func() projector { return tokenProjectors()[pick[5]] },
			runner:    pairRunners[pick[6]], clamp: pick[11] - 1, cold: pick[12] == 1,
			cfg: diffusion.Config{Steps: pairSteps[pick[7]], ProjectStart: pairStarts[pick[8]], ProjectEvery: pairEvery[pick[9]], Decode: pairDecodes[pick[10]]},
		}
		if pick[13] == 1 {
			c.cfg.Observe = func(*diffusion.Snapshot) {}
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.define("p", "processes", pick[0])
		if pick[1] > 0 {
			l.define("p.Schedule", "scheduleEntries", pick[1])
		}
		l.define("of", "oracleEntries", pick[2])
		l.add("d := of(%d)", maskOf(all[pick[0]].part))
		l.define("temper", "temperEntries", pick[3])
		l.add("guidance := %#v", guides[pick[4]])
		if pick[5] > 0 {
			l.define("projector", "projectors", pick[5]-1)
		}
		l.add("cfg := diffusion.Config{Steps: %s, ProjectStart: %s, ProjectEvery: %s, Decode: diffusion.%s, ColdStart: %s, Projector: projector} // clamp: %s",
			factors[7].options[pick[7]], factors[8].options[pick[8]], factors[9].options[pick[9]], factors[10].options[pick[10]], factors[12].options[pick[12]], factors[11].options[pick[11]])
		l.add("x := make([]int32, 3000*%d)", pairSites)
		l.add("require.NoError(t, exact.Must(diffusion.New(t.Context(), d, p, cfg)).Sample(t.Context(), x)) // %s, d tempered and guided", pairRunners[pick[6]])
		return l.String()
	}
	return p
}

// A process that is wrong in one combination is found.
func TestDiffusionPairsFindABrokenProcess(t *testing.T) {
	c := diffusionCase{
		entry: processes()[0], process: brokenProcess{diffusion.Masked{Mask: 2}}, mask: 2, clamp: -1, guidance: guidanceEntries()[0], temper: temperEntries()[0],
		projector: func() projector { return tokenProjectors()[0] }, runner: "Runner", cfg: diffusion.Config{Steps: 2},
	}
	c.make()
	c.bound = exact.Must(diffusion.Masked{Mask: 2}.Bind(t.Context(), pairSites, pairLevels))
	d := exact.Must(diffusion.New(t.Context(), c.model, c.process, c.cfg))
	x := make([]int32, 3000*pairSites)
	require.NoError(t, d.Sample(t.Context(), x))
	counts := make([]int, 82)
	require.NoError(t, c.tally(counts, x, nil))
	c.process = diffusion.Masked{Mask: 2}
	require.ErrorContains(t, agrees(counts, exact.Must(c.expected(t.Context(), true))), "p-value")
}

// brokenProcess reveals everything in the first step.
type brokenProcess struct{ diffusion.Masked }

func (p brokenProcess) Bind(ctx context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	s, err := p.Masked.Bind(ctx, sites, levels)
	return brokenSteps{s}, err
}

type brokenSteps struct{ diffusion.Steps[int32] }

func (s brokenSteps) Reverse(x []int32, raw, v []float32, t, _ float64, r *sampler.Stream) error {
	return s.Steps.Reverse(x, raw, v, t, 0, r)
}
