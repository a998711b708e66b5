package laws

import "fmt"

// maxStates is the maximum number of states of an enumeration: 2²⁷ float64 take 1 GiB. The
// largest space enumerated by the tests, the 5×5 binary torus, has 2²⁵ states.
const maxStates = 1 << 27

// Size returns the number of states, levels^sites. It panics if sites or levels is < 1, or if the
// result exceeds 2²⁷.
func Size(sites, levels int) int {
	if sites < 1 || levels < 1 {
		panic(fmt.Sprintf("laws: sites = %d, levels = %d, want both ≥ 1", sites, levels))
	}
	if levels == 1 {
		return 1
	}
	n := 1
	for range sites {
		if n > maxStates/levels {
			panic(fmt.Sprintf("laws: %d^%d states, want ≤ 2^27", levels, sites))
		}
		n *= levels
	}
	return n
}

// Index returns the index of the state x, Σ_i x_i·levels^i. It panics if a level is outside
// 0…levels−1.
func Index(x []int32, levels int) int {
	k := 0
	for i := len(x) - 1; i >= 0; i-- {
		if x[i] < 0 || int(x[i]) >= levels {
			panic(fmt.Sprintf("laws: x[%d] = %d, want 0…%d", i, x[i], levels-1))
		}
		k = k*levels + int(x[i])
	}
	return k
}

// State stores in x the state with index k.
func State(x []int32, k, levels int) {
	for i := range x {
		x[i] = int32(k % levels)
		k /= levels
	}
}

// States returns all states, ordered by index. The states are subslices of one array.
func States(sites, levels int) [][]int32 {
	n := Size(sites, levels)
	flat := make([]int32, n*sites)
	s := make([][]int32, n)
	for k := range s {
		s[k] = flat[k*sites : (k+1)*sites : (k+1)*sites]
		State(s[k], k, levels)
	}
	return s
}

// Tally counts how often each state occurs among the rows of x (rows × sites). It adds to
// counts[k] the number of rows that hold the state numbered k. It panics unless len(counts) =
// levels^sites and sites divides len(x).
func Tally(counts []int, x []int32, sites, levels int) {
	if n := Size(sites, levels); len(counts) != n {
		panic(fmt.Sprintf("laws: len(counts) = %d, want %d", len(counts), n))
	}
	if len(x)%sites != 0 {
		panic(fmt.Sprintf("laws: len(x) = %d, want a multiple of %d", len(x), sites))
	}
	for ; len(x) > 0; x = x[sites:] {
		counts[Index(x[:sites], levels)]++
	}
}
