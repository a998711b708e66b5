package noise

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// lossy loses half of its signal at once, or keeps all of it.
type lossy struct{ from, to float64 }

func (c lossy) Alpha(t float64) float64 {
	if t == 0 {
		return c.from
	}
	return c.to
}
func (lossy) Time(float64) float64 { return 0 }

func TestResolveRefuses(t *testing.T) {
	for want, c := range map[string]Schedule{
		"noise: LogLinear: Epsilon = 1, want < 1":               LogLinear{Epsilon: 1},
		"noise: Cosine: Epsilon = 1":                            &Cosine{Epsilon: 1},
		"noise: CosineSquared: Epsilon = 3":                     CosineSquared{Epsilon: 3},
		"noise: LinearSigma: Min = -1":                          &LinearSigma{Min: -1},
		"noise: GeometricSigma: Min = 21, Max = 20":             GeometricSigma{Min: 21},
		"noise: LinearBeta: From = 3":                           LinearBeta{From: 3},
		"noise: CosineBar: Offset = -1":                         &CosineBar{Offset: -1},
		"noise: SigmoidBar: Begin = 5":                          SigmoidBar{Begin: 5},
		"diffusion: X: Schedule.Alpha(0) = 0.5, want 1":         lossy{0.5, 0.5},
		"diffusion: X: Schedule.Alpha(1) = 1, want in [0, 1)":   lossy{1, 1},
		"diffusion: X: Schedule.Alpha(1) = -0.5, want in [0, 1": lossy{1, -0.5},
	} {
		got, err := Resolve("diffusion: X", c)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, got)
	}
}

// What runs is the schedule itself, or the same to the bit.
func TestResolveKeepsTheSchedule(t *testing.T) {
	for _, c := range []Schedule{
		LogLinear{}, Cosine{}, CosineSquared{}, LinearSigma{}, GeometricSigma{}, LinearBeta{}, &LinearBeta{To: 0.1, Steps: 50}, CosineBar{}, SigmoidBar{},
	} {
		got, err := Resolve("diffusion: X", c)
		assert.NoError(t, err)
		for _, u := range []float64{0, 1e-9, 0.1, 0.25, 0.5, 0.7501, 1} {
			assert.Equal(t, c.Alpha(u), got.Alpha(u), "%T at %v", c, u)
		}
		assert.Equal(t, c.Time(0.25), got.Time(0.25), "%T", c)
	}
	none, err := Resolve("diffusion: X", nil)
	assert.NoError(t, err)
	assert.Equal(t, Schedule(LogLinear{}), none)
}
