package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

	nearest, farthest = 20.0, 100.0 // m, from receivers to their transmitters
	apart             = 50.0        // m, between transmitters at least
	tries             = 1000        // places for a pair
)

// network is the gains of n pairs in several draws of the fading: gain[f][i·n+j] is the power
// that transmitter j at its most brings to receiver i, in units of the noise there.
type network struct {
	n    int
	gain [][]float64
}

// newNetwork places pairs one by one: transmitters not too near each other, and receivers
// where no other transmitter is nearer.
func newNetwork(n, fades int, spacing float64, seed uint64) (*network, error) {
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
			return nil, fmt.Errorf("-spacing = %g: after %d transmitters there is no place %g m from all, raise it", spacing, i, apart)
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
			return nil, fmt.Errorf("-spacing = %g: no receiver is nearest to transmitter %d, raise it", spacing, i)
		}
	}
	w := &network{n: n}
	for range fades {
		gain := slices.Clone(mean)
		for k := range gain {
			gain[k] *= r.ExpFloat64()
		}
		w.gain = append(w.gain, gain)
	}
	return w, nil
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
func (w *network) receive(gain []float64, i int, x []float32) (signal, rest float64) {
	rest = 1
	for j, g := range gain[i*w.n : (i+1)*w.n] {
		if j != i {
			rest += g * power(x[j])
		}
	}
	return gain[i*w.n+i] * power(x[i]), rest
}

// rate returns log₂(1 + SINR) of user i, bit/s/Hz, averaged over the fading.
func (w *network) rate(i int, x []float32) (sum float64) {
	for _, gain := range w.gain {
		signal, rest := w.receive(gain, i, x)
		sum += math.Log2(1 + signal/rest)
	}
	return sum / float64(len(w.gain))
}

// slope adds ∂r_i/∂x to s.
func (w *network) slope(s []float32, i int, x []float32) {
	half := 1 / (2 * math.Ln2 * float64(len(w.gain))) // dp/dx = ½
	for _, gain := range w.gain {
		signal, rest := w.receive(gain, i, x)
		own := half / (rest + signal)
		other := own - half/rest
		for j, g := range gain[i*w.n : (i+1)*w.n] {
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
