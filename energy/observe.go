package energy

// Magnetization returns the mean spin (1/n) Σ (2x_i − 1) of one two-level
// state, in [−1, 1]. The state must not be empty.
func Magnetization(x []int32) float64 {
	up := 0
	for _, v := range x {
		up += int(v)
	}
	return float64(2*up-len(x)) / float64(len(x))
}
