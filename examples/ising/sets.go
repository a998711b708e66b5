package main

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

// setSizes holds the sizes of the cliques and independent sets that were found.
type setSizes struct {
	Cliques []clique  `json:"cliques"`
	Random  randomSet `json:"random"`
}

// clique is the clique found in a graph whose largest one is known.
type clique struct {
	Graph   string  `json:"graph"`
	Nodes   int     `json:"nodes"`
	Largest int     `json:"largest"`
	Found   int     `json:"found"`
	Rounds  int     `json:"rounds"` // after which it was found
	Seconds float64 `json:"seconds"`
}

// randomSet summarises the independent sets found in random graphs.
type randomSet struct {
	Graphs  int     `json:"graphs"`
	Least   int     `json:"least"`
	Most    int     `json:"most"`
	Mean    float64 `json:"mean"`
	SE      float64 `json:"se"`
	Seconds float64 `json:"seconds"` // mean over the graphs
}

const setRounds = 256 // rounds of each search

// family is a graph that is given by a rule, and the size of its largest clique.
type family struct {
	name           string
	nodes, largest int
	adjacent       func(i, j int) bool
}

// families returns graphs that a rule defines: the Hamming and Johnson graphs of the second
// DIMACS challenge (Johnson and Trick 1996), and the full Keller graphs, of which that challenge
// has the neighbourhood of one node. The largest cliques are the codes A(8,4) = 16 and
// A(10,4) = 40, perfect matchings, and for Keller graphs those of Debroni, Eblen, Langston,
// Myrvold, Shor and Weerapurage (2011).
func families() []family {
	hamming := func(i, j int) bool { return bits.OnesCount(uint(i^j)) >= 4 }
	keller := func(i, j int) bool {
		differ, opposite := 0, false
		for ; i > 0 || j > 0; i, j = i/4, j/4 {
			if d := (i - j) & 3; d != 0 {
				differ++
				opposite = opposite || d == 2
			}
		}
		return differ >= 2 && opposite
	}
	var pairs []uint // of 32 things, as bits
	for i := range 32 {
		for j := range i {
			pairs = append(pairs, 1<<i|1<<j)
		}
	}
	johnson := func(i, j int) bool { return pairs[i]&pairs[j] == 0 }
	return []family{
		{"hamming8-4", 256, 16, hamming},
		{"hamming10-4", 1024, 40, hamming},
		{"johnson16-2-4", 120, 8, johnson},
		{"johnson32-2-4", 496, 16, johnson},
		{"Keller, dimension 4", 256, 12, keller},
		{"Keller, dimension 5", 1024, 28, keller},
	}
}

// independent returns a large set of nodes no two of which are neighbours. Its energy is
// −Σ x_i + Σ_{ij} x_i x_j, over the neighbours i and j. If a state has the energy −k, dropping one
// node of each conflict leaves k or more nodes.
func independent(ctx context.Context, n int, neighbours func(i, j int) bool, seed uint64, target int) (set []int, rounds int, err error) {
	q := make([]model.Edge, 0, n)
	for i := range n {
		q = append(q, model.Edge{I: i, J: i, W: -1})
		for j := range i {
			if neighbours(i, j) {
				q = append(q, model.Edge{I: i, J: j, W: 1})
			}
		}
	}
	m, err := model.NewQuadratic(n, q, model.Polynomial{})
	if err != nil {
		return nil, 0, err
	}
	s, err := ground.New(m, ground.Config{Seed: seed, Stop: func(e float64) bool { return e <= -float64(target) }})
	if err != nil {
		return nil, 0, err
	}
	if err := s.Run(ctx, setRounds); err != nil {
		return nil, 0, err
	}
	x, _ := s.Best()
next:
	for i := range n {
		if x[i] == 0 {
			continue
		}
		for _, j := range set {
			if neighbours(i, j) {
				continue next
			}
		}
		set = append(set, i)
	}
	return set, s.Len(), nil
}

// sets looks for large cliques in graphs of families and for large independent sets in -sets
// random graphs: 700 to 800 nodes, each two of which are neighbours with probability 0.15.
func sets(ctx context.Context, o options) (*report, error) {
	r := &setSizes{Random: randomSet{Graphs: o.sets}}
	all := families()
	bar := progress.New("searching")
	defer bar.Done()
	clock := newStopwatch()
	for k, f := range all {
		bar.Set(k, len(all)+o.sets)
		start := clock.cpu()
		set, rounds, err := independent(ctx, f.nodes, func(i, j int) bool { return !f.adjacent(i, j) }, o.seed, f.largest)
		if err != nil {
			return nil, err
		}
		r.Cliques = append(r.Cliques, clique{f.name, f.nodes, f.largest, len(set), rounds, clock.cpu() - start})
	}
	var sizes []float64
	start := clock.cpu()
	for k := range o.sets {
		bar.Set(len(all)+k, len(all)+o.sets)
		rng := rand.New(rand.NewPCG(o.seed, uint64(k)))
		n := 700 + rng.IntN(101)
		near := make([]bool, n*n)
		for i := range n {
			for j := range i {
				near[i*n+j] = rng.Float64() < 0.15
			}
		}
		set, _, err := independent(ctx, n, func(i, j int) bool { return near[max(i, j)*n+min(i, j)] }, o.seed, n)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, float64(len(set)))
	}
	n := float64(o.sets)
	r.Random.Seconds = (clock.cpu() - start) / n
	r.Random.Least, r.Random.Most = int(slices.Min(sizes)), int(slices.Max(sizes))
	var deviation float64
	if r.Random.Mean, deviation = stat.MeanStdDev(sizes, nil); o.sets > 1 {
		r.Random.SE = stat.StdErr(deviation, n)
	}
	return &report{Sets: r}, nil
}

func (s *setSizes) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the largest clique found in at most %d rounds of four searches\n", setRounds)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "graph\tnodes\tlargest\tfound\trounds\tseconds\t")
	for _, c := range s.Cliques {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.1f\t\n", c.Graph, c.Nodes, c.Largest, c.Found, c.Rounds, c.Seconds)
	}
	w.Flush()
	fmt.Fprintf(&b, "\nindependent sets of %d random graphs of 700 to 800 nodes with edge probability 0.15\nmean size %.2f ± %.2f, %d to %d, %.1f seconds each\n",
		s.Random.Graphs, s.Random.Mean, s.Random.SE, s.Random.Least, s.Random.Most, s.Random.Seconds)
	return b.String()
}
