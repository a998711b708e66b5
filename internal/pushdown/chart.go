package pushdown

import (
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// chart holds the sums inside one level for a single start and call site, for all positions
// after that site. Position j is the boundary before site j.
type chart[T any] struct {
	level   *level
	states  [][]T   // sums by position and state
	calls   [][]T   // sums by site and call
	halves  [][]T   // sums by site and half-position
	returns [][][]T // sums of returns by group, exit of the callee and site
}

// filter holds the weights of the sites and the sums of whole spans.
type filter[T any, R algebra.Ring[T]] struct {
	ring   R
	g      *Graph
	sites  int
	weight [][]T // weight of each edge at each site
	// whole[c][s][κ][e−c−1] is the sum over spans that start s opens at site c and that end by
	// exit κ at site e. It is nil for a start that cannot be called at c.
	whole [][][][]T
	need  [][]bool // by site and start, whether the start may be called there
	top   *chart[T]
	free  []*chart[T] // one spare chart for each level
	far   int         // the last position that a run can reach
	meter *poll.Meter // may be nil; once the context of the meter has ended, results are meaningless
}

func newFilter[T any, R algebra.Ring[T]](g *Graph, sites int) *filter[T, R] {
	f := &filter[T, R]{g: g, sites: sites, free: make([]*chart[T], len(g.levels)),
		weight: grid[T](sites, len(g.weights)), whole: grid[[][]T](sites, len(g.starts)), need: grid[bool](sites, len(g.starts))}
	f.top = f.newChart(g.top)
	return f
}

func (f *filter[T, R]) newChart(lv int32) *chart[T] {
	v := &f.g.levels[lv]
	c := &chart[T]{level: v, states: grid[T](f.sites+1, len(v.states)),
		calls: grid[T](f.sites, len(v.calls)), halves: grid[T](f.sites, len(v.halves))}
	for i := range v.groups {
		c.returns = append(c.returns, grid[T](len(v.groups[i].resume), f.sites))
	}
	return c
}

// clear sets positions from…to of a chart to zero.
func (f *filter[T, R]) clear(c *chart[T], from, to int) {
	for j := from; j < to; j++ {
		f.fill(c.states[j])
		f.fill(c.calls[j])
		f.fill(c.halves[j])
	}
	f.fill(c.states[to])
	for _, g := range c.returns {
		for _, x := range g {
			f.fill(x[from:to])
		}
	}
}

// chartOf returns the spare chart of a level, cleared at positions from…to.
func (f *filter[T, R]) chartOf(lv int32, from, to int) *chart[T] {
	if f.free[lv] == nil {
		f.free[lv] = f.newChart(lv)
	}
	f.clear(f.free[lv], from, to)
	return f.free[lv]
}

// siteWork is the cost of a site in a chart, in operations, apart from the cost of its edges
// and calls.
const siteWork = 64

// forward fills the chart ch for the span x up to position end. It stores the sums that leave the
// span in out, unless out is nil.
func (f *filter[T, R]) forward(ch *chart[T], x span, end int, out [][]T) {
	r := f.ring
	v := ch.level
	f.seed(ch, x, end)
	for j := x.c + 1; j < end; j++ {
		if f.meter.Done(siteWork + len(v.in) + len(v.call) + len(v.out) + (end-j)*len(v.calls)) {
			return
		}
		here, next, calls, halves, w := ch.states[j], ch.states[j+1], ch.calls[j], ch.halves[j], f.weight[j]
		for i := range v.groups {
			for k, to := range v.groups[i].resume {
				y := ch.returns[i][k][j]
				switch {
				case r.IsZero(y):
				case to.state >= 0:
					next[to.state] = r.Add(next[to.state], y)
				case to.half >= 0:
					halves[to.half] = r.Add(halves[to.half], y)
				}
			}
		}
		for h, to := range v.halves {
			if y := halves[h]; !r.IsZero(y) {
				if to.call >= 0 {
					calls[to.call] = r.Add(calls[to.call], y)
				} else if out != nil {
					e := &out[to.exit][j-x.c-1]
					*e = r.Add(*e, y)
				}
			}
		}
		r.Along(next, here, v.in, w)
		r.Along(calls, here, v.call, w)
		if out != nil {
			for _, e := range v.out {
				if y := here[e.From]; !r.IsZero(y) {
					o := &out[e.To][j-x.c-1]
					*o = r.Add(*o, r.Mul(y, w[e.W]))
				}
			}
		}
		for k, y := range calls {
			if !r.IsZero(y) {
				f.join(ch, j, k, end)
			}
		}
	}
}

// seed sets the weight 1 at the state or call with which the span x begins.
func (f *filter[T, R]) seed(ch *chart[T], x span, end int) {
	if x.s < 0 {
		ch.states[0][f.g.begin] = f.ring.One()
		return
	}
	if s := f.g.starts[x.s]; s.q >= 0 {
		ch.states[x.c+1][f.g.local[s.q]] = f.ring.One()
		return
	}
	k := f.g.halfCall(ch.level, x.s)
	ch.calls[x.c][k] = f.ring.One()
	f.join(ch, x.c, k, end)
}

// join adds the returns of call k of site j at all sites before end.
func (f *filter[T, R]) join(ch *chart[T], j, k, end int) {
	c := ch.level.calls[k]
	src := f.whole[j][c.start]
	for i, to := range ch.level.groups[c.group].resume {
		if (to.state >= 0 || to.half >= 0) && end > j+1 {
			f.ring.Axpy(ch.returns[c.group][i][j+1:end], src[i][:end-j-1], ch.calls[j][k])
		}
	}
}

// inside fills whole for everything that can be called, from the last site to the first, and
// then the chart of the whole sequence. It returns the total sum.
func (f *filter[T, R]) inside() T {
	f.far = f.g.reach(f.need, func(site int, w int32) bool { return !f.ring.IsZero(f.weight[site][w]) })
	for c := f.sites - 1; c >= 0; c-- {
		for _, s := range f.g.order {
			if f.need[c][s] {
				f.forward(f.chartOf(f.g.starts[s].level, c, f.sites), span{c, int(s)}, f.sites, f.leaving(f.whole, c, s))
			}
		}
	}
	return f.outer()
}

// weigh computes the edge weights of a site as sums of the weights of token classes.
func (f *filter[T, R]) weigh(site int, class []T) {
	for w, classes := range f.g.weights {
		x := f.ring.Zero()
		for _, k := range classes {
			x = f.ring.Add(x, class[k])
		}
		f.weight[site][w] = x
	}
}

// outer fills the chart of the whole sequence and returns its sum.
func (f *filter[T, R]) outer() T {
	f.clear(f.top, 0, f.sites)
	f.forward(f.top, span{-1, -1}, f.sites, nil)
	z := f.ring.Zero()
	for q, final := range f.top.level.final {
		if final {
			z = f.ring.Add(z, f.top.states[f.sites][q])
		}
	}
	return z
}

// leaving clears and returns the entry of table all for the start s called at site c.
func (f *filter[T, R]) leaving(all [][][][]T, c int, s int32) [][]T {
	x := &all[c][s]
	if *x == nil {
		*x = grid[T](len(f.g.levels[f.g.starts[s].level].exits), f.sites-c-1)
	}
	for _, y := range *x {
		f.fill(y)
	}
	return *x
}

// fill sets all entries of x to zero.
func (f *filter[T, R]) fill(x []T) {
	zero := f.ring.Zero()
	for i := range x {
		x[i] = zero
	}
}
