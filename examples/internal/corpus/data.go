// Package corpus is shared by the examples that learn strings: the strings, from a file
// or all small molecules, their tokens, the languages that constrain runs, and
// independent judges.
package corpus

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// Corpus is the strings that a run learns from, as text and as tokens. Token t <
// Pad is the rune Letters[t]; Pad fills strings up to sites.
type Corpus struct {
	Name           string
	Train, Held    []string
	Letters        []rune
	Pad            int32
	Sites, Levels  int
	TrainX         [][]int32
	Chemical       bool // the judge of molecules understands the strings
	Identity       func(text string) string
	Known, HeldKey map[string]bool // identities of train and held
}

// understood is the share of strings that the judge must accept for the data to
// count as molecules.
const understood = 0.99

// Load makes the corpus of a run: the strings of the file data, or all molecules
// of up to so many atoms if it is "". The seed decides what is held out.
func Load(data string, atoms int, seed uint64) (*Corpus, error) {
	c := &Corpus{Name: fmt.Sprintf("all molecules of up to %d atoms C, N, O, F and one ring", atoms), Identity: identity}
	var all []string
	if data == "" {
		all = molecules(atoms)
	} else {
		var err error
		if all, err = read(data); err != nil {
			return nil, err
		}
		c.Name = data
		c.Identity = func(text string) string { return text }
	}
	rng := rand.New(rand.NewPCG(seed, 80))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	cut := len(all) * 8 / 10
	if cut < 1 || cut == len(all) {
		return nil, fmt.Errorf("%s: %d different strings, want ≥ 2", c.Name, len(all))
	}
	c.Train, c.Held = all[:cut], all[cut:]
	c.Known, c.HeldKey = make(map[string]bool), make(map[string]bool)
	accepted := 0
	for i, s := range all {
		if _, err := parse(s); err == nil {
			accepted++
		}
		if i < cut {
			c.Known[c.Identity(s)] = true
		} else {
			c.HeldKey[c.Identity(s)] = true
		}
	}
	c.Chemical = float64(accepted) >= understood*float64(len(all))
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
	for r := range letters {
		c.Letters = append(c.Letters, r)
	}
	slices.SortFunc(c.Letters, cmp.Compare[rune])
	c.Pad = int32(len(c.Letters))
	c.Levels = len(c.Letters) + 1
	for _, s := range c.Train {
		c.TrainX = append(c.TrainX, c.Tokens(s))
	}
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
