package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// gene is the input of a design: a protein, and the DNA that encodes it with its flanks, if
// known.
type gene struct {
	protein
	gene, product string // values of the GenBank qualifiers /gene and /product
	native        string // DNA that encodes the protein; "" if not known
	code          *code  // genetic code of native
	before, after string // bases before and after the coding sequence
	open5, open3  bool   // whether the coding sequence is partial at its beginning or end
}

// load reads the input chosen by the options.
func load(o options) (gene, error) {
	var g gene
	var err error
	switch {
	case o.genbank != "":
		g, err = readGene(o.genbank, o.gene, o.flank)
	case o.dna != "":
		g, err = readDNA(o.dna, o.code)
	case o.protein != "":
		g.protein, err = readProtein(o.protein)
	default:
		g.protein = gfp
	}
	if o.before != "" {
		g.before = o.before
	}
	if o.after != "" {
		g.after = o.after
	}
	return g, err
}

// readDNA reads a coding sequence from a FASTA file.
func readDNA(path string, c *code) (gene, error) {
	p, err := readRecord(path, "ACGTU", "bases")
	if err != nil {
		return gene{}, err
	}
	g := gene{protein: p, native: strings.ReplaceAll(p.letters, "U", "T"), code: c}
	if err := g.translate(false); err != nil {
		return g, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// translate sets the protein that the native DNA encodes. A start codon at the beginning is read
// as M unless the sequence is partial.
func (g *gene) translate(partial bool) error {
	if len(g.native) == 0 || len(g.native)%3 != 0 {
		return fmt.Errorf("a coding sequence of %d bases, want a positive multiple of 3", len(g.native))
	}
	g.letters = g.code.read(g.native)
	if first := g.native[:3]; !partial && g.code.begins(first) {
		g.letters = "M" + g.letters[1:]
	}
	if at := strings.IndexByte(g.letters, '*'); at >= 0 && at < len(g.letters)-1 {
		return fmt.Errorf("codon %d, %s, is a stop codon of translation table %d within the sequence of %d codons", at+1, g.native[3*at:3*at+3], g.code.table, len(g.letters))
	}
	if g.letters == "*" {
		return fmt.Errorf("a coding sequence with only a stop codon, want an amino acid")
	}
	return nil
}

// readRecord reads one FASTA record of the given letters.
func readRecord(path, letters, what string) (protein, error) {
	f, err := os.Open(path)
	if err != nil {
		return protein{}, err
	}
	defer f.Close()
	p, err := scanRecord(f, letters, what)
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	if p.name == "" {
		p.name = path
	}
	return p, nil
}

// keep parses -keep and returns the protected codons by index from 0. The list "1-10,25"
// protects codons of the native DNA; "25=CTG" sets a codon.
func keep(list string, g gene, c *code) (map[int]string, error) {
	kept := make(map[int]string)
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		places, codon, given := strings.Cut(item, "=")
		low, high, several := strings.Cut(places, "-")
		if !several {
			high = low
		}
		from, errA := strconv.Atoi(strings.TrimSpace(low))
		to, errB := strconv.Atoi(strings.TrimSpace(high))
		if errA != nil || errB != nil {
			return nil, fmt.Errorf("-keep: %q, want codons such as 1-10 or 25 or 25=CTG", item)
		}
		if n := len(g.letters); from < 1 || to > n || from > to {
			return nil, fmt.Errorf("-keep: codons %q, want some of 1 … %d, the lower one first", places, n)
		}
		if !given && g.native == "" {
			return nil, fmt.Errorf("-keep: %q keeps codons of -genbank or -dna, and there is neither; want 25=CTG, say", item)
		}
		codon = strings.ReplaceAll(strings.ToUpper(strings.TrimSpace(codon)), "U", "T")
		for i := from - 1; i < to; i++ {
			is := codon
			if !given {
				is = g.native[3*i : 3*i+3]
			}
			aa, ok := c.amino[is]
			if !ok {
				return nil, fmt.Errorf("-keep: %q, want a codon of A, C, G and T, not %q", item, codon)
			}
			if begins := i == 0 && g.letters[0] == 'M' && c.begins(is); aa != g.letters[i] && !begins {
				return nil, fmt.Errorf("-keep: codon %d, %s, stands for %c in translation table %d, want %c", i+1, is, aa, c.table, g.letters[i])
			}
			if was, ok := kept[i]; ok && was != is {
				return nil, fmt.Errorf("-keep: codon %d is %s and %s", i+1, was, is)
			}
			kept[i] = is
		}
	}
	return kept, nil
}
