package projection

import "fmt"

// Divergence is the direction of the Kullback–Leibler divergence that a projection
// minimises.
type Divergence uint8

const (
	// Forward is min_y KL(x‖y), x being the given distribution: y covers all of the mass
	// of x. It is the projection of Cardei et al. 2025.
	Forward Divergence = iota

	// Reverse is min_y KL(y‖x): y stays within the support of x.
	Reverse
)

// String returns "forward" or "reverse".
func (d Divergence) String() string {
	switch d {
	case Forward:
		return "forward"
	case Reverse:
		return "reverse"
	}
	return fmt.Sprintf("Divergence(%d)", uint8(d))
}
