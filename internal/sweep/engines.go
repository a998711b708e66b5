package sweep

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Scan is the order in which a sweep visits sites.
type Scan int

const (
	Automatic  Scan = iota // the fastest order
	Systematic             // 0, 1, 2, …
	Random                 // as many visits as there are sites, each drawn uniformly
	Chromatic              // colour by colour
)

func (s Scan) String() string {
	if s < Automatic || s > Chromatic {
		return fmt.Sprintf("Scan(%d)", int(s))
	}
	return [...]string{"automatic", "systematic", "random", "chromatic"}[s]
}

// Request describes a kernel of sweeps.
type Request struct {
	Method   string // for errors
	Proposes bool   // changes are proposed and accepted, as in Metropolis, instead of drawn
	Scan     Scan
	Updates  int // proposals per step; 0 means one per site
	Model    energy.Model
	Chains   int
}

// request is a Request with what its engines share.
type request struct {
	Request
	sites, levels int
	orders        [Chromatic + 1][]int32 // by scan, made on demand
}

// order returns the sites in the order of a scan, nil for a random one.
func (r *request) order(scan Scan) (sweep []int32, err error) {
	if scan != Random && r.orders[scan] == nil {
		r.orders[scan], err = order(r.Method, scan, r.Model)
	}
	return r.orders[scan], err
}

// order returns the sites in the order of a sweep.
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
		return nil, fmt.Errorf("mcmc: %s: Scan = %v needs an energy.Graphical model, %T is not", method, scan, m)
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

// Sets of scans.
const (
	byColour = 1<<Automatic | 1<<Chromatic
	inOrder  = byColour | 1<<Systematic
	inAny    = inOrder | 1<<Random
)

// engines lists the kernels of sweeps. The first one that accepts a model in a scan is used.
// models names the models, the form of the states and the rounding of conditionals; price is
// the time for a site of a chain, in blocks of 32 for engines that hold all chains of a block
// together. make returns nil if the engine does not accept the model or a later one is faster.
var engines = []struct {
	name        string
	models      string
	price       string
	heat, tries int  // sets of scans: sites are redrawn, and proposed
	numbers     bool // the kernel copies the parameters of the model when it is made
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
			if scan == Automatic { // sites of one colour do not wait for each other
				scan = Chromatic
			}
			sweep, err := r.order(scan)
			return padded.New(memoGibbs{sitewise: newSitewise(NewEnergies(r.Model, r.Chains, len(sweep))), memo: known, order: sweep}), err
		}},
	{"fields", "two levels, pairs, ≤ 16 neighbours on average: couplings added up, by several workers; without it differences take 2.5 to 3 times as long", "14 ns and 1.5 ns a neighbour", byColour, 0, true,
		func(r *request) (sampler.Kernel, error) { return made(newFieldGibbs(r.Model, r.Chains)) }},
	{"differences", "all models: energy.Local caches, or energy.Conditional, or one energy a level", "42 ns and what the model takes", inAny, inAny, false, newSites},
}

// Kernel returns the kernel of the first engine that accepts the model. numbers reports whether
// the kernel has copied the model's parameters; if so, a new kernel is needed when they change.
func (q Request) Kernel() (k sampler.Kernel, numbers bool, err error) {
	r := &request{Request: q}
	r.sites, r.levels = q.Model.Shape()
	for at := 0; k == nil && err == nil; at++ { // the last one accepts every model
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

// made returns a kernel, or nil if it is a pointer that is nil.
func made[K any, P interface {
	*K
	sampler.Kernel
}](k P) (sampler.Kernel, error) {
	if k == nil {
		return nil, nil
	}
	return k, nil
}

// FewestFree is the least number of free sites of a clamped model for which a specialised
// kernel pays (BenchmarkAffine). Tests set it lower.
var FewestFree = 8

// few reports whether sites are fixed and fewer than FewestFree are free.
func few(fixed []int32) bool { return fixed != nil && freeOf(fixed, 0) < FewestFree }

// free returns the free ones of some sites.
func free(sites, fixed []int32) []int32 {
	if fixed == nil {
		return sites
	}
	return slices.DeleteFunc(slices.Clone(sites), func(i int32) bool { return fixed[i] >= 0 })
}

// freeOf returns the number of free sites.
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

// unclamped returns the model without its clamp, and by site the level at which it is fixed,
// −1 if it is free; fixed is nil if no site is fixed.
func unclamped(m energy.Model) (whole energy.Model, fixed []int32) {
	if c, ok := energy.As[energy.Clamped](m); ok {
		return c.Unclamped()
	}
	return m, nil
}

// fewSites is the largest number of sites for which colouring tries to save a colour.
const fewSites = 256

// colouring gives every site of a graph in compressed rows a colour that no neighbour
// has. It uses few colours.
func colouring(start, adj []int32) (colour []int32, colours int) {
	colour, colours = greedy(start, adj)
	if len(colour) <= fewSites && colours > 2 {
		if other, fewer := saturated(start, adj); fewer < colours {
			return other, fewer
		}
	}
	return colour, colours
}

// greedy gives every site the smallest colour that no earlier neighbour has; at most
// one more than the largest degree.
func greedy(start, adj []int32) (colour []int32, colours int) {
	colour = make([]int32, len(start)-1)
	taken := make([]int, len(colour)+1) // taken[c] = i+1: a neighbour of i has c
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

// saturated is greedy in the order of Brélaz 1979: next comes the site with the most
// colours among its neighbours; ties go to more neighbours, then to the lower site. It uses
// fewer colours than greedy, in time quadratic in the number of sites.
func saturated(start, adj []int32) (colour []int32, colours int) {
	n := len(start) - 1
	colour = make([]int32, n)
	near := make([]map[int32]bool, n) // colours of the neighbours
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

// Prepare makes a model build its graph. Some models build it on the first call, which should
// happen when a kernel is bound: a step that builds the graph cannot be stopped meanwhile.
func Prepare(m energy.Model) {
	if g, ok := energy.As[energy.Graphical](m); ok {
		g.Graph()
	}
}

// Costs of a sweep's work other than evaluations of the model, in nanoseconds, fitted over many
// sizes by the test of prices in package auto; see sampler.Costed.
const (
	WholeCost    = 300  // a step of a chain, at least
	bandCost     = 10   // a row of a torus of bits
	bitCost      = 0.15 // and a site of it
	proposeCost  = 600  // a step of a chain of bits that is proposed
	kindCost     = 0.27 // and a site of it
	sparseCost   = 14   // a site redrawn by a table
	nearCost     = 1.5  // and a neighbour of it
	denseCost    = 10   // a site redrawn by a count
	sweepCost    = 30   // a site redrawn by its exact differences
	LevelCost    = 12   // and an exponential of it
	ProposalCost = 55   // a site or a pair proposed at random
	laneCost     = 14   // a site of all chains of a block, redrawn as bits
	visitCost    = 15   // a site of all chains of a block, redrawn as bytes
	addCost      = 0.32 // and a neighbour of it
)

// Moves returns the number of sites that changed in a step of a block.
func Moves(info []sampler.Info) (n float64) {
	for i := range info {
		n += float64(info[i].Moved)
	}
	return n
}
