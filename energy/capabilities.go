package energy

import (
	"fmt"
	"math/rand/v2"
)

// Differentiable is implemented by models that compute a table with the energy differences of all
// single-site changes. The differences may be first-order approximations, because samplers use the
// table only to propose moves, never to accept or reject them.
type Differentiable interface {
	Model

	// Gradient stores in e the energy of each state of x, and in g the table of energy differences.
	// The table is row-major with len(x)·levels entries. For state s of x, site i and level l,
	//
	//	g[s,i,l] ≈ E(s with level l at site i) − E(s).
	//
	// An entry is 0 at the current level of the site, and +Inf at a level that is known to have
	// probability zero. The part for one state depends on that state alone.
	Gradient(e []float64, g []float32, x []int32)
}

// Binary is implemented by models with two levels, which need only one energy difference per site.
// The differences of all sites are called the field. They take the place of the table of
// [Differentiable].
type Binary interface {
	Model

	// Field stores the energy of each state of x in e, and the field in h, which has len(x)
	// entries. For state s of x and site i,
	//
	//	h[s,i] ≈ E(s with level 1 at site i) − E(s with level 0 at site i),
	//
	// or ±Inf where one of the levels has probability zero. Like the table of [Differentiable], the
	// field may be a first-order approximation.
	Field(e []float64, h []float32, x []int32)
}

// Stochastic is implemented by models that can estimate their table of energy differences. An
// estimate uses a random part of the data on which the energy depends.
type Stochastic interface {
	Model

	// Estimate stores in g an unbiased estimate of the table of [Differentiable], in the same
	// layout. The random source of state s is src[s]. If the model has two levels and len(g) =
	// len(x), Estimate stores an estimate of the field of [Binary] instead.
	Estimate(g []float32, x []int32, src []rand.Source)
}

// Conditional is implemented by models that compute the exact energy differences between the levels
// of one site.
type Conditional interface {
	Model

	// Conditional stores in d, for every level l of the given site, the difference
	//
	//	d[l] = E(x with x_site = l) − E(x),
	//
	// where x is a single state. It panics unless len(d) is the number of levels and len(x) the
	// number of sites.
	Conditional(d []float64, site int, x []int32)
}

// Local is implemented by models that keep a table of exact single-site energies current while
// sites of a state change one by one. Updating the table takes time proportional to the number of
// neighbours of the changed site.
type Local interface {
	Conditional

	// Locals stores in d the table of single-site energies of one state x. For every site i and
	// level l,
	//
	//	d[i·levels+l] = E(x with x_i = l) + c_i,
	//
	// where each c_i may be any finite constant. Levels of probability zero have the entry
	// +Inf. No entry is −Inf. The length of d is sites·levels.
	Locals(d []float64, x []int32)

	// Move updates the table d of [Local.Locals] for a change of x_site to the given level. Call it
	// before changing x; Move does not modify x. In the rows of the other sites it adds the changes
	// of the energies, up to a constant per row. It leaves the row of x_site as it is. Because Move
	// only adds, d may also be the sum of the tables of several models.
	Move(d []float64, site int, level int32, x []int32)
}

// Graphical is implemented by models that can list which sites interact.
type Graphical interface {
	Model

	// Graph returns the neighbours of every site. The neighbours of site i are
	// adj[start[i]:start[i+1]], in ascending order and without i itself. Given its neighbours,
	// a site is independent of all other sites. The slices are shared with the model and must
	// not be modified.
	Graph() (start, adj []int32)
}

// Toroidal is implemented by models with two levels on a periodic two-dimensional lattice that have
// the same interaction everywhere. A sampler can then update all sites of one colour of a
// chequerboard at once.
type Toroidal interface {
	Model

	// Torus returns the number of columns of the row-major lattice and five exact energy
	// differences d. The entry d[k] is E(x_i=1) − E(x_i=0) for a site i with k = 0, …, 4 neighbours
	// at level 1. The result ok is false if the model cannot be described in this way.
	Torus() (cols int, d [5]float64, ok bool)
}

// Matching is implemented by models whose energy depends only on two kinds of counts: the pairs of
// neighbours with equal levels, and the sites of each level. An example is a Potts model with the
// same coupling on all edges.
type Matching interface {
	Graphical

	// Matching returns the coupling J, and the field h with one entry per level. All are
	// finite. Up to a constant the energy is
	//
	//	E(x) = −J Σ_{edges ij} [x_i = x_j] − Σ_i h[x_i],
	//
	// where the first sum is over the edges of Graph, and [·] is 1 if true and 0 if false. Do not
	// modify the slice h. The result ok is false if the model cannot be described in this way.
	Matching() (coupling float64, field []float64, ok bool)
}

// Pairwise is implemented by models with two levels and pair interactions: model.Ising,
// model.Quadratic with two values, and sums and multiples of these.
type Pairwise = interface {
	Model

	// Pairs returns the pair weights w and the fields f, all finite. Up to a constant the
	// energy is
	//
	//	E(x) = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j,  x_i ∈ {0, 1}.
	//
	// The matrix w is symmetric with diagonal 0. Row i has the entries weight[start[i]:start[i+1]]
	// in the columns adj[start[i]:start[i+1]], which ascend. There are len(f) = len(start) − 1
	// sites. Do not modify the slices. The result ok is false if the model cannot be described in
	// this way.
	Pairs() (start, adj []int32, weight, field []float64, ok bool)
}

// Factored is implemented by models whose energy is a sum of tables, each over a few sites. If the
// graph of such a model has a low tree-width, sums over all states are exact and fast (see package
// projection/junction).
type Factored interface {
	Model

	// Factors returns exp(−E) as a product of factors, each of which depends on a few variables.
	// The first variables are the sites; any others are hidden units h, which are summed out.
	// Variable i has cards[i] levels. For a site, cards[i] ≤ levels, and the levels from cards[i]
	// to levels−1 have energy +Inf.
	//
	// Table k holds the negative logarithm of factor k, with one entry for each combination of
	// levels of the variables scopes[k]. These variables are distinct, and the last one varies
	// fastest. For the levels z = (x, h) of all variables,
	//
	//	exp(−E(x)) = Σ_h exp(−Σ_k tables[k][z at scopes[k]]).
	//
	// A scope may be empty; its table is then one number. Entries are finite or +Inf, in nats.
	// Several scopes may share a table. Do not modify the slices. The result ok is false if the
	// model cannot be described in this way.
	Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool)
}

// WidthError reports that exact sums over all states of a [Factored] model would take more memory
// than allowed. The sums are computed by variable elimination, whose memory grows exponentially
// with the tree-width of the model's graph.
type WidthError struct {
	Variables  int
	LowerBound float64 // lower bound on Width over all elimination orders
	// In the best elimination order found, the largest table has 2^Width entries.
	Width float64
	// Bytes is the memory for the intermediate tables in that order. It is +Inf beyond the range of
	// float64.
	Bytes float64
	Limit int64 // memory allowed, in bytes
}

// Error returns a message that describes the problem and suggests remedies.
func (e *WidthError) Error() string {
	return fmt.Sprintf("a graph of %d variables and width ≥ %.1f (log₂ of the entries of the largest table): the best order found has width %.1f and needs %.3g bytes, want ≤ %d; allow more bytes, fix some variables, or draw with a Markov chain", e.Variables, e.LowerBound, e.Width, e.Bytes, e.Limit)
}

// Clamped is implemented by models with fixed sites. Unclamped returns the model without fixed
// sites. If a state has the fixed level at every fixed site, the clamped and the unclamped model
// give it the same energy. All other states have energy +Inf in the clamped model.
type Clamped interface {
	Model

	// Unclamped returns the model without fixed sites, and the fixed level of each site (−1 for
	// a free site). The slice must not be modified.
	Unclamped() (m Model, fixed []int32)
}

// Varying is implemented by models whose energy can change between the steps of a sampling kernel
// (package mcmc). An example is a dual.Lagrangian, whose Lagrange multipliers change. After a
// change the kernel must be Reset. A kernel that stores data of the model, such as its couplings,
// must read them from the copy that Now returns.
type Varying interface {
	Model

	// Version returns a number that is different after every change of the model.
	Version() uint64

	// Now returns an immutable copy of the model in its current state.
	Now() Model
}

// Ordinal is implemented by models whose levels stand for numbers. Samplers use the distances
// between these numbers to propose moves.
type Ordinal interface {
	Model

	// Values returns the number that each level stands for. The numbers are finite and strictly
	// ascending. The slice is shared with the model and must not be modified.
	Values() []float32
}

// Windowed is implemented by models that compute energy differences only for the levels near the
// current level. This suits models with too many levels for the whole table of [Differentiable].
type Windowed interface {
	Ordinal

	// Window stores the energy of each state of x in e. It stores in g the energy differences for
	// the levels at most w steps from the current level. The length of g is len(x)·(2w+1). For
	// state s of x and site i,
	//
	//	g[s,i,k] ≈ E(s with level s_i+k−w at site i) − E(s),  k = 0,…,2w,
	//
	// or +Inf where the level s_i+k−w does not exist.
	Window(e []float64, g []float32, x []int32, w int)
}

// Supported is implemented by models that give some states probability zero and can change such
// states into states of positive probability.
type Supported interface {
	Model

	// Repair changes the states of x in place, as little as possible, so that their energies become
	// finite. States that it cannot repair keep an infinite energy.
	Repair(x []int32)
}

// Incremental is implemented by models that can evaluate a state by updating the intermediate
// results for an earlier state. The cost is proportional to the number of sites that differ. The
// caller stores the intermediate results.
type Incremental interface {
	Binary

	// CacheLen returns the number of intermediate results (float64s) per state.
	CacheLen() int

	// FieldFrom evaluates the states y, given the same number of earlier states x. It stores in e
	// and h what [Binary.Field] would store for y, bit for bit. It stores intermediate results for
	// y in newCache, which has states × CacheLen() entries. In the same way, cache holds the
	// results for x: it was the newCache of an earlier call. If x is nil, FieldFrom ignores cache
	// and evaluates y from scratch. FieldFrom does not modify x and cache, and newCache must not
	// overlap them.
	FieldFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32)
}

// Bipartite is implemented by models that have binary hidden units and binary sites, here called
// visible sites. Given the visible sites, the hidden units are independent. Given the hidden units,
// the visible sites are independent.
type Bipartite interface {
	Model

	// Hidden returns the number of hidden units.
	Hidden() int

	// HiddenField stores in f, for each state of x, the exact log-odds of every hidden unit
	// h_j,
	//
	//	log p(h_j=1|x) − log p(h_j=0|x).
	//
	// The length of f is states·Hidden().
	HiddenField(f []float32, x []int32)

	// VisibleField stores in f, for each state of the hidden units in h, the exact log-odds of
	// every visible site. The slice f has states·sites entries, and h has states·Hidden().
	VisibleField(f []float32, h []int32)
}

// IncrementalBipartite is implemented by [Bipartite] models that can compute the energy of a state
// and the log-odds of its hidden units by updating the results for an earlier state. The cost is
// proportional to the number of sites that differ.
type IncrementalBipartite interface {
	Bipartite

	// CacheLen returns the number of intermediate results (float64s) per state.
	CacheLen() int

	// HiddenFieldFrom stores in e and f what Energy and HiddenField would store for the states y,
	// bit for bit. The arguments newCache, cache and x are as in [Incremental.FieldFrom].
	HiddenFieldFrom(e []float64, f []float32, newCache []float64, y []int32, cache []float64, x []int32)
}

// Parametric is implemented by models with real parameters θ that can change. Package dual/fit fits
// them. The energy is differentiable with respect to θ.
//
// A Parametric model belongs to one learner. It is a copy of an immutable model, made by the method
// Learn of [Learnable]; the original never changes.
type Parametric interface {
	Model

	// Params returns a copy of the parameters θ.
	Params() []float64

	// ParamGradient adds to g a weighted sum of gradients over the states x, in nats:
	//
	//	g_k += Σ_s w_s ∂E(x_s)/∂θ_k.
	//
	// The slice w holds one weight per state, which may be 0 or negative; nil means that all
	// weights are 1. The length of g is len(Params()). Up to rounding, the contribution of a state
	// does not depend on the rest of the batch.
	ParamGradient(g []float64, x []int32, w []float64)

	// SetParams replaces the parameters θ by a copy of theta, which must have the same length. It
	// must not run concurrently with any other method. Afterwards every sampling kernel (package
	// mcmc) that works on the model must be Reset. A Reset keeps the kernel's states, random
	// streams and step sizes. If SetParams returns an error, for instance because a number is not
	// finite, nothing changes.
	SetParams(theta []float64) error
}

// Learnable is implemented by immutable models that can make a copy whose parameters may change.
// The copy computes energy differences through the same interfaces as the model.
type Learnable interface {
	Model

	// Learn returns a copy of the model whose parameters may change. Initially the copy has the
	// parameters of the model.
	Learn() (Parametric, error)
}
