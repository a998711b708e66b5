package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// protein is the protein to encode: one-letter amino acids, and a final * for a stop codon.
type protein struct {
	name, letters string
}

// letters lists the letters of the amino acids and of the stop.
const letters = "ACDEFGHIKLMNPQRSTVWY*"

// gfp is the green fluorescent protein of Aequorea victoria, UniProt P42212.
var gfp = protein{"green fluorescent protein (UniProt P42212)", "" +
	"MSKGEELFTGVVPILVELDGDVNGHKFSVSGEGEGDATYGKLTLKFICTTGKLPVPWPTL" +
	"VTTFSYGVQCFSRYPDHMKQHDFFKSAMPEGYVQERTIFFKDDGNYKTRAEVKFEGDTLV" +
	"NRIELKGIDFKEDGNILGHKLEYNYNSHNVYIMADKQKNGIKVNFKIRHNIEDGSVQLAD" +
	"HYQQNTPIGDGPVLLPDNHYLSTQSALSKDPNEKRDHMVLLEFVTAAGITHGMDELYK"}

func readProtein(path string) (protein, error) {
	return readRecord(path, letters, "amino acids")
}

// scanRecord reads one FASTA record of the given letters. The argument what, such as "amino
// acids", describes the letters in errors. The header may be missing. Lower case and spaces
// between letters are accepted.
func scanRecord(r io.Reader, letters, what string) (protein, error) {
	var p protein
	var b strings.Builder
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20) // of one line
	line, header := 0, 0
	for s.Scan() {
		line++
		text := s.Text()
		if strings.HasPrefix(text, ";") {
			continue // a comment of old FASTA
		}
		if strings.HasPrefix(text, ">") {
			if header > 0 || b.Len() > 0 {
				return p, fmt.Errorf("line %d: a second record, want one protein", line)
			}
			header = line
			p.name = strings.TrimSpace(text[1:])
			continue
		}
		for i, c := range strings.ToUpper(text) {
			switch {
			case c == ' ' || c == '\t' || c == '\r':
			case !strings.ContainsRune(letters, c):
				return p, fmt.Errorf("line %d, column %d: %q is none of the %s %s", line, i+1, c, what, strings.TrimSuffix(letters, "*"))
			case strings.HasSuffix(b.String(), "*"):
				return p, fmt.Errorf("line %d, column %d: %q after the end (*)", line, i+1, c)
			default:
				b.WriteRune(c)
			}
		}
	}
	if err := s.Err(); err != nil {
		return p, fmt.Errorf("line %d: %w", line+1, err)
	}
	if b.Len() == 0 {
		return p, fmt.Errorf("line %d: no %s", line+1, what)
	}
	p.letters = b.String()
	return p, nil
}
