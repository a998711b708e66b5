// Package corpus holds the code shared by examples that learn strings. It loads strings from a
// file or generates all small molecules, and converts strings to tokens. It also has the
// languages that constrain runs, and independent checks of their results.
package corpus

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// Corpus is the set of strings that a run learns from, as text and as tokens. A token t < Pad
// stands for the rune Letters[t]. Strings shorter than Sites tokens are filled up with the token
// Pad.
//
// Known holds the strings that do not count as new: all strings of a file, held out or not, or
// the training strings of generated data. Identity maps a string to its identity; two strings of
// the same molecule have the same identity.
type Corpus struct {
	Name          string
	Train, Held   []string // training strings and held-out strings
	Letters       []rune
	Pad           int32
	Sites, Levels int
	TrainX        [][]int32 // tokens of the training strings
	Chemical      bool      // whether the strings are molecules that the SMILES parser can read
	Identity      func(text string) string
	// identities of the strings that are not new, and of the held-out strings
	Known, HeldKey map[string]bool

	old    []string // strings that are not new
	where  string   // phrase that describes where the old strings occur
	ofFile bool
}

// understood is the share of strings that the SMILES parser must accept for the data to count as
// molecules.
const understood = 0.99

// Load returns the corpus of a run. Its strings are those of the file data or, if data is "", all
// molecules of up to the given number of atoms. The seed determines which strings are held out.
func Load(data string, atoms int, seed uint64) (*Corpus, error) {
	c := &Corpus{
		Name:  fmt.Sprintf("all molecules of up to %d atoms C, N, O, F and one ring", atoms),
		where: "in the training set", Identity: identity,
	}
	var all []string
	if data == "" {
		all = molecules(atoms)
	} else {
		var err error
		if all, err = read(data); err != nil {
			return nil, err
		}
		c.Name, c.where, c.ofFile = data, "in the data", true
	}
	rng := rand.New(rand.NewPCG(seed, 80))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	cut := len(all) * 8 / 10
	if cut < 1 || cut == len(all) {
		return nil, fmt.Errorf("%s: %d different strings, want ≥ 2", c.Name, len(all))
	}
	c.Train, c.Held, c.old = all[:cut], all[cut:], all
	if data == "" {
		c.old = c.Train
	}
	accepted := 0
	for _, s := range all {
		if _, err := parse(s); err == nil {
			accepted++
		}
	}
	if c.Chemical = float64(accepted) >= understood*float64(len(all)); !c.Chemical {
		c.Identity = func(text string) string { return text }
	}
	c.Known, c.HeldKey = make(map[string]bool), make(map[string]bool)
	for i, s := range all {
		id := c.Identity(s)
		if i < len(c.old) {
			c.Known[id] = true
		}
		if i >= cut {
			c.HeldKey[id] = true
		}
	}
	c.tokenise(all)
	return c, nil
}

// read returns the distinct strings of a file: the text before the first comma of each line or,
// if the first line holds column names, the column smiles.
func read(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seen := make(map[string]bool)
	var all []string
	scan := bufio.NewScanner(f)
	column := 0
	for line := 1; scan.Scan(); line++ {
		cells := strings.Split(scan.Text(), ",")
		for i, s := range cells {
			cells[i] = strings.Trim(s, " \t\r\"\ufeff")
		}
		if line == 1 {
			named := slices.IndexFunc(cells, func(s string) bool { return strings.EqualFold(s, "smiles") })
			if named >= 0 {
				column = named
				continue
			}
		}
		if column >= len(cells) {
			return nil, fmt.Errorf("%s: line %d has %d cells, want ≥ %d: the first line has the name smiles there", path, line, len(cells), column+1)
		}
		if s := cells[column]; s != "" && !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	return all, scan.Err()
}

// identity returns a key that is equal for two strings of the same molecule. The key of a string
// that is not a molecule is unique to the string.
func identity(text string) string {
	m, err := parse(text)
	if err != nil {
		return "not a molecule: " + text
	}
	key, _ := m.delocalised().key()
	return key
}

// tokenise determines the alphabet and the maximum length of the strings.
func (c *Corpus) tokenise(all []string) {
	letters := make(map[rune]bool)
	for _, s := range all {
		n := 0
		for _, r := range s {
			letters[r] = true
			n++
		}
		c.Sites = max(c.Sites, n)
	}
	c.spell(slices.SortedFunc(maps.Keys(letters), cmp.Compare[rune]))
}

// spell sets the alphabet and computes the tokens of the training strings.
func (c *Corpus) spell(letters []rune) {
	c.Letters, c.Pad, c.Levels, c.TrainX = letters, int32(len(letters)), len(letters)+1, nil
	for _, s := range c.Train {
		c.TrainX = append(c.TrainX, c.Tokens(s))
	}
}

// Spell sets the alphabet (letters in ascending order) and the number of sites, for instance to
// those of a trained network. It returns an error if a string has another letter or is longer.
func (c *Corpus) Spell(letters string, sites int) error {
	all := []rune(letters)
	if c.Sites > sites {
		return fmt.Errorf("%s has strings of %d letters, want at most %d", c.Name, c.Sites, sites)
	}
	for _, r := range c.Letters {
		if _, ok := slices.BinarySearch(all, r); !ok {
			return fmt.Errorf("%s has strings with %q, want those of %q", c.Name, r, letters)
		}
	}
	c.Sites = sites
	c.spell(all)
	return nil
}

// token returns the token of a rune, or −1 if there is none.
func (c *Corpus) token(r rune) int32 {
	if t, ok := slices.BinarySearch(c.Letters, r); ok {
		return int32(t)
	}
	return -1
}

// Tokens returns the tokens of a string, padded to the number of sites.
func (c *Corpus) Tokens(s string) []int32 {
	x := make([]int32, 0, c.Sites)
	for _, r := range s {
		x = append(x, c.token(r))
	}
	for len(x) < c.Sites {
		x = append(x, c.Pad)
	}
	return x
}

// Text returns the string of the tokens before the first padding. If a token other than padding
// follows the first padding, Text appends a space, which makes the string invalid.
func (c *Corpus) Text(x []int32) string {
	var b strings.Builder
	ended := false
	for _, t := range x {
		switch {
		case t == c.Pad:
			ended = true
		case ended:
			return b.String() + " "
		default:
			b.WriteRune(c.Letters[t])
		}
	}
	return b.String()
}

// How strings are checked: as molecules, or only by their brackets and ring digits.
const (
	BySMILES = "smiles" // kind of check that parses strings as molecules
	BySyntax = "syntax" // kind of check that compares brackets and ring digits

	// NoMolecules is the note in reports that check only the syntax of strings.
	NoMolecules = "not all of the data are molecules that the judge reads (SMILES in Kekulé form without stereochemistry): brackets and ring digits are judged, not chemistry"
)

// Novel returns a phrase for the report of a run that requires novel strings. The phrase says when
// a string counts as novel with respect to this corpus.
func (c *Corpus) Novel() string {
	if c.ofFile && c.Chemical {
		return "a molecule that is not " + c.where
	}
	return "not " + c.where
}

// Judge returns the kind of check, [BySMILES] or [BySyntax], that [Corpus.Valid] applies.
func (c *Corpus) Judge() string {
	if c.Chemical {
		return BySMILES
	}
	return BySyntax
}

// Judged returns the adjective by which reports describe strings that the given kind of check
// accepts.
func Judged(judge string) string {
	if judge == BySMILES {
		return "valid"
	}
	return "balanced"
}

// Valid reports whether a string is a molecule if the data are molecules, and otherwise whether
// its brackets and ring digits match.
func (c *Corpus) Valid(text string) bool {
	if !c.Chemical {
		return Balanced(text) && !strings.HasSuffix(text, " ")
	}
	_, err := parse(text)
	return err == nil
}

// commonest returns the letter that occurs in the most training strings, or with which the most
// begin.
func (c *Corpus) commonest(first bool) rune {
	count := make([]int, len(c.Letters))
	for _, x := range c.TrainX {
		seen := make(map[int32]bool)
		for i, t := range x {
			if t != c.Pad && !seen[t] && (i == 0 || !first) {
				count[t]++
				seen[t] = true
			}
		}
	}
	return c.Letters[slices.Index(count, slices.Max(count))]
}
