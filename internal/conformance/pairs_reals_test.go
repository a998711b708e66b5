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
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// A diffusion of reals is judged by its steps: every prediction, projection, mean of a
// step and clamp is compared with its documented formula, and what is left of a step with
// noise is compared with independent standard normal numbers. The distribution of the
// samples follows from that of the first states and of the steps.

// normals are the normal densities of a mixture, in the arithmetic of this file.
type normals struct {
	weight      []float64
	means, covs [][]float64 // by component: n, n × n
}

// mean returns E[x_0 | x] at signal level alpha; entries that are clean are x_0. ok is
// false where rounding decides.
func (m *normals) mean(x []float32, clean []bool, alpha float64) []float64 {
	n := len(x)
	logs, each := make([]float64, len(m.weight)), make([][]float64, len(m.weight))
	for k, mu := range m.means {
		// y = D·x_0 + noise of variances r; D = √ᾱ and r = 1−ᾱ but for clean entries.
		d, gap := make([]float64, n), make([]float64, n)
		s := make([][]float64, n)
		for i := range n {
			if d[i] = math.Sqrt(alpha); clean != nil && clean[i] {
				d[i] = 1
			}
			gap[i] = float64(x[i]) - d[i]*mu[i]
		}
		for i := range n {
			s[i] = make([]float64, n)
			for j := range n {
				s[i][j] = d[i] * m.covs[k][i*n+j] * d[j]
			}
			if d[i] != 1 || clean == nil || !clean[i] {
				s[i][i] += 1 - alpha
			}
		}
		y, logDet := solved(s, gap)
		each[k] = slices.Clone(mu)
		logs[k] = math.Log(m.weight[k]) - logDet/2
		for i := range n {
			logs[k] -= gap[i] * y[i] / 2
			for j := range n {
				each[k][i] += m.covs[k][i*n+j] * d[j] * y[j]
			}
		}
	}
	p, mean := normal(logs), make([]float64, n)
	for k, w := range p {
		for i := range n {
			mean[i] += w * each[k][i]
		}
	}
	return mean
}

// solved returns a⁻¹·b and log |det a| by Gauss's elimination.
func solved(a [][]float64, b []float64) (y []float64, logDet float64) {
	n := len(b)
	m := make([][]float64, n)
	for i := range n {
		m[i] = append(slices.Clone(a[i]), b[i])
	}
	for k := range n {
		best := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[best][k]) {
				best = i
			}
		}
		m[k], m[best] = m[best], m[k]
		logDet += math.Log(math.Abs(m[k][k]))
		for i := range n {
			if i == k {
				continue
			}
			f := m[i][k] / m[k][k]
			for j := k; j <= n; j++ {
				m[i][j] -= f * m[k][j]
			}
		}
	}
	y = make([]float64, n)
	for i := range n {
		y[i] = m[i][n] / m[i][i]
	}
	return y, logDet
}

// anyReals is a function of the state and the time that a network could be.
type anyReals struct{ clean bool }

func (anyReals) Shape() (int, int) { return pairSites, 1 }

func (a anyReals) Denoise(_ context.Context, v []float32, q energy.Noised[float32]) error {
	for i, x := range q.X {
		next := q.X[i/pairSites*pairSites+(i+1)%pairSites]
		v[i] = anyReal(x, next, q.Time[i/pairSites], i%pairSites)
		if a.clean && q.Clean != nil && q.Clean[i] {
			v[i] = x
		}
	}
	return nil
}

func anyReal(x, next float32, t float64, site int) float32 {
	return float32(math.Tanh(0.7*float64(x)-0.4*float64(next)+t) + 0.2*float64(site))
}

// realOracle is a denoiser of reals and its predictions by another road.
type realOracle struct {
	name string
	of   func() energy.Denoiser[float32]

	// want returns the prediction; nil if it is a draw.
	want func(x []float32, clean []bool, t, alpha float64) []float64
}

func realOracles() []realOracle {
	two := &normals{[]float64{0.4, 0.6}, [][]float64{{-1, 0, 1, 0}, {1, 0.5, 0, -0.5}}, [][]float64{
		{0.3, 0.1, 0, 0, 0.1, 0.4, 0.1, 0, 0, 0.1, 0.3, 0.1, 0, 0, 0.1, 0.2},
		{0.2, 0, 0.05, 0, 0, 0.2, 0, 0, 0.05, 0, 0.3, 0, 0, 0, 0, 0.5},
	}}
	mixture := exact.Must(continuous.NewMixture(two.weight, two.means, two.covs))
	series := &normals{[]float64{1}, [][]float64{{0.2, 0.2, 0.2, 0.2}}, [][]float64{make([]float64, 16)}}
	for i := range 16 {
		series.covs[0][i] = 0.8 * math.Pow(0.6, math.Abs(float64(i/4-i%4)))
	}
	data := []float32{0, 1, 0, 1, 1, 1, 0, 0, -1, 0, 0.5, 1}
	windows := &normals{weight: []float64{1, 1, 1}}
	for k := range 3 {
		mean, cov := make([]float64, 4), make([]float64, 16)
		for i := range mean {
			mean[i], cov[5*i] = float64(data[4*k+i]), 0.4*0.4
		}
		windows.means, windows.covs = append(windows.means, mean), append(windows.covs, cov)
	}
	exactly := func(m *normals) func([]float32, []bool, float64, float64) []float64 {
		return func(x []float32, clean []bool, _, alpha float64) []float64 { return m.mean(x, clean, alpha) }
	}
	// each applies a formula to every entry, with what the function predicts there.
	each := func(f func(x, u, alpha float64) float64, show func(x, alpha float64) (z, s float64), keeps bool) func([]float32, []bool, float64, float64) []float64 {
		return func(x []float32, clean []bool, t, alpha float64) []float64 {
			v, z := make([]float64, len(x)), make([]float32, len(x))
			for i := range x {
				at := 0.0
				if z[i] = x[i]; show != nil {
					var seen float64
					seen, at = show(float64(x[i]), alpha)
					if z[i] = float32(seen); clean != nil && clean[i] {
						z[i] = x[i]
					}
				} else {
					at = t
				}
				t = at
			}
			for i := range x {
				if v[i] = f(float64(x[i]), float64(anyReal(z[i], z[(i+1)%len(z)], t, i)), alpha); keeps && clean != nil && clean[i] {
					v[i] = float64(x[i])
				}
			}
			return v
		}
	}
	return []realOracle{
		{"denoise.Mixture", func() energy.Denoiser[float32] { return exact.Must(denoise.NewMixture(mixture)) }, exactly(two)},
		{"denoise.Autoregressive", func() energy.Denoiser[float32] {
			return exact.Must(denoise.NewAutoregressive(4, denoise.Channel{Coef: []float64{0.6}, Mean: 0.2, Variance: 0.8}))
		}, exactly(series)},
		{"denoise.Windows", func() energy.Denoiser[float32] {
			return exact.Must(denoise.NewWindows(data, 4, denoise.WindowsConfig{Bandwidth: 0.4}))
		}, exactly(windows)},
		{"any function", func() energy.Denoiser[float32] { return anyReals{} }, each(func(_, u, _ float64) float64 { return u }, nil, false)},
		{"energy.NoisePredictor", func() energy.Denoiser[float32] { return energy.NoisePredictor{Denoiser: anyReals{}} },
			each(func(x, u, alpha float64) float64 { return (x - math.Sqrt(1-alpha)*u) / math.Sqrt(alpha) }, nil, true)},
		{"denoise.Velocity", func() energy.Denoiser[float32] { return denoise.Velocity{Denoiser: anyReals{clean: true}} },
			each(func(x, u, alpha float64) float64 {
				total := math.Sqrt(alpha) + math.Sqrt(1-alpha)
				return x/total - math.Sqrt(1-alpha)/total*u
			}, func(x, alpha float64) (z, s float64) {
				total := math.Sqrt(alpha) + math.Sqrt(1-alpha)
				return x / total, math.Sqrt(1-alpha) / total
			}, true)},
		{"denoise.Ancestral", func() energy.Denoiser[float32] { return exact.Must(denoise.NewAncestral(mixture)) }, nil},
	}
}

// realStep is a process and its documented step.
type realStep struct {
	name    string
	process diffusion.Process[float32]

	eta       float64 // of a Gaussian; −1 for ECI
	wide      bool
	recompute bool
	weight    float64   // of a penalty on the set narrow
	cov       []float64 // variances of the penalty's covariance, or nil
	mix       int
	resample  int
}

func realSteps() []realStep {
	variances := []float64{0.5, 1, 0.2, 1}
	covariance := func(dst, v []float64, _ float64) {
		for i := range v {
			dst[i] = variances[i] * v[i]
		}
	}
	return []realStep{
		{name: "Gaussian", process: diffusion.Gaussian{}},
		{name: "Gaussian of ½", process: diffusion.Gaussian{Eta: 0.5}, eta: 0.5},
		{name: "Gaussian of 1", process: diffusion.Gaussian{Eta: 1}, eta: 1},
		{name: "Gaussian, wide", process: diffusion.Gaussian{Eta: 1, Wide: true}, eta: 1, wide: true},
		{name: "Gaussian, recomputed", process: diffusion.Gaussian{Eta: 0.5, Recompute: true}, eta: 0.5, recompute: true},
		{name: "Penalised", process: diffusion.Penalised{Set: narrow()}, weight: 0.1},
		{name: "Penalised Gaussian of 1", process: diffusion.Penalised{Set: narrow(), Process: diffusion.Gaussian{Eta: 1}, Weight: 0.3}, eta: 1, weight: 0.3},
		{name: "Penalised with a covariance", process: diffusion.Penalised{Set: narrow(), Covariance: covariance}, weight: 0.1, cov: variances},
		{name: "Penalised ECI", process: diffusion.Penalised{Set: narrow(), Process: diffusion.ECI{}}, eta: -1, weight: 0.1, mix: 1, resample: 1},
		{name: "ECI", process: diffusion.ECI{}, eta: -1, mix: 1, resample: 1},
		{name: "ECI of three rounds", process: diffusion.ECI{Mix: 3, Resample: 2}, eta: -1, mix: 3, resample: 2},
		{name: "ECI that keeps its noise", process: diffusion.ECI{Resample: -1}, eta: -1, mix: 1, resample: -1},
	}
}

// realSchedules are ᾱ by name; nil is the process' own.
func realSchedules() []scheduleEntry {
	return []scheduleEntry{
		{"its own", nil},
		{"LinearBeta", noise.LinearBeta{}},
		{"CosineBar", noise.CosineBar{}},
		{"SigmoidBar", noise.SigmoidBar{}},
		{"Straight", noise.Straight{}},
		{"LogLinear", noise.LogLinear{}},
		{"GeometricSigma", noise.GeometricSigma{}},
		{"PolynomialSNR", noise.PolynomialSNR{}},
	}
}

// scheduledReals replaces the schedule of a process, or of what it penalises.
func scheduledReals(p diffusion.Process[float32], s noise.Schedule) diffusion.Process[float32] {
	if s == nil {
		return p
	}
	if q, ok := p.(diffusion.Penalised); ok {
		if q.Process == nil {
			q.Process = diffusion.Gaussian{}
		}
		q.Process = scheduledReals(q.Process, s)
		return q
	}
	v := reflect.New(reflect.TypeOf(p)).Elem()
	v.Set(reflect.ValueOf(p))
	v.FieldByName("Schedule").Set(reflect.ValueOf(s))
	return v.Interface().(diffusion.Process[float32])
}

// realProjector is a projector of reals and what it does, by another road.
type realProjector struct {
	name string
	part diffusion.Projector
	rows *constraint.Slabs // nearest points of these, nil for others

	// cap is the largest multiplier of a row, γ/2; variances are those of the metric.
	cap       func(from, to float64) float64
	variances []float64

	// moves stores in z the point that v goes to, and reports false if that is not
	// stated.
	moves func(z []float64, to float64) bool

	// outside is by how much a sample is outside, nil if samples may be.
	outside func(x []float32) float64
}

// disc keeps the first two sites within the unit circle.
type disc struct{}

func (disc) Len() int { return 1 }

func (disc) Value(g []float64, v []float32) {
	g[0] = float64(v[0])*float64(v[0]) + float64(v[1])*float64(v[1]) - 1
}

func (disc) Pull(dst, v []float32, w []float64) {
	dst[0] += float32(2 * w[0] * float64(v[0]))
	dst[1] += float32(2 * w[0] * float64(v[1]))
}

func realProjectors() []realProjector {
	rows := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 1, 1, -1, 0, 0}, 4), Lower: []float64{0, -1}, Upper: []float64{1, 1}}
	equations := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 0, 0, 0, 0, 1, -1, 0, 1, 1, 0}, 4), Lower: []float64{0.5, 0.1, math.Inf(-1)}, Upper: []float64{0.5, 0.1, 1}}
	future := constraint.Slabs{A: constraint.Rows([]float64{0, 0, 1, 0, 0, 0, 1, 1}, 4), Lower: []float64{-0.5, 0}, Upper: []float64{0.5, 0.7}}
	known := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 1, 0, 1, 0, 0}, 4), Lower: []float64{0, 0.3}, Upper: []float64{1, 0.3}}
	against := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 0, 0, 1, 1, 0, 0}, 4), Lower: []float64{1, math.Inf(-1)}, Upper: []float64{math.Inf(1), 0}}
	variances := []float64{1, 0.5, 2, 1}
	metric := func(dst, v []float64, t float64) {
		for i := range v {
			dst[i] = variances[i] * v[i] * (0.5 + t)
		}
	}
	hard := func(float64, float64) float64 { return math.Inf(1) }
	slabs := func(s constraint.Slabs) func(x []float32) float64 {
		return func(x []float32) float64 {
			g := make([]float64, len(s.A))
			s.Value(g, x)
			return slices.Max(g)
		}
	}
	circle := func(z []float64, to float64) bool {
		r := math.Hypot(z[0], z[1])
		if to > 0 && r > 1 {
			return false // linearised four times
		}
		for i := range 2 {
			z[i] /= max(1, r)
		}
		return true
	}
	ball := func(z []float64, to float64) bool {
		sum := 0.0
		for _, x := range z {
			sum += x * x
		}
		factor := 1 - (sum-4)/(2*sum) // Gauss–Newton: h = ‖z‖² − 4, and J = 2z
		if to == 0 {
			factor = 2 / math.Sqrt(sum)
		}
		for i := range z {
			z[i] *= factor
		}
		return sum > 1e-6
	}
	return []realProjector{
		{name: "none"},
		{name: "proximal.Projector of slabs", part: proximal.Projector{Set: rows}, rows: &rows, cap: hard, outside: slabs(rows)},
		{name: "proximal.Projector of equations", part: proximal.Projector{Set: equations}, rows: &equations, cap: hard, outside: slabs(equations)},
		{name: "proximal.Projector of the last sites", part: proximal.Projector{Set: future}, rows: &future, cap: hard, outside: slabs(future)},
		{name: "proximal.Projector that knows the clamp", part: proximal.Projector{Set: known}, rows: &known, cap: hard, outside: slabs(known)},
		{name: "proximal.Projector in a metric", part: proximal.Projector{Set: rows, Metric: metric}, rows: &rows, cap: hard, variances: variances, outside: slabs(rows)},
		{name: "proximal.Projector with a constant γ", part: proximal.Projector{Set: rows, Gamma: proximal.ConstantGamma(0.4)}, rows: &rows, cap: func(float64, float64) float64 { return 0.2 }},
		{name: "proximal.Projector with a growing γ", part: proximal.Projector{Set: equations, Gamma: proximal.PowerGamma(2, 3)}, rows: &equations, cap: func(_, to float64) float64 { return 1.5 * (1 - to) * (1 - to) }},
		{name: "proximal.Projector of a circle", part: proximal.Projector{Set: disc{}}, moves: circle, outside: func(x []float32) float64 {
			return float64(x[0])*float64(x[0]) + float64(x[1])*float64(x[1]) - 1
		}},
		{name: "proximal.Projector of contradictions", part: proximal.Projector{Set: against}},
		{name: "proximal.Projector that softens contradictions", part: proximal.Projector{Set: against, Soften: true}, rows: &against, cap: func(float64, float64) float64 { return proximal.SoftGamma / 2 }},
		{name: "newton.Projector", part: projectors()[len(projectors())-1].part, moves: ball, outside: projectors()[len(projectors())-1].o.Violation},
		{name: "projection.Path", part: projectors()[0].part},
	}
}

// nearest returns the point nearest to z that meets rows with multipliers of at most cap,
// argmin ½(z−ẑ)ᵀP⁻¹(z−ẑ) + cap·Σ violation, by enumeration of which rows bind; nil if there
// is none.
func (p *realProjector) nearest(z []float64, from, to float64) []float64 {
	limit, n, rows := p.cap(from, to), len(z), len(p.rows.A)
	scale := make([]float64, n)
	for i := range scale {
		if scale[i] = 1; p.variances != nil {
			scale[i] = p.variances[i] * (0.5 + from)
		}
	}
	a := make([][]float64, rows)
	for j, r := range p.rows.A {
		a[j] = make([]float64, n)
		for k, i := range r.Index {
			a[j][i] = r.Value[k]
		}
	}
	dot := func(u, v []float64) (sum float64) {
		for i := range u {
			sum += u[i] * v[i]
		}
		return sum
	}
	var best []float64
	least := math.Inf(1)
	for state := range int(math.Pow(5, float64(rows))) {
		// Each row: 0 free, 1 and 2 at its bounds, 3 and 4 beyond them.
		y, target := make([]float64, rows), make([]float64, rows)
		var bound []int
		ok := true
		for j, left := 0, state; j < rows; j, left = j+1, left/5 {
			lo, hi := p.rows.Lower[j], p.rows.Upper[j]
			switch left % 5 {
			case 1:
				bound, target[j], ok = append(bound, j), hi, ok && !math.IsInf(hi, 0)
			case 2:
				bound, target[j], ok = append(bound, j), lo, ok && !math.IsInf(lo, 0)
			case 3:
				y[j], ok = limit, ok && !math.IsInf(limit, 0) && !math.IsInf(hi, 0)
			case 4:
				y[j], ok = -limit, ok && !math.IsInf(limit, 0) && !math.IsInf(lo, 0)
			}
		}
		if !ok {
			continue
		}
		at := func() []float64 {
			x := slices.Clone(z)
			for j := range a {
				for i := range x {
					x[i] -= scale[i] * a[j][i] * y[j]
				}
			}
			return x
		}
		if len(bound) > 0 {
			x := at()
			m, b := make([][]float64, len(bound)), make([]float64, len(bound))
			for r, j := range bound {
				b[r] = dot(a[j], x) - target[j]
				for _, k := range bound {
					sum := 0.0
					for i := range scale {
						sum += a[j][i] * scale[i] * a[k][i]
					}
					m[r] = append(m[r], sum)
				}
			}
			solution, logDet := solved(m, b)
			if math.IsNaN(logDet) || logDet < -20 {
				continue
			}
			for r, j := range bound {
				y[j] = solution[r]
			}
		}
		x := at()
		cost := 0.0
		for i := range x {
			cost += (x[i] - z[i]) * (x[i] - z[i]) / scale[i] / 2
		}
		for j := range a {
			over := max(0, dot(a[j], x)-p.rows.Upper[j], p.rows.Lower[j]-dot(a[j], x))
			switch {
			case math.IsInf(limit, 0) && over > 1e-9*(1+math.Abs(dot(a[j], x))):
				ok = false
			case !math.IsInf(limit, 0):
				cost += limit * over
			}
		}
		if ok && cost < least { // convex: the cheapest of all candidates is the minimum
			best, least = x, cost
		}
	}
	return best
}

// Options of the other factors.
var (
	realNumbers = []int{1, 2, 5}
	realStates  = []float64{-1, 0, 2} // ProjectPower, −1 for no ProjectState
	realClamps  = []string{"none", "site 1", "site 1 by Fill", "every site"}
)

// realCase is a combination for diffusions of reals.
type realCase struct {
	step      realStep
	schedule  scheduleEntry
	oracle    realOracle
	projector realProjector
	clamp     string
	cfg       diffusion.Config

	steps diffusion.Steps[float32]

	mu    sync.Mutex
	asked map[int][]askedReals // by sample
	shown map[int][]diffusion.Snapshot
	cells [realCells]int
	signs map[string]*[2]int
}

// realCells are equally likely cells of a standard normal number.
const realCells = 32

// askedReals is a state that the denoiser was asked about, and its answer.
type askedReals struct {
	x, v     []float32
	clean    []bool
	t, alpha float64
}

// recording keeps what a denoiser is asked and answers.
type recording struct {
	energy.Denoiser[float32]
	c *realCase
}

func (r recording) As(target any) bool { return energy.AsInto(r.Denoiser, target) }

func (r recording) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if err := r.Denoiser.Denoise(ctx, v, q); err != nil {
		return err
	}
	for s, sample := range q.Sample {
		a := askedReals{x: slices.Clone(q.X[s*pairSites : (s+1)*pairSites]), v: slices.Clone(v[s*pairSites : (s+1)*pairSites]), t: q.Time[s], alpha: q.Alpha[s]}
		if q.Clean != nil {
			a.clean = slices.Clone(q.Clean[s*pairSites : (s+1)*pairSites])
		}
		r.c.asked[sample] = append(r.c.asked[sample], a)
	}
	return nil
}

// clamped returns the values of clamped sites, NaN elsewhere.
func (c *realCase) clamped() []float32 {
	nan := float32(math.NaN())
	switch c.clamp {
	case "none":
		return []float32{nan, nan, nan, nan}
	case "every site":
		return []float32{0.2, 0.3, 0.2, 0.1}
	}
	return []float32{nan, 0.3, nan, nan}
}

func (c *realCase) judge(ctx context.Context, scale int, seed uint64) error {
	process := scheduledReals(c.step.process, c.schedule.s)
	var err error
	if c.steps, err = process.Bind(ctx, pairSites, 1); err != nil {
		return refusal{err}
	}
	c.asked, c.shown, c.signs, c.cells = map[int][]askedReals{}, map[int][]diffusion.Snapshot{}, map[string]*[2]int{}, [realCells]int{}
	cfg := c.cfg
	cfg.Seed, cfg.Projector, cfg.Workers = seed, c.projector.part, 2
	if c.clamp == "site 1" || c.clamp == "every site" {
		cfg.ClampReal = c.clamped()
	}
	if err := c.lives(ctx, process, cfg); err != nil {
		return err
	}
	cfg.Observe = func(s *diffusion.Snapshot) {
		n := *s
		n.Real, n.V = slices.Clone(s.Real), slices.Clone(s.V)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.shown[s.Sample] = append(c.shown[s.Sample], n)
	}
	d, err := diffusion.New(ctx, energy.Denoiser[float32](recording{c.oracle.of(), c}), process, cfg)
	if err != nil {
		return refusal{err}
	}
	x := make([]float32, 160*scale*pairSites)
	err = c.draw(ctx, d, x)
	failed := make(diffusion.SampleErrors, len(x)/pairSites)
	if err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("d.Sample: %w", err)
	}
	for i := range failed {
		if err := c.sample(i, x[i*pairSites:(i+1)*pairSites], failed[i]); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return c.noise()
}

// draw makes samples, by Fill if that is how they are clamped.
func (c *realCase) draw(ctx context.Context, d *diffusion.Runner[float32], x []float32) error {
	if c.clamp != "site 1 by Fill" {
		return d.Sample(ctx, x)
	}
	for i := range x {
		x[i] = c.clamped()[i%pairSites]
	}
	return d.Fill(ctx, x)
}

// lives compares samples of one worker with those of others, of calls and of parts.
func (c *realCase) lives(ctx context.Context, process diffusion.Process[float32], cfg diffusion.Config) error {
	const samples, cut = 10, 4
	draw := func(cfg diffusion.Config, calls ...int) ([]float32, error) {
		d, err := diffusion.New(ctx, c.oracle.of(), process, cfg)
		if err != nil {
			return nil, refusal{err}
		}
		var all []float32
		for _, n := range calls {
			x := make([]float32, n*pairSites)
			if err := c.draw(ctx, d, x); err != nil {
				if failed := (diffusion.SampleErrors)(nil); !errors.As(err, &failed) {
					return nil, c.understood(err)
				}
			}
			all = append(all, x...)
		}
		return all, nil
	}
	same := func(a, b []float32) bool {
		return slices.EqualFunc(a, b, func(a, b float32) bool { return a == b || a != a && b != b })
	}
	one, several, part := cfg, cfg, cfg
	one.Workers, one.Batch = 1, 1
	several.Workers, several.Batch = 3, 3
	part.First = cut
	want, err := draw(one, samples)
	if err != nil {
		return err
	}
	got, err := draw(several, cut, samples-cut)
	if err != nil || !same(got, want) {
		return fmt.Errorf("three workers, two calls: %v (%v), want %v", got, err, want)
	}
	if got, err = draw(part, samples-cut); err != nil || !same(got, want[cut*pairSites:]) {
		return fmt.Errorf("a part: %v (%v), want %v", got, err, want[cut*pairSites:])
	}
	return nil
}

// understood makes errors that the documentation states a refusal.
func (c *realCase) understood(err error) error {
	if strings.Contains(err.Error(), "denoise: Ancestral: Noised.Clean[") {
		return refusal{err}
	}
	return fmt.Errorf("d.Sample: %w", err)
}

// sample judges the steps of a sample, and what it came to.
func (c *realCase) sample(i int, x []float32, failed error) error {
	asked, shown := c.asked[i], c.shown[i]
	given := c.clamped()
	if len(asked) == 0 {
		return fmt.Errorf("without a prediction")
	}
	kept := wide(asked[0].x) // ε of ECI, NaN where it is not seen
	for j, g := range given {
		if g == g {
			kept[j] = math.NaN()
		} else {
			c.spread("the first states", i, j, kept[j])
		}
	}
	rounds := 0
	for k, n := range shown {
		if k >= len(asked) {
			return fmt.Errorf("step %d has no prediction", k)
		}
		a := asked[k]
		from, to := c.times(k)
		switch {
		case n.Step != k || math.Abs(n.From-from) > 1e-12 || math.Abs(n.To-to) > 1e-12 || math.Abs(a.t-from) > 1e-12 || math.Abs(a.alpha-c.steps.Alpha(from)) > 1e-12:
			return fmt.Errorf("step %d (%d) from %v to %v, and the denoiser is asked at %v with ᾱ = %v; want from %v to %v", k, n.Step, n.From, n.To, a.t, a.alpha, from, to)
		case k > 0 && !slices.Equal(a.x, shown[k-1].Real):
			return fmt.Errorf("step %d begins at %v, and the one before it ended at %v", k, a.x, shown[k-1].Real)
		}
		for j, g := range given {
			clean := g == g
			if clean && (a.x[j] != g || n.Real[j] != g || a.clean == nil || !a.clean[j]) || !clean && a.clean != nil && a.clean[j] {
				return fmt.Errorf("step %d: site %d goes from %v to %v, marks of clean entries %v; clamped: %v", k, j, a.x[j], n.Real[j], a.clean, given)
			}
		}
		if err := c.one(i, k, a, n, kept, &rounds); err != nil {
			return fmt.Errorf("step %d from %v: %w", k, a.x, err)
		}
	}
	if failed != nil {
		if c.mayFail(failed) {
			return nil
		}
		return failed
	}
	if last, _ := c.times(len(shown)); len(shown) == 0 || last > 0 {
		return fmt.Errorf("%d steps, and time is %v", len(shown), last)
	}
	if end := shown[len(shown)-1].Real; !slices.Equal(x, end) {
		return fmt.Errorf("is %v, and its last step ends at %v", x, end)
	}
	for j, v := range x {
		if v-v != 0 {
			return fmt.Errorf("site %d is %v", j, v)
		}
	}
	if c.projector.outside != nil {
		size := 1.0
		for _, v := range x {
			size = max(size, math.Abs(float64(v)))
		}
		if over := c.projector.outside(x); over > 1e-5*size*size {
			return fmt.Errorf("is %v, which is outside by %v", x, over)
		}
	}
	return nil
}

// mayFail reports whether the documentation says that a sample may end like this.
func (c *realCase) mayFail(err error) bool {
	switch {
	case strings.Contains(err.Error(), "is clamped at"):
		return c.projector.part != nil
	case strings.Contains(err.Error(), "has a value that is NaN or +Inf (or -Inf, for reals)"): // there is no signal
		return c.oracle.name == "energy.NoisePredictor" && c.steps.Alpha(1) < 1e-30
	}
	return c.projector.moves != nil && (strings.Contains(err.Error(), "newton: ") || strings.Contains(err.Error(), "proximal: "))
}

// times returns those of step k.
func (c *realCase) times(k int) (from, to float64) {
	mix, n := max(1, c.step.mix), float64(c.cfg.Steps)
	from = 1 - float64(k/mix)/n
	if to = from; k%mix == mix-1 {
		to = 1 - float64(k/mix+1)/n
	}
	return max(0, from), max(0, to)
}

// near compares numbers that came about in float32.
func near(got, want []float64, size float64) (site int, ok bool) {
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 3e-5*size) {
			return i, false
		}
	}
	return 0, true
}

func wide(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

// largestOf is the largest absolute value that is a number, at least 1.
func largestOf(all ...[]float64) float64 {
	size := 1.0
	for _, v := range all {
		for _, x := range v {
			if x == x {
				size = max(size, math.Abs(x))
			}
		}
	}
	return size
}

// one judges a step.
func (c *realCase) one(i, k int, a askedReals, n diffusion.Snapshot, kept []float64, rounds *int) error {
	given := c.clamped()
	raw := wide(a.v)
	if c.oracle.want != nil {
		want := c.oracle.want(a.x, a.clean, a.t, a.alpha)
		if j, ok := near(raw, want, largestOf(want, wide(a.x))); !ok && !math.IsInf(want[j], 0) {
			return fmt.Errorf("the prediction for site %d is %v, want %v", j, raw[j], want[j])
		}
	}
	for j, g := range given {
		if g == g {
			raw[j] = float64(g)
		}
	}
	from, to := a.t, n.To
	every := c.cfg.ProjectEvery
	projects := c.projector.part != nil && (to <= 0 || (c.cfg.ProjectStart == 0 || from <= c.cfg.ProjectStart) && every >= 0 && k%max(every, 1) == 0)
	if projects != n.Projected {
		return fmt.Errorf("projected: %v, want %v", n.Projected, projects)
	}
	v := slices.Clone(raw)
	if projects && !c.cfg.ProjectState {
		if !c.project(v, from, to) {
			v = wide(n.V)
		}
		size := largestOf(raw, v)
		if j, ok := near(wide(n.V), v, size*size); !ok && c.cfg.ProjectState == false && c.step.weight == 0 {
			return fmt.Errorf("the projected prediction of site %d is %v, want %v; from %v", j, n.V[j], v[j], raw)
		}
	}
	mean, sigma := c.reverse(raw, v, wide(a.x), kept, from, to, rounds)
	_, same := near(mean, v, 1e-3) // a penalty of zero
	if projects && (c.cfg.ProjectState || to <= 0 && !same) {
		if sigma > 0 || slices.ContainsFunc(mean, math.IsNaN) {
			if sigma > 0 {
				for j := range kept {
					kept[j] = math.NaN()
				}
			}
			return c.stated(n) // the noise is not seen
		}
		moved := slices.Clone(mean)
		if !c.project(moved, from, to) {
			return nil
		}
		part := 1.0
		if to > 0 && c.cfg.ProjectPower > 0 {
			part = math.Pow(1-to, c.cfg.ProjectPower)
		}
		for j := range mean {
			mean[j] += part * (moved[j] - mean[j])
		}
	}
	size := largestOf(mean, raw, v, wide(a.x))
	for j, x := range n.Real {
		switch {
		case given[j] == given[j] || math.IsNaN(mean[j]):
		case sigma*1e-3 < 3e-5*size:
			if !(math.Abs(float64(x)-mean[j]) <= 3e-5*size*size+8*sigma) {
				return fmt.Errorf("site %d goes to %v, want %v ± %v", j, x, mean[j], sigma)
			}
			if sigma > 0 {
				kept[j] = math.NaN()
			}
		default:
			c.spread("steps", i, j, (float64(x)-mean[j])/sigma)
			c.sign("noise and state", ((float64(x)-mean[j])/sigma)*float64(a.x[j]))
			if c.step.eta < 0 {
				kept[j] = (float64(x) - mean[j]) / sigma
			}
		}
	}
	return nil
}

// stated judges a projected state whose noise is not seen.
func (c *realCase) stated(n diffusion.Snapshot) error {
	if c.projector.outside == nil || c.cfg.ProjectPower > 0 && n.To > 0 || c.clamp != "none" {
		return nil
	}
	if c.projector.rows == nil && n.To > 0 {
		return nil // curved rows hold approximately
	}
	size := largestOf(wide(n.Real))
	if over := c.projector.outside(n.Real); over > 3e-5*size*size {
		return fmt.Errorf("the projected state %v is outside by %v", n.Real, over)
	}
	return nil
}

// project moves z, and reports false if it is not stated where to.
func (c *realCase) project(z []float64, from, to float64) bool {
	p := &c.projector
	if p.moves != nil {
		return p.moves(z, to)
	}
	moved := p.nearest(z, from, to)
	if moved == nil {
		return false
	}
	copy(z, moved)
	return true
}

// reverse returns the mean and the standard deviation of the documented step.
func (c *realCase) reverse(raw, v, x, kept []float64, from, to float64, rounds *int) (mean []float64, sigma float64) {
	at, as := c.steps.Alpha(from), c.steps.Alpha(to)
	mean = make([]float64, len(x))
	if c.step.eta < 0 {
		*rounds++
		fresh := c.step.resample > 0 && *rounds%c.step.resample == 0
		for j := range mean {
			if mean[j] = math.Sqrt(as) * v[j]; !fresh {
				mean[j] += math.Sqrt(1-as) * kept[j]
			}
		}
		if fresh {
			sigma = math.Sqrt(1 - as)
		}
	} else {
		known := c.step.eta * math.Sqrt((1-as)/(1-at)) * math.Sqrt(1-at/as)
		if sigma = known; c.step.wide && to > 0 {
			sigma = math.Sqrt(1 - at/as)
		}
		source := raw
		if c.step.recompute {
			source = v
		}
		for j := range mean {
			eps := (x[j] - math.Sqrt(at)*source[j]) / math.Sqrt(1-at)
			mean[j] = math.Sqrt(as)*v[j] + math.Sqrt(max(0, 1-as-known*known))*eps
		}
	}
	if c.step.weight > 0 { // of narrow: 0 ≤ x_0 + x_1 + x_2 ≤ 1
		sum := raw[0] + raw[1] + raw[2]
		slope := 2 * max(0, sum-1)
		if sum < 0 {
			slope = 2 * sum
		}
		for j := range 3 {
			factor := 1.0
			if c.step.cov != nil {
				factor = math.Sqrt(at) / (1 - at) * c.step.cov[j]
			}
			mean[j] -= c.step.weight * factor * slope
		}
	}
	return mean, sigma
}

// spread counts a number that should be standard normal, and its sign, with the one
// before it.
func (c *realCase) spread(what string, sample, site int, z float64) {
	u := 0.5 * math.Erfc(-z/math.Sqrt2)
	c.cells[min(int(u*realCells), realCells-1)]++
	r := rand.New(rand.NewPCG(uint64(sample), uint64(site)))
	c.sign(what+", at random", z*r.NormFloat64())
	c.sign(fmt.Sprint(what, ", site ", site), z)
}

func (c *realCase) sign(what string, product float64) {
	if c.signs[what] == nil {
		c.signs[what] = new([2]int)
	}
	k := 0
	if product > 0 {
		k = 1
	}
	c.signs[what][k]++
}

// noise judges all that should be standard normal.
func (c *realCase) noise() error {
	even := slices.Repeat([]float64{1.0 / realCells}, realCells)
	if v := exact.PValue(c.cells[:], even); v < exact.Rate/2 {
		return fmt.Errorf("noise falls into equally likely cells of a normal %v times (p-value %.2g)", c.cells, v)
	}
	for what, n := range c.signs {
		if v := exact.BinomialPValue(n[1], n[0]+n[1], 0.5); v < exact.Rate/2/float64(len(c.signs)) {
			return fmt.Errorf("%s: %d are negative and %d positive (p-value %.2g)", what, n[0], n[1], v)
		}
	}
	return nil
}

// realPairing is everything that diffusions of reals accept.
func realPairing() pairing {
	steps, schedules, oracles, all := realSteps(), realSchedules(), realOracles(), realProjectors()
	p := pairing{name: "reals", share: 2, again: 2, factors: []factor{
		{"process", namesOf(steps, func(e realStep) string { return e.name })},
		{"schedule", namesOf(schedules, func(e scheduleEntry) string { return e.name })},
		{"denoiser", namesOf(oracles, func(e realOracle) string { return e.name })},
		{"projector", namesOf(all, func(e realProjector) string { return e.name })},
		{"steps", namesOf(realNumbers, func(n int) string { return fmt.Sprint(n) })},
		{"ProjectStart", namesOf(pairStarts, func(t float64) string { return fmt.Sprint(t) })},
		{"ProjectEvery", namesOf(pairEvery, func(n int) string { return fmt.Sprint(n) })},
		{"ProjectState", []string{"false", "true", "true, with ProjectPower 2"}},
		{"ClampReal", realClamps},
		{"ColdStart", []string{"false", "true"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := realCase{
			step: steps[pick[0]], schedule: schedules[pick[1]], oracle: oracles[pick[2]], projector: all[pick[3]], clamp: realClamps[pick[8]],
			cfg: diffusion.Config{Steps: realNumbers[pick[4]], ProjectStart: pairStarts[pick[5]], ProjectEvery: pairEvery[pick[6]],
				ProjectState: pick[7] > 0, ProjectPower: max(0, realStates[pick[7]]), ColdStart: pick[9] == 1},
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.add("p := realSteps()[%d].process // %s, schedule: %s", pick[0], steps[pick[0]].name, schedules[pick[1]].name)
		l.add("d := realOracles()[%d].of() // %s", pick[2], oracles[pick[2]].name)
		l.add("cfg := diffusion.Config{Steps: %s, ProjectStart: %s, ProjectEvery: %s, ProjectState: %v, ProjectPower: %v, ColdStart: %v, Projector: realProjectors()[%d].part} // %s, clamped: %s",
			p.factors[4].options[pick[4]], p.factors[5].options[pick[5]], p.factors[6].options[pick[6]], pick[7] > 0, max(0, realStates[pick[7]]), pick[9] == 1, pick[3], all[pick[3]].name, realClamps[pick[8]])
		l.add("x := make([]float32, 160*%d)", pairSites)
		l.add("require.NoError(t, exact.Must(diffusion.New(t.Context(), d, p, cfg)).Sample(t.Context(), x))")
		return l.String()
	}
	return p
}

// A process whose noise is too large, or whose mean is off, is found.
func TestRealPairsFindABrokenProcess(t *testing.T) {
	c := realCase{step: realSteps()[2], oracle: realOracles()[0], projector: realProjectors()[0], clamp: "none", cfg: diffusion.Config{Steps: 5}}
	require.NoError(t, c.judge(t.Context(), 1, 1))
	c.step.process = brokenReals{Gaussian: diffusion.Gaussian{Eta: 1}, noise: 0.1}
	require.ErrorContains(t, c.judge(t.Context(), 1, 1), "goes to") // in the last step, at least
	c.step.process = brokenReals{Gaussian: diffusion.Gaussian{Eta: 1}, noise: 1.5, until: 0.1}
	require.ErrorContains(t, c.judge(t.Context(), 3, 1), "p-value")
	c.step.process, c.step.eta = brokenReals{mean: 1e-3}, 0
	require.ErrorContains(t, c.judge(t.Context(), 1, 1), "goes to")
}

// brokenReals adds to its steps.
type brokenReals struct {
	diffusion.Gaussian
	noise, mean float64
	until       float64 // the time
}

func (p brokenReals) Bind(ctx context.Context, sites, levels int) (diffusion.Steps[float32], error) {
	s, err := p.Gaussian.Bind(ctx, sites, levels)
	return brokenRealSteps{s, p}, err
}

type brokenRealSteps struct {
	diffusion.Steps[float32]
	p brokenReals
}

func (s brokenRealSteps) Reverse(x []float32, raw, v []float32, t, to float64, r *sampler.Stream) error {
	err := s.Steps.Reverse(x, raw, v, t, to, r)
	for i := range x {
		if to >= s.p.until {
			x[i] += float32(s.p.mean + s.p.noise*(2*r.Float64()-1))
		}
	}
	return err
}
