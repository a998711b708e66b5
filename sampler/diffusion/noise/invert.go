package noise

// unit clamps t to [0,1]; NaN becomes 0.
func unit(t float64) float64 {
	if !(t > 0) {
		return 0
	}
	return min(t, 1)
}

// invert returns the smallest t in [0,1] with alpha(t) ≤ a, for non-increasing
// alpha; 1 if there is none. Halving ends when no number is left in between.
func invert(alpha func(float64) float64, a float64) float64 {
	if a >= 1 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for range 64 {
		mid := (lo + hi) / 2
		if alpha(mid) > a {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
