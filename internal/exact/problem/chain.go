package problem

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Chain is a random Markov chain of length ChainSites over ChainTokens tokens, conditioned on a
// random automaton. It is the test case for samplers that condition a chain on a language. The
// start probabilities are drawn from a Dirichlet distribution with parameters 0.7. The rows of the
// transition matrix are drawn from Dirichlet distributions with parameters 0.4. The automaton has
// three states; one of them is accepting. The probability P(C) of its language C is between 0.02
// and 0.8.
type Chain struct {
	Start, Trans []float64            // start probabilities and transition matrix (row-major)
	Next         []int32              // next states of the automaton, states × tokens
	Final        []bool               // accepting states of the automaton
	Language     constraint.Automaton // automaton with the table Next and Final
	// probability of each sequence x under the condition x ∈ C, at the index exact.Index(x)
	Law []float64
	P   float64 // probability P(C) of the language
}

const (
	ChainSites  = 6
	ChainTokens = 3
)

// dirichlet draws a probability vector of n entries from the Dirichlet distribution with
// parameter a.
func dirichlet(src rand.Source, n int, a float64) []float64 {
	p := make([]float64, n)
	sum := 0.0
	for i := range p {
		p[i] = distuv.Gamma{Alpha: a, Beta: 1, Src: src}.Rand()
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// NewChain draws chains until one has a P(C) in the required range.
func NewChain(t testing.TB, r *rand.Rand) *Chain {
	for {
		p := &Chain{Start: dirichlet(r, ChainTokens, 0.7), Final: make([]bool, 3), Law: make([]float64, exact.Size(ChainSites, ChainTokens))}
		for range ChainTokens {
			p.Trans = append(p.Trans, dirichlet(r, ChainTokens, 0.4)...)
		}
		for range 3 * ChainTokens {
			p.Next = append(p.Next, int32(r.IntN(3)))
		}
		p.Final[r.IntN(3)] = true
		for k, x := range exact.States(ChainSites, ChainTokens) {
			if !p.Accepts(x) {
				continue
			}
			w := p.Start[x[0]]
			for i := 1; i < ChainSites; i++ {
				w *= p.Trans[int(x[i-1])*ChainTokens+int(x[i])]
			}
			p.Law[k] = w
			p.P += w
		}
		if p.P < 0.02 || p.P > 0.8 {
			continue
		}
		for k := range p.Law {
			p.Law[k] /= p.P
		}
		dfa, err := constraint.NewDFA(context.Background(), ChainTokens, p.Next, p.Final)
		require.NoError(t, err)
		p.Language = dfa
		return p
	}
}

// Accepts reports whether the automaton accepts x, computed from its table.
func (p *Chain) Accepts(x []int32) bool {
	q := int32(0)
	for _, l := range x {
		if q = p.Next[q*ChainTokens+l]; q < 0 {
			return false
		}
	}
	return p.Final[q]
}

// Distance returns the total variation distance between p(·|C) and the empirical distribution of
// the sequences in x. The sequences are stored one after the other.
func (p *Chain) Distance(x []int32) float64 {
	counts := make([]int, len(p.Law))
	exact.Tally(counts, x, ChainSites, ChainTokens)
	n := float64(len(x) / ChainSites)
	d := 0.0
	for k, c := range counts {
		d += math.Abs(float64(c)/n - p.Law[k])
	}
	return d / 2
}

// Noise returns the mean [Chain.Distance] of exact samples from p(·|C), which differ from p(·|C)
// only by chance. Each sample has the given number of independent draws.
func (p *Chain) Noise(r *rand.Rand, draws int) float64 {
	const rounds = 20
	sum := 0.0
	x := make([]int32, draws*ChainSites)
	for range rounds {
		for s := range draws {
			u, k := r.Float64(), 0
			for ; k < len(p.Law)-1 && u >= p.Law[k]; k++ {
				u -= p.Law[k]
			}
			exact.State(x[s*ChainSites:(s+1)*ChainSites], k, ChainTokens)
		}
		sum += p.Distance(x)
	}
	return sum / rounds
}
