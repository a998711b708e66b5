package denoise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// Windows is the exact denoiser of a data set, or of a kernel density fitted to it. The data are
// the vectors w_j, called windows. The density is the mixture of N(w_j, h²I) over all windows,
// where h is the bandwidth.
//
// Let ᾱ be the signal level and u = ᾱh² + 1 − ᾱ. The prediction of the clean state x_0 from the
// noisy state x_t is
//
//	E[x_0 | x_t] = Σ_j p_j·(w_j + √ᾱ·h²/u·(x_t − √ᾱ·w_j)),
//	p_j ∝ exp(−‖x_t − √ᾱ·w_j‖²/2u).
//
// Windows with p_j below e⁻⁴⁰ times the largest p_j are omitted. The result is the same on every
// GOARCH. Windows is immutable and safe for concurrent use.
type Windows struct {
	sites     int
	bandwidth float64
	top       int
	data      []float32
	square    []float64 // squared norm ‖w_j‖² of each window
	longest   float64   // largest norm ‖w_j‖ of a window

	logw   []float64 // log-weight of each window after Where; nil means equal weights
	basis  []float64 // orthonormal basis of the equations of Where; nil means none
	target []float64 // value of the equations of Where along each row of basis
}

// WindowsConfig holds the options of [NewWindows]. The zero value selects the empirical
// distribution of the data.
type WindowsConfig struct {
	Bandwidth float64 // standard deviation h ≥ 0 of the kernel, in units of the data
	Top       int     // number of nearest windows in the average; 0 means all windows of relevant weight
}

// leastWeight is the log of the relative weight below which a window is omitted. 10⁶ windows at
// e⁻⁴⁰ are 4e-12 of the result.
const leastWeight = -40

// NewWindows returns the exact denoiser of a data set of vectors, called windows. The slice data
// holds the windows one after the other, with the given number of sites each. It is copied.
// NewWindows returns an error if the length of data is not a positive multiple of sites. It also
// returns an error if an entry is not finite or an option is out of range.
func NewWindows(data []float32, sites int, c WindowsConfig) (*Windows, error) {
	switch {
	case sites < 1 || len(data) == 0 || len(data)%sites != 0:
		return nil, fmt.Errorf("denoise: NewWindows: len(data) = %d, want a positive multiple of sites = %d ≥ 1", len(data), sites)
	case !(c.Bandwidth >= 0) || !check.Finite(c.Bandwidth):
		return nil, fmt.Errorf("denoise: NewWindows: Bandwidth = %v, want finite and ≥ 0", c.Bandwidth)
	case c.Top < 0:
		return nil, fmt.Errorf("denoise: NewWindows: Top = %d, want ≥ 0", c.Top)
	}
	w := &Windows{sites: sites, bandwidth: c.Bandwidth, top: c.Top, data: slices.Clone(data)}
	for i, v := range data {
		if !check.Finite(float64(v)) {
			return nil, fmt.Errorf("denoise: NewWindows: data[%d] = %v, want finite", i, v)
		}
	}
	w.measure()
	return w, nil
}

// measure computes the norms of the windows.
func (w *Windows) measure() {
	w.square = make([]float64, len(w.data)/w.sites)
	for i, v := range w.data {
		w.square[i/w.sites] += float64(float64(v) * float64(v))
	}
	w.longest = math.Sqrt(slices.Max(w.square))
}

// Shape returns the length of the vectors in the data set as the number of sites, and 1 as the
// number of levels.
func (w *Windows) Shape() (sites, levels int) { return w.sites, 1 }

// Len returns the number of windows, which are the vectors of the data set.
func (w *Windows) Len() int { return len(w.square) }

// Denoise stores in v the posterior means of the clean states; it implements [energy.Denoiser]. A
// posterior mean is an average over the windows with the weights p_j of [Windows].
//
// An entry that is marked clean is its own prediction. It also changes the other predictions: the
// weight of each window is multiplied by
//
//	exp(−(x − w)²/2h²),
//
// where x is the clean entry, w the same entry of the window, and h the bandwidth. If h = 0,
// Denoise returns an error for clean entries.
func (w *Windows) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	n := w.sites
	states := q.States(n)
	check.Len("denoise", "v", len(v), len(q.X))
	for s := range states {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		x := q.X[s*n : (s+1)*n]
		var clean []bool
		if q.Clean != nil && slices.Contains(q.Clean[s*n:(s+1)*n], true) {
			if clean = q.Clean[s*n : (s+1)*n]; w.bandwidth == 0 {
				return fmt.Errorf("denoise: Windows: Bandwidth = 0 with clean entries, want > 0")
			}
		}
		if err := w.denoise(v[s*n:(s+1)*n], x, clean, q.Alpha[s]); err != nil {
			return err
		}
	}
	return nil
}

// denoise stores in v the prediction for one state.
func (w *Windows) denoise(v, x []float32, clean []bool, alpha float64) error {
	n, h2 := w.sites, w.bandwidth*w.bandwidth
	u := float64(alpha*h2) + 1 - alpha
	if !(u > 0) { // no noise at all
		copy(v, x)
		return nil
	}
	near := scratch.Int32s.Get(len(w.square))
	weight := scratch.Float64s.Get(len(w.square) + n)
	state := scratch.Float32s.Get(n)
	defer scratch.Int32s.Put(near)
	defer scratch.Float64s.Put(weight)
	defer scratch.Float32s.Put(state)
	w.place(*state, x, alpha)
	list, p, total, err := w.explain(*near, (*weight)[:len(w.square)], *state, clean, alpha, u)
	if err != nil {
		return err
	}
	mean := (*weight)[len(w.square):]
	w.average(mean, list, p, total)
	signal := math.Sqrt(alpha)
	gain := float64(signal*h2) / u
	for i := range v {
		if v[i] = float32(mean[i] + float64(gain*(float64((*state)[i])-float64(signal*mean[i])))); clean != nil && clean[i] {
			v[i] = x[i]
		}
	}
	return nil
}

// explain returns the windows with relevant weight for the state x in list, their weights in p,
// and the sum of the weights.
func (w *Windows) explain(list []int32, p []float64, x []float32, clean []bool, alpha, u float64) ([]int32, []float64, float64, error) {
	list = w.screen(list, p, x, clean, alpha, u)
	p = p[:len(list)]
	top := math.Inf(-1)
	for k, j := range list {
		p[k] = w.prior(int(j)) - float64(w.distance(int(j), x, clean, alpha, u)/2)
		top = max(top, p[k])
	}
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return nil, nil, 0, fmt.Errorf("denoise: Windows: a state is not finite")
	}
	total := 0.0
	for k := range list {
		p[k] = simd.Exp(p[k] - top)
		total += p[k]
	}
	return list, p, total, nil
}

// average stores the weighted mean of the listed windows in mean.
func (w *Windows) average(mean []float64, list []int32, p []float64, total float64) {
	clear(mean)
	for k, j := range list {
		simd.AddWide(mean, p[k], w.window(int(j)))
	}
	for i := range mean {
		mean[i] /= total
	}
}

// prior returns the log-weight of window j.
func (w *Windows) prior(j int) float64 {
	if w.logw == nil {
		return 0
	}
	return w.logw[j]
}

// screen returns in list the windows that may have relevant weight. With clean entries the scores
// are exact distances. score is scratch.
func (w *Windows) screen(list []int32, score []float64, x []float32, clean []bool, alpha, u float64) []int32 {
	signal, length := math.Sqrt(alpha), 0.0
	for _, a := range x {
		length += float64(float64(a) * float64(a))
	}
	best := math.Inf(-1)
	for j := range score {
		if clean != nil {
			score[j] = w.prior(j) - float64(w.distance(j, x, clean, alpha, u)/2)
		} else {
			score[j] = w.prior(j) + (float64(signal*float64(simd.Dot(x, w.window(j))))-float64(float64(alpha*w.square[j])/2))/u
		}
		best = max(best, score[j])
	}
	// Rounding errors of each product are at most n·2⁻²³·‖x‖·‖w‖.
	slack := 2 * float64(w.sites) * 0x1p-23 * signal * math.Sqrt(length) * w.longest / u
	least := best + leastWeight - slack
	kept := list[:0]
	for j, s := range score {
		if s >= least {
			kept = append(kept, int32(j))
		}
	}
	if w.top == 0 || len(kept) <= w.top {
		return kept
	}
	// Exact distances select the nearest windows; ties keep the first.
	for _, j := range kept {
		score[j] = float64(2*w.prior(int(j))) - w.distance(int(j), x, clean, alpha, u)
	}
	slices.SortFunc(kept, func(a, b int32) int {
		if c := cmp.Compare(score[b], score[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	kept = kept[:w.top]
	slices.Sort(kept)
	return kept
}

// distance returns ‖x − √ᾱ·w_j‖²/u for window j. Clean entries contribute (x − w_j)²/h² instead.
func (w *Windows) distance(j int, x []float32, clean []bool, alpha, u float64) float64 {
	signal, sum, known := math.Sqrt(alpha), 0.0, 0.0
	if clean == nil {
		return simd.Gap(x, w.window(j), signal) / u
	}
	for i, d := range w.window(j) {
		if clean[i] {
			e := float64(x[i]) - float64(d)
			known += float64(e * e)
			continue
		}
		e := float64(x[i]) - float64(signal*float64(d))
		sum += float64(e * e)
	}
	return sum/u + known/(w.bandwidth*w.bandwidth)
}

func (w *Windows) window(j int) []float32 { return w.data[j*w.sites : (j+1)*w.sites] }

// hold moves x, along the basis, to the point where its values are signal times the target.
func (w *Windows) hold(x []float32, signal float64) {
	n := w.sites
	for k, y := range w.target {
		u := w.basis[k*n : (k+1)*n]
		s := float64(signal*y) - simd.Inner(u, x)
		for i, v := range u {
			x[i] = float32(float64(x[i]) + float64(s*v))
		}
	}
}

// place copies the state x to dst and replaces its component along the basis, which is only
// noise.
func (w *Windows) place(dst, x []float32, alpha float64) {
	copy(dst, x)
	w.hold(dst, math.Sqrt(alpha))
}

// Where returns the denoiser of the kernel density of the data, conditioned on the linear equations
// R·x = y. The argument rows holds the matrix R, row-major, and the argument values holds y. The
// result logp is the log-density of R·x at the value y, in nats.
//
// Each window (vector of the data) is moved to the nearest point that satisfies the equations. Its
// weight is ∝ exp(−(distance moved)²/2h²), where h is the bandwidth. Windows with a weight below
// e⁻⁷⁰⁰ times the largest weight are omitted. Predictions and draws satisfy the equations exactly.
//
// Where returns an error if h = 0 or lengths do not match. R must have at least one row, its rows
// must be linearly independent, and all numbers must be finite.
func (w *Windows) Where(rows, values []float64) (given *Windows, logp float64, err error) {
	n, q, before := w.sites, len(values), len(w.target)
	switch {
	case w.bandwidth == 0:
		return nil, 0, fmt.Errorf("denoise: Windows: Where with Bandwidth = 0, want > 0")
	case q == 0 || len(rows) != q*n:
		return nil, 0, fmt.Errorf("denoise: Windows: Where: len(rows) = %d and len(values) = %d, want %d numbers for each value, and one or more", len(rows), q, n)
	}
	for _, x := range [][]float64{rows, values} {
		for i, v := range x {
			if !check.Finite(v) {
				return nil, 0, fmt.Errorf("denoise: Windows: Where: number %d = %v, want finite", i, v)
			}
		}
	}
	b := span.New(append(append([]float64(nil), w.basis...), rows...), n)
	if b.Rank() < before+q {
		return nil, 0, fmt.Errorf("denoise: Windows: Where: the rows have rank %d, want %d: leave out those that depend on others", b.Rank()-before, q)
	}
	target, _ := b.Solve(append(append([]float64(nil), w.target...), values...))
	g := &Windows{sites: n, bandwidth: w.bandwidth, top: w.top, basis: b.U, target: target}
	top := math.Inf(-1)
	all := make([]float64, len(w.square))
	for j := range all {
		moved := 0.0
		for k := before; k < len(target); k++ {
			e := target[k] - simd.Inner(b.U[k*n:(k+1)*n], w.window(j))
			moved += float64(e * e)
		}
		all[j] = w.prior(j) - moved/(2*w.bandwidth*w.bandwidth)
		top = max(top, all[j])
	}
	if !check.Finite(top) {
		return nil, 0, fmt.Errorf("denoise: Windows: Where: the values are so far from every window that log-weights overflow")
	}
	sum, total := 0.0, 0.0
	for j, l := range all {
		total += simd.Exp(w.prior(j))
		if l-top < leastPrior {
			continue
		}
		sum += simd.Exp(l - top)
		g.logw = append(g.logw, l-top)
		at := len(g.data)
		g.data = append(g.data, w.window(j)...)
		g.hold(g.data[at:], 1)
		for i, x := range g.data[at:] {
			if !check.Finite(float64(x)) {
				return nil, 0, fmt.Errorf("denoise: Windows: Where: window %d moves to %v at site %d, want a float32", j, x, i)
			}
		}
	}
	g.measure()
	spread := float64(float64(q) * (float64(simd.Log(2*math.Pi)/2) + simd.Log(w.bandwidth)))
	return g, top + simd.Log(sum) - simd.Log(total) - spread - b.LogVolume(), nil
}

// leastPrior is the log of the smallest relative weight of a window, just above the smallest that
// a float64 can hold.
const leastPrior = -700

// Draw stores in x an exact draw from the kernel density of the data. It panics if src is nil or
// len(x) is not the number of entries of a window.
func (w *Windows) Draw(x []float32, src rand.Source) {
	n := w.sites
	check.Len("denoise", "x", len(x), n)
	check.Must("denoise: Windows: Draw", "src", src)
	u, total := float64(src.Uint64()>>11)*0x1p-53, 0.0
	for j := range w.square {
		total += simd.Exp(w.prior(j))
	}
	u *= total
	k := 0
	for ; k < len(w.square)-1; k++ {
		if u -= simd.Exp(w.prior(k)); u < 0 {
			break
		}
	}
	normal.Fill(x, src)
	for i, v := range w.window(k) {
		x[i] = float32(float64(v) + float64(w.bandwidth*float64(x[i])))
	}
	w.hold(x, 1)
}

// Moments computes the mean and the covariance C of the clean state x_0 given the noisy state x_t
// at the signal level alpha. It stores E[x_0 | x_t] in mean and returns the trace of C. The slice
// rows holds any number of vectors, each with one entry per site. For each vector r, Moments stores
// C·r in product. The number of operations is
//
//	sites × vectors × windows of relevant weight.
func (w *Windows) Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error) {
	n, h2 := w.sites, w.bandwidth*w.bandwidth
	check.Len("denoise", "mean", len(mean), n)
	check.Len("denoise", "product", len(product), len(rows))
	check.Len("denoise", "x", len(x), n)
	q := check.Rows("denoise", "rows", len(rows), n)
	u := float64(alpha*h2) + 1 - alpha
	if !(u > 0) {
		return 0, fmt.Errorf("denoise: Windows: Moments: alpha = %v, want < 1", alpha)
	}
	near := scratch.Int32s.Get(len(w.square))
	weight := scratch.Float64s.Get(len(w.square) + q)
	state := scratch.Float32s.Get(n)
	defer scratch.Int32s.Put(near)
	defer scratch.Float64s.Put(weight)
	defer scratch.Float32s.Put(state)
	w.place(*state, x, alpha)
	list, p, total, err := w.explain(*near, (*weight)[:len(w.square)], *state, nil, alpha, u)
	if err != nil {
		return 0, err
	}
	w.average(mean, list, p, total)
	along := (*weight)[len(w.square):]
	own := float64(h2*(1-alpha)) / u // posterior variance of a component
	for j := range q {
		row, dst := rows[j*n:(j+1)*n], product[j*n:(j+1)*n]
		along[j] = span.Dot(mean, row)
		for i, v := range row {
			dst[i] = float64(own * v)
		}
		for k := range w.target {
			b := w.basis[k*n : (k+1)*n]
			s := float64(own * span.Dot(b, row))
			for i, v := range b {
				dst[i] -= float64(s * v)
			}
		}
	}
	trace = own * float64(n-len(w.target))
	shrink := (1 - alpha) / u // factor on distances between windows
	for k, j := range list {
		d := w.window(int(j))
		part := float64(p[k] / total * float64(shrink*shrink))
		for i, v := range d {
			e := float64(v) - mean[i]
			trace += float64(part * float64(e*e))
		}
		for j := range q {
			s := float64(part * (simd.Inner(rows[j*n:(j+1)*n], d) - along[j]))
			for i, v := range d {
				product[j*n+i] += float64(s * (float64(v) - mean[i]))
			}
		}
	}
	signal := math.Sqrt(alpha)
	gain := float64(signal*h2) / u
	for i, m := range mean {
		mean[i] = m + float64(gain*(float64((*state)[i])-float64(signal*m)))
	}
	return trace, nil
}
