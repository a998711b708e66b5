package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// The network of Diffusion-TS (Yuan and Qiao 2024) predicts the clean window as the sum of a trend,
// a season and a remainder. Here one transformer has three outputs for each channel. The trend is
// the projection of the first on polynomials, the season the part of the second at its strongest
// frequencies, and the third is the remainder.
const (
	components = 3
	trendPower = 3 // largest power of the polynomials, as in the authors' code
)

// decomposition holds orthonormal bases of trends and seasons of one channel.
type decomposition struct {
	length, n int
	trend     [][]float64
	season    [][2][]float64 // cosine and sine by frequency, from one period to less than length/2
	top       int            // number of frequencies of a season
	cos, sin  []float64      // of 2πk/length
}

func newDecomposition(length, n int) *decomposition {
	d := &decomposition{length: length, n: n}
	for power := range min(trendPower+1, length) {
		v := make([]float64, length)
		for t := range v {
			v[t] = math.Pow(float64(t+1)/float64(length+1), float64(power))
		}
		for range 2 { // once more for what rounding leaves
			for _, u := range d.trend {
				floats.AddScaled(v, -floats.Dot(u, v), u)
			}
		}
		floats.Scale(1/floats.Norm(v, 2), v)
		d.trend = append(d.trend, v)
	}
	for k := range length {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(length))
		d.sin, d.cos = append(d.sin, sin), append(d.cos, cos)
	}
	size := math.Sqrt(2 / float64(length))
	for k := 1; 2*k < length; k++ {
		var wave [2][]float64
		for t := range length {
			wave[0], wave[1] = append(wave[0], size*d.cos[k*t%length]), append(wave[1], size*d.sin[k*t%length])
		}
		d.season = append(d.season, wave)
	}
	// The authors' code has no lower limit; windows of 3 … 6 rows would have no season there.
	d.top = max(1, int(math.Log(float64(len(d.season)))))
	return d
}

// strongest returns the waves of the top frequencies of x.
func (d *decomposition) strongest(x []float64) (waves [][]float64) {
	power, order := make([]float64, len(d.season)), make([]int, len(d.season))
	for k, wave := range d.season {
		a, b := floats.Dot(wave[0], x), floats.Dot(wave[1], x)
		power[k], order[k] = -(a*a + b*b), k
	}
	floats.ArgsortStable(power, order)
	for _, k := range order[:d.top] {
		waves = append(waves, d.season[k][0], d.season[k][1])
	}
	return waves
}

// each calls f for every channel with the bases of its trend and season, which depend on the outputs
// y of the network.
func (d *decomposition) each(y []float32, f func(c int, bases [2][][]float64)) {
	x := make([]float64, d.length)
	for c := range d.n {
		for t := range x {
			x[t] = float64(y[(t*components+1)*d.n+c])
		}
		f(c, [2][][]float64{d.trend, d.strongest(x)})
	}
}

// compose stores in v the sum of the components of the outputs y of the network, which has
// components·n outputs per row.
func (d *decomposition) compose(v, y []float32) {
	part := make([]float64, d.length)
	d.each(y, func(c int, bases [2][][]float64) {
		sum := make([]float64, d.length)
		for t := range sum {
			sum[t] = float64(y[(t*components+2)*d.n+c])
		}
		for k, basis := range bases {
			for t := range part {
				part[t] = float64(y[(t*components+k)*d.n+c])
			}
			for _, u := range basis {
				floats.AddScaled(sum, floats.Dot(u, part), u)
			}
		}
		for t, s := range sum {
			v[t*d.n+c] = float32(s)
		}
	})
}

// back stores in dy the gradient with respect to y, from the gradient dv with respect to the sum. The
// slices dy and y may be the same.
// A small change of y does not change which frequencies are strongest.
func (d *decomposition) back(dy, dv, y []float32) {
	slope := make([]float64, d.length)
	d.each(y, func(c int, bases [2][][]float64) {
		for t := range slope {
			slope[t] = float64(dv[t*d.n+c])
			dy[(t*components+2)*d.n+c] = dv[t*d.n+c]
		}
		for k, basis := range bases {
			part := make([]float64, d.length)
			for _, u := range basis {
				floats.AddScaled(part, floats.Dot(u, slope), u)
			}
			for t, s := range part {
				dy[(t*components+k)*d.n+c] = float32(s)
			}
		}
	})
}

// restoring is the objective of Diffusion-TS. The loss is the mean absolute error of the predicted
// window plus √length/5 times that of its Fourier transform, whose factor is 1/length, as in the
// authors' code. The paper writes squares; those of the transform are a multiple of those of the
// window, by Parseval's theorem. Losses at small noise count more, by the authors' weights.
type restoring struct{ *decomposition }

// String returns what a checkpoint stores.
func (o restoring) String() string { return fmt.Sprintf("Diffusion-TS, %d channels", o.n) }

// Check returns an error unless the network uses a noise level; it implements
// [train.RealObjective].
func (o restoring) Check(c neural.Config) error {
	if c.Cond == 0 || c.Channels != components*o.n {
		return fmt.Errorf("Diffusion-TS: Cond = %d and Channels = %d, want ≥ 1 and %d", c.Cond, c.Channels, components*o.n)
	}
	return nil
}

// Corrupt stores a noisy window in x and the window in target; it implements
// [train.RealObjective]. The added channels are 0.
func (o restoring) Corrupt(x, target, clean []float32, u float64, r *rand.Rand) float64 {
	signal, noise := math.Sqrt(schedule.Alpha(u)), math.Sqrt(1-schedule.Alpha(u))
	copy(target, clean)
	for i, v := range clean {
		if x[i] = 0; i%(components*o.n) < o.n {
			x[i] = float32(signal*float64(v) + noise*r.NormFloat64())
		}
	}
	return 1000 * u
}

// Loss implements [train.RealLoss].
func (o restoring) Loss(d, y, target, _ []float32, level float64, _ int) (loss float64) {
	sites := o.length * o.n
	v, slope := make([]float32, sites), make([]float32, sites)
	o.compose(v, y)
	gather(slope, target, o.n, components*o.n)
	alpha, before := schedule.Alpha(level/1000), schedule.Alpha(max(0, level/1000-1/float64(schedule.Steps)))
	beta := 1 - alpha/before
	weight := 1 / float64(sites)
	if beta > 0 {
		weight *= math.Sqrt(1-beta) * math.Sqrt(1-alpha) / beta / 100
	}
	fourier := weight * math.Sqrt(float64(o.length)) / 5
	e, s := make([]float64, o.length), make([]float64, o.length)
	for c := range o.n {
		for t := range e {
			e[t] = float64(v[t*o.n+c]) - float64(slope[t*o.n+c])
			loss += weight * math.Abs(e[t])
			s[t] = weight * signOf(e[t])
		}
		for k := range o.length {
			re, im := 0.0, 0.0
			for t, x := range e {
				re, im = re+o.cos[k*t%o.length]*x, im-o.sin[k*t%o.length]*x
			}
			loss += fourier * (math.Abs(re) + math.Abs(im)) / float64(o.length)
			re, im = fourier*signOf(re)/float64(o.length), fourier*signOf(im)/float64(o.length)
			for t := range s {
				s[t] += re*o.cos[k*t%o.length] - im*o.sin[k*t%o.length]
			}
		}
		for t, x := range s {
			slope[t*o.n+c] = float32(x)
		}
	}
	o.back(d, slope, y)
	return loss
}

// signOf returns the sign of x, or 0.
func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// diffusionTS trains a network of Diffusion-TS and returns its denoiser.
func (p *problem) diffusionTS(ctx context.Context, o options, l *lesson) (func(i int) energy.Denoiser[float32], error) {
	n, all := p.channels(), p.channels()*components
	d := newDecomposition(p.length, n)
	data := make([]float32, len(p.training)*components)
	widen(data, p.training, n, all)
	shape := neural.Config{Length: p.length, Channels: all, Width: width, Heads: heads, Blocks: blocks, Cond: width, Positions: true}
	net, err := p.fit(ctx, o, "train-diffusion-ts", shape, restoring{d}, data, l)
	if err != nil {
		return nil, err
	}
	reals, err := neural.NewReals(net, neural.Options{})
	if err != nil {
		return nil, err
	}
	return func(int) energy.Denoiser[float32] { return restored{reals, d} }, nil
}

// restored is the denoiser of a network of Diffusion-TS.
type restored struct {
	net denoise.Differentiable
	*decomposition
}

// Shape returns the number of entries of a window, and 1.
func (d restored) Shape() (sites, levels int) { return d.length * d.n, 1 }

// Denoise stores predictions of the clean windows in v; it implements [energy.Denoiser].
func (d restored) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	_, _, err := d.predict(ctx, v, q)
	return err
}

// predict stores predictions in v and returns the outputs of the network and its input.
func (d restored) predict(ctx context.Context, v []float32, q energy.Noised[float32]) (y []float32, wide energy.Noised[float32], err error) {
	sites, _ := d.Shape()
	wide, wide.X, wide.Clean = q, make([]float32, len(v)*components), nil
	widen(wide.X, q.X, d.n, d.n*components)
	y = make([]float32, len(wide.X))
	if err := d.net.Denoise(ctx, y, wide); err != nil {
		return nil, wide, err
	}
	for at := 0; at < len(v); at += sites {
		d.compose(v[at:at+sites], y[at*components:(at+sites)*components])
	}
	for i, known := range q.Clean {
		if known {
			v[i] = q.X[i]
		}
	}
	return y, wide, nil
}

// Pullback implements [denoise.Differentiable], for one vector per state and no clean entries.
func (d restored) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	if len(rows) != len(v) || q.Clean != nil {
		return fmt.Errorf("Diffusion-TS: %d numbers for %d of the states, want as many, and no clean entries", len(rows), len(v))
	}
	sites, _ := d.Shape()
	y, wide, err := d.predict(ctx, v, q)
	if err != nil {
		return err
	}
	slope, out := make([]float32, len(y)), make([]float32, len(y))
	for at := 0; at < len(v); at += sites {
		d.back(slope[at*components:(at+sites)*components], rows[at:at+sites], y[at*components:(at+sites)*components])
	}
	if err := d.net.Pullback(ctx, y, out, slope, wide); err != nil {
		return err
	}
	gather(dst, out, d.n, d.n*components)
	return nil
}
