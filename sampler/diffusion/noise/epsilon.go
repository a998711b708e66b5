package noise

import (
	"fmt"
)

// defaultEpsilon is the ε of Sahoo et al. 2024.
const defaultEpsilon = 1e-3

func epsilon(e float64) float64 {
	switch {
	case e == 0:
		return defaultEpsilon
	case e < 0:
		return 0
	}
	return e
}

func checkEpsilon(name string, e float64) error {
	if !(e < 1) {
		return fmt.Errorf("noise: %s: Epsilon = %v, want < 1", name, e)
	}
	return nil
}

// lift returns ε + (1−ε)c.
func lift(e, c float64) float64 { return min(1, e+float64((1-e)*c)) }
