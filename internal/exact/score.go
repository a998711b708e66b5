package exact

import (
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Score compares the score with differences of the energy.
func Score(t Test, m energy.Scored, x []float32) {
	t.Helper()
	n := m.Sites()
	s := make([]float32, len(x))
	m.Score(s, x)
	const h = 1.0 / 128 // a power of two: x ± h is exact
	e := make([]float64, 2)
	for at := range x {
		y := append(append([]float32{}, x[at/n*n:at/n*n+n]...), x[at/n*n:at/n*n+n]...)
		y[at%n] += h
		y[n+at%n] -= h
		m.Energy(e, y)
		// Central differences are wrong by h²/6 of the third derivative.
		require.InDelta(t, -(e[0]-e[1])/(2*h), float64(s[at]), 1e-3)
	}
}
