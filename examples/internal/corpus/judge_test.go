package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJudgeOfMolecules(t *testing.T) {
	for _, s := range []string{
		"C", "CC", "C=C", "C#N", "C-C", "CC(C)(C)C", "C1CC1", "C=1CC1", "C1CC=1", "C=1CC=1", "N1C=CC=C1", "[NH3+]CC([O-])=O",
		"ClCBr", "C12CC1C2", "S(=O)(=O)(O)O", "[CH2-]C", "C1CC1C1CC1", "[NH4+]", "B(O)O", "[BH4-]", "O=[N+]([O-])C",
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
		"CC=":            "leads nowhere",
		"C1CC":           "a ring stays open",
		"C11":            "fewer than three",
		"C1C1":           "fewer than three",
		"C=1CC#1":        "disagree",
		"1CC1":           "a ring from nowhere",
		"C(1CC1)":        "a ring from nowhere",
		"C(":             "a branch stays open",
		"C)":             "not opened",
		"C()C":           "empty",
		"(C)C":           "a branch from nowhere",
		"C((C))C":        "a branch from nowhere",
		"=C":             "a bond from nowhere",
		"C==C":           "a bond from nowhere",
		"C(=)C":          "not opened or is empty",
		"[NH5]":          `no atom "NH5"`,
		"[C":             "a bracket stays open",
		"[Xx]":           `no atom "Xx"`,
		"[CH3]C=O=":      "leads nowhere",
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

// The molecules of QM9 are molecules, but for 142 with a nitro group of five bonds.
func TestJudgeOnQM9(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "qm9_smiles.csv")
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
	refused := 0
	for _, s := range all {
		if _, err := parse(s); err != nil {
			refused++
			if !strings.Contains(s, "N(=O)") {
				t.Error(err)
			}
		}
	}
	if refused != 142 {
		t.Errorf("%d of %d refused", refused, len(all))
	}
}
