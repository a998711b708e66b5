package energy

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// Enumeration holds the result of [Enumerate]: exact sums over all states of a model.
type Enumeration struct {
	LogZ  float64   // log Σ_x e^{−E(x)}, in nats
	Means []float64 // mean Σ_x p(x) f(x) of each function f
}

// most is the largest number of states that Enumerate accepts. Evaluating that many states of a
// small model takes about a minute.
const most = 1 << 28

// enumerated is the number of states in a chunk. Sums over chunks are merged in order, so results
// do not depend on the number of processors.
const enumerated = 1 << 12

// polled is the number of states evaluated between two checks of the context. Even a model that
// takes a millisecond per state stops within a few milliseconds.
const polled = 16

// size returns levels^sites; ok is false if that exceeds most.
func size(m Model) (int, bool) {
	sites, levels := m.Shape()
	if levels == 1 {
		return 1, true
	}
	n := 1
	for range sites {
		if n *= levels; n > most {
			return 0, false
		}
	}
	return n, true
}

// Enumerate evaluates every state of a small model. It returns log Z and the exact mean of each
// function in f, as a reference for samplers. The functions are called concurrently and must not
// keep their arguments.
//
// Enumerate returns an error if there are more than 2²⁸ states, an energy is NaN or −Inf, or no
// state has a finite energy. When ctx ends, it returns the cause of ctx.
func Enumerate(ctx context.Context, m Model, f ...func(x []int32) float64) (Enumeration, error) {
	if err := check.Given("energy: Enumerate", "m", m); err != nil {
		return Enumeration{}, err
	}
	for i := range f {
		if err := check.Given("energy: Enumerate", fmt.Sprintf("f[%d]", i), f[i]); err != nil {
			return Enumeration{}, err
		}
	}
	n, ok := size(m)
	if !ok {
		sites, levels := m.Shape()
		return Enumeration{}, fmt.Errorf("energy: Enumerate: %d sites of %d levels have more than %d states", sites, levels, most)
	}
	chunks := make([]partial, (n+enumerated-1)/enumerated)
	counters := sync.Pool{New: func() any { return newCounter(m, f) }}
	pool.Each(runtime.GOMAXPROCS(0), len(chunks), func(k int) {
		c, _ := counters.Get().(*counter)
		chunks[k] = c.sum(ctx, k*enumerated, min((k+1)*enumerated, n))
		counters.Put(c)
	})
	if poll.Err(ctx) != nil {
		return Enumeration{}, context.Cause(ctx)
	}
	total := partial{top: math.Inf(-1), means: make([]float64, len(f))}
	for k := range chunks {
		if chunks[k].err != nil {
			return Enumeration{}, chunks[k].err
		}
		total.add(&chunks[k])
	}
	if math.IsInf(total.top, -1) {
		return Enumeration{}, fmt.Errorf("energy: Enumerate: every state has energy +Inf")
	}
	for j := range total.means {
		total.means[j] /= total.weight
	}
	return Enumeration{LogZ: total.top + math.Log(total.weight), Means: total.means}, nil
}

// partial holds sums over some of the states, in units of e^top.
type partial struct {
	top    float64
	weight float64
	means  []float64
	err    error
}

// add adds the sums of q to p.
func (p *partial) add(q *partial) {
	if math.IsInf(q.top, -1) {
		return
	}
	own, other := 1.0, 1.0
	if q.top > p.top {
		own = math.Exp(p.top - q.top)
		p.top = q.top
	} else {
		other = math.Exp(q.top - p.top)
	}
	p.weight = p.weight*own + q.weight*other
	for j := range p.means {
		p.means[j] = p.means[j]*own + q.means[j]*other
	}
}

// counter is the workspace of one goroutine that evaluates states.
type counter struct {
	model         Model
	sites, levels int
	f             []func(x []int32) float64
	x             []int32
	e             []float64
}

func newCounter(m Model, f []func(x []int32) float64) *counter {
	sites, levels := m.Shape()
	return &counter{model: m, sites: sites, levels: levels, f: f,
		x: make([]int32, enumerated*sites), e: make([]float64, enumerated)}
}

// sum returns the sums over the states with numbers from … to−1, where site 0 is the fastest digit.
// It stops early if ctx ends.
func (c *counter) sum(ctx context.Context, from, to int) partial {
	if poll.Err(ctx) != nil {
		return partial{}
	}
	n := to - from
	for i, k := 0, from; i < c.sites; i, k = i+1, k/c.levels {
		c.x[i] = int32(k % c.levels)
	}
	for at := c.sites; at < n*c.sites; at += c.sites {
		row := c.x[at : at+c.sites]
		copy(row, c.x[at-c.sites:])
		for i := range row {
			if row[i]++; int(row[i]) < c.levels {
				break
			}
			row[i] = 0
		}
	}
	e := c.e[:n]
	for s := 0; s < n; s += polled {
		if poll.Err(ctx) != nil {
			return partial{}
		}
		end := min(s+polled, n)
		c.model.Energy(e[s:end], c.x[s*c.sites:end*c.sites])
	}
	p := partial{top: math.Inf(-1), means: make([]float64, len(c.f))}
	for s, v := range e {
		if math.IsNaN(v) || math.IsInf(v, -1) {
			p.err = fmt.Errorf("energy: Enumerate: the energy of state %v is %v, want a number or +Inf (+Inf − +Inf is NaN)", c.x[s*c.sites:(s+1)*c.sites], v)
			return p
		}
		p.top = max(p.top, -v)
	}
	if math.IsInf(p.top, -1) {
		return p
	}
	for s, v := range e {
		if len(c.f) > 0 && s%polled == 0 && poll.Err(ctx) != nil {
			return partial{}
		}
		w := math.Exp(-v - p.top)
		p.weight += w
		for j, f := range c.f {
			p.means[j] += w * f(c.x[s*c.sites:(s+1)*c.sites])
		}
	}
	return p
}
