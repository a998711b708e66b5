package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

// cutSizes holds the cuts found in random graphs.
type cutSizes []cutSize

// cutSize summarises the cuts of the graphs of one family and size: means over the graphs.
type cutSize struct {
	Family  string  `json:"family"`
	Least   int     `json:"least_nodes"`
	Most    int     `json:"most_nodes"`
	Graphs  int     `json:"graphs"`
	Edges   float64 `json:"edges"`
	Cut     float64 `json:"cut"`
	Share   float64 `json:"share"` // of the edges
	SE      float64 `json:"se"`    // standard error of the share over the graphs
	Seconds float64 `json:"seconds"`
}

const cutRounds = 8 // rounds of each search

// cutNodes holds the least and greatest numbers of nodes of a graph. These are the larger sizes of
// Khalil, Dai, Zhang, Dilkina and Song (2017), which DISCS (Goshvadi, Sun, Liu, Nova, Zhang,
// Grathwohl, Schuurmans and Dai 2023) uses, too.
var cutNodes = [][2]int{{64, 75}, {128, 150}, {256, 300}, {512, 600}, {1024, 1100}}

// erdosRenyi returns a random graph in which each two nodes are neighbours with probability 0.15.
func erdosRenyi(n int, r *rand.Rand) (edges []model.Edge) {
	for i := range n {
		for j := range i {
			if r.Float64() < 0.15 {
				edges = append(edges, model.Edge{I: j, J: i, W: 1})
			}
		}
	}
	return edges
}

// barabasiAlbert returns a graph that grows from four nodes without edges. Every further node gets
// four neighbours, drawn with probabilities proportional to their numbers of neighbours. The first
// such node gets the first four.
func barabasiAlbert(n int, r *rand.Rand) (edges []model.Edge) {
	const each = 4
	var ends []int // every node as often as it has neighbours
	near := []int{0, 1, 2, 3}
	for i := each; i < n; i++ {
		for _, j := range near {
			edges = append(edges, model.Edge{I: j, J: i, W: 1})
			ends = append(ends, i, j)
		}
		near = near[:0]
		for taken := map[int]bool{}; len(near) < each; {
			if j := ends[r.IntN(len(ends))]; !taken[j] {
				taken[j] = true
				near = append(near, j)
			}
		}
	}
	return edges
}

// largestCut returns the largest cut that a search finds, and its sides.
func largestCut(ctx context.Context, n int, edges []model.Edge, seed uint64) (cut int, side []int32, err error) {
	g, err := model.NewGraph(n, edges)
	if err != nil {
		return 0, nil, err
	}
	m, err := model.NewIsing(g, -1, 0) // an antiferromagnet
	if err != nil {
		return 0, nil, err
	}
	s, err := ground.New(m, ground.Config{Seed: seed})
	if err != nil {
		return 0, nil, err
	}
	if err := s.Run(ctx, cutRounds); err != nil {
		return 0, nil, err
	}
	side, _ = s.Best()
	for _, e := range edges {
		if side[e.I] != side[e.J] {
			cut++
		}
	}
	return cut, side, nil
}

// cuts looks for large cuts in -cuts random graphs of each family and size.
func cuts(ctx context.Context, o options) (*report, error) {
	var r cutSizes
	bar := progress.New("searching")
	defer bar.Done()
	clock := newStopwatch()
	families := []struct {
		name string
		make func(n int, r *rand.Rand) []model.Edge
	}{{"Erdős–Rényi", erdosRenyi}, {"Barabási–Albert", barabasiAlbert}}
	for f, family := range families {
		for k, nodes := range cutNodes {
			row := cutSize{Family: family.name, Least: nodes[0], Most: nodes[1], Graphs: o.cuts}
			var found, edges, shares []float64
			start := clock.cpu()
			for g := range o.cuts {
				bar.Set((f*len(cutNodes)+k)*o.cuts+g, len(families)*len(cutNodes)*o.cuts)
				rng := rand.New(rand.NewPCG(o.seed, uint64(f)<<40|uint64(k)<<32|uint64(g)))
				n := nodes[0] + rng.IntN(nodes[1]-nodes[0]+1)
				all := family.make(n, rng)
				cut, _, err := largestCut(ctx, n, all, o.seed)
				if err != nil {
					return nil, err
				}
				found, edges = append(found, float64(cut)), append(edges, float64(len(all)))
				shares = append(shares, float64(cut)/float64(len(all)))
			}
			row.Seconds = (clock.cpu() - start) / float64(o.cuts)
			row.Edges, row.Cut = stat.Mean(edges, nil), stat.Mean(found, nil)
			var deviation float64
			if row.Share, deviation = stat.MeanStdDev(shares, nil); o.cuts > 1 {
				row.SE = stat.StdErr(deviation, float64(o.cuts))
			}
			r = append(r, row)
		}
	}
	return &report{Cuts: r}, nil
}

func (s cutSizes) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the largest cut found in %d rounds of four searches, means over %d graphs\n", cutRounds, s[0].Graphs)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "family\tnodes\tedges\tcut\tshare\t±\tseconds\t")
	for _, c := range s {
		fmt.Fprintf(w, "%s\t%d–%d\t%.1f\t%.1f\t%.4f\t%.4f\t%.1f\t\n", c.Family, c.Least, c.Most, c.Edges, c.Cut, c.Share, c.SE, c.Seconds)
	}
	w.Flush()
	return b.String()
}
