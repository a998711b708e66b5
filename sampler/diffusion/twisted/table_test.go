package twisted_test

import (
	"flag"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

var (
	table   = flag.Int("table", 0, "2, 8 or 16: print how far methods are from the conditional distribution in so many dimensions")
	seeds   = flag.Int("seeds", 8, "of the table")
	samples = flag.Int("samples", 10000, "of the table")
	units   = flag.Int("units", 32, "exact samples of exact draws that the table is in units of")
	bounds  = flag.Int("inequalities", 0, "of the table besides the equations, each of which seven tenths of what is left satisfy")
	only    = flag.String("only", "", "methods of the table, a regular expression")
)

// sizes of the mixtures: components, rows, and how far apart means are.
var sizes = map[int]struct {
	components, rows int
	apart            float64
}{2: {2, 1, 2}, 8: {5, 2, 2}, 16: {10, 4, 1.5}}

// Mixtures given equations: the energy distance of samples to the conditional
// distribution, in units of that of exact draws, and by how much the weights of
// modes are off, on average over seeds and with all seeds together, which noise has less
// part in. Exact methods are at 1.
func TestTable(t *testing.T) {
	if *table == 0 {
		t.Skip("a table to print: -table 2, 8 or 16")
	}
	size, ok := sizes[*table]
	require.True(t, ok, "-table %d, want 2, 8 or 16", *table)
	n := *table
	m := newMixture(t, 1, n, size.components, size.rows, size.apart)
	m.bound(*bounds, 0.7)
	judge := newTruth(m.exactly(make([]float32, *samples*n), 1), n)
	unit := 0.0
	for k := range *units {
		unit += judge.distance(m.exactly(make([]float32, *samples*n), uint64(2+k))) / float64(*units)
	}
	t.Logf("%d dimensions, %d components, %d equations, %d inequalities, %d samples of each of %d seeds; unit %.2e over %d", n, size.components, size.rows, *bounds, *samples, *seeds, unit, *units)
	truth := m.truly(t)
	keep := regexp.MustCompile(*only)
	for _, method := range m.methods(t) {
		if !keep.MatchString(method.name) {
			continue
		}
		start, sum, square, modes := time.Now(), 0.0, 0.0, 0.0
		together := make([]float64, len(truth))
		for seed := range *seeds {
			x := make([]float32, *samples*n)
			method.sample(t, x, uint64(100+seed))
			d := judge.distance(x) / unit
			sum, square = sum+d, square+d*d
			shares, _ := m.shares(t, x)
			modes += apart(shares, truth) / float64(*seeds)
			for c, p := range shares {
				together[c] += p / float64(*seeds)
			}
		}
		k := float64(*seeds)
		mean := sum / k
		stderr := math.Sqrt(max(0, square/k-mean*mean) / max(1, k-1))
		t.Logf("%-22s %9.2f ± %-8.2g units, modes off by %.4f, together %.4f, %.0f s", method.name, mean, stderr, modes, apart(together, truth), time.Since(start).Seconds())
	}
}

// method is one way to draw from the conditional distribution.
type method struct {
	name   string
	sample func(t *testing.T, x []float32, seed uint64)
}

// methods are all of the table: what is exact, what is not.
func (m *mixture) methods(t *testing.T) []method {
	model := denoiser(t, m.law)
	exactly, err := denoise.NewMixture(m.conditional)
	require.NoError(t, err)
	ancestral, err := denoise.NewAncestral(m.conditional)
	require.NoError(t, err)
	run := func(name string, d energy.Denoiser[float32], p diffusion.Process[float32], c diffusion.Config) method {
		return method{name, func(t *testing.T, x []float32, seed uint64) {
			c.Steps, c.Seed = 200, seed
			r, err := diffusion.New(t.Context(), d, p, c)
			require.NoError(t, err)
			require.NoError(t, r.Sample(t.Context(), x))
		}}
	}
	near := proximal.Projector{Set: m.set}
	metric := near
	metric.Metric = m.posterior(t)
	g := diffusion.Gaussian{Schedule: schedule}
	noisy, again := g, g
	noisy.Eta, again.Recompute = 1, true
	return []method{
		{"closed form", func(_ *testing.T, x []float32, seed uint64) { m.exactly(x, 1000+seed) }},
		{"ancestral", m.thinned(run("ancestral", ancestral, noisy, diffusion.Config{}).sample)},
		{"conditional denoiser", m.thinned(run("conditional denoiser", exactly, g, diffusion.Config{}).sample)},
		{"particles", func(t *testing.T, x []float32, seed uint64) {
			s, err := twisted.New(t.Context(), model, m.set, twisted.Config{Schedule: schedule, Particles: 1000, PerCloud: 250, Seed: seed})
			require.NoError(t, err)
			require.NoError(t, s.Sample(t.Context(), x))
		}},
		run("cps", model, g, diffusion.Config{Projector: near}),
		run("cps, η = 1", model, noisy, diffusion.Config{Projector: near}),
		run("cps-metric", model, again, diffusion.Config{Projector: metric}),
		run("noise-corrected", model, again, diffusion.Config{Projector: near}),
		run("pdm", model, g, diffusion.Config{Projector: near, ProjectState: true}),
		run("prodigy 1", model, g, diffusion.Config{Projector: near, ProjectState: true, ProjectPower: 1}),
		run("prodigy 5", model, g, diffusion.Config{Projector: near, ProjectState: true, ProjectPower: 5}),
		run("cop-ft", model, g, diffusion.Config{Projector: near, ProjectState: true, ProjectEvery: -1}),
	}
}

// thinned keeps the draws of a method that satisfy the inequalities, which it does not
// know.
func (m *mixture) thinned(sample func(t *testing.T, x []float32, seed uint64)) func(t *testing.T, x []float32, seed uint64) {
	if len(m.set.A) == m.rows {
		return sample
	}
	return func(t *testing.T, x []float32, seed uint64) {
		got, more := x[:0], make([]float32, len(x))
		for part := uint64(0); len(got) < len(x); part++ {
			sample(t, more, seed+part<<32)
			for at := 0; at < len(more) && len(got) < len(x); at += m.n {
				if m.holds(more[at : at+m.n]) {
					got = append(got, more[at:at+m.n]...)
				}
			}
		}
	}
}

// posterior returns the product with (1−ᾱ)·C·(ᾱC + (1−ᾱ)I)⁻¹, C the covariance of the
// whole mixture.
func (m *mixture) posterior(t *testing.T) func(dst, v []float64, at float64) {
	centre := make([]float64, m.n)
	m.law.Mean(centre)
	c := mat.NewSymDense(m.n, nil)
	for k, w := range m.weight {
		for i := range m.n {
			for j := i; j < m.n; j++ {
				c.SetSym(i, j, c.At(i, j)+w*(m.cov[k][i*m.n+j]+(m.mean[k][i]-centre[i])*(m.mean[k][j]-centre[j])))
			}
		}
	}
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(c, true))
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	values := eigen.Values(nil)
	return func(dst, v []float64, at float64) {
		alpha := schedule.Alpha(at)
		var w mat.VecDense
		w.MulVec(basis.T(), mat.NewVecDense(m.n, v))
		for i, l := range values {
			w.SetVec(i, w.AtVec(i)*(1-alpha)*l/(alpha*l+1-alpha))
		}
		mat.NewVecDense(m.n, dst).MulVec(&basis, &w)
	}
}
