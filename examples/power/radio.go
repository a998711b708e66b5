package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Parameters of the radio network of Hadou, Uslu and Ribeiro (2026), section on wireless
// resources: path loss with two slopes, log-normal shadowing and Rayleigh fading.
const (
	lossAt1m  = 39.0   // path loss in dB at a distance of 1 m
	nearSlope = 20.0   // dB per decade of distance, up to the corner
	farSlope  = 40.0   // dB per decade of distance beyond the corner
	corner    = 100.0  // distance in m at which the slope of the path loss changes
	shadowing = 7.0    // standard deviation of the shadowing in dB
	thermal   = -174.0 // thermal noise in dBm per Hz
	bandwidth = 40e6   // bandwidth in Hz
	most      = 10.0   // maximum power of a transmitter in dBm: 10 mW

	nearest, farthest = 20.0, 100.0 // distance in m from a receiver to its transmitter
	apart             = 50.0        // minimum distance in m between transmitters
	tries             = 1000        // maximum number of positions tried for a pair
)

// radio holds the channel gains of placed transmitter–receiver pairs for several draws of the
// fading. A gain is the received power from a transmitter at full power, in units of the
// receiver's noise.
type radio struct {
	n    int
	mean []float64   // gains without fading, n × n, indexed by receiver and transmitter
	own  [][]float32 // gain from a user's own transmitter, by fade and user
	// gains from other transmitters, by fade, each n × n like mean; 0 on the diagonal
	cross [][]float32
}

// newRadio places pairs one by one. It keeps transmitters apart from each other and places
// receivers where no other transmitter is nearer than their own.
func newRadio(n, fades int, spacing float64, seed uint64) (*radio, error) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	side := spacing * math.Sqrt(float64(n))
	type place struct{ x, y float64 }
	distance := func(a, b place) float64 { return math.Hypot(a.x-b.x, a.y-b.y) }
	var tx []place
	for i := range n {
		ok := false
		for range tries {
			p := place{side * r.Float64(), side * r.Float64()}
			if ok = !slices.ContainsFunc(tx, func(q place) bool { return distance(p, q) < apart }); ok {
				tx = append(tx, p)
				break
			}
		}
		if !ok {
			return nil, fmt.Errorf("-spacing = %g: after %d transmitters no place is %g m from all of them; raise -spacing", spacing, i, apart)
		}
	}
	ambient := thermal + 10*math.Log10(bandwidth)
	mean := make([]float64, n*n)
	for i := range n {
		row, ok := mean[i*n:(i+1)*n], false
		for t := 0; t < tries && !ok; t++ {
			d, a := nearest+(farthest-nearest)*r.Float64(), 2*math.Pi*r.Float64()
			rx := place{tx[i].x + d*math.Cos(a), tx[i].y + d*math.Sin(a)}
			if ok = !slices.ContainsFunc(tx, func(q place) bool { return distance(rx, q) < distance(rx, tx[i]) }); !ok {
				continue
			}
			for j := range row {
				row[j] = math.Pow(10, (most-loss(distance(rx, tx[j]))+shadowing*r.NormFloat64()-ambient)/10)
			}
		}
		if !ok {
			return nil, fmt.Errorf("-spacing = %g: no receiver is nearest to transmitter %d; raise -spacing", spacing, i)
		}
	}
	w := &radio{n: n, mean: mean}
	for range fades {
		w.fade(r)
	}
	return w, nil
}

// fade adds one draw of the fading.
func (w *radio) fade(r *rand.Rand) {
	own, cross := make([]float32, w.n), make([]float32, w.n*w.n)
	for k, g := range w.mean {
		g *= r.ExpFloat64()
		if i, j := k/w.n, k%w.n; i == j {
			own[i] = float32(g)
		} else {
			cross[k] = float32(g)
		}
	}
	w.own, w.cross = append(w.own, own), append(w.cross, cross)
}

// loss returns the path loss in dB at the distance d in metres.
func loss(d float64) float64 {
	d = max(d, 1)
	if d <= corner {
		return lossAt1m + nearSlope*math.Log10(d)
	}
	return lossAt1m + nearSlope*math.Log10(corner) + farSlope*math.Log10(d/corner)
}

// power maps a coordinate in [−½, ½] to a fraction in [0, 1] of the maximum power. It clips
// coordinates outside this range.
func power(x float32) float32 {
	return min(max(x+0.5, 0), 1)
}

// sums is scratch space for some samples: powers, interferences and rates.
type sums struct {
	powers, rest, pull []float32 // scratch arrays, samples × users
	product            []float64
}

var scratch = sync.Pool{New: func() any { return new(sums) }}

// spread computes the powers of x and returns the number of samples.
func (b *sums) spread(x []float32, n int) int {
	size := len(x)
	b.powers, b.rest = slices.Grow(b.powers[:0], size)[:size], slices.Grow(b.rest[:0], size)[:size]
	b.pull, b.product = slices.Grow(b.pull[:0], size)[:size], slices.Grow(b.product[:0], size)[:size]
	for k, v := range x {
		b.powers[k] = power(v)
	}
	return size / n
}

// interfere stores in rest the interference plus noise at receiver i, for every sample.
func (b *sums) interfere(row []float32, i, samples int) {
	n := len(row)
	for s := range samples {
		b.rest[s*n+i] = 1 + simd.Dot(row, b.powers[s*n:(s+1)*n])
	}
}

// together is the number of fades whose factors 1 + SINR are multiplied before one logarithm is
// taken. The product is finite if every factor is below 10¹⁹, and a signal does not exceed 10¹⁰
// times the noise.
const together = 16

// rates stores the rate of every user in every sample of x: log₂(1 + SINR) in bit/s/Hz, averaged
// over the fading.
func (w *radio) rates(r []float64, x []float32) {
	b := scratch.Get().(*sums)
	defer scratch.Put(b)
	samples := b.spread(x, w.n)
	clear(r)
	for k := range b.product {
		b.product[k] = 1
	}
	for f, own := range w.own {
		for i, g := range own {
			b.interfere(w.cross[f][i*w.n:(i+1)*w.n], i, samples)
			for k := i; k < len(x); k += w.n {
				b.product[k] *= 1 + float64(g*b.powers[k])/float64(b.rest[k])
			}
		}
		if (f+1)%together == 0 || f+1 == len(w.own) {
			for k, p := range b.product {
				r[k] += math.Log2(p)
				b.product[k] = 1
			}
		}
	}
	for k := range r {
		r[k] /= float64(len(w.own))
	}
}

// slopes stores Σ_i weight_i·∂r_i/∂x for every sample, with one weight per sample and user. The
// slope is 0 where x is outside the range and its power is therefore clipped.
func (w *radio) slopes(d []float32, x []float32, weight []float64) {
	b := scratch.Get().(*sums)
	defer scratch.Put(b)
	samples := b.spread(x, w.n)
	clear(d)
	scale := 1 / (math.Ln2 * float64(len(w.own)))
	for f, own := range w.own {
		for i, g := range own {
			row := w.cross[f][i*w.n : (i+1)*w.n]
			b.interfere(row, i, samples)
			for s := range samples {
				k := s*w.n + i
				rest := float64(b.rest[k])
				all := rest + float64(g*b.powers[k])
				v := scale * weight[k]
				d[k] += float32(v * float64(g) / all)
				simd.Axpy(float32(v*(1/all-1/rest)), row, d[s*w.n:(s+1)*w.n])
			}
		}
	}
	for k, v := range x {
		if v < -0.5 || v > 0.5 {
			d[k] = 0
		}
	}
}

// target is the energy (−Σ r_i + λᵀg)/β of the powers, with constraints g_i = least − r_i ≤ 0.
// Outside the range of powers, where the Monte Carlo score also evaluates it, the energy is
// constant.
type target struct {
	*radio
	least, cold float64 // least rate of a user, and the inverse temperature 1/β
	lambda      []float64
}

func newTarget(w *radio, least, cold float64) *target {
	return &target{w, least, cold, make([]float64, w.n)}
}

// Sites returns the number of users, each with one power. It implements pdi.Tilted.
func (t *target) Sites() int { return t.n }

// Len returns the number of inequalities, one per user. It implements pdi.Tilted.
func (t *target) Len() int { return t.n }

// Beta returns the temperature β. It implements pdi.Tilted.
func (t *target) Beta() float64 { return 1 / t.cold }

// SetLambda sets the multipliers. It implements pdi.Tilted.
func (t *target) SetLambda(lambda []float64) error {
	copy(t.lambda, lambda)
	return nil
}

// Rows returns the name, unit and bound of every constraint. It implements dual.Described.
func (t *target) Rows() []dual.Row {
	rows := make([]dual.Row, t.n)
	for i := range rows {
		rows[i] = dual.Row{Name: fmt.Sprint("user ", i), Unit: "bit/s/Hz", Bound: t.least, AtLeast: true}
	}
	return rows
}

// Energy stores the energy of every sample of x in e. It implements energy.Scored.
func (t *target) Energy(e []float64, x []float32) {
	r := make([]float64, len(x))
	t.rates(r, x)
	for s := range e {
		e[s] = 0
		for i, l := range t.lambda {
			e[s] += float64(t.cold * (float64(l*t.least) - float64((1+l)*r[s*t.n+i])))
		}
	}
}

// Score stores in s the gradient of −energy at every sample of x. It implements energy.Scored.
func (t *target) Score(s, x []float32) {
	weight := make([]float64, len(x))
	for k := range weight {
		weight[k] = t.cold * (1 + t.lambda[k%t.n])
	}
	t.slopes(s, x, weight)
}

// Violation stores in g by how much every user's rate falls short of the minimum rate. It
// implements pdi.Tilted.
func (t *target) Violation(g []float64, x []float32) {
	t.rates(g, x)
	for k, r := range g {
		g[k] = t.least - r
	}
}

// shortfall is the norm ‖max(0, g)‖ of every sample. Half its square is the penalty used in
// guidance.
type shortfall struct{ *target }

// Energy stores in e the norm ‖max(0, g)‖ of every sample of x, where g holds the sample's
// violations. It implements energy.Scored.
func (s shortfall) Energy(e []float64, x []float32) { s.missing(e, x) }

// missing stores in e the norms and returns max(0, g).
func (s shortfall) missing(e []float64, x []float32) []float64 {
	g := make([]float64, len(x))
	s.Violation(g, x)
	clear(e)
	for k, v := range g {
		g[k] = max(v, 0)
		e[k/s.n] += float64(g[k] * g[k])
	}
	for k, v := range e {
		e[k] = math.Sqrt(v)
	}
	return g
}

// Score stores in d the gradient of −‖max(0, g)‖ at every sample of x. It is 0 if no user misses
// the minimum rate. It implements energy.Scored.
func (s shortfall) Score(d, x []float32) {
	e := make([]float64, len(x)/s.n)
	weight := s.missing(e, x)
	for k := range weight {
		if weight[k] > 0 {
			weight[k] /= e[k/s.n]
		}
	}
	s.slopes(d, x, weight)
}
