// Package corpus is shared by the examples that learn strings: the strings, from a file
// or all small molecules, their tokens, the languages that constrain runs, and
// independent judges.
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

// Corpus is the strings that a run learns from, as text and as tokens. Token t <
// Pad is the rune Letters[t]; Pad fills strings up to sites.
//
// Known are the strings that are not new: those of a file, held out or not, or those that
// the program learns from if it has made them itself. Identity is the same for two strings
// of one molecule, if the data are molecules.
type Corpus struct {
	Name           string
	Train, Held    []string
	Letters        []rune
	Pad            int32
	Sites, Levels  int
	TrainX         [][]int32
	Chemical       bool // the judge of molecules understands the strings
	Identity       func(text string) string
	Known, HeldKey map[string]bool // identities of what is not new, and of what is held out

	old    []string // what is not new
	where  string   // it is
	ofFile bool
}

// understood is the share of strings that the judge must accept for the data to
// count as molecules.
const understood = 0.99

// Load makes the corpus of a run: the strings of the file data, or all molecules
// of up to so many atoms if it is "". The seed decides what is held out.
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

// read returns the different strings of a file: of each line what comes before a
// comma or, if the first line has the names of columns, the column smiles.
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

// identity is what makes two strings the same molecule; strings that are none
// are only the same as themselves.
func identity(text string) string {
	m, err := parse(text)
	if err != nil {
		return "not a molecule: " + text
	}
	key, _ := m.delocalised().key()
	return key
}

// tokenise finds the alphabet and the length of the strings.
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

// spell writes the training strings with these letters.
func (c *Corpus) spell(letters []rune) {
	c.Letters, c.Pad, c.Levels, c.TrainX = letters, int32(len(letters)), len(letters)+1, nil
	for _, s := range c.Train {
		c.TrainX = append(c.TrainX, c.Tokens(s))
	}
}

// Spell has the corpus use the letters, ascending, and the length of another, such as
// that which a network has been trained on. It is an error if a string has other letters
// or is longer.
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

// token returns the token of a rune, −1 if there is none.
func (c *Corpus) token(r rune) int32 {
	if t, ok := slices.BinarySearch(c.Letters, r); ok {
		return int32(t)
	}
	return -1
}

// Tokens spells a string, padded.
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

// Text joins tokens up to the first pad; what follows it other than pads makes
// the string unreadable, which a blank shows.
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

// How strings are judged: as molecules, or by their brackets and ring digits alone.
const (
	BySMILES = "smiles"
	BySyntax = "syntax"

	// NoMolecules says what reports by syntax mean.
	NoMolecules = "not all of the data are molecules that the judge reads (SMILES in Kekulé form without stereochemistry): brackets and ring digits are judged, not chemistry"
)

// Novel says what a novel run asks for.
func (c *Corpus) Novel() string {
	if c.ofFile && c.Chemical {
		return "a molecule that is not " + c.where
	}
	return "not " + c.where
}

// Judge returns how Valid judges.
func (c *Corpus) Judge() string {
	if c.Chemical {
		return BySMILES
	}
	return BySyntax
}

// Judged is what to call strings that a judge accepts.
func Judged(judge string) string {
	if judge == BySMILES {
		return "valid"
	}
	return "balanced"
}

// Valid judges a string: as a molecule if the data are molecules, otherwise by
// its brackets and digits.
func (c *Corpus) Valid(text string) bool {
	if !c.Chemical {
		return Balanced(text) && !strings.HasSuffix(text, " ")
	}
	_, err := parse(text)
	return err == nil
}

// commonest returns the letter that most training strings have, or begin with.
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
