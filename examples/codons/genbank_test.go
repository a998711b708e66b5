package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// plasmid is a record in the manner of GenBank's files: a circular plasmid of 120
// bases with a gene on each strand, one that is joined and one that runs across the
// origin.
const plasmid = `LOCUS       pTEST                    120 bp    DNA     circular SYN 05-MAR-2019
DEFINITION  Cloning vector pTEST, complete sequence; a record
            made up for a test.
ACCESSION   XX000001
VERSION     XX000001.1
KEYWORDS    .
SOURCE      synthetic construct
  ORGANISM  synthetic construct
            other sequences; artificial sequences.
FEATURES             Location/Qualifiers
     source          1..120
                     /organism="synthetic construct"
                     /mol_type="other DNA"
     gene            11..25
                     /gene="fwd"
     CDS             11..25
                     /gene="fwd"
                     /note="a ""quoted"" word, and /a slash
                     /codon_start=3 within a value"
                     /codon_start=1
                     /transl_table=11
                     /product="forward peptide of a
                     test"
                     /protein_id="AAA00001.1"
                     /translation="MKGW"
     CDS             complement(join(31..36,41..43,
                     50..55))
                     /gene="rev"
                     /locus_tag="T_002"
                     /translation="MLS
                     K"
     CDS             join(113..120,1..4)
                     /locus_tag="T_003"
                     /transl_table=4
     CDS             <61..>70
                     /product="a piece"
                     /codon_start=2
     misc_feature    100..101
                     /label=tag
ORIGIN
        1 tttgacttat gtgaaaggct ggtgaaacgt ttatttgtnt gctcagtgaa agcatggaat
       61 caaagttcac gattacaccc cccccccccc ccccccccct gcccccccag gaatgtgatg
//
`

func TestGenBankIsRead(t *testing.T) {
	path := write(t, plasmid)
	for _, c := range []struct {
		name                                   string
		flank                                  int
		letters, native, before, after, called string
	}{
		{"fwd", 6, "MKGW*", "GTGAAAGGCTGGTGA", "ACTTAT", "AACGTT", "fwd"}, // GTG begins a protein
		{"FWD", 0, "MKGW*", "GTGAAAGGCTGGTGA", "", "", "fwd"},
		{"forward peptide of a test", 2, "MKGW*", "GTGAAAGGCTGGTGA", "AT", "AA", "fwd"},
		{"AAA00001.1", 12, "MKGW*", "GTGAAAGGCTGGTGA", "TGTTTGACTTAT", "AACGTTTATTTG", "fwd"}, // round the circle
		{"T_002", 5, "MLSK*", "ATGCTTAGCAAATAA", "ATTCC", "ACGTT", "rev"},                     // the other strand, three pieces
		{"T_003", 3, "MWCL", "ATGTGATGTTTG", "GGA", "ACT", "T_003"},                           // across the origin, TGA is W
		{"a piece", 4, "KVH", "AAAGTTCAC", "AATC", "GATT", "a piece"},                         // partial, from its second base
	} {
		g, err := readGene(path, c.name, c.flank)
		if err != nil || g.letters != c.letters || g.native != c.native || g.before != c.before || g.after != c.after || g.name != c.called {
			t.Errorf("%s: %+v, %v", c.name, g, err)
		}
	}
	g, err := readGene(path, "fwd", 1000)
	if err != nil || !strings.HasSuffix("T"+g.after, "TAACGTTTATTTGT") || !strings.HasPrefix(g.before, "TGCTCAGTGA") || len(g.before) != 120-40+1+10 {
		t.Errorf("flanks end at N: %q and %q, %v", g.before, g.after, err) // base 39 is N
	}
}

// A file with one change each, and what is said of it.
func TestGenBankErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct{ was, is, gene, want string }{
		{"LOCUS  ", "LOCOS  ", "", "line 1: \"LOCOS"},
		{"120 bp", "121 bp", "fwd", "line 43: 120 bases in the record pTEST, but LOCUS in line 1 says 121"},
		{"120 bp", "120 aa", "fwd", "line 1: pTEST is a protein"},
		{"120 bp", "x bp", "fwd", "line 1: LOCUS: length \"x\""},
		{"//\n", "", "fwd", "line 42: the file ends within the record pTEST of line 1"},
		{"//\n", "LOCUS x\n", "fwd", "line 43: LOCUS within the record of line 1"},
		{"       61 ca", "       62 ca", "fwd", "line 42: \"62\" before the bases, want their number 61"},
		{"cagtgaa ag", "cagt!aa ag", "fwd", "line 41: \"!\" is no base"},
		{"/gene=\"rev\"", "/gene=\"rev", "rev", "line 29: \"T_002"},
		{"/label=tag", "/label=\"tag", "fwd", "line 40: \"ORIGIN\" within the value that line 39 begins"},
		{"/label=tag", "label=tag", "fwd", ""},
		{"50..55))", "50..55)", "rev", "line 26: CDS rev: location complement(join(31..36,41..43,50..55): \"\", want a closing bracket"},
		{"join(31..36", "join(31..360", "rev", "line 26: CDS rev: location complement(join(31..360,41..43,50..55)): 31..360, want bases of 1 … 120"},
		{"join(31..36", "join(36..31", "rev", "36..31, want bases of 1 … 120, the lower one first"},
		{"join(31..36", "order(31..36", "rev", "\"order(31..36,41..43,50..55))\", want a number of a base"},
		{"join(113", "join(J00194.1:113", "T_003", "line 32: CDS T_003: location join(J00194.1:113..120,1..4)"},
		{"113..120,", "113^114,", "T_003", "want a closing bracket"},
		{"CDS             11..25", "CDS", "fwd", "line 16: \"CDS\", want a feature and its location"},
		{"CDS             11..25", "CDS             11..24", "fwd", "line 16: CDS fwd: 14 bases in codons, want a multiple of 3"},
		{"CDS             11..25", "CDS             11..12", "fwd", "line 16: CDS fwd: 2 bases, want a codon"},
		{"CDS             11..25", "CDS             31..42", "fwd", "line 16: CDS fwd: base 9 of the sequence is N"},
		{"codon_start=1\n", "codon_start=4\n", "fwd", "/codon_start=4, want 1, 2 or 3"},
		{"transl_table=11", "transl_table=7", "fwd", "line 21: CDS fwd: translation table 7, want 1 … 6"},
		{"transl_table=11", "transl_table=eleven", "fwd", "/transl_table=eleven, want the number of a table"},
		{"transl_table=4", "transl_table=11", "T_003", "line 32: CDS T_003: codon 2, TGA, is a stop codon of translation table 11"},
		{"MKGW", "MKGY", "fwd", "line 25: CDS fwd: /translation has Y as amino acid 4, but codon TGG is W"},
		{"MKGW", "MKG", "fwd", "line 25: CDS fwd: /translation has 3 amino acids, but there are 4 codons"},
		{"/locus_tag=\"T_003\"", "/locus_tag=\"T_003\"\n                     /pseudo", "T_003", "line 34: CDS T_003: /pseudo"},
		{"", "", "", "4 coding sequences; choose one by -gene: fwd, rev, T_003, a piece"},
		{"", "", "lacZ", "-gene = \"lacZ\", want one of fwd, rev"},
		{"/gene=\"rev\"", "/gene=\"fwd\"", "fwd", "names the coding sequences of lines 16 and 26"},
		{"CDS  ", "ABC  ", "fwd", "no CDS among the features of 1 records"},
		{"     misc_feature", "\tmisc_feature", "fwd", "line 38: \"\\tmisc_feature"},
	} {
		text := strings.ReplaceAll(plasmid, c.was, c.is)
		if c.was == "" {
			text = plasmid
		}
		path := write(t, text)
		_, err := readGene(path, c.gene, 30)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.is, err, c.want)
		}
	}
	for _, text := range []string{"", "\n\n"} {
		if _, err := readGene(write(t, text), "", 0); err == nil || !strings.Contains(err.Error(), "no record, want LOCUS") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is written reads back as the same gene, with another DNA.
func TestGenBankReadsBack(t *testing.T) {
	path := write(t, plasmid)
	for _, c := range []struct{ gene, more string }{
		{"fwd", "-keep 1,5"},
		{"rev", "-before CC -after GG"},
		{"T_003", "-code 4"},
		{"a piece", "-flank 4"},
	} {
		dir := t.TempDir()
		args := append([]string{"-genbank", path, "-gene", c.gene, "-gc", "0,1", "-designs", "2", "-trials", "2", "-out", dir}, strings.Fields(c.more)...)
		r := do(t, args...)
		o, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		was, err := load(o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "designs.gb"))
		if err != nil {
			t.Fatal(err)
		}
		records, err := scanGenBank(strings.NewReader(string(text)))
		if err != nil || len(records) != 3 || records[2].name != "design_2" {
			t.Fatalf("%d records, %v\n%s", len(records), err, text)
		}
		for i, f := range []figure{r.Map, r.Designs[0], r.Designs[1]} {
			got, err := records[i].gene(&records[i].features[1], 1000)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got.native != f.DNA || got.letters != was.letters || got.before != was.before || got.after != was.after || got.gene != was.gene ||
				got.open5 != (was.open5 || was.letters[0] != 'M') || got.open3 != (was.open3 || !strings.HasSuffix(was.letters, "*")) {
				t.Errorf("%s: %+v is not %+v", c.gene, got, was)
			}
			if was.product != "" && got.product != was.product {
				t.Errorf("%s: product %q, want %q", c.gene, got.product, was.product)
			}
			if c.gene == "fwd" && (f.DNA[:3] != "GTG" || f.DNA[12:] != "TGA") {
				t.Errorf("%s: codons 1 and 5 are not kept", f.DNA)
			}
		}
	}
	// Long and odd names.
	var b strings.Builder
	odd := gene{protein: protein{"x", "MKKKK*"}, gene: `a "b"`, product: strings.Repeat(`a long name "in quotes" `, 9) + "end", code: must(newCode(11))}
	odd.writeGenBankRecord(&b, "odd", "none", "ATGAAAAAGAAAAAGTAA", 11, time.Unix(0, 0))
	records, err := scanGenBank(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := records[0].gene(&records[0].features[1], 0)
	if err != nil || got.gene != odd.gene || got.product != odd.product {
		t.Errorf("%v: %+v\n%s", err, got, b.String())
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 81 {
			t.Errorf("%d letters: %s", len(line)-1, line)
		}
	}
}

func FuzzGenBank(f *testing.F) {
	f.Add(plasmid)
	f.Add("LOCUS x\nFEATURES\n     CDS  join(1..2,\n                     1..3)\nORIGIN\n 1 acg\n//\n")
	f.Fuzz(func(t *testing.T, text string) {
		records, err := scanGenBank(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range records {
			for k := range records[i].features {
				if g, err := records[i].gene(&records[i].features[k], 10); err == nil && len(g.native) != 3*len(g.letters) {
					t.Errorf("%d bases of %d codons", len(g.native), len(g.letters))
				}
			}
		}
	})
}
