package corpus

import (
	"math"
	"testing"
)

// The properties of QED and QED itself are those of RDKit 2022.09: weight, log P, acceptors,
// donors, rotatable bonds, aromatic rings, alerts, QED. The first six are drugs.
func TestDrugLikeness(t *testing.T) {
	for text, want := range map[string][8]float64{
		"CNC(=NCCSCC1=C(C)NC=N1)NC#N":                   {252.347, 0.5974, 5, 3, 5, 1, 5, 0.2347}, // cimetidine
		"N=C(CCSCC1=CSC(N=C(N)N)=N1)NS(N)(=O)=O":        {337.456, -0.5583, 6, 5, 7, 1, 3, 0.2531},
		"CC(=O)OC1=CC=CC=C1C(=O)O":                      {180.159, 1.3101, 4, 1, 2, 1, 2, 0.5501},
		"CN1C(=O)CN=C(C2=CC=CC=C2)C2=CC(Cl)=CC=C21":     {284.746, 3.1538, 1, 0, 1, 2, 0, 0.7916},
		"COCCC1=CC=C(OCC(O)CNC(C)C)C=C1":                {267.369, 1.6132, 4, 2, 9, 1, 0, 0.7136},
		"CC1(C)SC2C(NC(=O)CC3=CC=CC=C3)C(=O)N2C1C(=O)O": {334.397, 0.8608, 5, 2, 4, 1, 1, 0.7978},
		"CN1C=NC2=C1C(=O)N(C)C(=O)N2C":                  {194.194, -1.0293, 3, 0, 0, 2, 0, 0.5385}, // caffeine
		"CN1CCCC1C1=CC=CN=C1":                           {162.236, 1.8483, 2, 0, 1, 1, 0, 0.6262},  // nicotine
		"C1C2CC3CC1CC(C2)C3":                            {136.238, 2.8326, 0, 0, 0, 0, 0, 0.4801},
		"O=[N+]([O-])C1=CC=CC=C1":                       {123.111, 1.5948, 2, 0, 1, 1, 2, 0.4201},
		"[NH3+]CC(=O)[O-]":                              {75.067, -3.0218, 2, 1, 1, 0, 0, 0.3602},
		"CCO":                                           {46.069, -0.0014, 1, 1, 0, 0, 0, 0.4068},
		"ClC(Cl)Cl":                                     {119.378, 1.9864, 0, 0, 0, 0, 1, 0.4279},
		"C=CC=O":                                        {56.064, 0.3713, 1, 0, 1, 0, 2, 0.3131},
		"CN=[N+]=[N-]":                                  {57.056, 0.9265, 0, 0, 0, 0, 3, 0.2254},
		"NS(=O)(=O)C1=CC=CC=C1":                         {157.194, 0.3340, 2, 1, 1, 1, 0, 0.6384},
	} {
		m, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		v := properties(m)
		got := [8]float64{v[0], v[1], v[2], v[3], v[5], v[6], v[7]}
		if got[7], err = DrugLikeness(text); err != nil {
			t.Error(err)
		}
		for k, tolerance := range [8]float64{.03, 6e-5, 0, 0, 0, 0, 0, 6e-5} {
			if !(math.Abs(got[k]-want[k]) <= tolerance) {
				t.Errorf("%s: %v, want %v", text, got, want)
				break
			}
		}
	}
	if _, err := DrugLikeness("C(("); err == nil {
		t.Error("no molecule is drug-like")
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          int
	}{
		{"C", "CCO", 2}, {"CO", "CCO", 1}, {"CC", "CCC", 2}, {"C.C", "CCC", 3}, {"[CH3]", "CCC", 2}, {"*", "CCC", 3},
		{"c", "C1=CC=CC=C1", 6}, {"C", "C1=CC=CC=C1", 0}, {"c:c", "C1=CC=CC=C1", 6}, {"cc", "C1=CC=CC=C1", 6}, {"C=C", "C1=CC=CC=C1", 0},
		{"C1CC1", "C1CC1C", 1}, {"[R]", "C1CC1C", 3}, {"[!R]", "C1CC1C", 1}, {"[R0]", "C1CC1C", 1}, {"C@C", "C1CC1C", 3}, {"C!@C", "C1CC1C", 1},
		{"[R2]", "C1CC2CC12", 2}, {"[D3]", "CC(C)C", 1}, {"[X4]", "C=CC", 1}, {"[v3]", "CN(C)C", 1}, {"[#7,#8]", "NCO", 2}, {"[C;H2]", "NCCO", 2},
		{"[+]", "C[NH3+]", 1}, {"[N+0]", "C[NH3+]", 0}, {"[N-]", "CN=[N+]=[N-]", 1}, {"[$(CO),$(CN)]", "NCCO", 2}, {"[$(C(F)(F)F)]", "CC(F)(F)F", 1},
		{"C(C)(C)O", "CC(C)O", 1}, {"C#N", "CC#N", 1}, {"C~N", "CC#N", 1}, {"[!#6]", "CC#N", 1}, {"Cl", "CCl", 1}, {"C", "CCl", 1},
	} {
		m, err := parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := smarts(c.pattern).count(newGraph(m, false)); got != c.want {
			t.Errorf("%s in %s: %d, want %d", c.pattern, c.text, got, c.want)
		}
	}
	m, _ := parse("CCO")
	if n := smarts("[#1]").count(newGraph(m, true)); n != 6 {
		t.Errorf("%d hydrogens, want 6", n)
	}
}
