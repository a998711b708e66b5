package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
)

// community is a graph to divide, with its known split if there is one.
type community struct {
	name   string
	n      int
	edges  []model.Edge
	degree []float64 // sum of the edge weights at each node
	weight float64   // sum of all edge weights
	known  []int32   // known split; nil if there is none
}

// friends lists the 78 pairs of members of a karate club who met outside it, from figure 1 of
// Zachary (1977), An information flow model for conflict and fission in small groups, J.
// Anthropol. Res. 33:452. Each line holds a member and its friends with higher numbers.
const friends = `
	1: 2 3 4 5 6 7 8 9 11 12 13 14 18 20 22 32
	2: 3 4 8 14 18 20 22 31
	3: 4 8 9 10 14 28 29 33
	4: 8 13 14
	5: 7 11
	6: 7 11 17
	7: 17
	9: 31 33 34
	10: 34
	14: 34
	15: 33 34
	16: 33 34
	19: 33 34
	20: 34
	21: 33 34
	23: 33 34
	24: 26 28 30 33 34
	25: 26 28 32
	26: 32
	27: 30 34
	28: 34
	29: 32 34
	30: 33 34
	31: 33 34
	32: 33 34
	33: 34`

// instructors lists the members who followed the instructor (member 1) when the club split. The
// others stayed with its president (member 34). From Zachary (1977), table 1, "club after
// split".
const instructors = "1 2 3 4 5 6 7 8 9 11 12 13 14 17 18 20 22"

// members is the number of nodes of the karate club.
const members = 34

func load(path string) (*community, error) {
	if path == "" {
		return karate(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g, err := read.Rudy(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := &community{name: path, n: g.Sites()}
	for e := range g.Edges() {
		if e.W < 0 {
			return nil, fmt.Errorf("%s: edge %d–%d has weight %v, want ≥ 0: modularity needs positive weights", path, e.I+1, e.J+1, e.W)
		}
		c.edges = append(c.edges, e)
	}
	c.count()
	switch {
	case c.n < 2:
		return nil, fmt.Errorf("%s: %d nodes, want ≥ 2", path, c.n)
	case c.weight == 0:
		return nil, fmt.Errorf("%s: no edges", path)
	}
	return c, nil
}

func karate() *community {
	c := &community{name: "Zachary's karate club", n: members, known: make([]int32, members)}
	for line := range strings.Lines(strings.TrimSpace(friends)) {
		who, list, _ := strings.Cut(line, ":")
		for _, friend := range strings.Fields(list) {
			c.edges = append(c.edges, model.Edge{I: number(who), J: number(friend), W: 1})
		}
	}
	for _, m := range strings.Fields(instructors) {
		c.known[number(m)] = 1
	}
	c.count()
	return c
}

// number returns the node of the member with the given number.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		panic(err) // the lists above are constant
	}
	return n - 1
}

func (c *community) count() {
	c.degree = make([]float64, c.n)
	for _, e := range c.edges {
		c.degree[e.I] += e.W
		c.degree[e.J] += e.W
		c.weight += e.W
	}
}

// model returns the energy E(x) = −beta·m·Q(x) as a quadratic energy of spins,
//
//	m·Q = ¼ Σ_ij (A_ij − k_i k_j / 2m) s_i s_j,
//
// with the adjacency matrix A, degrees k and m edges (Newman 2006, Proc. Natl. Acad. Sci.
// 103:8577, equation 1). Up to a constant, m·Q is the number of edges inside communities beyond
// the expected number.
func (c *community) model(beta float64) (*model.Quadratic, error) {
	q := make([]float64, c.n*c.n)
	for i, ki := range c.degree {
		for j, kj := range c.degree {
			q[i*c.n+j] = beta / 4 * ki * kj / (2 * c.weight)
		}
	}
	for _, e := range c.edges {
		q[e.I*c.n+e.J] -= beta / 4 * e.W
		q[e.J*c.n+e.I] -= beta / 4 * e.W
	}
	return model.NewDenseQuadratic(c.n, q, model.Polynomial{Values: []float32{-1, 1}})
}

// modularity returns the modularity of a partition, counted edge by edge:
//
//	Q = Σ_c [ w_c/m − (d_c/2m)² ]
//
// The sum is over communities c, with w_c the weight of the edges inside and d_c the total
// degree.
func (c *community) modularity(x []int32) float64 {
	var inside, degree [2]float64
	for _, e := range c.edges {
		if x[e.I] == x[e.J] {
			inside[x[e.I]] += e.W
		}
	}
	for i, l := range x {
		degree[l] += c.degree[i]
	}
	q := 0.0
	for l := range 2 {
		share := degree[l] / (2 * c.weight)
		q += inside[l]/c.weight - share*share
	}
	return q
}

// agreement returns the share of nodes on their known side, after swapping the names of the
// sides if that raises the share.
func (c *community) agreement(x []int32) float64 {
	same := 0
	for i, l := range x {
		if l == c.known[i] {
			same++
		}
	}
	return float64(max(same, c.n-same)) / float64(c.n)
}
