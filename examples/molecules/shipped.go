package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
)

// weights embeds networks with 16-bit weights, trained by the commands in the package comment.
//
//go:embed weights.safetensors weights.safetensors.classes weights.safetensors.classifier
//go:embed qm9.safetensors qm9.safetensors.classes qm9.safetensors.classifier
var weights embed.FS

// shipped is a set of embedded networks. The file holds the plain network; files with a suffix
// hold the guidance networks. They were trained with -seed 1 -lean .2.
type shipped struct {
	file string

	// Set only for data from a file: the letters of its strings, the maximum length, the polar
	// surface that guidance aims at, and the SHA-256 of the training strings, one per line.
	letters string
	sites   int
	least   float64
	trained string

	steps int // training steps of the plain network; 0 for the default of -steps
}

var (
	tiny = &shipped{file: "weights.safetensors"}
	qm9  = &shipped{
		file: "qm9.safetensors", letters: "#()+-12345=CFHNO[]", sites: 28, least: 54.7,
		trained: "31535428a50426be817d0184e1b124e2c2069a0ecf7c9933786206bfe7d2c658",
		steps:   95000,
	}
)

// ownSeed is the seed of the split on which the embedded networks were trained.
const ownSeed = 1

// load returns the strings of a run and the embedded networks for them. The networks are nil if
// others are trained or read.
func (o options) load() (*corpus.Corpus, *shipped, error) {
	if o.train || o.weights != "" {
		c, err := corpus.Load(o.data, o.atoms, o.seed)
		return c, nil, err
	}
	c, err := corpus.Load(o.data, o.atoms, ownSeed)
	if err != nil || o.data == "" {
		return c, tiny, err
	}
	if err = c.Spell(qm9.letters, qm9.sites); err == nil && !c.Chemical {
		err = fmt.Errorf("%s has strings that are no molecules", c.Name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("-data: the program's own network for a file is for QM9: %w; train one on the file by -train, or read one by -weights", err)
	}
	return c, qm9, nil
}

// network loads the embedded network with the given suffix.
func (s *shipped) network(suffix string) (*neural.Transformer, error) {
	name := s.file + suffix
	b, err := weights.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := neural.ReadFile(name, bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return neural.Load(f, neural.Config{})
}

// leans returns the polar surface that guidance aims at: the one reached by the share -lean of
// the training strings, or the one for which the embedded networks were trained.
func (o options) leans(c *corpus.Corpus, s *shipped) float64 {
	if s != nil && s.least > 0 {
		return s.least
	}
	return threshold(c, o.lean)
}

// warnings returns a warning if the data are not those on which the embedded networks were
// trained.
func (s *shipped) warnings(c *corpus.Corpus) []string {
	if s == nil || s.trained == "" || s.trained == digest(c) {
		return nil
	}
	return []string{"the file is not the one that the program's network has learned from: it may have learned from some of the strings that count as held out"}
}

// digest returns the hash of the training strings.
func digest(c *corpus.Corpus) string {
	sum := sha256.Sum256([]byte(strings.Join(c.Train, "\n")))
	return hex.EncodeToString(sum[:])
}
