package energy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy"
)

// counted wraps a denoiser and passes questions on.
type counted struct{ energy.Denoiser[int32] }

func (c counted) As(target any) bool { return energy.AsInto(c.Denoiser, target) }

// A wrapped denoiser says what the bare one says, by value and by pointer.
func TestWrappedDenoisersKeepWhatTheySay(t *testing.T) {
	for _, says := range []bool{false, true} {
		f := energy.DenoiserFunc[int32]{Sites: 1, Levels: 2, IgnoresTime: says, ExcludesSelf: !says}
		for _, d := range []energy.Denoiser[int32]{f, &f, counted{f}, &counted{&f}, counted{counted{f}}} {
			assert.Equal(t, says, energy.TimeFree(d), "%T", d)
			assert.Equal(t, !says, energy.LeaveOneOut(d), "%T", d)
		}
	}
	// A wrapper that does not pass them on is asked itself.
	assert.False(t, energy.TimeFree(struct{ energy.Denoiser[int32] }{energy.DenoiserFunc[int32]{IgnoresTime: true}}))
}
