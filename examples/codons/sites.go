package main

import "strings"

// frame is the context of a design: its length in bases and its flanks.
type frame struct {
	before, after string
	bases         int
}

// site is a set of words of bases of the same length, on both strands.
type site struct {
	words  map[string]bool // words of the site, all of the same length
	length int
}

func newSite(words []string) site {
	s := site{words: make(map[string]bool), length: len(words[0])}
	for _, w := range words {
		s.words[w] = true
		s.words[opposite(w)] = true
	}
	return s
}

// counter is the walker that counts occurrences of its sites. An occurrence counts if it
// contains at least one base of the design. The key holds the count and the longest suffix of
// the bases read that is a prefix of a word. This is the automaton of Aho and Corasick (1975)
// with the prefixes as names of its nodes.
type counter struct {
	frame
	sites       []site
	begins      map[string]bool // all prefixes of words
	least, most int             // bounds on the number of occurrences; most < 0 for no upper bound
}

func newCounter(f frame, least, most int, sites ...site) *counter {
	c := &counter{frame: f, sites: sites, begins: make(map[string]bool), least: least, most: most}
	for _, s := range sites {
		for w := range s.words {
			for k := range len(w) + 1 {
				c.begins[w[:k]] = true
			}
		}
	}
	return c
}

// read reads a base and counts the sites that end with it and are longer than longer bases.
func (c *counter) read(tail string, base byte, longer int) (string, int) {
	tail += string(base)
	for !c.begins[tail] {
		tail = tail[1:]
	}
	n := 0
	for _, s := range c.sites {
		if s.length > longer && s.length <= len(tail) && s.words[tail[len(tail)-s.length:]] {
			n++
		}
	}
	return tail, n
}

func (c *counter) start() string {
	tail := ""
	for i := range len(c.before) {
		tail, _ = c.read(tail, c.before[i], 0)
	}
	return "\x00" + tail
}

// add returns count + n, and whether the count is still allowed. Without an upper bound it
// saturates at least.
func (c *counter) add(count, n int) (int, bool) {
	count += n
	if c.most < 0 {
		return min(count, c.least), true
	}
	return count, count <= c.most
}

func (c *counter) next(_ int, key, codon string) (string, bool) {
	count, tail := int(key[0]), key[1:]
	for i := range 3 {
		var n int
		var ok bool
		tail, n = c.read(tail, codon[i], 0)
		if count, ok = c.add(count, n); !ok {
			return "", false
		}
	}
	return string(rune(count)) + tail, true
}

func (c *counter) accepts(key string) bool {
	count, tail := int(key[0]), key[1:]
	for i := range len(c.after) {
		var n int
		var ok bool
		tail, n = c.read(tail, c.after[i], i+1)
		if count, ok = c.add(count, n); !ok {
			return false
		}
	}
	return count >= c.least
}

// runs returns the homopolymers of most + 1 bases as sites.
func runs(most int) []site {
	var all []site
	for _, base := range []string{"A", "C"} { // T and G are the other strand
		all = append(all, newSite([]string{strings.Repeat(base, most+1)}))
	}
	return all
}
