package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// corpus is the strings that a run learns from, as text and as tokens. Token t <
// pad is the rune letters[t]; pad fills strings up to sites.
type corpus struct {
	name           string
	train, held    []string
	letters        []rune
	pad            int32
	sites, levels  int
	trainX         [][]int32
	chemical       bool // the judge of molecules understands the strings
	identity       func(text string) string
	known, heldKey map[string]bool // identities of train and held
}

// understood is the share of strings that the judge must accept for the data to
// count as molecules.
const understood = 0.99

// load makes the corpus of a run: the strings of a file, or all small molecules.
func load(o options) (*corpus, error) {
	c := &corpus{name: fmt.Sprintf("all molecules of up to %d atoms C, N, O, F and one ring", o.atoms), identity: identity}
	var all []string
	if o.data == "" {
		all = molecules(o.atoms)
	} else {
		var err error
		if all, err = read(o.data); err != nil {
			return nil, err
		}
		c.name = o.data
		c.identity = func(text string) string { return text }
	}
	rng := rand.New(rand.NewPCG(o.seed, 80))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	cut := len(all) * 8 / 10
	if cut < 1 || cut == len(all) {
		return nil, fmt.Errorf("%s: %d different strings, want ≥ 2", c.name, len(all))
	}
	c.train, c.held = all[:cut], all[cut:]
	c.known, c.heldKey = make(map[string]bool), make(map[string]bool)
	accepted := 0
	for i, s := range all {
		if _, err := parse(s); err == nil {
			accepted++
		}
		if i < cut {
			c.known[c.identity(s)] = true
		} else {
			c.heldKey[c.identity(s)] = true
		}
	}
	c.chemical = float64(accepted) >= understood*float64(len(all))
	c.tokenise(all)
	return c, nil
}

// read returns the different strings of a file: of each line what comes before a
// comma, without the header "smiles" that some files have.
func read(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seen := make(map[string]bool)
	var all []string
	scan := bufio.NewScanner(f)
	for line := 1; scan.Scan(); line++ {
		s, _, _ := strings.Cut(scan.Text(), ",")
		s = strings.TrimSpace(s)
		if s == "" || seen[s] || line == 1 && strings.EqualFold(s, "smiles") {
			continue
		}
		seen[s] = true
		all = append(all, s)
	}
	return all, scan.Err()
}

// identity is what makes two strings the same molecule; strings that are none
// are only the same as themselves.
func identity(text string) string {
	m, err := parse(text)
	if err != nil {
		return "not a molecule: " + text
	}
	key, _ := m.key()
	return key
}

// tokenise finds the alphabet and the length of the strings.
func (c *corpus) tokenise(all []string) {
	letters := make(map[rune]bool)
	for _, s := range all {
		n := 0
		for _, r := range s {
			letters[r] = true
			n++
		}
		c.sites = max(c.sites, n)
	}
	for r := range letters {
		c.letters = append(c.letters, r)
	}
	slices.SortFunc(c.letters, cmp.Compare[rune])
	c.pad = int32(len(c.letters))
	c.levels = len(c.letters) + 1
	for _, s := range c.train {
		c.trainX = append(c.trainX, c.tokens(s))
	}
}

// token returns the token of a rune, −1 if there is none.
func (c *corpus) token(r rune) int32 {
	if t, ok := slices.BinarySearch(c.letters, r); ok {
		return int32(t)
	}
	return -1
}

// tokens spells a string, padded.
func (c *corpus) tokens(s string) []int32 {
	x := make([]int32, 0, c.sites)
	for _, r := range s {
		x = append(x, c.token(r))
	}
	for len(x) < c.sites {
		x = append(x, c.pad)
	}
	return x
}

// text joins tokens up to the first pad; what follows it other than pads makes
// the string unreadable, which a blank shows.
func (c *corpus) text(x []int32) string {
	var b strings.Builder
	ended := false
	for _, t := range x {
		switch {
		case t == c.pad:
			ended = true
		case ended:
			return b.String() + " "
		default:
			b.WriteRune(c.letters[t])
		}
	}
	return b.String()
}

// valid judges a string: as a molecule if the data are molecules, otherwise by
// its brackets and digits.
func (c *corpus) valid(text string) bool {
	if !c.chemical {
		return balanced(text) && !strings.HasSuffix(text, " ")
	}
	_, err := parse(text)
	return err == nil
}

// commonest returns the letter that most training strings have, or begin with.
func (c *corpus) commonest(first bool) rune {
	count := make([]int, len(c.letters))
	for _, x := range c.trainX {
		seen := make(map[int32]bool)
		for i, t := range x {
			if t != c.pad && !seen[t] && (i == 0 || !first) {
				count[t]++
				seen[t] = true
			}
		}
	}
	return c.letters[slices.Index(count, slices.Max(count))]
}
