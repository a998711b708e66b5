package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// readGene reads a coding sequence from a GenBank file: the one with the given name, or the only
// one if name is "". It includes up to flank bases on each side.
func readGene(path, name string, flank int) (gene, error) {
	f, err := os.Open(path)
	if err != nil {
		return gene{}, err
	}
	defer f.Close()
	records, err := scanGenBank(f)
	if err != nil {
		return gene{}, fmt.Errorf("%s: %w", path, err)
	}
	r, cds, err := choose(records, name)
	if err == nil {
		var g gene
		if g, err = r.gene(cds, flank); err == nil {
			return g, nil
		}
	}
	return gene{}, fmt.Errorf("%s: %w", path, err)
}

// names lists the qualifiers that -gene is compared with.
var names = []string{"gene", "locus_tag", "protein_id", "product"}

// label returns the name under which lists show a coding sequence.
func (f *feature) label() string {
	for _, name := range names {
		if v, line := f.get(name); line > 0 && v != "" {
			return v
		}
	}
	return fmt.Sprintf("(line %d)", f.line)
}

// choose returns the coding sequence with the given name, or the only one if name is "".
func choose(records []record, name string) (*record, *feature, error) {
	type found struct {
		r *record
		f *feature
	}
	var all, fit []found
	var labels []string
	for i := range records {
		for k := range records[i].features {
			f := &records[i].features[k]
			if f.key != "CDS" {
				continue
			}
			all = append(all, found{&records[i], f})
			if l := f.label(); !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
			if slices.ContainsFunc(names, func(q string) bool {
				v, line := f.get(q)
				return line > 0 && strings.EqualFold(v, name)
			}) {
				fit = append(fit, all[len(all)-1])
			}
		}
	}
	list := strings.Join(labels[:min(20, len(labels))], ", ")
	if len(labels) > 20 {
		list += ", …"
	}
	switch {
	case len(all) == 0:
		return nil, nil, fmt.Errorf("no CDS among the features of %d records", len(records))
	case name == "" && len(all) > 1:
		return nil, nil, fmt.Errorf("%d coding sequences; choose one by -gene: %s", len(all), list)
	case name == "":
		fit = all
	case len(fit) == 0:
		return nil, nil, fmt.Errorf("-gene = %q, want one of %s", name, list)
	case len(fit) > 1:
		return nil, nil, fmt.Errorf("-gene = %q names the coding sequences of lines %d and %d; choose one by /locus_tag, /protein_id or /product", name, fit[0].f.line, fit[1].f.line)
	}
	return fit[0].r, fit[0].f, nil
}

// gene reads a coding sequence of a record. Errors contain the line number.
func (r *record) gene(cds *feature, flank int) (gene, error) {
	fail := func(line int, format string, a ...any) (gene, error) {
		return gene{}, fmt.Errorf("line %d: CDS %s: %w", line, cds.label(), fmt.Errorf(format, a...))
	}
	if r.sequence == "" {
		return fail(cds.line, "the record %s of line %d has no bases, want an ORIGIN", r.name, r.line)
	}
	for _, q := range cds.qualifiers {
		if slices.Contains([]string{"pseudo", "pseudogene", "transl_except", "exception"}, q.name) {
			return fail(q.line, "/%s, want a sequence that is read codon by codon", q.name)
		}
	}
	number := func(name string, unset int, ok func(int) bool, want string) (int, error) {
		text, line := cds.get(name)
		if line == 0 {
			return unset, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || !ok(n) {
			_, err = fail(line, "/%s=%s, want %s", name, text, want)
		}
		return n, err
	}
	skip, err := number("codon_start", 1, func(n int) bool { return 1 <= n && n <= 3 }, "1, 2 or 3")
	if err != nil {
		return gene{}, err
	}
	skip--
	n, err := number("transl_table", 1, func(int) bool { return true }, "the number of a table")
	if err != nil {
		return gene{}, err
	}
	_, line := cds.get("transl_table")
	c, err := newCode(n)
	if err != nil {
		return fail(line, "%w", err)
	}
	where, err := locate(cds.location, len(r.sequence))
	if err != nil {
		return fail(cds.line, "%w", err)
	}
	dna := where.dna(r.sequence)
	if len(dna) < skip+3 {
		return fail(cds.line, "%d bases, want a codon", len(dna))
	}
	if at := strings.IndexFunc(dna, func(c rune) bool { return !strings.ContainsRune("ACGT", c) }); at >= 0 {
		return fail(cds.line, "base %d of the sequence is %c, want A, C, G or T", at+1, dna[at])
	}
	over := (len(dna) - skip) % 3
	if over > 0 && !where.open3 {
		return fail(cds.line, "%d bases in codons, want a multiple of 3, or a location that is partial at its end (>)", len(dna)-skip)
	}
	g := gene{code: c, native: dna[skip : len(dna)-over], open5: where.open5 || skip > 0, open3: where.open3}
	if err := g.translate(g.open5); err != nil {
		return fail(cds.line, "%w", err)
	}
	g.before = where.flank(r, -1, flank-skip) + dna[:skip]
	g.after = dna[len(dna)-over:] + where.flank(r, 1, flank-over)
	g.name = cds.label()
	if v, _ := cds.get("gene"); v != "" {
		g.gene = v
	}
	g.product, _ = cds.get("product")
	if given, at := cds.get("translation"); at > 0 {
		return g, g.compare(given, at, cds.label())
	}
	return g, nil
}

// compare returns an error if the protein differs from the translation given in the file. The
// line and label appear in the error.
func (g *gene) compare(given string, line int, label string) error {
	read := strings.TrimSuffix(g.letters, "*")
	given = strings.TrimSuffix(given, "*")
	if given != "" && read[1:] == given[1:] && given[0] == g.code.amino[g.native[:3]] {
		g.letters = given[:1] + g.letters[1:] // no beginning
		return nil
	}
	for i := range min(len(read), len(given)) {
		if read[i] != given[i] {
			return fmt.Errorf("line %d: CDS %s: /translation has %c as amino acid %d, but codon %s is %c in translation table %d", line, label, given[i], i+1, g.native[3*i:3*i+3], read[i], g.code.table)
		}
	}
	if len(read) != len(given) {
		return fmt.Errorf("line %d: CDS %s: /translation has %d amino acids, but there are %d codons before the end", line, label, len(given), len(read))
	}
	return nil
}
