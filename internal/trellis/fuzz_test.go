package trellis

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// FuzzFilter builds a problem from bytes and compares the normaliser, the count
// and the likeliest weight with the list of all sequences.
func FuzzFilter(f *testing.F) {
	f.Add([]byte{2, 3, 3, 0, 1, 2, 200, 100, 50, 3, 2, 1, 0, 7})
	f.Add([]byte{3, 1, 4, 255, 255, 0, 0, 0, 9, 128, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		levels, states, sites := 1+next()%4, 1+next()%5, 1+next()%5
		flags := next()
		a := &table{levels: levels, next: make([]int, states*levels), accepting: make([]bool, states)}
		for i := range a.next {
			a.next[i] = next()%(states+1) - 1
		}
		for s := range a.accepting {
			a.accepting[s] = next()%2 == 0
		}
		p := &instance{a: a, config: Config{Sites: sites, Levels: levels}, v: make([]float32, sites*levels)}
		p.config.Padded = flags&1 != 0
		p.config.Pad = int32(flags / 2 % levels)
		for i := range p.v {
			switch b := next(); {
			case b == 255:
				p.v[i] = float32(math.Inf(-1))
			case flags&64 != 0:
				p.v[i] = -100 * float32(b)
			default:
				p.v[i] = float32(b) / 16
			}
		}
		all, accepted := p.brute()
		g, err := Compile(context.Background(), p.a, p.config)
		var dead *algebra.DeadError
		if accepted == 0 {
			require.ErrorAs(t, err, &dead)
			return
		}
		require.NoError(t, err)
		require.Equal(t, int64(accepted), number(t, g, nil))
		run := NewRunner(g)
		logZ, err := run.Filter(p.v)
		x := make([]int32, sites)
		weight, err2 := run.MAP(x, p.v)
		if len(all) == 0 {
			require.ErrorAs(t, err, &dead)
			require.ErrorAs(t, err2, &dead)
			return
		}
		require.NoError(t, err)
		require.NoError(t, err2)
		near(t, logSum(all), logZ, 1e-12)
		top := math.Inf(-1)
		for _, s := range all {
			top = max(top, s.weight)
		}
		near(t, top, weight, 1e-12)
	})
}
