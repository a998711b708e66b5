package exact

import "github.com/gibbsite-go/gibbsite/internal/laws"

// Model is a model whose states can be enumerated, such as an energy.Model.
type Model = laws.Model

// Size returns the number of states, levels^sites; see [laws.Size].
func Size(sites, levels int) int { return laws.Size(sites, levels) }

// Index returns the index of the state x, Σ_i x_i·levels^i; see [laws.Index].
func Index(x []int32, levels int) int { return laws.Index(x, levels) }

// State stores in x the state with index k; see [laws.State].
func State(x []int32, k, levels int) { laws.State(x, k, levels) }

// States returns all states, ordered by index; see [laws.States].
func States(sites, levels int) [][]int32 { return laws.States(sites, levels) }

// Tally adds to counts[k] the number of states with index k in x. Each row of x is a state; see
// [laws.Tally].
func Tally(counts []int, x []int32, sites, levels int) { laws.Tally(counts, x, sites, levels) }

// Law returns the distribution of a model over all states, and log Z; see [laws.Distribution].
func Law(m Model) (p []float64, logZ float64) { return laws.Distribution(m) }

// Energies returns the energies of all states, ordered by the index of the state; see
// [laws.Energies].
func Energies(m Model) []float64 { return laws.Energies(m) }

// Normalize replaces the log-weights w by probabilities, and returns log Σ_k e^(w_k); see
// [laws.Normalize].
func Normalize(w []float64) (logZ float64) { return laws.Normalize(w) }

// Expect returns the mean of f, Σ_x p(x) f(x) over all states x; see [laws.Expect].
func Expect(p []float64, sites, levels int, f func(x []int32) float64) float64 {
	return laws.Expect(p, sites, levels, f)
}

// Sum returns the compensated sum Σ v_i; see [laws.Sum].
func Sum(v []float64) float64 { return laws.Sum(v) }
