package text

import (
	"slices"
	"strings"
)

// trie holds the texts of a vocabulary, one node per distinct prefix, in
// preorder.
type trie struct {
	symbol   []byte
	depth    []int32 // ≥ 1; the root is not stored
	end      []int32 // the subtree of node i is i…end[i]−1
	from, to []int32 // token[from:to] end at the node
	token    []int32 // ordered by text, then id
	longest  int
}

// newTrie builds the trie of the tokens that stand for text.
func newTrie(v Vocabulary, text []bool) *trie {
	t := &trie{}
	for id, ok := range text {
		if ok {
			t.token = append(t.token, int32(id))
		}
	}
	slices.SortStableFunc(t.token, func(a, b int32) int { return strings.Compare(v.Tokens[a], v.Tokens[b]) })
	var path []int32 // nodes of the previous text
	last := ""
	for i, id := range t.token {
		s := v.Tokens[id]
		same := 0
		for same < min(len(s), len(last)) && s[same] == last[same] {
			same++
		}
		t.close(path[same:])
		path = path[:same]
		for d := same; d < len(s); d++ {
			path = append(path, int32(len(t.symbol)))
			t.symbol = append(t.symbol, s[d])
			t.depth = append(t.depth, int32(d+1))
			t.end = append(t.end, 0)
			t.from = append(t.from, int32(i))
			t.to = append(t.to, int32(i))
		}
		t.to[path[len(path)-1]] = int32(i + 1)
		t.longest = max(t.longest, len(s))
		last = s
	}
	t.close(path)
	return t
}

// close ends the subtrees of nodes.
func (t *trie) close(nodes []int32) {
	for _, n := range nodes {
		t.end[n] = int32(len(t.symbol))
	}
}
