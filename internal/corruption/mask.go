// Package corruption checks that a denoiser and a process corrupt tokens in the same
// way.
package corruption

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Absorbing is diffusion.Absorbing in all but name.
type Absorbing interface{ Masks(l int32) bool }

// Check returns an error if the denoiser d knows its mask ([energy.Masking]) and the
// bound process steps has none or another.
func Check(d, steps any) error {
	m, ok := energy.As[energy.Masking](d)
	if !ok || check.Nil(m) {
		return nil
	}
	process, absorbs := steps.(Absorbing)
	switch mask := m.MaskLevel(); {
	case mask < 0 && absorbs:
		return fmt.Errorf("the denoiser predicts tokens that were replaced by others, and the process masks them")
	case mask >= 0 && !absorbs:
		return fmt.Errorf("the denoiser predicts tokens masked by level %d, and the process has no mask", mask)
	case mask >= 0 && !process.Masks(mask):
		return fmt.Errorf("the denoiser predicts tokens masked by level %d, want that as Mask of the process", mask)
	}
	return nil
}
