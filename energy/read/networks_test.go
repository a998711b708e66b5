package read_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

const rain = `// comments
network "n" { property author me; property "x"; }
variable rain { property p 1; type discrete [ 2 ] { yes, no }; }
variable sprinkler { type discrete[3] {off low "on high"}; property late; }
variable wet { type discrete [ 2 ] { yes, no }; }
/* a comment
   of two lines **/
probability ( rain ) { property q; table 0.2 0.8; }
probability ( sprinkler | rain ) { table 0.5 0.25 0.25 0.5 0.25 0.25; }
probability ( wet | rain sprinkler ) {
  (yes, off) 0.75, 0.25;
  (no, "on high") 0.5 0.5;
  default 0.125, 0.875;
}
`

func TestBIF(t *testing.T) {
	m, variables, err := read.BIF(strings.NewReader(rain))
	require.NoError(t, err)
	require.Equal(t, []read.Node{{"rain", []string{"yes", "no"}}, {"sprinkler", []string{"off", "low", "on high"}}, {"wet", []string{"yes", "no"}}}, variables)
	sites, levels := m.Shape()
	require.Equal(t, 3, sites)
	require.Equal(t, 3, levels)
	p := func(x ...int32) float64 {
		e := make([]float64, 1)
		m.Energy(e, x)
		return math.Exp(-e[0])
	}
	// A table lists the first value for all values of the parent: p(off | yes), p(off | no), …
	require.InDelta(t, 0.2*0.5*0.75, p(0, 0, 0), 1e-15)
	require.InDelta(t, 0.8*0.25*0.125, p(1, 0, 0), 1e-15)
	require.InDelta(t, 0.2*0.25*0.125, p(0, 1, 0), 1e-15)
	require.InDelta(t, 0.8*0.5*0.875, p(1, 1, 1), 1e-15)
	require.InDelta(t, 0.8*0.25*0.5, p(1, 2, 1), 1e-15)
	require.Zero(t, p(2, 0, 0))
	total := 0.0
	for _, x := range exact.States(3, 3) {
		total += p(x...)
	}
	require.InDelta(t, 1, total, 1e-12)
}

func TestBIFRefuses(t *testing.T) {
	const first = "variable a { type discrete [ 2 ] { y, n }; }\n"
	for in, want := range map[string]string{
		"":                                "no variable",
		"wrong":                           "line 1: wrong, want network, variable or probability",
		first:                             "ends without the probability of a",
		first + first:                     "line 2: variable a a second time",
		"variable a { }":                  "has no type",
		"variable a { type continuous; }": "continuous, want discrete",
		"variable a { type discrete [ x ] { y }; }":                            "x values, want ≥ 1",
		"variable a { type discrete [ 2 ] { y }; }":                            "1 values, want 2",
		"variable a { type discrete [ 2 ] { y, y }; }":                         "value y a second time",
		"variable a { type discrete [ 2 ] { y, ; }":                            ";, want a value",
		"variable a { type discrete [ 1 ] { y }; type discrete [ 1 ] { y }; }": "second type",
		"variable { }":                                               "{, want the name",
		"variable a { property x":                                    "the end of the file, want ;",
		"network a b":                                                "b, want {",
		"network a { x":                                              "x, want property or }",
		first + "probability ( b ":                                   "b is not declared",
		first + "probability ( a | a ":                               "a a second time in a probability",
		first + "probability ( a | x ":                               "x, want a parent",
		first + "probability ( a ) { table 0.5; }":                   "1 probabilities, want 2",
		first + "probability ( a ) { table 0.5 0.2 0.3; }":           "more than 2 probabilities",
		first + "probability ( a ) { table 0.5 2; }":                 "2, want a probability",
		first + "probability ( a ) { table 0.5 0.4; }":               "adds up to 0.9, want 1",
		first + "probability ( a ) { }":                              "row 0 of the probability of a is missing",
		first + "probability ( a ) { () 1 0; () 1 0; }":              "same row",
		first + "probability ( a ) { table 0 1; } probability ( a )": "probability of a a second time",
		first + "variable b { type discrete [ 1 ] { z }; } probability ( a | b ) { (y) 1 0; }": "y is no value of b",
		"\"x\ny\"": "quotation",
		"/ /":      "lone /",
		"/* ":      "within a comment",
	} {
		_, _, err := read.BIF(strings.NewReader(in))
		require.Error(t, err, in)
		require.Contains(t, strings.ReplaceAll(err.Error(), "\"", ""), want, in)
		require.True(t, strings.HasPrefix(err.Error(), "read: BIF: "), err)
	}
	broken := errors.New("broken")
	_, _, err := read.BIF(io.MultiReader(strings.NewReader(first), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	_, _, err = read.BIF(nil)
	require.ErrorContains(t, err, "r = nil")
}

// Problems that a test has written are read as it knows them.
func TestWCSP(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		g := newTables(r)
		var b strings.Builder
		most := 1
		for _, k := range g.cards {
			most = max(most, k)
		}
		write := func(words ...any) { exact.Must(b.WriteString(line(words...))) }
		write("c-problem", len(g.cards), most, len(g.scopes), 50)
		for _, k := range g.cards {
			write(k)
		}
		for c, scope := range g.scopes {
			write(len(scope))
			for _, i := range scope {
				write(i)
			}
			write(7, len(g.phi[c])) // a default that never counts
			x := make([]int, len(scope))
			for _, phi := range g.phi[c] {
				for _, v := range x {
					write(v)
				}
				if phi == 0 {
					write(50)
				} else {
					write(-math.Log(phi) + 1)
				}
				for k := len(x) - 1; k >= 0; k-- {
					if x[k]++; x[k] < g.cards[scope[k]] {
						break
					}
					x[k] = 0
				}
			}
		}
		m, err := read.WCSP(strings.NewReader(b.String()))
		require.NoError(t, err, b.String())
		sites, levels := m.Shape()
		e := make([]float64, 1)
		for _, x := range exact.States(sites, levels) {
			m.Energy(e, x)
			want := g.energy(x)
			if math.IsInf(want, 1) {
				require.Equal(t, want, e[0])
				continue
			}
			require.InDelta(t, want+float64(len(g.scopes)), e[0], 1e-9)
		}
	}
}

func TestWCSPRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "want a name",
		"a 0 2 1 10":                   "n = 0, want",
		"a 1 2 1 0":                    "top = 0, want > 0",
		"a 1 2 1 10 3":                 "want an integer in 1 … 2",
		"a 1 2 1 10 2 -1":              "size of a scope = -1",
		"a 1 2 1 10 2 1 0 -3 0":        "a default cost = -3, want ≥ 0",
		"a 1 2 1 10 2 1 0 0 1 2":       "a value = 2",
		"a 1 2 1 10 2 1 0 0 2 0 1 0 1": "same values",
		"a 1 2 1 10 2 1 0 10 0":        "forbids everything",
		"a 1 2 1 10 2 1 0 1 0 5":       "5 after the last cost function",
		"a 1 2 1 10 2 1 0 1 1 0":       "want a cost",
		"a 2 2 1 10 2 2 2 0 0":         "second time in a scope",
		"a 3 2000 1 1 2000 2000 2000 3 0 1 2 0 0": "a table of more than",
		"a 2 2000 1 1 2000 2000 2 0 1 0 0":        "tables of 4000000 values",
	} {
		_, err := read.WCSP(strings.NewReader(in))
		require.ErrorContains(t, err, want, in)
		require.True(t, strings.HasPrefix(err.Error(), "read: WCSP: "), err)
	}
}

func line(words ...any) string { return fmt.Sprintln(words...) }

// public opens one of the public instances, or skips the test if it is not there.
func public(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open("../../../shared/data/uai/" + name)
	if os.IsNotExist(err) {
		t.Skip("no public instances")
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func fuzzNetwork(f *testing.F, name string, from func(r io.Reader) (energy.Model, error), seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		m, err := from(strings.NewReader(in))
		if err != nil {
			require.ErrorContains(t, err, "read: "+name+": ")
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

func FuzzReadWCSP(f *testing.F) {
	fuzzNetwork(f, "WCSP", read.WCSP, "two 2 3 1 10\n2 3\n2 0 1 0 2\n0 1 3\n1 2 10\n")
}

func FuzzReadBIF(f *testing.F) {
	fuzzNetwork(f, "BIF", func(r io.Reader) (energy.Model, error) {
		m, _, err := read.BIF(r)
		return m, err
	}, rain)
}

// The public networks are those of their files in the other format, and normalised.
func TestPublicNetworks(t *testing.T) {
	for _, name := range []string{"asia", "alarm"} {
		m, _, err := read.BIF(public(t, name+".bif"))
		require.NoError(t, err)
		want := exact.Must(read.UAI(public(t, name+".bif.uai")))
		r := rand.New(rand.NewPCG(1, 1))
		sites, levels := want.Shape()
		x, e, f := make([]int32, sites), make([]float64, 1), make([]float64, 1)
		for range 2000 {
			for i := range x {
				x[i] = int32(r.IntN(levels))
			}
			m.Energy(e, x)
			want.Energy(f, x)
			if math.IsInf(f[0], 1) {
				require.Equal(t, f[0], e[0])
				continue
			}
			require.InDelta(t, f[0], e[0], 1e-9)
		}
	}
}
