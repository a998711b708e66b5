package constraint

import "fmt"

// Residue is the language of the sequences whose weighted sum has one of the given residues,
//
//	Σ_i w_i(x_i) mod m ∈ residues,
//
// where w_i(l) is the weight of level l at site i and m is the modulus. Many check digits have this
// form. An IBAN, for example, must have the residue 1 modulo 97.
type Residue struct {
	weights
	modulus int
	good    []bool
}

// maxModulus bounds the modulus, so that the table of allowed residues stays small.
const maxModulus = 1 << 24

// NewResidue returns the language of the sequences x of any length with
//
//	Σ_i weights[x_i] mod modulus ∈ residues.
//
// The residue of a sum lies in 0…modulus−1, even if the sum is negative. Tokens without a weight
// are not allowed. The weights are copied.
//
// The error is an [*ArgumentError] unless 1 ≤ modulus ≤ 2²⁴, all residues lie in 0…modulus−1 and
// all weights lie within ±2²⁰. It wraps [ErrInfeasible] if residues is empty.
func NewResidue(weights []int, modulus int, residues ...int) (*Residue, error) {
	return newResidue("NewResidue", [][]int{weights}, false, modulus, residues)
}

// NewSiteResidue returns the language of the sequences x of exactly len(weights) tokens with
//
//	Σ_i weights[i][x_i] mod modulus ∈ residues.
//
// Tokens without a weight at their site are not allowed. The ranges of the arguments and the errors
// are the same as for [NewResidue].
func NewSiteResidue(weights [][]int, modulus int, residues ...int) (*Residue, error) {
	return newResidue("NewSiteResidue", weights, true, modulus, residues)
}

func newResidue(name string, rows [][]int, fixed bool, modulus int, residues []int) (*Residue, error) {
	if modulus < 1 || modulus > maxModulus {
		return nil, &ArgumentError{name, "modulus", modulus, "1 … 2²⁴"}
	}
	if len(residues) == 0 {
		return nil, infeasible("%s: no residue", name)
	}
	if _, ok := times(modulus, len(rows)+1); !ok {
		return nil, tooMany(name, modulus, len(rows)+1)
	}
	r := &Residue{modulus: modulus, good: make([]bool, modulus)}
	for _, v := range residues {
		if v < 0 || v >= modulus {
			return nil, &ArgumentError{name, "a residue", v, fmt.Sprintf("0…%d", modulus-1)}
		}
		r.good[v] = true
	}
	var err error
	if r.weights, err = newWeights(name, rows, fixed); err != nil {
		return nil, err
	}
	return r, nil
}

// States returns the number of states: the modulus or, if the number of sites is fixed,
// modulus·(sites + 1).
func (r *Residue) States() int {
	if r.fixed {
		return r.modulus * (len(r.rows) + 1)
	}
	return r.modulus
}

// Start returns 0, because the sum before the first token is 0.
func (r *Residue) Start() int { return 0 }

// Next returns the state after the weight of the given token is added to the residue. It returns −1
// (dead) if the token has no weight or the sequence is complete. The state is the residue, plus
// site·modulus if the number of sites is fixed.
func (r *Residue) Next(state int, token int32) int {
	if state < 0 {
		panic(fmt.Sprintf("constraint: Residue: state = %d, want ≥ 0", state))
	}
	site, residue := state/r.modulus, state%r.modulus
	if r.fixed && site == len(r.rows) {
		return -1
	}
	w, ok := r.at(site, token)
	if !ok {
		return -1
	}
	if r.fixed {
		site++
	}
	return site*r.modulus + r.reduce(residue+w)
}

// Accepting reports whether the residue is allowed and, if the number of sites is fixed,
// whether the sequence has that many tokens.
func (r *Residue) Accepting(state int) bool {
	if state < 0 {
		panic(fmt.Sprintf("constraint: Residue: state = %d, want ≥ 0", state))
	}
	return r.good[state%r.modulus] && (!r.fixed || state/r.modulus == len(r.rows))
}

// Classes divides the tokens into classes. Two tokens are in the same class if their weights are
// congruent modulo the modulus at every site.
func (r *Residue) Classes(levels int) (classes []int32, n int) { return r.classes(levels, r.reduce) }

// reduce returns v mod modulus in 0…modulus−1.
func (r *Residue) reduce(v int) int {
	if v %= r.modulus; v < 0 {
		v += r.modulus
	}
	return v
}
