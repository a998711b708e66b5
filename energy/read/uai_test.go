package read_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tables is a graphical model as the writer of this test knows it.
type tables struct {
	cards  []int
	scopes [][]int
	phi    [][]float64
}

func newTables(r *rand.Rand) tables {
	var g tables
	for range 1 + r.IntN(4) {
		g.cards = append(g.cards, 1+r.IntN(3))
	}
	for range r.IntN(5) {
		scope := r.Perm(len(g.cards))[:r.IntN(len(g.cards)+1)]
		size := 1
		for _, i := range scope {
			size *= g.cards[i]
		}
		phi := make([]float64, size)
		for k := range phi {
			phi[k] = 0.25 + r.Float64()
			if k > 0 && r.IntN(6) == 0 {
				phi[k] = 0
			}
		}
		g.scopes, g.phi = append(g.scopes, scope), append(g.phi, phi)
	}
	return g
}

// energy multiplies the tables, found by nested division from the last variable.
func (g tables) energy(x []int32) float64 {
	e := 0.0
	for i, l := range x {
		if int(l) >= g.cards[i] {
			return math.Inf(1)
		}
	}
	for c, scope := range g.scopes {
		at := 0
		for _, i := range scope {
			at = at*g.cards[i] + int(x[i])
		}
		e -= math.Log(g.phi[c][at])
	}
	return e
}

func (g tables) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "c by a test\nMARKOV\n%d\n%s\n%d\n", len(g.cards), strings.Trim(fmt.Sprint(g.cards), "[]"), len(g.scopes))
	for _, s := range g.scopes {
		fmt.Fprintf(&b, "%d %s\n", len(s), strings.Trim(fmt.Sprint(s), "[]"))
	}
	for _, phi := range g.phi {
		fmt.Fprintf(&b, "\n%d\n %s\n", len(phi), strings.Trim(fmt.Sprint(phi), "[]"))
	}
	return b.String()
}

func TestRoundTripOfUAI(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 5))
	for range 200 {
		g := newTables(r)
		m, err := read.UAI(strings.NewReader(g.String()))
		require.NoError(t, err, g.String())
		exact.CheckModel(t, m, false, g.energy)
		sites, levels := m.Shape()
		repair, ok := energy.As[energy.Supported](m)
		require.True(t, ok)
		for _, x := range exact.States(sites, levels) {
			y := append([]int32(nil), x...)
			repair.Repair(y)
			for i, l := range x {
				if int(l) < g.cards[i] {
					require.Equal(t, l, y[i], "what may stay stays")
				}
				require.Less(t, int(y[i]), g.cards[i])
			}
		}
	}
}

// The example of the competition's page: P(x, y, z) = P(x)·P(y | x)·P(z | y),
// whose probabilities add up to one.
func TestUAIByHand(t *testing.T) {
	m, err := read.UAI(strings.NewReader(`BAYES
3
2 2 3
3
1 0
2 0 1
2 1 2

2
 0.436 0.564

4
 0.128 0.872
 0.920 0.080

6
 0.210 0.333 0.457
 0.811 0.000 0.189
`))
	require.NoError(t, err)
	law, logZ := exact.Law(m)
	assert.InDelta(t, 0, logZ, 1e-15)
	assert.InDelta(t, 0.436*0.872*0.189, law[exact.Index([]int32{0, 1, 2}, 3)], 1e-15)
	assert.Zero(t, law[exact.Index([]int32{1, 1, 1}, 3)])
	start, adj := m.(energy.Graphical).Graph()
	assert.Equal(t, []int32{0, 1, 3, 4}, start)
	assert.Equal(t, []int32{1, 0, 2, 1}, adj)
}

func TestUAIAllocatesNothingInAStep(t *testing.T) {
	if exact.Race {
		t.Skip("the race detector allocates")
	}
	m, err := read.UAI(strings.NewReader(newTables(rand.New(rand.NewPCG(14, 6))).String()))
	require.NoError(t, err)
	sites, levels := m.Shape()
	x, d, e := make([]int32, sites), make([]float64, levels), make([]float64, 1)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		m.Energy(e, x)
		m.(energy.Conditional).Conditional(d, 0, x)
	}))
}

func TestUAIRefuses(t *testing.T) {
	for want, in := range map[string]string{
		"ends after line 0, want MARKOV or BAYES":                             "",
		`line 1: column 1: "LIMID", want MARKOV or BAYES`:                     "LIMID\n",
		"line 2: column 1: n = 0, want an integer in 1 …":                     "MARKOV\n0\n",
		"line 3: column 2: a number of values = 0, want":                      "MARKOV\n2\n2 0\n",
		"ends after line 3, want a number of values":                          "MARKOV\n2\n2",
		"line 4: column 1: m = -1, want":                                      "MARKOV\n1\n2\n-1",
		"line 5: column 1: the size of a scope = 2, want an integer in 0 … 1": "MARKOV\n1\n2\n1\n2 0 1\n",
		"line 5: column 2: a variable = 1, want an integer in 0 … 0":          "MARKOV\n1\n2\n1\n1 1\n",
		"line 5: column 3: variable 0 a second time in a scope":               "MARKOV\n2\n2 2\n1\n2 0 0\n",
		"line 6: column 1: 3 values in table 0, want 2":                       "MARKOV\n1\n2\n1\n1 0\n3 1 1 1",
		"line 6: column 3: φ = -1, want ≥ 0":                                  "MARKOV\n1\n2\n1\n1 0\n2 1 -1",
		"line 6: column 2: φ = Inf, want a finite number":                     "MARKOV\n1\n2\n1\n1 0\n2 Inf 1",
		"table 0 is 0 throughout":                                             "MARKOV\n1\n2\n1\n1 0\n2 0 0",
		`line 6: column 4: 7 after the last table`:                            "MARKOV\n1\n2\n1\n1 0\n2 1 1 7",
		"line 5: column 3: a table of more than 2147483647 values":            "MARKOV\n2\n65536 65536\n1\n2 0 1\n",
		"2 sites of 2000000000 levels in a file of 5 words, want n·levels ≤":  "MARKOV\n2\n2 2000000000\n0\n",
	} {
		_, err := read.UAI(strings.NewReader(in))
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "read: UAI: ")
	}
	for _, in := range []string{"", "MARKOV 1 2 0\n"} {
		_, err := read.UAI(io.MultiReader(strings.NewReader(in), iotest.ErrReader(io.ErrClosedPipe)))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

// A table of one value over many variables of one value has no neighbours: a
// short text takes memory in proportion.
func TestUAIOverManyConstants(t *testing.T) {
	const n = 20000
	var b strings.Builder
	fmt.Fprintf(&b, "MARKOV %d%s\n1\n%d", n, strings.Repeat(" 1", n), n)
	for i := range n {
		fmt.Fprintf(&b, " %d", i)
	}
	b.WriteString("\n1 0.5\n")
	m, err := read.UAI(strings.NewReader(b.String()))
	require.NoError(t, err)
	_, adj := m.(energy.Graphical).Graph()
	require.Empty(t, adj)
	e := make([]float64, 1)
	m.Energy(e, make([]int32, n))
	require.InDelta(t, math.Ln2, e[0], 1e-15)
}

func FuzzReadUAI(f *testing.F) {
	r := rand.New(rand.NewPCG(14, 7))
	for range 6 {
		f.Add(newTables(r).String())
	}
	f.Fuzz(func(t *testing.T, in string) {
		m, err := read.UAI(strings.NewReader(in))
		if err != nil {
			require.ErrorContains(t, err, "read: UAI: ")
			return
		}
		sites, levels := m.Shape()
		require.LessOrEqual(t, sites*levels, max(1<<20, 64*len(in)))
		x, e := make([]int32, sites), make([]float64, 1)
		m.Energy(e, x)
		require.False(t, math.IsNaN(e[0]) || math.IsInf(e[0], -1))
		m.(energy.Conditional).Conditional(make([]float64, levels), sites-1, x)
	})
}
