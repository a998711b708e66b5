// Package corruption checks that a denoiser and a diffusion process use the same mask token.
package corruption

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Absorbing is implemented by diffusion processes that replace tokens by a mask token. Masks
// reports whether level l is that token. Absorbing is a copy of diffusion.Absorbing, which this
// package cannot import.
type Absorbing interface{ Masks(l int32) bool }

// Check returns an error if the denoiser d and a diffusion process use different mask tokens. The
// argument steps is the value returned by the process's method Bind. A denoiser that does not
// implement [energy.Masking] passes.
func Check(d, steps any) error {
	m, ok := energy.As[energy.Masking](d)
	if !ok || check.Nil(m) {
		return nil
	}
	process, absorbs := steps.(Absorbing)
	switch mask := m.MaskLevel(); {
	case mask < 0 && absorbs:
		return fmt.Errorf("the denoiser predicts tokens that were replaced by others, and the process masks them: use a process that replaces tokens, such as diffusion.Uniform")
	case mask >= 0 && !absorbs:
		return fmt.Errorf("the denoiser predicts tokens masked by level %d, and the process has no mask: use one that masks, such as diffusion.Masked{Mask: %d}", mask, mask)
	case mask >= 0 && !process.Masks(mask):
		return fmt.Errorf("the denoiser predicts tokens masked by level %d, want that as Mask of the process", mask)
	}
	return nil
}
