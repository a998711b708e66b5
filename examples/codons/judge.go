package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// The judge reads designs as strings of bases and shares no code with what made
// them: its own genetic code, its own reading of sites and strands.

// tables maps an NCBI translation table to the amino acids of all codons. The index of a codon
// is its number in base 4 with the digits T, C, A, G.
var tables = map[int]string{
	1:  "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	2:  "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIMMTTTTNNKKSS**VVVVAAAADDEEGGGG",
	3:  "FFLLSSSSYY**CCWWTTTTPPPPHHQQRRRRIIMMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	4:  "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	5:  "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIMMTTTTNNKKSSSSVVVVAAAADDEEGGGG",
	6:  "FFLLSSSSYYQQCC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	9:  "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIIMTTTTNNNKSSSSVVVVAAAADDEEGGGG",
	10: "FFLLSSSSYY**CCCWLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	11: "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	12: "FFLLSSSSYY**CC*WLLLSPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	13: "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIMMTTTTNNKKSSGGVVVVAAAADDEEGGGG",
	14: "FFLLSSSSYYY*CCWWLLLLPPPPHHQQRRRRIIIMTTTTNNNKSSSSVVVVAAAADDEEGGGG",
	16: "FFLLSSSSYY*LCC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	21: "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIMMTTTTNNNKSSSSVVVVAAAADDEEGGGG",
	22: "FFLLSS*SYY*LCC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	23: "FF*LSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
	24: "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSSKVVVVAAAADDEEGGGG",
	25: "FFLLSSSSYY**CCGWLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
}

// translate returns the protein of a DNA string, with ? for three letters that are not a codon.
func translate(table int, dna string) string {
	var b strings.Builder
	for ; len(dna) >= 3; dna = dna[3:] {
		index := 0
		for i := range 3 {
			digit := strings.IndexByte("TCAG", dna[i])
			if digit < 0 {
				index = -1
				break
			}
			index = 4*index + digit
		}
		if index < 0 {
			b.WriteByte('?')
		} else {
			b.WriteByte(tables[table][index])
		}
	}
	return b.String() + strings.Repeat("?", len(dna))
}

// gcContent returns the share of G and C.
func gcContent(dna string) float64 {
	return float64(strings.Count(dna, "G")+strings.Count(dna, "C")) / float64(len(dna))
}

// longestRun returns the length of the longest homopolymer with at least one base in [from, to).
func longestRun(dna string, from, to int) int {
	longest, length := 0, 0
	for i := range dna {
		if i > 0 && dna[i] == dna[i-1] {
			length++
		} else {
			length = 1
		}
		if i >= from && i-length+1 < to {
			longest = max(longest, length)
		}
	}
	return longest
}

var pairs = strings.NewReplacer("A", "T", "T", "A", "C", "G", "G", "C")

// strand2 returns the other strand, read in its own direction.
func strand2(dna string) string {
	other := []byte(pairs.Replace(dna))
	for i, j := 0, len(other)-1; i < j; i, j = i+1, j-1 {
		other[i], other[j] = other[j], other[i]
	}
	return string(other)
}

// ambiguity maps each base to the IUPAC letters that include it.
var ambiguity = map[byte]string{'A': "ARWMDHVN", 'C': "CYSMBHVN", 'G': "GRSKBDVN", 'T': "TYWKBDHN"}

// fits reports whether the bases match a site.
func fits(site, dna string) bool {
	for i := range site {
		if dna[i] == site[i] {
			continue
		}
		if strings.IndexByte("ACGT", site[i]) >= 0 || strings.IndexByte(ambiguity[dna[i]], site[i]) < 0 {
			return false
		}
	}
	return true
}

// occurrences counts the positions with at least one base in [from, to) at which a site occurs
// on either strand.
func occurrences(site, dna string, from, to int) int {
	n := 0
	if strings.Trim(site, "ACGT") == "" {
		words := []string{site, strand2(site)}
		if words[0] == words[1] {
			words = words[:1] // one place, read on both strands
		}
		for _, word := range words {
			for at, end := max(0, from-len(site)+1), min(len(dna), to+len(site)-1); at < end; at++ {
				next := strings.Index(dna[at:end], word)
				if next < 0 {
					break
				}
				at += next
				n++
			}
		}
		return n
	}
	back := strand2(dna)
	for at := max(0, from-len(site)+1); at < to && at+len(site) <= len(dna); at++ {
		end := at + len(site)
		if fits(site, dna[at:end]) || fits(site, back[len(dna)-end:len(dna)-at]) {
			n++
		}
	}
	return n
}

// even reports whether the GC content of every window with at least one base in [from, to) is
// within the bounds.
func (w *window) even(dna string, from, to int) bool {
	for at := 0; at+w.size <= len(dna); at += w.step {
		if at >= to || at+w.size <= from {
			continue
		}
		if gc := gcContent(dna[at : at+w.size]); gc < w.low || gc > w.high {
			return false
		}
	}
	return true
}

// repeats reports whether a word of k bases occurs twice, at least once with a base in [from,
// to).
func repeats(dna string, k, from, to int) bool {
	last := make(map[string]bool) // whether an occurrence so far is of the design
	for at := 0; at+k <= len(dna); at++ {
		own := at < to && at+k > from
		was, seen := last[dna[at:at+k]]
		if seen && (own || was) {
			return true
		}
		last[dna[at:at+k]] = own || was
	}
	return false
}

// judge checks a design against the options. The results are in the order of [demands].
func judge(t *task, dna string) []bool {
	whole := t.gene.before + dna + t.gene.after
	from := len(t.gene.before)
	to := from + len(dna)
	read := translate(t.options.code.table, dna)
	if codon, ok := t.kept[0]; ok && strings.HasPrefix(dna, codon) {
		read = t.letters[:1] + read[1:] // a codon that stays may begin a protein in its own way
	}
	gc := gcContent(dna)
	ok := []bool{read == t.letters, t.low <= gc && gc <= t.high}
	for _, site := range t.avoid {
		ok = append(ok, occurrences(site, whole, from, to) == 0)
	}
	for _, r := range t.require {
		n := occurrences(r.site, whole, from, to)
		ok = append(ok, n > 0 && (r.times == 0 || n == r.times))
	}
	if t.run > 0 {
		ok = append(ok, longestRun(whole, from, to) <= t.run)
	}
	if t.windows != nil {
		ok = append(ok, t.windows.even(whole, from, to))
	}
	if t.keep != "" {
		same := true
		for i, codon := range t.kept {
			same = same && len(dna) >= 3*i+3 && dna[3*i:3*i+3] == codon
		}
		ok = append(ok, same)
	}
	if t.unique > 0 {
		ok = append(ok, !repeats(whole, t.unique, from, to))
	}
	return ok
}

// demands returns the names of the tests of judge.
func demands(t *task) []string {
	names := []string{"encodes the protein", fmt.Sprintf("GC content in [%v, %v]", t.low, t.high)}
	for _, site := range t.avoid {
		names = append(names, "no "+site+" on either strand")
	}
	for _, r := range t.require {
		names = append(names, r.String()+" on either strand")
	}
	if t.run > 0 {
		names = append(names, fmt.Sprintf("no run longer than %d", t.run))
	}
	if t.windows != nil {
		names = append(names, t.windows.String())
	}
	if t.keep != "" {
		names = append(names, fmt.Sprintf("codons kept: %d", len(t.kept)))
	}
	if t.unique > 0 {
		names = append(names, fmt.Sprintf("no %d bases twice", t.unique))
	}
	return names
}

// free holds the results of designs drawn without constraints.
type free struct {
	trials, accepted int
	passed           []int     // number of designs that pass each test
	gc, cai          []float64 // GC content and adaptation index of each design
}

// chunk is the number of designs drawn at a time.
const chunk = 256

// reject draws designs from codon usage given the protein, without other constraints, and checks
// them.
func reject(ctx context.Context, t *task) (*free, error) {
	alone, err := t.compile(ctx, "the protein")
	if err != nil {
		return nil, err
	}
	n := len(t.letters)
	f := &free{passed: make([]int, len(demands(t)))}
	stream := sampler.NewStream(t.seed, 1)
	bar := progress.New("unconstrained designs")
	defer bar.Done()
	x := make([]int32, chunk*n)
	for f.trials < t.trials {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some := x[:min(chunk, t.trials-f.trials)*n]
		if _, err := alone.Sample(ctx, some, t.table, stream); err != nil {
			return nil, err
		}
		for ; len(some) > 0; some = some[n:] {
			f.judge(t, bases(some[:n]))
		}
		bar.Set(f.trials, t.trials)
	}
	return f, nil
}

func (f *free) judge(t *task, dna string) {
	all := true
	for i, ok := range judge(t, dna) {
		if ok {
			f.passed[i]++
		}
		all = all && ok
	}
	if all {
		f.accepted++
	}
	f.trials++
	f.gc = append(f.gc, gcContent(dna))
	f.cai = append(f.cai, adaptation(t.host, t.options.code.table, dna))
}
