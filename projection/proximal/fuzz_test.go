package proximal_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
)

// Whatever the rows are, a solver is refused or gives a finite answer that its
// own certificate agrees with.
func FuzzProximal(f *testing.F) {
	f.Add([]byte("\x02\x01\x00\x01\xff\x10\x20\x30\x40\x50\x60\x70"), 1.0)
	f.Add([]byte("0011223344556677889900"), math.Inf(1))
	f.Fuzz(func(t *testing.T, b []byte, gamma float64) {
		const n = 3
		var set constraint.Slabs
		number := func() float64 {
			if len(b) < 2 {
				return 0
			}
			v := float64(int16(binary.LittleEndian.Uint16(b))) / 4096
			b = b[2:]
			return v
		}
		for len(b) > 6 && len(set.A) < 12 {
			var r constraint.Row
			for range 1 + int(b[0])%3 {
				r.Index, r.Value = append(r.Index, int32(b[0]>>2)%n), append(r.Value, number())
			}
			lo, hi := number(), number()
			set.A, set.Lower, set.Upper = append(set.A, r), append(set.Lower, min(lo, hi)), append(set.Upper, max(lo, hi))
		}
		v := []float64{number(), 1, -1}
		solver, err := proximal.Projector{Set: set, Soften: true}.Compile(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, n)
		c, err := solver.Penalised(z, v, gamma)
		if err != nil {
			return
		}
		worst := 0.0
		for j, r := range set.A {
			a := 0.0
			for k, i := range r.Index {
				a += r.Value[k] * z[i]
			}
			worst = max(worst, a-set.Upper[j], set.Lower[j]-a)
		}
		if !(math.Abs(worst-c.Violation) <= 1e-9) {
			t.Fatalf("violation = %v, certificate says %v", worst, c.Violation)
		}
		if math.IsInf(gamma, 1) && !c.Contradiction && worst > 1e-8 {
			t.Fatalf("violation = %v without a contradiction", worst)
		}
	})
}
