package exact

import "github.com/gibbsite-go/gibbsite/internal/laws"

// Model is a model that can be enumerated, such as an energy.Model.
type Model = laws.Model

// Size is [laws.Size].
func Size(sites, levels int) int { return laws.Size(sites, levels) }

// Index is [laws.Index].
func Index(x []int32, levels int) int { return laws.Index(x, levels) }

// State is [laws.State].
func State(x []int32, k, levels int) { laws.State(x, k, levels) }

// States is [laws.States].
func States(sites, levels int) [][]int32 { return laws.States(sites, levels) }

// Tally is [laws.Tally].
func Tally(counts []int, x []int32, sites, levels int) { laws.Tally(counts, x, sites, levels) }

// Law is [laws.Distribution].
func Law(m Model) (p []float64, logZ float64) { return laws.Distribution(m) }

// Energies is [laws.Energies].
func Energies(m Model) []float64 { return laws.Energies(m) }

// Normalize is [laws.Normalize].
func Normalize(w []float64) (logZ float64) { return laws.Normalize(w) }

// Expect is [laws.Expect].
func Expect(p []float64, sites, levels int, f func(x []int32) float64) float64 {
	return laws.Expect(p, sites, levels, f)
}

// Sum is [laws.Sum].
func Sum(v []float64) float64 { return laws.Sum(v) }
