package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// gene is what a design replaces: a protein, perhaps with the DNA that encodes it
// now and what stands around it.
type gene struct {
	protein
	gene, product string // qualifiers of GenBank
	native        string // the DNA that encodes it, "" if there is none
	code          *code  // that native is read by
	before, after string // flanks
	open5, open3  bool   // the coding sequence is partial at an end
}

// load reads what the options name.
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

// translate reads the protein off the native DNA; a partial sequence begins with any
// codon.
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
		return fmt.Errorf("a coding sequence of a stop codon alone, want an amino acid")
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

// keep returns the protected codons by their number, counted from 0: "1-10,25" are
// those of the native DNA, "25=CTG" says what a codon is.
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
