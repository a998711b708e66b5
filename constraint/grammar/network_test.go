package grammar

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The nodes that lead to the end of their rule, and the rules of nodes, are those that the definition
// gives, also if names are missing, required or forbidden at random and automata have no texts at random.
func TestPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 45))
	properties := `"properties":{"a":{"const":1},"b":{},"c":{"$ref":"#"},"d":false,"e":{"type":"string","pattern":"^x"},"f":{"type":"null"}}`
	on, off := 0, 0
	for _, schema := range []string{
		`{"type":"object",` + properties + `,"additionalProperties":false}`,
		`{"type":"object",` + properties + `,"required":["b","x","e","y"],"patternProperties":{"^y":{"type":"boolean"}}}`,
		`{"type":"object",` + properties + `,"required":["f"],"additionalProperties":{"$ref":"#"},"minProperties":2,"maxProperties":3}`,
		`{"type":"object",` + properties + `,"not":{"required":["a"]},"dependentRequired":{"b":["f"]}}`,
		`{"oneOf":[{"type":"object",` + properties + `},{"type":"array","items":{"$ref":"#"}},{"required":["z"]}]}`,
	} {
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
		require.NoError(t, err)
		n := g.network
		rules := slices.Clone(n.rules)
		for range 200 {
			share := r.Float64()
			for i := range n.rules { // so that fewer nodes lead there
				n.rules[i].end = rules[i].end
				if n.nodes[rules[i].end].ends = int32(i); r.Float64() < share/2 {
					n.nodes[rules[i].end].ends = -1
				}
			}
			spells := make([]bool, len(n.nodes))
			for i := range spells {
				spells[i] = r.Float64() >= share
			}
			gates := r.IntN(2) == 0
			p := n.paths(false)
			got, err := p.leading(func(at int32) bool { return spells[at] }, gates)
			require.NoError(t, err)
			want := leadingNodes(n, spells, gates)
			require.Equal(t, want, got[:len(n.nodes)], schema)
			for at, v := range n.nodes {
				on, off = on+int(bit(want[at])), off+int(bit(!want[at]))
				if r := v.names(); r != nil {
					require.Equal(t, r.knows(func(to int32) bool { return want[to] }), got[p.place(r)], schema)
				}
			}
		}
		for i, x := range rules {
			n.rules[i], n.nodes[x.end].ends = x, int32(i)
		}
		of := n.rulesOfNodes()
		for at, v := range n.nodes {
			for _, to := range v.free {
				require.True(t, of[at] < 0 || of[at] == of[to])
			}
			if v.leads {
				for _, to := range v.lead().targets(nil) {
					require.True(t, of[at] < 0 || of[at] == of[to])
				}
			}
		}
		require.GreaterOrEqual(t, slices.Max(of), int32(len(n.rules)-1))
	}
	require.Greater(t, on, 10000)
	require.Greater(t, off, 10000)
}

// leadingNodes is the definition of the result of the method leading.
func leadingNodes(n *network, spells []bool, gates bool) []bool {
	ok := make([]bool, len(n.nodes))
	reaches := func(to int32) bool { return ok[to] }
	for again := true; again; {
		again = false
		for at, v := range n.nodes {
			on := v.ends >= 0 || slices.ContainsFunc(v.free, reaches) ||
				slices.ContainsFunc(v.arcs, func(a arc) bool { return ok[a.to] }) ||
				slices.ContainsFunc(v.calls, func(c callArc) bool { return ok[c.to] && ok[n.rules[c.rule].start] }) ||
				gates && slices.ContainsFunc(v.inputs, func(g int32) bool { return ok[n.gates[g].out] })
			if r := v.names(); r != nil {
				on = r.leadsTo(reaches)
			}
			if on && !ok[at] && (v.scalar == nil || spells[at]) {
				ok[at], again = true, true
			}
		}
	}
	return ok
}

// The number of edges is linear in the number of names, of which each may follow all before it.
func TestPathsOfManyNames(t *testing.T) {
	edges := func(names int, more string) float64 {
		g, err := JSONSchema(t.Context(), []byte(`{"type":"object","properties":{`+listed(names, `"p%d":{"type":"integer"}`)+`}`+more+`}`), SchemaConfig{})
		require.NoError(t, err)
		return float64(len(g.network.paths(false).edges)) / float64(names)
	}
	for _, more := range []string{``, `,"additionalProperties":false`, `,"required":["p10","p19"]`, `,"required":["x","y"]`} {
		require.Less(t, edges(2000, more), 1.1*edges(20, more), more)
	}
}
