package read_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dimacs writes edges; both names each from both ends, as many files do.
func dimacs(n int, edges []model.Edge, both bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "c a graph\np edge %d %d\n", n, len(edges))
	for _, e := range edges {
		fmt.Fprintf(&b, "e %d %d %v\n", e.I+1, e.J+1, e.W)
		if both {
			fmt.Fprintf(&b, "e %d %d %v\n", e.J+1, e.I+1, e.W)
		}
	}
	return b.String()
}

func newEdges(r *rand.Rand) (n int, edges []model.Edge) {
	n = 2 + r.IntN(5)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if r.IntN(2) == 0 {
				edges = append(edges, model.Edge{I: i, J: j, W: float64(1+r.IntN(40)) / 4})
			}
		}
	}
	return n, edges
}

func TestRoundTripOfDIMACS(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 3))
	for range 100 {
		n, edges := newEdges(r)
		g, err := read.DIMACS(strings.NewReader(dimacs(n, edges, r.IntN(2) == 0)))
		require.NoError(t, err)
		require.Equal(t, n, g.Sites())
		for _, x := range exact.States(n, 2) {
			cut := 0.0
			for _, e := range edges {
				if x[e.I] != x[e.J] {
					cut += e.W
				}
			}
			require.Equal(t, cut, g.Cut(x))
		}
	}
}

// The graph myciel3 (Mycielski's of the 5-cycle's kind, 11 vertices, 20 edges)
// has no triangle and needs four colours: counted here with none of the library.
func TestDIMACSByHand(t *testing.T) {
	exact.SkipUnderRace(t)
	const myciel3 = `p col 11 20
e 1 2
e 1 4
e 1 7
e 1 9
e 2 3
e 2 6
e 2 8
e 3 5
e 3 7
e 3 10
e 4 5
e 4 6
e 4 10
e 5 8
e 5 9
e 6 11
e 7 11
e 8 11
e 9 11
e 10 11
`
	g, err := read.DIMACS(strings.NewReader(myciel3))
	require.NoError(t, err)
	require.Equal(t, 20, g.Len())
	for levels, want := range map[int]bool{3: false, 4: true} {
		// A Potts model with coupling −1 counts the edges with equal ends.
		m, err := model.NewPotts(g, levels, -1, nil)
		require.NoError(t, err)
		e, found := make([]float64, 1), false
		x := make([]int32, 11)
		for k := range 1 << 22 {
			for i := range x {
				x[i] = int32(k >> (2 * i) & 3)
				if int(x[i]) >= levels {
					x[i] = 0
				}
			}
			if m.Energy(e, x); e[0] == 0 {
				found = true
				break
			}
		}
		assert.Equal(t, want, found, "%d colours", levels)
	}
}

func TestDIMACSRefuses(t *testing.T) {
	for want, in := range map[string]string{
		"no lines, want p edge n m":                                "c nothing\n",
		"line 1: 3 columns, want p edge n m":                       "p edge 3\n",
		`line 1: "p" "cnf", want p edge or p col`:                  "p cnf 3 2\n",
		"line 1: column 3: n = 0, want an integer in 1 …":          "p col 0 0",
		"line 1: column 4: m = -1, want an integer in 0 …":         "p col 1 -1",
		`line 2: column 1: "a", want e`:                            "p edge 2 1\na 1 2 3\n",
		"line 2: 2 columns, want e i j or e i j w":                 "p edge 2 1\ne 1\n",
		"line 2: column 2: i = 3, want an integer in 1 … 2":        "p edge 2 1\ne 3 1\n",
		"line 2: column 3: j = 0, want an integer in 1 … 2":        "p edge 2 1\ne 1 0\n",
		"line 2: column 4: w = NaN, want a finite number":          "p edge 2 1\ne 1 2 NaN\n",
		"line 2: an edge from vertex 2 to itself":                  "p edge 2 1\ne 2 2\n",
		"line 3: the edge 2 1 again with the weight 3, not 2":      "p edge 2 1\ne 1 2 2\ne 2 1 3\n",
		"2 lines with 1 edges, want m = 3":                         "p edge 2 3\ne 1 2\ne 2 1\n",
		"2000000000 sites with 0 entries, want ≤ 1048576 sites or": "p edge 2000000000 0\n",
	} {
		_, err := read.DIMACS(strings.NewReader(in))
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "read: DIMACS: ")
	}
	for _, in := range []string{"", "p edge 2 1\n"} {
		_, err := read.DIMACS(io.MultiReader(strings.NewReader(in), iotest.ErrReader(io.ErrClosedPipe)))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

func FuzzReadDIMACS(f *testing.F) {
	r := rand.New(rand.NewPCG(14, 4))
	for k := range 4 {
		n, edges := newEdges(r)
		f.Add(dimacs(n, edges, k%2 == 0))
	}
	f.Add("p col 5 0\n")
	f.Fuzz(func(t *testing.T, in string) {
		g, err := read.DIMACS(strings.NewReader(in))
		if err != nil {
			require.Regexp(t, "^(read|model): ", err.Error())
			return
		}
		require.Zero(t, g.Cut(make([]int32, g.Sites())))
	})
}
