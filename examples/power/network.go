package main

import (
	"math"
	"math/rand/v2"
)

// The network of Hadou, Uslu and Ribeiro (2026), section on wireless resources:
// path loss with two slopes, log-normal shadowing and Rayleigh fading.
const (
	lossAt1m  = 39.0 // dB
	nearSlope = 20.0 // dB per decade of distance up to the corner
	farSlope  = 40.0
	corner    = 100.0 // m
	shadowing = 7.0   // dB
	thermal   = -174.0
	bandwidth = 40e6 // Hz
	most      = 10.0 // dBm, the 10 mW that a transmitter may spend

	// How far receivers are from their transmitters. With the area per pair that
	// is the default, rates of 50 users without constraints resemble the paper's.
	nearest, farthest = 10.0, 50.0
)

// network is the gains of n pairs: gain[i·n+j] is the power that transmitter j
// at its most brings to receiver i, in units of the noise there.
type network struct {
	n    int
	gain []float64
}

func newNetwork(n int, spacing float64, seed uint64) *network {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	side := spacing * math.Sqrt(float64(n))
	type place struct{ x, y float64 }
	tx, rx := make([]place, n), make([]place, n)
	for i := range n {
		tx[i] = place{side * r.Float64(), side * r.Float64()}
		d, a := nearest+(farthest-nearest)*r.Float64(), 2*math.Pi*r.Float64()
		rx[i] = place{tx[i].x + d*math.Cos(a), tx[i].y + d*math.Sin(a)}
	}
	w := &network{n: n, gain: make([]float64, n*n)}
	ambient := thermal + 10*math.Log10(bandwidth)
	for i := range n {
		for j := range n {
			d := math.Hypot(rx[i].x-tx[j].x, rx[i].y-tx[j].y)
			db := most - loss(d) + shadowing*r.NormFloat64() - ambient
			w.gain[i*n+j] = math.Pow(10, db/10) * r.ExpFloat64()
		}
	}
	return w
}

// loss returns the path loss in dB at a distance in metres.
func loss(d float64) float64 {
	d = max(d, 1)
	if d <= corner {
		return lossAt1m + nearSlope*math.Log10(d)
	}
	return lossAt1m + nearSlope*math.Log10(corner) + farSlope*math.Log10(d/corner)
}

// power maps a coordinate in [−1, 1] to the part of its most that a transmitter
// spends; beyond, it stays.
func power(x float32) float64 {
	return min(max((1+float64(x))/2, 0), 1)
}

// receive returns the signal at receiver i and its interference plus noise.
func (w *network) receive(i int, x []float32) (signal, rest float64) {
	rest = 1
	for j, g := range w.gain[i*w.n : (i+1)*w.n] {
		if j != i {
			rest += g * power(x[j])
		}
	}
	return w.gain[i*w.n+i] * power(x[i]), rest
}

// rate returns log₂(1 + SINR) of user i, bit/s/Hz.
func (w *network) rate(i int, x []float32) float64 {
	signal, rest := w.receive(i, x)
	return math.Log2(1 + signal/rest)
}

// slope adds ∂r_i/∂x to s.
func (w *network) slope(s []float32, i int, x []float32) {
	signal, rest := w.receive(i, x)
	const half = 1 / (2 * math.Ln2) // dp/dx = ½
	own := half / (rest + signal)
	other := own - half/rest
	for j, g := range w.gain[i*w.n : (i+1)*w.n] {
		if x[j] < -1 || x[j] > 1 {
			continue
		}
		if j == i {
			s[j] += float32(own * g)
		} else {
			s[j] += float32(other * g)
		}
	}
}

// utility is the base energy −Σ r_i. Beyond the powers that there are it is flat:
// the Monte Carlo score asks for it there, too.
type utility struct{ *network }

// Sites implements energy.Real.
func (u utility) Sites() int { return u.n }

// Energy implements energy.Real.
func (u utility) Energy(e []float64, x []float32) {
	for k := range e {
		x := x[k*u.n : (k+1)*u.n]
		e[k] = 0
		for i := range x {
			e[k] -= u.rate(i, x)
		}
	}
}

// Score implements energy.Scored.
func (u utility) Score(s, x []float32) {
	clear(s)
	for k := 0; k < len(x); k += u.n {
		for i := range u.n {
			u.slope(s[k:k+u.n], i, x[k:k+u.n])
		}
	}
}

// service is the inequality least − r_i ≤ 0 of a user.
type service struct {
	*network
	user  int
	least float64
}

// Sites implements energy.Real.
func (g service) Sites() int { return g.n }

// Energy implements energy.Real.
func (g service) Energy(e []float64, x []float32) {
	for k := range e {
		e[k] = g.least - g.rate(g.user, x[k*g.n:(k+1)*g.n])
	}
}

// Score implements energy.Scored.
func (g service) Score(s, x []float32) {
	clear(s)
	for k := 0; k < len(x); k += g.n {
		g.slope(s[k:k+g.n], g.user, x[k:k+g.n])
	}
}
