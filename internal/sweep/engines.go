package sweep

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Scan is the order in which a sweep visits sites.
type Scan int

const (
	Automatic  Scan = iota // the fastest order for the model
	Systematic             // sites 0, 1, 2, …
	Random                 // as many visits as there are sites, each to a site drawn uniformly
	Chromatic              // the colours of a colouring of the graph, one after the other
)

func (s Scan) String() string {
	return check.Name("Scan", s, "automatic", "systematic", "random", "chromatic")
}

// Request describes the kernel that a sweeping method (Gibbs or Metropolis) needs.
type Request struct {
	Method string // name of the method, for error messages
	// true for Metropolis: changes are proposed and then accepted or rejected; false for Gibbs: new
	// states are drawn from conditional distributions
	Proposes bool
	Scan     Scan // order of the sites
	Updates  int  // proposals per step; 0 means one per site
	Model    energy.Model
	Chains   int // number of chains that the kernel moves
}

// request is a Request with data that the engines share.
type request struct {
	Request
	sites, levels int
	orders        [Chromatic + 1][]int32 // per scan: order of the sites; nil until needed
}

// order returns the sites in the order of a scan, or nil for a random scan. It caches the result.
func (r *request) order(scan Scan) (sweep []int32, err error) {
	if scan != Random && r.orders[scan] == nil {
		r.orders[scan], err = order(r.Method, scan, r.Model)
	}
	return r.orders[scan], err
}

// order returns the sites of m in the order of a scan that is not random.
func order(method string, scan Scan, m energy.Model) ([]int32, error) {
	sites, _ := m.Shape()
	sweep := make([]int32, 0, sites)
	if scan != Chromatic {
		for i := range sites {
			sweep = append(sweep, int32(i))
		}
		return sweep, nil
	}
	g, ok := energy.As[energy.Graphical](m)
	if !ok {
		return nil, fmt.Errorf("mcmc: %s: model = %T with Scan = %v, want an energy.Graphical one: choose another Scan", method, m, scan)
	}
	colour, colours := colouring(g.Graph())
	for c := range colours {
		for i, ci := range colour {
			if int(ci) == c {
				sweep = append(sweep, int32(i))
			}
		}
	}
	return sweep, nil
}

// Sets of scans that an engine supports, as bit masks.
const (
	byColour = 1<<Automatic | 1<<Chromatic // scans of an engine that redraws colour by colour
	inOrder  = byColour | 1<<Systematic    // byColour, and scans site by site in order
	inAny    = inOrder | 1<<Random         // all scans: inOrder, and scans in random order
)

// engines lists the kernels of sweeps. The first engine that accepts a model and a scan is used.
//
// The field models describes the models, the representation of the states and the rounding of
// conditional probabilities. The field price is the time per site and chain, in blocks of 32 chains
// for engines that hold all chains of a block together. The function make returns nil if the engine
// does not accept the model or if a later engine is faster.
var engines = []struct {
	name   string
	models string
	price  string
	// sets of scans in which the engine redraws sites, and in which it proposes changes
	heat, tries int
	numbers     bool // the kernel copies the parameters of the model when it is built
	make        func(r *request) (sampler.Kernel, error)
}{
	{"words", "two levels, pairs of one strength and any sign, ≤ 7 neighbours, ≤ 32 kinds of sites, < 32 sites for each chain: a chain is a bit; 2⁻⁶⁴", ".4 ns", byColour, 0, true,
		func(r *request) (sampler.Kernel, error) {
			if r.sites >= wordSites*r.Chains {
				return nil, nil
			}
			return made(newWordGibbs(r.Model, r.Chains))
		}},
	{"torus", "energy.Toroidal with even sides: a site is a bit, hundreds at a time; 2⁻⁶⁴", ".2 ns", byColour, 1 << Chromatic, true,
		func(r *request) (sampler.Kernel, error) {
			if r.Proposes {
				return made(newTorusMetropolis(r.Model, r.Chains))
			}
			return made(newTorusGibbs(r.Model, r.Chains))
		}},
	{"words", "as above, with more sites", ".4 ns", byColour, 0, true,
		func(r *request) (sampler.Kernel, error) { return made(newWordGibbs(r.Model, r.Chains)) }},
	{"rows", "as words with ≤ 127 neighbours and 256 kinds of fields, ≥ 8 chains a block: a chain is a byte; 2⁻⁶⁴", ".5 ns and .01 ns a neighbour", inOrder, 0, true,
		func(r *request) (sampler.Kernel, error) {
			scan, sweep := r.Scan, []int32(nil)
			if scan != Automatic {
				var err error
				if sweep, err = r.order(scan); err != nil {
					return nil, err
				}
			}
			return made(newRowGibbs(r.Model, r.Chains, sweep))
		}},
	{"sparse", "energy.Matching, ≤ 16 neighbours on average: looked up by neighbours; 2⁻⁵³", "14 ns and 1.5 ns a neighbour", byColour, 0, true,
		func(r *request) (sampler.Kernel, error) { return made(newSparseGibbs(r.Model, r.Chains)) }},
	{"dense", "energy.Matching of two levels, more neighbours or, of proposals, any number: looked up by a count of them; 2⁻⁶⁴", "10 ns and 1.5 ns a neighbour of a site that changes", inOrder, inOrder &^ (1 << Automatic), true,
		func(r *request) (sampler.Kernel, error) {
			if !r.Proposes && !dense(r.Model) {
				return nil, nil
			}
			sweep, err := r.order(r.Scan)
			if err != nil {
				return nil, err
			}
			k := newDenseGibbs(r.Model, r.Chains, sweep)
			if k != nil && r.Proposes {
				k.metropolise()
			}
			return made(k)
		}},
	{"memo", "energy.Graphical and Conditional of two levels, ≤ 2¹⁶ conditionals, ≤ 2¹³ where couplings can be added up: remembered by states of neighbours; without it fields take 1.1 to 1.8 times as long, and differences 2.2 to 3.5 times", "14 ns and 1.5 ns a neighbour", inOrder, 0, false,
		func(r *request) (sampler.Kernel, error) {
			known := newMemo(r.Model)
			whole, _ := unclamped(r.Model)
			if known == nil || r.Scan != Systematic && len(known.up) > memoPairs && sparsePairs(whole) != nil {
				return nil, nil
			}
			scan := r.Scan
			if scan == Automatic { // sites of one colour do not depend on each other
				scan = Chromatic
			}
			sweep, err := r.order(scan)
			return padded.New(memoGibbs{sitewise: newSitewise(NewEnergies(r.Model, r.Chains, len(sweep))), memo: known, order: sweep}), err
		}},
	{"fields", "two levels, pairs, ≤ 16 neighbours on average: couplings added up, by several workers; without it differences take 2.5 to 3 times as long", "14 ns and 1.5 ns a neighbour", byColour, 0, true,
		func(r *request) (sampler.Kernel, error) { return made(newFieldGibbs(r.Model, r.Chains)) }},
	{"differences", "all models: energy.Local caches, or energy.Conditional, or one energy a level", "42 ns and what the model takes", inAny, inAny, false, newSites},
}

// Kernel returns the kernel of the first engine that accepts the model. The second result is true
// if the kernel has copied the model's parameters. Such a kernel must be replaced when the
// parameters change.
func (q Request) Kernel() (k sampler.Kernel, numbers bool, err error) {
	r := &request{Request: q}
	r.sites, r.levels = q.Model.Shape()
	for at := 0; k == nil && err == nil; at++ { // the last engine accepts every model
		e := &engines[at]
		scans := e.heat
		if r.Proposes {
			scans = e.tries
		}
		if scans>>r.Scan&1 == 1 {
			k, err = e.make(r)
			numbers = e.numbers
		}
	}
	return k, numbers, err
}

// made converts a kernel pointer to an interface, so that a nil pointer becomes a nil interface.
func made[K any, P interface {
	*K
	sampler.Kernel
}](k P) (sampler.Kernel, error) {
	if k == nil {
		return nil, nil
	}
	return k, nil
}

// FewestFree is the smallest number of free (not fixed) sites for which a clamped model gets a
// specialised kernel (BenchmarkAffine). Tests set it lower.
var FewestFree = 8

// few reports whether some sites are fixed and fewer than FewestFree are free.
func few(fixed []int32) bool { return fixed != nil && freeOf(fixed, 0) < FewestFree }

// free returns those of the given sites that are not fixed.
func free(sites, fixed []int32) []int32 {
	if fixed == nil {
		return sites
	}
	return slices.DeleteFunc(slices.Clone(sites), func(i int32) bool { return fixed[i] >= 0 })
}

// freeOf returns the number of free sites. If fixed is nil, that is the number of all sites.
func freeOf(fixed []int32, sites int) (free int) {
	if fixed == nil {
		return sites
	}
	for _, l := range fixed {
		if l < 0 {
			free++
		}
	}
	return free
}

// unclamped returns the model without its clamp, and the slice fixed. Entry i of fixed is the level
// at which site i is fixed, or −1 if site i is free. If no site is fixed, the slice is nil.
func unclamped(m energy.Model) (whole energy.Model, fixed []int32) {
	if c, ok := energy.As[energy.Clamped](m); ok {
		return c.Unclamped()
	}
	return m, nil
}

// fewSites is the maximum number of sites for which colouring tries a slower method that may save
// a colour.
const fewSites = 256

// colouring returns a colouring of a graph in compressed sparse rows, with few colours.
// Neighbours have different colours.
func colouring(start, adj []int32) (colour []int32, colours int) {
	colour, colours = greedy(start, adj)
	if len(colour) <= fewSites && colours > 2 {
		if other, fewer := saturated(start, adj); fewer < colours {
			return other, fewer
		}
	}
	return colour, colours
}

// greedy gives every site the smallest colour that no earlier neighbour has. The number of
// colours is at most the largest degree plus 1.
func greedy(start, adj []int32) (colour []int32, colours int) {
	colour = make([]int32, len(start)-1)
	taken := make([]int, len(colour)+1) // taken[c] = i+1 means that a neighbour of i has colour c
	for i := range colour {
		for _, j := range adj[start[i]:start[i+1]] {
			if int(j) < i {
				taken[colour[j]] = i + 1
			}
		}
		c := 0
		for taken[c] == i+1 {
			c++
		}
		colour[i] = int32(c)
		colours = max(colours, c+1)
	}
	return colour, colours
}

// saturated colours greedily in the order of Brélaz 1979. The next site is the one with the most
// colours among its neighbours; ties go to more neighbours, then to the lower site. It uses fewer
// colours than greedy, in time quadratic in the number of sites.
func saturated(start, adj []int32) (colour []int32, colours int) {
	n := len(start) - 1
	colour = make([]int32, n)
	near := make([]map[int32]bool, n) // per site: colours of its neighbours
	for i := range colour {
		colour[i], near[i] = -1, map[int32]bool{}
	}
	for range n {
		best := -1
		for i, c := range colour {
			if c < 0 && (best < 0 || len(near[i]) > len(near[best]) || len(near[i]) == len(near[best]) && start[i+1]-start[i] > start[best+1]-start[best]) {
				best = i
			}
		}
		c := int32(0)
		for near[best][c] {
			c++
		}
		colour[best] = c
		colours = max(colours, int(c)+1)
		for _, j := range adj[start[best]:start[best+1]] {
			near[j][c] = true
		}
	}
	return colour, colours
}

// Prepare makes a model build its graph. Some models would otherwise build it in the first call of
// Graph, during a step, and the step could not be stopped meanwhile. Call Prepare when a kernel is
// built.
func Prepare(m energy.Model) {
	if g, ok := energy.As[energy.Graphical](m); ok {
		g.Graph()
	}
}

// Unit costs of a sweep in nanoseconds, without evaluations of the model. The Cost methods estimate
// times from them (see sampler.Costed). The test of unit costs in package auto has fitted them to
// measurements over many sizes.
const (
	WholeCost   = 300  // minimum estimated time of a step of one chain, in nanoseconds
	bandCost    = 10   // ns per row of a torus stored as bits
	bitCost     = 0.15 // ns per site of a torus stored as bits
	proposeCost = 600  // ns per step of a chain stored as bits, if all sites are proposed at once
	kindCost    = 0.27 // ns per site stored as bits, if all sites are proposed at once
	sparseCost  = 14   // ns per site redrawn from a table
	nearCost    = 1.5  // ns per neighbour of a site redrawn from a table
	denseCost   = 10   // ns per site redrawn by a count of neighbours
	sweepCost   = 30   // ns per site redrawn by its exact energy differences
	// time for the exponential of the energy of one level of a site, in nanoseconds
	LevelCost    = 12
	ProposalCost = 55   // time of a proposal at a random site or pair of sites, in nanoseconds
	laneCost     = 14   // ns per site redrawn in all chains of a block, stored as bits
	visitCost    = 15   // ns per site redrawn in all chains of a block, stored as bytes
	addCost      = 0.32 // ns per neighbour of a site redrawn as bytes
)

// lookups estimates the time in nanoseconds of a step that visits every site and its neighbours.
func lookups(m cost.Model, info []sampler.Info) float64 {
	return float64(len(info)) * float64(float64(m.Sites)*(sparseCost+float64(nearCost*m.Degree)))
}

// Moves returns the number of sites that changed in a step, summed over all chains in info.
func Moves(info []sampler.Info) (n float64) {
	for i := range info {
		n += float64(info[i].Moved)
	}
	return n
}
