package network

// visits are the states of a diffusion, step by step, and the violations of what it
// ended with; path is λ per step if it moved.
type visits struct {
	x         []float32
	alpha     []float64
	lambda    []float64
	violation []float64
	path      []float64
}
