package energy

import (
	"fmt"
	"math/rand/v2"
)

// Differentiable is implemented by models that fill a table of energy differences, which may be
// first-order approximations. A kernel uses the table to propose moves, never to accept or reject
// them.
type Differentiable interface {
	Model

	// Gradient stores the energies of the states in e and, in the row-major table g of
	// len(x)·levels entries,
	//
	//	g[s,i,l] ≈ E(x with x_i = l) − E(x),
	//
	// with g[s,i,x_i] = 0 and +Inf for a level that is known to have probability zero. The rows of
	// a state in the table depend on that state alone, not on other states or earlier calls.
	Gradient(e []float64, g []float32, x []int32)
}

// Binary is implemented by models with two levels that offer the table of differences in a compact
// form, called the field.
type Binary interface {
	Model

	// Field stores the energies of the states in e and, in h (len(x) entries),
	//
	//	h[s,i] ≈ E(x with x_i = 1) − E(x with x_i = 0),
	//
	// ±Inf where one of the levels has probability zero. Like the table of [Differentiable], the
	// field may be a first-order approximation.
	Field(e []float64, h []float32, x []int32)
}

// Stochastic is implemented by models that estimate their table of differences from a random part
// of the data.
type Stochastic interface {
	Model

	// Estimate stores in g, in the layout of [Differentiable], an unbiased estimate of the table of
	// Gradient; src[s] is the random source of state s. If the model has two levels and len(g) =
	// len(x), it stores the compact field of [Binary] instead.
	Estimate(g []float32, x []int32, src []rand.Source)
}

// Conditional is implemented by models that compute exact single-site energy differences.
type Conditional interface {
	Model

	// Conditional stores d[l] = E(x with x_site = l) − E(x) for every level l, where x is one
	// state. It panics unless len(d) = levels and len(x) = sites.
	Conditional(d []float64, site int, x []int32)
}

// Local is implemented by models that keep a table of exact single-site energies up to date while
// one site at a time changes. An update takes time proportional to the size of the site's
// neighbourhood.
type Local interface {
	Conditional

	// Locals stores d[i·levels+l] = E(x with x_i = l) + c_i for the one state x, where c_i is any
	// finite constant, one per row; len(d) = sites·levels. Entries are +Inf for levels of
	// probability zero and never −Inf.
	Locals(d []float64, x []int32)

	// Move updates d, as stored by Locals for x, for a change of x_site to the level to. It adds
	// the differences to the rows of other sites, up to a constant per row, so d may be the sum of
	// the tables of several models. The row of the site itself does not change. Move must be called
	// before x is changed, and does not modify x.
	Move(d []float64, site int, to int32, x []int32)
}

// Graphical is implemented by models that know which sites interact.
type Graphical interface {
	Model

	// Graph returns the neighbours of each site in compressed rows: the neighbours of site i are
	// adj[start[i]:start[i+1]], in ascending order and without i itself. The conditional
	// distribution of a site depends on its neighbours only. The slices are shared with the model
	// and must not be modified.
	Graph() (start, adj []int32)
}

// Toroidal is implemented by models with two levels on a periodic two-dimensional lattice with the
// same interaction everywhere, so that all sites of one chequerboard colour can be updated at once.
type Toroidal interface {
	Model

	// Torus returns the number of columns of the row-major lattice and the exact differences d[k] =
	// E(x_i=1) − E(x_i=0) of a site with k of its four neighbours in state 1. ok is false if the
	// model turns out not to be of this kind.
	Torus() (cols int, d [5]float64, ok bool)
}

// Matching is implemented by models that reward or penalise equal levels of neighbours, with one
// coupling for all edges.
type Matching interface {
	Graphical

	// Matching returns the coupling J and the field h of each level (levels entries, not to be
	// modified). All are finite, and up to a constant the energy is
	//
	//	E(x) = −J Σ_{edges ij} [x_i = x_j] − Σ_i h[x_i]
	//
	// over the edges of Graph. ok is false if the model turns out not to be of this kind.
	Matching() (coupling float64, field []float64, ok bool)
}

// Pairwise is implemented by models with two levels and pair interactions: model.Ising,
// model.Quadratic with two values, and sums and multiples of these.
type Pairwise = interface {
	Model

	// Pairs returns w and f, all finite. Up to a constant the energy is
	//
	//	E(x) = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j,  x_i ∈ {0, 1}.
	//
	// Row i of the symmetric w, whose diagonal is 0, has the entries weight[start[i]:start[i+1]]
	// in the columns adj[start[i]:start[i+1]], ascending; the number of sites is len(f) =
	// len(start) − 1. None of the slices may be modified. ok is false if the model turns out not
	// to be of this kind.
	Pairs() (start, adj []int32, weight, field []float64, ok bool)
}

// Factored is implemented by models that are sums of tables over a few sites each, so that a graph
// of low tree-width can be summed exactly; see package projection/junction.
type Factored interface {
	Model

	// Factors returns the factors of e^−E. Variable i has cards[i] levels: the first variables
	// are the sites, where cards[i] ≤ levels and levels from cards[i] on have energy +Inf; any
	// others are hidden units h, which are summed out. Table k holds a number for each state of
	// the distinct variables scopes[k], with the last one varying fastest, and
	//
	//	exp(−E(x)) = Σ_h exp(−Σ_k tables[k][(x, h) at scopes[k]]),
	//
	// which without hidden units is E(x) = Σ_k tables[k][x at scopes[k]]. A scope may be empty;
	// its table is then one number. Entries are finite or +Inf, in nats. Several scopes may share
	// a table. None of the slices may be modified. ok is false if the model turns out not to be
	// of this kind.
	Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool)
}

// WidthError reports that the graph of a [Factored] model has too large a tree-width to be summed
// exactly in the memory allowed.
type WidthError struct {
	Variables  int
	LowerBound float64 // lower bound on Width for any elimination order
	// log₂ of the number of entries of the largest table, for the best order found.
	Width float64
	// Memory in bytes for the messages of that order; +Inf beyond the range of float64.
	Bytes float64
	Limit int64 // memory allowed, in bytes
}

// Error describes the problem and suggests remedies.
func (e *WidthError) Error() string {
	return fmt.Sprintf("a graph of %d variables and width ≥ %.1f (log₂ of the entries of the largest table): the best order found has width %.1f and needs %.3g bytes, want ≤ %d; allow more bytes, fix some variables, or draw with a Markov chain", e.Variables, e.LowerBound, e.Width, e.Bytes, e.Limit)
}

// Clamped is implemented by models with fixed sites. The energy is that of another model on states
// in which these sites have their fixed levels, and +Inf on all other states.
type Clamped interface {
	Model

	// Unclamped returns the model without fixed sites and the fixed level of each site, −1 for a
	// free one. The slice must not be modified.
	Unclamped() (m Model, fixed []int32)
}

// Varying is implemented by models with numbers that change between the steps of a kernel, such as
// the multipliers of dual.Lagrangian. After a change the kernel must be Reset. A kernel that reads
// a quantity only once reads it from the model that Now returns.
type Varying interface {
	Model

	// Version returns a different number after every change.
	Version() uint64

	// Now returns an immutable copy of the model in its current state.
	Now() Model
}

// Ordinal is implemented by models with numeric levels. Proposals measure distances between these
// numbers.
type Ordinal interface {
	Model

	// Values returns the numeric value of each level (levels entries, finite, strictly ascending).
	// The slice is shared with the model and must not be modified.
	Values() []float32
}

// Windowed is implemented by models that fill a table of differences for levels near the current
// one only. This suits models with too many levels for a whole table.
type Windowed interface {
	Ordinal

	// Window stores the energies of the states in e and, in g
	// (len(x)·(2w+1) entries),
	//
	//	g[s,i,k] ≈ E(x with x_i = x_i+k−w) − E(x),  k = 0,…,2w,
	//
	// +Inf where x_i+k−w lies outside 0…levels−1.
	Window(e []float64, g []float32, x []int32, w int)
}

// Supported is implemented by models that give some states probability zero and can find states of
// positive probability.
type Supported interface {
	Model

	// Repair changes each state of x, as little as it can, so that its energy is not known to be
	// +Inf.
	Repair(x []int32)
}

// Incremental is implemented by models that evaluate a state from the intermediate results of an
// earlier state, which the caller stores. The cost is proportional to the number of sites that
// changed.
type Incremental interface {
	Binary

	// CacheLen returns the number of intermediate results (float64s) per state.
	CacheLen() int

	// FieldFrom stores in e and h the results of Field for y, bit for bit, and in next the
	// intermediate results for y (states × CacheLen()). x holds the same number of earlier
	// states, and cache holds what earlier calls stored in next for them. x and cache are not
	// modified and must not overlap next. If x is nil, the evaluation starts from scratch and
	// cache is not used.
	FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)
}

// Bipartite is implemented by models with binary hidden units. The hidden units are independent
// given the visible sites, and the visible sites, also binary, are independent given the hidden
// units.
type Bipartite interface {
	Model

	// Hidden returns the number of hidden units.
	Hidden() int

	// HiddenField stores, for each state, the exact log-odds
	// log p(h_j=1|x) − log p(h_j=0|x) of every hidden unit;
	// len(f) = states·Hidden().
	HiddenField(f []float32, x []int32)

	// VisibleField stores, for each hidden state in h, the exact log-odds of every visible site;
	// len(f) = states·sites, len(h) = states·Hidden().
	VisibleField(f []float32, h []int32)
}

// IncrementalBipartite is implemented by models that evaluate a state and the log-odds of its
// hidden units from the intermediate results of an earlier state. The cost is proportional to the
// number of sites that changed.
type IncrementalBipartite interface {
	Bipartite

	// CacheLen returns the number of intermediate results (float64s) per state.
	CacheLen() int

	// HiddenFieldFrom stores in e and f the results of Energy and HiddenField for the states y, bit
	// for bit. It uses the cache of earlier states x and fills next in the same way as
	// [Incremental.FieldFrom].
	HiddenFieldFrom(e []float64, f []float32, next []float64, y []int32, cache []float64, x []int32)
}

// Parametric is implemented by models with real parameters θ that a learner such as package
// dual/fit changes. The energy is differentiable with respect to θ.
//
// Other models are immutable, because kernels, goroutines and other models share them. A Parametric
// is a copy that belongs to one learner. The method Learn of a model makes such a copy (see
// [Learnable]); the model itself never changes.
type Parametric interface {
	Model

	// Params returns a copy of θ.
	Params() []float64

	// ParamGradient adds Σ_s w_s ∂E(x_s)/∂θ_k to g_k, in nats, for the states x and their weights
	// w, one per state, which may be 0 or negative; if w is nil, all weights are 1. len(g) is
	// len(Params()). Up to rounding, the contribution of a state does not depend on the rest of
	// the batch.
	ParamGradient(g []float64, x []int32, w []float64)

	// SetParams replaces θ by a copy of theta, which has the same length. It must not run
	// concurrently with any other method. Afterwards every kernel that works on the model must be
	// Reset; states, random streams and step sizes are kept. If SetParams returns an error, for
	// instance because a number is not finite, nothing changes.
	SetParams(theta []float64) error
}

// Learnable is implemented by immutable models that can make a copy with parameters that may
// change. The copy offers the same tables of differences as the model.
type Learnable interface {
	Model

	// Learn returns a copy of the model whose parameters may change. Initially the copy has the
	// parameters of the model.
	Learn() (Parametric, error)
}
