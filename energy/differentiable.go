package energy

import (
	"math/rand/v2"
)

// Differentiable models fill a table of energy differences, which may be first
// order: a kernel uses it to propose, never to decide.
type Differentiable interface {
	Model

	// Gradient stores the energies of the states in e and, in the row-major
	// table g of len(x)·levels entries,
	//
	//	g[s,i,l] ≈ E(x with x_i = l) − E(x),
	//
	// with g[s,i,x_i] = 0 and +Inf for a level that is known to have
	// probability zero. The table is a function of the state alone: neither
	// other rows nor earlier calls change it.
	Gradient(e []float64, g []float32, x []int32)
}

// Binary models have two levels and offer the compact form of the table.
type Binary interface {
	Model

	// Field stores the energies of the states in e and, in h (len(x)
	// entries),
	//
	//	h[s,i] ≈ E(x with x_i = 1) − E(x with x_i = 0),
	//
	// ±Inf where one of the levels has probability zero. Like the table of
	// [Differentiable], it may be first order.
	Field(e []float64, h []float32, x []int32)
}

// Stochastic models estimate their table from a random part of the data.
type Stochastic interface {
	Model

	// Estimate stores in g (laid out as in [Differentiable]) a table whose
	// expectation over src is that of Gradient; src[s] is the randomness of
	// state s. If the model has two levels and len(g) = len(x), it stores the
	// compact field of [Binary] instead.
	Estimate(g []float32, x []int32, src []rand.Source)
}
