package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// writeGenBankRecord writes a design with its flanks as a GenBank record.
func (g *gene) writeGenBankRecord(w io.Writer, name, comment, dna string, table int, date time.Time) {
	whole := g.before + dna + g.after
	title := strings.Join(strings.Fields(g.protein.name), " ")
	fmt.Fprintf(w, "LOCUS       %-16s %11d bp    DNA     linear   SYN %s\n", name, len(whole), strings.ToUpper(date.Format("02-Jan-2006")))
	fmt.Fprintf(w, "DEFINITION  Synthetic DNA for %s.\nACCESSION   .\nVERSION     .\nKEYWORDS    .\n", title)
	fmt.Fprintf(w, "SOURCE      synthetic construct\n  ORGANISM  synthetic construct\n            other sequences; artificial sequences.\n")
	fmt.Fprintf(w, "COMMENT     %s\n", comment)
	fmt.Fprintf(w, "FEATURES             Location/Qualifiers\n     source          1..%d\n", len(whole))
	fmt.Fprintf(w, "%21s/organism=\"synthetic construct\"\n%21s/mol_type=\"other DNA\"\n", "", "")
	from, to := fmt.Sprint(len(g.before)+1), fmt.Sprint(len(g.before)+len(dna))
	if g.open5 || g.letters[0] != 'M' {
		from = "<" + from
	}
	if g.open3 || !strings.HasSuffix(g.letters, "*") {
		to = ">" + to
	}
	fmt.Fprintf(w, "     CDS             %s..%s\n", from, to)
	if g.gene != "" {
		wrapped(w, "gene", g.gene)
	}
	fmt.Fprintf(w, "%21s/codon_start=1\n%21s/transl_table=%d\n", "", "", table)
	product := g.product
	if product == "" {
		product = title
	}
	wrapped(w, "product", product)
	translation := fmt.Sprintf("/translation=%q", strings.TrimSuffix(g.letters, "*"))
	for len(translation) > 0 {
		n := min(58, len(translation))
		fmt.Fprintf(w, "%21s%s\n", "", translation[:n])
		translation = translation[n:]
	}
	fmt.Fprintln(w, "ORIGIN")
	for at := 0; at < len(whole); at += 60 {
		fmt.Fprintf(w, "%9d", at+1)
		for k := at; k < min(at+60, len(whole)); k += 10 {
			fmt.Fprintf(w, " %s", strings.ToLower(whole[k:min(k+10, len(whole))]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "//")
}

// wrapped writes a qualifier, wrapped at spaces to lines of 80 characters.
func wrapped(w io.Writer, name, value string) {
	line := ""
	for _, word := range strings.Fields(fmt.Sprintf(`/%s="%s"`, name, strings.ReplaceAll(value, `"`, `""`))) {
		if line != "" && len(line)+1+len(word) > 58 {
			fmt.Fprintf(w, "%21s%s\n", "", line)
			line = word
			continue
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintf(w, "%21s%s\n", "", line)
}
