package continuous

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// checkFinite returns an error unless all of v is finite.
func checkFinite(caller, name string, v []float64) error {
	for i, f := range v {
		if !check.Finite(f) {
			return fmt.Errorf("continuous: %s: %s[%d] = %v, want a finite number", caller, name, i, f)
		}
	}
	return nil
}
