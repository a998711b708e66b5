package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// some are sixty strings of QM9.
const some = `
	C#C CC12OC1CC=C2 CC1=C(N)N=C(O)O1 CN(C)CC#CC#N NC(CO)C(N)C#N O=C1CCC(=C1)C#N OCCC1CC=CC1 CCC1=C(C)COC1
	C1CC2(C1)C1COC21 CC1C(C)N1C1CC1 ON=C1CCCC(O)C1 O1C=CN=C2C=NC=C12 CC1=C(N)NC(=C1)C#N CC1=NC=CC=C1C=O
	CCC1=C(NC)N=CO1 N#CC1(CN1)C1COC1 N#CC1OCC11CCN1 C1C2C3CCC4C1C4C23 C1CC11COC2(CC2)C1 O=C(CC1CN1)C1CC1
	O=C1NC2C3CCC2C13 N=C1NCC2OC2C1=O O=CC12OCC3C1OC23 O=CNC1=NCCCO1 CC#CCC12CC(C1)C2 CC(=O)CC1=NCCO1
	CC(O)C(=O)NCC=O CC(O)CC1CNC1=O CC1(C)C(=O)CC11CO1 CC1(CC#N)OC1C=O CC12C3OC(C13)C2(C)C CC12NC1C(=O)C2(C)O
	CC12CN3C1C2C3(C)C CC12CCCC1N=CO2 OC1C(=N)NC=C1C#C CC1C2C(OC12C)C#N OC1C2CC(=CC12)C#N OC1C2CC3(CC3)CC12
	CC1N=COC1(C)C=O CC(=O)C1(CC1O)C#C OC1CC2(O)C3NC2C13 NC1CN2CC1(C2)C#N CC1CC(C)(CO1)C#N CC1(CCCC1O)C=O
	COC(=O)C(C)(C)C#N COC(C)=NC(C)C#C COC(CO)CC(N)=O COC1(CO)COC1C OCC12CC1C(N2)C#N CCC1=CCOC1C#N COC1C2CN3C2C13C
	CCC1CN1C1(C)CC1 OCC1CCC=C1CO COCC(C)CC1CO1 CC1OC(CCO)C1C CCCCN=COC=O CC1=C(C)C(C=O)=NN1 CN(C=N)C1=NOC=N1
	NC(=N)N1C=NNC1=O OCC1=C(NN=C1)C#C C1C2CC3OC4CC1C234
`

// fileOf makes a file of strings, a line each.
func fileOf(t *testing.T, header string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(header+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The networks of QM9 come with the program and take a part of QM9, too, with columns
// or without, whatever the seed; what is novel is so as a molecule, in any spelling.
func TestOwnWeightsOfQM9(t *testing.T) {
	exact.SkipUnderRace(t)
	lines := strings.Fields(some)
	path := fileOf(t, "", lines...)
	r := do(t, "-data", path, "-n", "24", "-run", "syntax,novel", "-seed", "2")
	if r.Weights != 798868 || r.Train != 48 || !(r.NLL < 20) || len(r.Warnings()) != 1 || !strings.Contains(r.String(), "not the one that") {
		t.Errorf("%s", r)
	}
	c, err := corpus.Load(path, 6, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Runs {
		if f.Violations > 0 || f.N != 24 || f.Valid < 12 || f.Seconds <= 0 {
			t.Errorf("%+v", f)
		}
	}
	made := make(map[string]bool)
	for _, s := range r.Runs[1].samples {
		id := c.Identity(s)
		if c.Known[id] || made[id] || !c.Valid(s) {
			t.Errorf("%s is known, or no molecule", s)
		}
		made[id] = true
	}
	for i, s := range lines {
		lines[i] = "gdb_1," + s + ",1.5"
	}
	again := do(t, "-data", fileOf(t, "mol_id,smiles,A\n", lines...), "-n", "24", "-run", "syntax,novel", "-seed", "2")
	for k, f := range r.Runs {
		if strings.Join(f.samples, " ") != strings.Join(again.Runs[k].samples, " ") {
			t.Errorf("%s: other samples where the strings are in a column", f.Name)
		}
	}
}

// All files of networks fit their data, and are small.
func TestShippedFiles(t *testing.T) {
	for _, s := range []*shipped{tiny, qm9} {
		length, levels := 0, len(s.letters)+2 // padding and the mask
		for _, suffix := range []string{"", ".classes", ".classifier"} {
			net, err := s.network(suffix)
			if err != nil {
				t.Fatal(err)
			}
			cfg := net.Config()
			if length == 0 {
				length = cfg.Length
			}
			if cfg.Length != length || s == qm9 && (cfg.Length != s.sites || cfg.Levels != levels) || (suffix == ".classes") != (cfg.Classes == 2) {
				t.Errorf("%s%s: %+v", s.file, suffix, cfg)
			}
			f, err := weights.Open(s.file + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := f.Stat(); err != nil || info.Size() > 2<<20 {
				t.Errorf("%s%s: %d bytes, %v", s.file, suffix, info.Size(), err)
			}
			f.Close()
		}
	}
}

// Data that are not of the kind of QM9 are refused, with what to do.
func TestDataThatAreNotQM9(t *testing.T) {
	for want, lines := range map[string][]string{
		"strings with 'S'":                       {"CCS", "CCO"},
		"strings of 30 letters, want at most 28": {strings.Repeat("C", 30), "CCO"},
		"strings that are no molecules":          {"C((", "C)C", "CC"},
		"":                                       nil,
	} {
		if lines == nil {
			want, lines = "1 different strings, want", []string{"CC"}
		}
		_, err := try("-data", fileOf(t, "", lines...))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(want, "1") && !strings.Contains(err.Error(), "train one on the file by -train, or read one by -weights") {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := try("-data", fileOf(t, "id,smiles\n", "1,CC", "2")); err == nil || !strings.Contains(err.Error(), "line 3 has 1 cells, want ≥ 2") {
		t.Error(err)
	}
}

// The program's network of QM9 on QM9 itself.
func TestQM9(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "qm9_smiles.csv")
	if _, err := os.Stat(path); err != nil {
		t.Skip("optional data file is absent: ", err)
	}
	c, err := corpus.Load(path, 6, ownSeed)
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Letters) != qm9.letters || c.Sites != qm9.sites || digest(c) != qm9.trained || threshold(c, ownLean) != qm9.least {
		t.Errorf("%q, %d letters, %s, %v: not what the program's network has learned from", string(c.Letters), c.Sites, digest(c), threshold(c, ownLean))
	}
}
