package corpus

import (
	"math"
	"testing"
)

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
