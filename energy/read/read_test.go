package read_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadRudy(t *testing.T) {
	g, err := read.Rudy(strings.NewReader("% a comment\n4 4\r\n\n1 2 3\n3 2 -0.5\n4 1\n  2\t1 1  \n"))
	require.NoError(t, err)
	assert.Equal(t, 4, g.Sites())
	var edges []model.Edge
	for e := range g.Edges() {
		edges = append(edges, e)
	}
	assert.Equal(t, []model.Edge{{I: 0, J: 1, W: 4}, {I: 0, J: 3, W: 1}, {I: 1, J: 2, W: -0.5}}, edges)
}

func TestReadRudyRefuses(t *testing.T) {
	for want, in := range map[string]string{
		"no lines, want the numbers of vertices and edges":                                 "",
		"line 2: 1 columns, want n m":                                                      "\n5\n",
		"line 1: column 1: n = 0, want an integer in 1 … 2147483646":                       "0 0",
		"line 1: column 2: m = -1, want an integer in 0 … 1073741823":                      "1 -1",
		`line 1: column 1: n = "x", want`:                                                  "x 1",
		"line 2: column 2: j = 3, want an integer in 1 … 2":                                "2 1\n1 3",
		"line 2: column 1: i = 0, want an integer in 1 … 2":                                "2 1\n0 1",
		"line 2: column 1: i = 1.5, want an integer":                                       "2 1\n1.5 1",
		"line 2: an edge from vertex 2 to itself":                                          "2 1\n2 2 1",
		"line 2: column 3: w = NaN, want a finite number":                                  "2 1\n1 2 NaN",
		`line 2: column 3: w = "` + strings.Repeat("z", 32) + `"…, want`:                   "2 1\n1 2 " + strings.Repeat("z", 99),
		"line 2: 4 columns, want i j or i j w":                                             "2 1\n1 2 3 4",
		"line 3: more than m = 1 edges":                                                    "2 1\n1 2\n1 2",
		"ends after 1 of m = 2 edges":                                                      "2 2\n1 2",
		"line 2: more than 65536 bytes":                                                    "2 2\n" + strings.Repeat("1", 70000),
		"2000000000 sites with 0 entries, want ≤ 1048576 sites or ≤ 2 per entry":           "2000000000 0",
		"NewGraph: the weights between sites 0 and 1 add up to +Inf, want a finite number": "2 2\n1 2 1e308\n1 2 1e308",
	} {
		_, err := read.Rudy(strings.NewReader(in))
		assert.ErrorContains(t, err, want)
	}
	_, err := read.Rudy(io.MultiReader(strings.NewReader("2 1\n"), iotest.ErrReader(io.ErrClosedPipe)))
	assert.ErrorContains(t, err, "read: Rudy: after line 1: io: read/write on closed pipe")
	assert.True(t, errors.Is(err, io.ErrClosedPipe))
}

// TestReadGset reads the graph G1 of the Gset where it is at hand.
func TestReadGset(t *testing.T) {
	f, err := os.Open("../../../shared/data/G1.txt")
	if err != nil {
		t.Skip("no Gset file: ", err)
	}
	defer f.Close()
	g, err := read.Rudy(f)
	require.NoError(t, err)
	assert.Equal(t, 800, g.Sites())
	assert.Equal(t, 19176, g.Len())
	m, err := model.MaxCut(g)
	require.NoError(t, err)
	e := make([]float64, 1)
	m.Energy(e, make([]int32, 800))
	assert.Equal(t, 19176./2, e[0])
}

func TestReadCOO(t *testing.T) {
	const entries = "# Q\n0 1 2\n1 0 -0.5\n\n2 2 3\n2 2 0.25\n0 2 -1\n"
	brute := func(value func(int32) float64) func(x []int32) float64 {
		return func(x []int32) float64 {
			a, b, c := value(x[0]), value(x[1]), value(x[2])
			return 1.5*a*b + 3.25*c - a*c
		}
	}
	bit := brute(func(l int32) float64 { return float64(l) })
	spin := brute(func(l int32) float64 { return float64(2*l - 1) })
	for _, c := range []struct {
		text  string
		opt   read.COOConfig
		sites int
		want  func(x []int32) float64
	}{
		{entries, read.COOConfig{}, 3, bit},
		{"bits\n" + entries, read.COOConfig{Sites: 2}, 3, bit},
		{"bits 4\n" + entries, read.COOConfig{}, 4, bit},
		{"% s\nspins\n" + entries, read.COOConfig{}, 3, spin},
		{"# vartype=SPIN\n" + entries, read.COOConfig{}, 3, spin},
		{"# vartype: binary\n" + entries, read.COOConfig{}, 3, bit},
		{"spins 4\n" + entries, read.COOConfig{Sites: 5, Spins: true}, 5, spin},
		{entries, read.COOConfig{Spins: true}, 3, spin},
	} {
		m, err := read.COO(strings.NewReader(c.text), c.opt)
		require.NoError(t, err)
		sites, levels := m.Shape()
		require.Equal(t, []int{c.sites, 2}, []int{sites, levels})
		exact.CheckModel(t, m, true, c.want)
	}
	m, err := read.COO(strings.NewReader(""), read.COOConfig{Sites: 3})
	require.NoError(t, err)
	exact.CheckModel(t, m, true, func([]int32) float64 { return 0 })
}

func TestReadCOORefuses(t *testing.T) {
	for want, in := range map[string]string{
		"no entries and no number of sites, want ≥ 1 site":            "# nothing\n",
		"line 1: 2 columns, want i j w":                               "0 1",
		"line 2: column 1: i = -1, want an integer in 0 … 2147483645": "0 1 1\n-1 0 1",
		`line 1: column 2: j = "b", want an integer in`:               "0 b 1",
		"line 1: column 3: w = \"1e999\", want a finite number":       "0 1 1e999",
		`line 2: column 1: i = "spins", want`:                         "0 1 1\nspins 3 1",
		"line 1: column 2: sites = 0, want an integer in 1 …":         "bits 0",
		"line 1: 3 columns, want bits or spins":                       "bits 3 3",
		"2000000001 sites with 1 entries, want ≤ 1048576":             "0 2000000000 1",
		"2000000 sites with 0 entries, want ≤ 1048576":                "spins 2000000",
		"line 1: vartype = INTEGER, want BINARY or SPIN":              "# vartype=INTEGER\n0 1 1",
		"line 2: vartype = SPIN after the first entry":                "0 1 1\n# vartype=SPIN\n",
		"line 2: column 1: bits, but spins were selected":             "# vartype=SPIN\nbits\n0 1 1",
		"overflow": "0 1 1e308\n1 2 1e308",
	} {
		_, err := read.COO(strings.NewReader(in), read.COOConfig{})
		assert.ErrorContains(t, err, want)
	}
	_, err := read.COO(strings.NewReader("bits"), read.COOConfig{Spins: true})
	assert.ErrorContains(t, err, "line 1: column 1: bits, but spins were selected before")
	_, err = read.COO(strings.NewReader(""), read.COOConfig{Sites: -1})
	assert.ErrorContains(t, err, "Sites = -1, want 0 …")
	_, err = read.Rudy(strings.NewReader("# vartype=SPIN\n2 1\n1 2 1\n"))
	assert.ErrorContains(t, err, "line 1: a comment states vartype=SPIN")
	_, err = read.COO(iotest.ErrReader(io.ErrClosedPipe), read.COOConfig{})
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestReadRBM(t *testing.T) {
	array := func(data []float64, shape ...int) io.Reader {
		var b bytes.Buffer
		require.NoError(t, npy.Write(&b, data, shape...))
		return &b
	}
	w := []float64{1, -2, 0.5, 0.25, 3, -1}
	m, err := read.RBM(array(w, 2, 3), array([]float64{0.5, -1}, 2), array([]float64{1, 0, -1}, 3, 1))
	require.NoError(t, err)
	e := make([]float64, 1)
	for _, x := range exact.States(3, 2) {
		m.Energy(e, x)
		a := 0.5 + float64(x[0]) - 2*float64(x[1]) + 0.5*float64(x[2])
		b := -1 + 0.25*float64(x[0]) + 3*float64(x[1]) - float64(x[2])
		want := -float64(x[0]) + float64(x[2]) - math.Log1p(math.Exp(a)) - math.Log1p(math.Exp(b))
		require.InDelta(t, want, e[0], 1e-14) // the weights are dyadic, activations exact
	}
	for want, in := range map[string][3]io.Reader{
		"w has the shape [3 2], want [2 3], the lengths of bh and bv": {array(w, 3, 2), array(w[:2], 2), array(w[:3], 3)},
		"w has the shape [6], want [2 3]":                             {array(w, 6), array(w[:2], 2), array(w[:3], 3)},
		"read: RBM: bh: npy: starts with":                             {array(w, 2, 3), strings.NewReader("not an array"), array(w[:3], 3)},
		"read: RBM: bv is nil":                                        {array(w, 2, 3), array(w[:2], 2), nil},
		"NewRBM: bh[1] = NaN":                                         {array(w, 2, 3), array([]float64{0, math.NaN()}, 2), array(w[:3], 3)},
	} {
		_, err := read.RBM(in[0], in[1], in[2])
		assert.ErrorContains(t, err, want)
	}
}

func FuzzReadRudy(f *testing.F) {
	f.Add("3 2\n1 2 1\n2 3 -1\n")
	f.Add("2 1\n1 2\n")
	f.Add("% c\n5 0\n")
	f.Fuzz(func(t *testing.T, in string) {
		g, err := read.Rudy(strings.NewReader(in))
		if err != nil {
			require.ErrorContains(t, err, "read: ")
			return
		}
		require.GreaterOrEqual(t, g.Sites(), 1)
		cut := g.Cut(make([]int32, g.Sites()))
		require.Zero(t, cut)
	})
}

func FuzzReadCOO(f *testing.F) {
	f.Add("0 1 2\n1 1 -1\n", false)
	f.Add("spins 3\n0 1 2\n", true)
	f.Add("bits\n# c\n", false)
	f.Fuzz(func(t *testing.T, in string, spins bool) {
		m, err := read.COO(strings.NewReader(in), read.COOConfig{Spins: spins})
		if err != nil {
			require.ErrorContains(t, err, "read: ")
			return
		}
		sites, levels := m.Shape()
		require.GreaterOrEqual(t, sites, 1)
		require.Equal(t, 2, levels)
		e := make([]float64, 1)
		m.Energy(e, make([]int32, sites))
		require.False(t, math.IsNaN(e[0]) || math.IsInf(e[0], 0))
	})
}
