package corruption_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
)

type (
	masked  int32                  // a denoiser that predicts tokens masked by this level
	wrapped struct{ inner masked } // a denoiser around one
	process int32                  // a process whose mask is this level
	uniform struct{}               // a process without a mask
)

func (m masked) MaskLevel() int32    { return int32(m) }
func (w wrapped) As(target any) bool { return energy.AsInto(w.inner, target) }
func (p process) Masks(l int32) bool { return l == int32(p) }

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		denoiser, process any
		want              string
	}{
		"the same mask":                   {masked(3), process(3), ""},
		"neither has a mask":              {masked(-1), uniform{}, ""},
		"says nothing of its mask":        {struct{}{}, process(3), ""},
		"a pointer to nothing":            {(*masked)(nil), uniform{}, ""},
		"another mask":                    {masked(3), process(4), "masked by level 3, want that as Mask"},
		"no mask for a masked one":        {masked(3), uniform{}, "masked by level 3, and the process has no mask"},
		"a mask for replaced tokens":      {masked(-1), process(3), "replaced by others, and the process masks them"},
		"another mask, behind a wrapping": {wrapped{3}, process(4), "masked by level 3, want that as Mask"},
	} {
		t.Run(name, func(t *testing.T) {
			err := corruption.Check(c.denoiser, c.process)
			if c.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.want)
			}
		})
	}
}
