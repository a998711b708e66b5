package corpus

import (
	"math"
	"testing"
)

// Four molecules of one atom have four fragments that make up 80 % of the twelve: three that occur
// three times, and one that occurs once. A single atom has no complexity.
func TestAccessibility(t *testing.T) {
	a := NewAccessibility([]string{"C", "C", "C", "O", "not a molecule"})
	scale := func(mean float64) float64 { return 1 + 9*(easiest-mean)/(easiest-hardest) }
	for text, want := range map[string]float64{
		"C": scale(math.Log10(3. / 4)),
		"O": scale(math.Log10(1. / 4)),
		"N": scale(math.Log10(1. / 4)), // what does not occur counts as once
		// All fragments are new, and log 2 is added for each of stereocentres and two bridgeheads.
		"CC(O)N":       scale(math.Log10(1./4) - (math.Pow(4, 1.005) - 4) - math.Log10(2)),
		"C1CC2CCC1CC2": scale(math.Log10(1./4) - (math.Pow(8, 1.005) - 8) - math.Log10(3)),
	} {
		got, err := a.Score(text)
		if err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := a.Score("C(("); err == nil {
		t.Error("what is no molecule has no score")
	}
	if v, err := NewAccessibility(nil).Score("C"); err != nil || math.IsNaN(v) || v < 1 || v > 10 {
		t.Errorf("without known molecules: %v, %v", v, err)
	}
}

// Fragments do not depend on the spelling or on the Kekulé structure.
func TestFragments(t *testing.T) {
	a := NewAccessibility([]string{"CC1=CC=CC=C1C", "CCO", "CCC"})
	x, _ := a.Score("CC1=CC=CC=C1C")
	y, _ := a.Score("CC1=C(C)C=CC=C1")
	if x != y {
		t.Errorf("xylene scores %v and %v", x, y)
	}
	if z, _ := a.Score("CC1=CC=CC(C)=C1"); z <= x {
		t.Errorf("a molecule with unknown fragments scores %v, a known one %v", z, x)
	}
}

// Counts by RDKit 2022.09 (FindMolChiralCenters, CalcNumBridgeheadAtoms, CalcNumSpiroAtoms).
func TestComplexity(t *testing.T) {
	for text, want := range map[string][3]int{
		"CC(N)C(=O)O": {1, 0, 0}, "CCC(C)O": {1, 0, 0}, "CC(C)O": {}, "C1CCCCC1": {}, "C1CC12CC2": {0, 0, 1},
		"C1C2CC3CC1CC(C2)C3": {0, 4, 0}, "C1CCC2CCCCC2C1": {}, "CC1(C)SC2C(NC(=O)CC3=CC=CC=C3)C(=O)N2C1C(=O)O": {3, 0, 0},
	} {
		m, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, s := fused(m.rings())
		if got := [3]int{m.stereocentres(), b, s}; got != want {
			t.Errorf("%s: stereocentres, bridgeheads, spiro atoms %v, want %v", text, got, want)
		}
	}
}
