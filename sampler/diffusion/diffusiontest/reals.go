package diffusiontest

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// RealOptions states what the documentation of a process on reals promises; [TestRealProcess]
// checks it.
type RealOptions struct {
	// Step returns the coefficients of the documented step x_s = keep·x_t + clean·x̂_0 + noise·ξ.
	// Here x̂_0 is the prediction, and ξ is standard normal. The two arguments are the signal
	// levels before and after the step. If Step is nil, no distribution is claimed or tested.
	Step func(at, as float64) (keep, clean, noise float64)

	// Distance, if not 0, is the largest distance allowed between the covariance of samples after
	// 512 steps and the covariance of the denoiser. It is in units of the denoiser's largest
	// variance.
	Distance float64
}

// stepCounts holds the numbers of steps for which the distribution is tested.
var stepCounts = [...]int{1, 4, 20}

const realSamples = 4000

// TestRealProcess checks a process on reals against the requirements of [TestProcess], except those
// that are specific to tokens. It uses the exact denoiser of a Gaussian whose sites depend on each
// other. Steps that are linear in the prediction then give Gaussian samples. Their mean and
// covariance follow from RealOptions.Step.
func TestRealProcess(ctx context.Context, p diffusion.Process[float32], o RealOptions) error {
	part, err := laws.Given("diffusiontest", "p", p)
	if err != nil {
		return err
	}
	c := &realChecker{form[float32]{Part: part, p: p, levels: 1, model: gaussian{}}, o}
	return inOrder(
		ctx, part, law{"bind", c.bind}, law{"schedule", c.schedule}, law{"prior", c.prior}, law{"clock", c.clock},
		law{"distribution", c.distribution}, law{"workers", c.same}, law{"context", c.ends},
	)
}

type realChecker struct {
	form[float32]
	o RealOptions
}

// matrix is a sites × sites matrix.
type matrix [sites][sites]float64

func (a matrix) times(b matrix) (c matrix) {
	for i := range sites {
		for j := range sites {
			for k := range sites {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

func (a matrix) transposed() (c matrix) {
	for i := range sites {
		for j := range sites {
			c[i][j] = a[j][i]
		}
	}
	return c
}

// plus returns x·a + y·b.
func (a matrix) plus(x, y float64, b matrix) (c matrix) {
	for i := range sites {
		for j := range sites {
			c[i][j] = x*a[i][j] + y*b[i][j]
		}
	}
	return c
}

var identity = matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}

// inverse returns the inverse by Gauss–Jordan elimination. a must be positive definite, so that
// no pivot is 0.
func (a matrix) inverse() matrix {
	inv := identity
	for k := range sites {
		d := a[k][k]
		for j := range sites {
			a[k][j] /= d
			inv[k][j] /= d
		}
		for i := range sites {
			if f := a[i][k]; i != k {
				for j := range sites {
					a[i][j] -= f * a[k][j]
					inv[i][j] -= f * inv[k][j]
				}
			}
		}
	}
	return inv
}

// lower returns the lower Cholesky factor of a.
func (a matrix) lower() (l matrix) {
	for i := range sites {
		for j := range i + 1 {
			v := a[i][j]
			for k := range j {
				v -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(v)
				continue
			}
			l[i][j] = v / l[j][j]
		}
	}
	return l
}

// gaussian is the exact denoiser of N(mean, covariance). It predicts E[x_0 | x_t] = m + G·(x_t −
// √ᾱ·m) with the gain G.
type gaussian struct{}

var (
	mean       = [sites]float64{0.5, -1, 0}
	covariance = matrix{{1, 0.6, -0.3}, {0.6, 0.8, 0.1}, {-0.3, 0.1, 0.5}}
)

// gain returns G = √ᾱ·Σ·(ᾱ·Σ + (1−ᾱ)·1)⁻¹, with Σ the covariance.
func gain(alpha float64) matrix {
	return covariance.times(covariance.plus(alpha, 1-alpha, identity).inverse()).plus(math.Sqrt(alpha), 0, matrix{})
}

func (gaussian) Shape() (int, int) { return sites, 1 }

func (gaussian) Denoise(_ context.Context, v []float32, q energy.Noised[float32]) error {
	for s := range q.States(sites) {
		g, root := gain(q.Alpha[s]), math.Sqrt(q.Alpha[s])
		for i := range sites {
			y := mean[i]
			for j := range sites {
				y += g[i][j] * (float64(q.X[s*sites+j]) - root*mean[j])
			}
			v[s*sites+i] = float32(y)
		}
	}
	return nil
}

// bins adds z to the count of its cell. The cells are equally likely under the standard normal
// distribution.
func bins(counts []int, z float64) {
	u := 0.5 * math.Erfc(-z/math.Sqrt2)
	counts[min(int(u*float64(len(counts))), len(counts)-1)]++
}

const cells = 20

// normal compares samples with N(m, a). With a = LLᵀ, it compares each coordinate of L⁻¹(x − m),
// and the signs of products of two coordinates, with those of independent standard normal
// variables.
func (c *realChecker) normal(law, what string, x []float32, m [sites]float64, a matrix, tests int) error {
	l := a.lower()
	var counts [sites][cells]int
	var signs [sites * (sites - 1) / 2][2]int
	for at := 0; at < len(x); at += sites {
		var z [sites]float64
		for i := range sites {
			v := float64(x[at+i]) - m[i]
			for j := range i {
				v -= l[i][j] * z[j]
			}
			z[i] = v / l[i][i]
			bins(counts[i][:], z[i])
		}
		n := 0
		for i := range sites {
			for j := range i {
				if z[i]*z[j] > 0 {
					signs[n][1]++
				} else {
					signs[n][0]++
				}
				n++
			}
		}
	}
	rate := laws.Rate / float64(tests*(len(counts)+len(signs)))
	even := make([]float64, cells)
	for k := range even {
		even[k] = 1.0 / cells
	}
	for i := range counts {
		if v := laws.PValue(counts[i][:], even); v < rate {
			return c.Broken(law, "%s: site %d, standardised given those before it, falls into the twentieths of a normal %v times: p-value %.2g", what, i, counts[i], v)
		}
	}
	for n := range signs {
		if v := laws.PValue(signs[n][:], []float64{0.5, 0.5}); v < rate {
			return c.Broken(law, "%s: pair %d of standardised sites has signs that differ and agree %v times: p-value %.2g", what, n, signs[n], v)
		}
	}
	return nil
}

func (c *realChecker) prior(context.Context) error {
	r := sampler.NewStream(39, 4)
	x := make([]float32, 4000*sites)
	for at := 0; at < len(x); at += sites {
		c.s.Prior(x[at:at+sites], r)
	}
	return c.normal("prior", "x_1", x, [sites]float64{}, identity, 1)
}

// moments returns the documented mean and covariance of samples after the given number of steps.
func (c *realChecker) moments(steps int) (m [sites]float64, a matrix) {
	a = identity
	t := 1.0
	for k := range steps {
		s := c.s.Next(make([]float32, sites), t, k, steps, sampler.NewStream(1, 1))
		at, as := c.s.Alpha(t), c.s.Alpha(s)
		if s == 0 {
			as = 1
		}
		keep, clean, noise := c.o.Step(at, as)
		g, root := gain(at), math.Sqrt(at)
		b := identity.plus(keep, clean, g) // x_s = b·x_t + clean·(mean − √ᾱ·G·mean) + noise
		var next [sites]float64
		for i := range sites {
			next[i] = clean * mean[i]
			for j := range sites {
				next[i] += b[i][j]*m[j] - clean*root*g[i][j]*mean[j]
			}
		}
		m, a = next, b.times(a).times(b.transposed()).plus(1, noise*noise, identity)
		t = s
	}
	return m, a
}

func (c *realChecker) distribution(ctx context.Context) error {
	if c.o.Step == nil {
		return nil
	}
	for _, steps := range stepCounts {
		m, a := c.moments(steps)
		d, err := diffusion.New(ctx, gaussian{}, c.p, diffusion.Config{Steps: steps, Seed: uint64(steps)})
		if err != nil {
			return c.Broken("bind", "%v", err)
		}
		x := make([]float32, realSamples*sites)
		if err := d.Sample(ctx, x); err != nil {
			return c.Broken("distribution", "%d steps: %v", steps, err)
		}
		if a[0][0] < 1e-6 { // a single step to the mean gives one point
			for i, v := range x {
				if math.Abs(float64(v)-m[i%sites]) > 0.01+4*math.Sqrt(a[i%sites][i%sites]) {
					return c.Broken("distribution", "%d steps give %v at site %d, want %v", steps, v, i%sites, m[i%sites])
				}
			}
			continue
		}
		if err := c.normal("distribution", fmt.Sprintf("%d steps", steps), x, m, a, len(stepCounts)); err != nil {
			return err
		}
	}
	if c.o.Distance > 0 {
		m, a := c.moments(512)
		for i := range sites {
			if math.Abs(m[i]-mean[i]) > c.o.Distance || math.Abs(a[i][i]-covariance[i][i]) > c.o.Distance {
				return c.Broken("distribution", "512 steps give mean %v and covariance %v, want %v and %v within %v", m, a, mean, covariance, c.o.Distance)
			}
		}
	}
	return nil
}
