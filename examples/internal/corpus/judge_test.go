package corpus

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
)

func TestJudgeOfMolecules(t *testing.T) {
	for _, s := range []string{
		"C", "CC", "C=C", "C#N", "C-C", "CC(C)(C)C", "C1CC1", "C=1CC1", "C1CC=1", "C=1CC=1", "N1C=CC=C1", "[NH3+]CC([O-])=O",
		"ClCBr", "C12CC1C2", "S(=O)(=O)(O)O", "[CH2-]C", "C1CC1C1CC1", "[NH4+]", "B(O)O", "[BH4-]", "O=[N+]([O-])C", "O=N(=O)C", "CN=N#N", "[H]C([H])O[H]", "I(=O)(=O)C",
	} {
		if _, err := parse(s); err != nil {
			t.Error(err)
		}
	}
	for s, want := range map[string]string{
		"":               "no atom",
		"X":              `no atom "X"`,
		"c1ccccc1":       `no atom "c"`,
		"C.C":            `no atom "."`,
		"F=C":            "valence",
		"C(C)(C)(C)(C)C": "valence",
		"CC=":            "without a second atom",
		"C1CC":           "a ring is not closed",
		"C11":            "fewer than three",
		"C1C1":           "fewer than three",
		"C=1CC#1":        "disagree",
		"1CC1":           "a ring without an atom",
		"C(1CC1)":        "a ring without an atom",
		"C(":             "a branch is not closed",
		"C)":             "not opened",
		"C()C":           "empty",
		"(C)C":           "a branch without an atom before it",
		"C((C))C":        "a branch without an atom before it",
		"=C":             "a bond without a first atom",
		"C==C":           "a bond without a first atom",
		"C(=)C":          "not opened or is empty",
		"[NH5]":          `no atom "NH5"`,
		"[C":             "a bracket is not closed",
		"[Xx]":           `no atom "Xx"`,
		"[CH3]C=O=":      "without a second atom",
		"C#C#C":          "valence",
		"OC1C2CC=1C2":    "",
	} {
		_, err := parse(s)
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that contains %q", s, err, want)
		}
	}
}

func TestBalanced(t *testing.T) {
	for s, want := range map[string]bool{
		"C": true, "C(C)C": true, "C1CC1": true, "C(C(C)C)C": true, "[NH3+]C": true, "C[C]C": true,
		"": false, "C(": false, "C)(": false, "C1": false, "[C": false, "C]": false, "[[C]]": false, "C1C2C1": false,
	} {
		if Balanced(s) != want {
			t.Errorf("balanced(%q) = %v", s, !want)
		}
	}
}

func TestPolarity(t *testing.T) {
	for s, want := range map[string]float64{"C": 0, "CO": .5, "[NH3+]C": .5, "FC(F)F": .75, "": 0, "=1": 0, "anno": .75} {
		if got := Polarity(s); got != want {
			t.Errorf("polarity(%q) = %v, want %v", s, got, want)
		}
	}
}

// The molecules of QM9 are molecules, of which 87 are there in two Kekulé structures.
func TestJudgeOnQM9(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "shared", "data", "qm9_smiles.csv")
	if _, err := os.Stat(path); err != nil {
		t.Skip("optional data file is absent: ", err)
	}
	all, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 133885 {
		t.Errorf("%d strings", len(all))
	}
	different := make(map[string]bool)
	for _, s := range all {
		if _, err := parse(s); err != nil {
			t.Error(err)
		}
		different[identity(s)] = true
	}
	if len(different) != len(all)-87 {
		t.Errorf("%d different molecules of %d", len(different), len(all))
	}
}

// RDKit 2022.09 reads what we read, and finds the same strings to be of one molecule: the
// file has strings of the kind of QM9, changed at random, in other orders of atoms and
// other Kekulé structures, and with hydrogens, each with RDKit's canonical form.
func TestMoleculesOfRDKit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "rdkit.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := make(map[string]string), make(map[string]string)
	valid, shared := 0, 0
	for line := range strings.Lines(string(text)) {
		s, canonical, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		_, err := parse(s)
		if (err == nil) != (canonical != "-") {
			t.Errorf("%q is %q for RDKit, and for us: %v", s, canonical, err)
		}
		if err != nil {
			continue
		}
		valid++
		id := identity(s)
		if _, ok := ours[id]; ok {
			shared++
		}
		if c, ok := ours[id]; ok && c != canonical {
			t.Errorf("%q: %s and %s are not the same", s, c, canonical)
		}
		if i, ok := theirs[canonical]; ok && i != id {
			t.Errorf("%q: %s and %s are the same, %s", s, i, id, canonical)
		}
		ours[id], theirs[canonical] = canonical, id
	}
	if valid < 1000 || shared < 300 {
		t.Errorf("%d are valid, %d of them are of a molecule that was there before", valid, shared)
	}
}

// The automaton of the syntax accepts exactly the balanced strings, among all up
// to six letters.
func TestSyntaxAgreesWithTheJudge(t *testing.T) {
	c := &Corpus{Train: []string{"((([1]2)))"}}
	c.tokenise(c.Train)
	language, err := Syntax(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int32, 6)
	for n := range pow(c.Levels, len(x)) {
		for i := range x {
			x[i] = int32(n % c.Levels)
			n /= c.Levels
		}
		text := c.Text(x)
		if want := Balanced(text) && !strings.HasSuffix(text, " "); constraint.Accepts(language, x) != want {
			t.Fatalf("%q: the judge says %v", text, want)
		}
	}
}

// Areas of the paper (metoprolol, atenolol, diazepam, acetylsalicylic acid), and
// sums of its table by hand.
func TestPolarSurface(t *testing.T) {
	for text, want := range map[string]float64{
		"C": 0, "CCO": 20.23, "COC": 9.23, "CC(=O)O": 37.30, "CC(=O)N": 43.09, "CC#N": 23.79, "CN(C)C": 3.24,
		"NC(=O)N": 69.11, "C1CO1": 12.53, "C1CN1": 21.94, "CN1CC1": 3.01, "C[N+](=O)[O-]": 43.14, "CC=N": 23.85, "CN=C": 12.36,
		"C1=CC=NC=C1":    12.89,           // pyridine
		"C1=COC=C1":      13.14,           // furan
		"C1=CNC=C1":      15.79,           // pyrrole
		"C1=CN=CN1":      28.68,           // imidazole
		"CN1C=CN=C1":     17.82,           // its methyl
		"O=C1NC=CN1":     2*15.79 + 17.07, // imidazolone
		"C1CCNC1":        12.03,           // pyrrolidine
		"O=C1C=CC(=O)N1": 2*17.07 + 12.03, // maleimide: four electrons
		"O":              31.5, "N": 35, "[NH3+]CC(=O)[O-]": 27.64 + 17.07 + 23.06,
		"CC(C)NCC(COC1=CC=C(C=C1)CCOC)O":            50.72,
		"CC(C)NCC(COC1=CC=C(C=C1)CC(=O)N)O":         84.58,
		"CN1C(=O)CN=C(C2=C1C=CC(=C2)Cl)C3=CC=CC=C3": 32.67,
		"CC(=O)OC1=CC=CC=C1C(=O)O":                  63.60,
	} {
		got, err := PolarSurface(text)
		if err != nil || math.Abs(got-want) > .005 {
			t.Errorf("%s: %.2f, %v, want %.2f", text, got, err, want)
		}
	}
	if _, err := PolarSurface("C(("); err == nil {
		t.Error("no molecule has a surface")
	}
}
