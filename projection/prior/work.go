package prior

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// work is the scratch of one call. All tables hold logarithms.
type work struct {
	*program
	v     []float32
	meter poll.Meter // meter of the call; once its context has ended, sums are meaningless

	token []float64 // scratch: log-weights of the tokens at a site
	// by site, class and hidden state, the log-weight of emitting a token of the class
	seen []float64
	// by position, automaton state and hidden state, the log-weight of all continuations
	value []float64
	// by site, next automaton state and hidden state z, the log-weight of all continuations
	// after leaving z
	ahead  []float64
	before []float64 // by automaton state and hidden state, the log-weight of all prefixes
	next   []float64
	p      []float64 // scratch of a draw or a sum
}

func newWork(c *program) *work {
	n := c.q * c.h
	return &work{
		program: c,
		token:   make([]float64, c.k),
		seen:    make([]float64, c.sites*c.classes*c.h),
		value:   make([]float64, (c.sites+1)*n),
		ahead:   make([]float64, c.sites*n),
		before:  make([]float64, n), next: make([]float64, n),
		p: make([]float64, max(c.k, c.h, c.classes, n)),
	}
}

// underflow is the least sum of exponentials, relative to the greatest of them, that is used
// directly. Lost terms below e^-700 are then less than 1e-17 of the sum. A smaller sum is
// computed again with its own shift.
const underflow = 1e-280

// filter computes the sums over all continuations, from the last site to the first, and returns
// log Z.
func (w *work) filter(v []float32) (float64, error) {
	w.v = v
	n, never := w.q*w.h, math.Inf(-1)
	end := w.value[w.sites*n:]
	for q := range w.q {
		for z := range w.h {
			end[q*w.h+z] = never
			if w.table.Accepting(q) {
				end[q*w.h+z] = 0
			}
		}
	}
	for i := w.sites - 1; i >= 0; i-- {
		if err := w.read(i); err != nil {
			return 0, err
		}
		ahead, later := w.ahead[i*n:(i+1)*n], w.value[(i+1)*n:(i+2)*n]
		if i == w.sites-1 {
			copy(ahead, later)
		} else {
			for q := range w.q {
				if w.mix(ahead[q*w.h:(q+1)*w.h], later[q*w.h:(q+1)*w.h]); w.meter.Err() != nil {
					return 0, w.meter.Err()
				}
			}
		}
		here, alive := w.value[i*n:(i+1)*n], false
		for q := range w.q {
			for z := range w.h {
				if w.meter.Done(w.classes) {
					return 0, w.meter.Err()
				}
				here[q*w.h+z] = w.follow(i, q, z)
				alive = alive || !math.IsInf(here[q*w.h+z], -1)
			}
		}
		if !alive {
			return 0, w.infeasible(i)
		}
	}
	for z, s := range w.start {
		w.p[z] = log(s) + w.value[z]
	}
	logZ := algebra.LogSum(w.p[:w.h])
	if math.IsInf(logZ, -1) {
		return 0, w.infeasible(0)
	}
	return logZ, nil
}

// read stores log Σ_{l in class} emit(z; l)·exp(v[i,l]) in w.seen for site i, for every class
// and hidden state z.
func (w *work) read(i int) error {
	top := math.Inf(-1)
	for l := range w.token {
		x := w.weight(w.v, i, int32(l))
		if math.IsNaN(x) || math.IsInf(x, 1) {
			return &projection.WeightError{Site: i, Level: l, Weight: x}
		}
		w.token[l] = x
		top = max(top, x)
	}
	seen := w.seen[i*w.classes*w.h : (i+1)*w.classes*w.h]
	clear(seen)
	if !math.IsInf(top, -1) {
		for l, x := range w.token {
			if w.meter.Done(w.h) {
				return w.meter.Err()
			}
			e := exp(x - top)
			row, emit := seen[int(w.class[l])*w.h:], w.emit[l*w.h:(l+1)*w.h]
			for z, p := range emit {
				row[z] += float64(e * p)
			}
		}
	}
	for at, s := range seen {
		if s >= underflow {
			seen[at] = top + log(s)
			continue
		}
		k, z := at/w.h, at%w.h
		tokens := w.tokens[w.from[k]:w.from[k+1]]
		if w.meter.Done(len(tokens)) {
			return w.meter.Err()
		}
		p := w.p[:0]
		for _, l := range tokens {
			if e := w.emit[int(l)*w.h+z]; e > 0 {
				p = append(p, w.token[l]+log(e))
			}
		}
		seen[at] = algebra.LogSum(p)
	}
	return nil
}

// mix sets dst[z] to log Σ_z' trans(z; z')·exp(later[z']). If the context ends, it stops early.
func (w *work) mix(dst, later []float64) {
	top := math.Inf(-1)
	for _, x := range later {
		top = max(top, x)
	}
	if math.IsInf(top, -1) {
		copy(dst, later)
		return
	}
	e := w.p[:w.h]
	for z, x := range later {
		e[z] = exp(x - top)
	}
	for z := range dst {
		if w.meter.Done(w.h) {
			return
		}
		sum := 0.0
		for y, p := range w.trans[z*w.h : (z+1)*w.h] {
			sum += float64(p * e[y])
		}
		dst[z] = top + log(sum)
		if sum >= underflow {
			continue
		}
		top := math.Inf(-1)
		for y, p := range w.trans[z*w.h : (z+1)*w.h] {
			top = max(top, log(p)+later[y])
		}
		if dst[z] = top; math.IsInf(top, -1) {
			continue
		}
		sum = 0
		for y, p := range w.trans[z*w.h : (z+1)*w.h] {
			sum += exp(log(p) + later[y] - top)
		}
		dst[z] = top + log(sum)
	}
}

// follow returns the log of the total weight of all continuations from site i, automaton state
// q and hidden state z.
func (w *work) follow(i, q, z int) float64 {
	top := math.Inf(-1)
	p := w.p[:w.classes]
	for k := range p {
		p[k] = w.step(i, q, k, z)
		top = max(top, p[k])
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for _, x := range p {
		if x > top-40 {
			sum += exp(x - top)
		}
	}
	return top + log(sum)
}

// step returns the log of the weight of emitting a token of class k at site i, times that of
// all continuations.
func (w *work) step(i, q, k, z int) float64 {
	to := int(w.table.To[q*w.classes+k])
	if to < 0 {
		return math.Inf(-1)
	}
	return w.seen[(i*w.classes+k)*w.h+z] + w.ahead[(i*w.q+to)*w.h+z]
}

// draw draws a sequence from the first site to the last: for each site the class of the token,
// the token, and the next hidden state.
func (w *work) draw(x []int32, src rand.Source) {
	p := w.p[:w.h]
	for z, s := range w.start {
		p[z] = log(s) + w.value[z]
	}
	q, z := 0, pick(p, src)
	for i := range x {
		p := w.p[:w.classes]
		for k := range p {
			p[k] = w.step(i, q, k, z)
		}
		k := pick(p, src)
		p = w.p[:w.k]
		for l := range p {
			p[l] = math.Inf(-1)
			if int(w.class[l]) == k {
				p[l] = w.weight(w.v, i, int32(l)) + log(w.emit[l*w.h+z])
			}
		}
		x[i] = int32(pick(p, src))
		q = int(w.table.To[q*w.classes+k])
		if i+1 == len(x) {
			return
		}
		p = w.p[:w.h]
		for y := range p {
			p[y] = log(w.trans[z*w.h+y]) + w.value[((i+1)*w.q+q)*w.h+y]
		}
		z = pick(p, src)
	}
}

// pick draws an index with probability proportional to exp(p), by inverse CDF with 53 random
// bits.
func pick(p []float64, src rand.Source) int {
	top, total := math.Inf(-1), 0.0
	for _, x := range p {
		top = max(top, x)
	}
	for j, x := range p {
		p[j] = exp(x - top)
		total += p[j]
	}
	return algebra.Pick(p, total, src)
}

// weigh returns the log of p(x)·∏ exp(v[i,x_i])·1[x ∈ C]. If the context ends, the result is
// meaningless.
func (w *work) weigh(x []int32) float64 {
	q, never := 0, math.Inf(-1)
	now, then := w.before[:w.h], w.next[:w.h]
	for z, s := range w.start {
		now[z] = log(s)
	}
	for i, l := range x {
		if l < 0 || int(l) >= w.k {
			return never
		}
		if q = w.table.Next(q, l); q < 0 {
			return never
		}
		v := w.weight(w.v, i, l)
		for z := range now {
			now[z] += v + log(w.emit[int(l)*w.h+z])
		}
		if i+1 == len(x) {
			break
		}
		if w.push(then, now); w.meter.Err() != nil {
			return never
		}
		now, then = then, now
	}
	if !w.table.Accepting(q) {
		return never
	}
	return algebra.LogSum(now)
}

// push sets dst[z'] to log Σ_z exp(now[z])·trans(z; z'). If the context ends, it stops early.
func (w *work) push(dst, now []float64) {
	p := w.p[:w.h]
	for y := range dst {
		if w.meter.Done(w.h) {
			return
		}
		for z, x := range now {
			p[z] = x + log(w.trans[z*w.h+y])
		}
		dst[y] = algebra.LogSum(p)
	}
}

// marginals stores the log-marginals in dst. It goes from the first site to the last and keeps
// the log-weight of all prefixes.
func (w *work) marginals(dst []float64) {
	never, h := math.Inf(-1), w.h
	for i := range dst {
		dst[i] = never
	}
	now, then := w.before, w.next
	for at := range now {
		now[at] = never
	}
	for z, s := range w.start {
		now[z] = log(s)
	}
	post := make([]float64, w.classes*h)
	for i := range w.sites {
		for at := range then {
			then[at] = never
		}
		for at := range post {
			post[at] = never
		}
		for at, a := range now {
			q, z := at/h, at%h
			if w.meter.Done(w.classes) {
				return
			}
			if math.IsInf(a, -1) {
				continue
			}
			for k := range w.classes {
				to := int(w.table.To[q*w.classes+k])
				if to < 0 {
					continue
				}
				post[k*h+z] = add(post[k*h+z], a+w.ahead[(i*w.q+to)*h+z])
				then[to*h+z] = add(then[to*h+z], a+w.seen[(i*w.classes+k)*h+z])
			}
		}
		row := dst[i*w.levels : (i+1)*w.levels]
		for l := range w.k {
			if w.meter.Done(h) {
				return
			}
			p := w.p[:h]
			for z := range p {
				p[z] = post[int(w.class[l])*h+z] + log(w.emit[l*h+z])
			}
			row[l] = algebra.LogSum(p) + w.weight(w.v, i, int32(l))
		}
		total := algebra.LogSum(row)
		for l := range row {
			row[l] -= total
		}
		if i+1 < w.sites {
			for q := range w.q {
				if w.push(now[q*h:(q+1)*h], then[q*h:(q+1)*h]); w.meter.Err() != nil {
					return
				}
			}
		}
	}
}

// add returns log(e^a + e^b).
func add(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + log(1+exp(b-a))
}

// program is a model and a language compiled for a shape. It is immutable.
type program struct {
	name          string
	table         *automata.Table
	mask          *constraint.Mask
	sites, levels int
	h, k, q       int // numbers of hidden states, tokens and automaton states

	start, trans, emit []float64 // tables of the model: trans[z·h+z'] and emit[l·h+z]
	class              []int32   // class of each token
	classes            int
	from, tokens       []int32 // tokens of class k in ascending order: tokens[from[k]:from[k+1]]
}

// fill copies the tables of the model and groups the tokens by class.
func (c *program) fill(m HMM) {
	c.start, c.trans = slices.Clone(m.Start), slices.Clone(m.Trans)
	c.emit = make([]float64, c.h*c.k)
	for z := range c.h {
		for l := range c.k {
			c.emit[l*c.h+z] = m.Emit[z*c.k+l]
		}
	}
	c.class, c.classes = c.table.Class, c.table.Width
	c.from, c.tokens = algebra.Group(c.class, c.classes)
}

// weight returns the log-weight of token l at site i, −Inf if the mask forbids it.
func (c *program) weight(v []float32, i int, l int32) float64 {
	if c.mask != nil && !c.mask.Allows(i, l) {
		return math.Inf(-1)
	}
	return float64(v[i*c.levels+int(l)])
}

// infeasible returns the error for the case that no sequence is possible.
func (c *program) infeasible(site int) error {
	return &projection.InfeasibleError{Constraint: c.name, Site: site}
}

func exp(x float64) float64 { return simd.Exp(x) }

// log returns the natural logarithm of x, −Inf if x is 0.
func log(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	return simd.Log(x)
}
