package proximal_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
)

// The point of the half-plane x_0 + x_1 ≤ 1 that is nearest to (2, 1). The multiplier is
// the force of the row: v − z = y·(1, 1).
func ExampleSolver() {
	half := constraint.Linear{A: constraint.Rows([]float64{1, 1}, 2), B: []float64{1}}
	s, err := proximal.Projector{Set: half}.Compile(context.Background(), 2)
	if err != nil {
		panic(err)
	}
	z, y := make([]float64, 2), make([]float64, 1)
	if _, err := s.Solve(z, []float64{2, 1}); err != nil {
		panic(err)
	}
	s.Multipliers(y)
	fmt.Printf("%.4f %.4f\n", z, y)
	// Output: [1.0000 0.0000] [1.0000]
}

// Two rows that exclude each other: x ≤ 0 and x ≥ 1. With Soften the answer is a
// compromise, and the certificate states it.
func ExampleCertificate() {
	torn := constraint.Slabs{
		A:     constraint.Rows([]float64{1, 1}, 1),
		Lower: []float64{math.Inf(-1), 1},
		Upper: []float64{0, math.Inf(1)},
	}
	s, err := proximal.Projector{Set: torn, Soften: true}.Compile(context.Background(), 1)
	if err != nil {
		panic(err)
	}
	z := make([]float64, 1)
	c, err := s.Solve(z, []float64{0.25})
	if err != nil {
		panic(err)
	}
	fmt.Printf("z = %.3f, contradiction: %v, violation: %.3f, gap below 1e-9: %v\n",
		z[0], c.Contradiction, c.Violation, c.Gap < 1e-9)
	// Output: z = 0.250, contradiction: true, violation: 0.750, gap below 1e-9: true
}

// A series of a diffusion, with entries that must add up to 3. Project works on
// the runner's float32 in place, and keeps the multipliers of each sample for
// its next step.
func ExampleProjection() {
	total := constraint.Slabs{
		A:     constraint.Rows([]float64{1, 1, 1}, 3),
		Lower: []float64{3},
		Upper: []float64{3},
	}
	bound, err := proximal.Projector{Set: total}.Bind(context.Background(), 3, 1, 1)
	if err != nil {
		panic(err)
	}
	p := bound.(*proximal.Projection)
	v := []float32{0, 1, 0.5}
	violation, err := p.Project(context.Background(), 0, v, 1, 0.5, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f, violation below 1e-12: %v\n", v, violation < 1e-12)
	p.Reset(0) // before the slot serves another run
	// Output: [0.5000 1.5000 1.0000], violation below 1e-12: true
}

// Rows that exclude each other, by their numbers, with a proof.
func ExampleContradictionError() {
	torn := constraint.Slabs{
		A:     constraint.Rows([]float64{1, 1}, 1),
		Lower: []float64{math.Inf(-1), 1},
		Upper: []float64{0, math.Inf(1)},
	}
	_, err := proximal.Projector{Set: torn}.Compile(context.Background(), 1)
	if c := new(proximal.ContradictionError); errors.As(err, &c) {
		fmt.Println(c.Rows, c.Multiplier, c.Slack)
	}
	// Output:
	// [0 1] [1 -1] 1
}

// Rows as hard as γ says: the answer gives way to the row x ≤ 1 in part.
func ExampleSolver_Penalised() {
	low := constraint.Linear{A: constraint.Rows([]float64{1}, 1), B: []float64{1}}
	s, err := proximal.Projector{Set: low}.Compile(context.Background(), 1)
	if err != nil {
		panic(err)
	}
	z := make([]float64, 1)
	for _, gamma := range []float64{0, 1, proximal.SoftGamma} {
		if _, err := s.Penalised(z, []float64{3}, gamma); err != nil {
			panic(err)
		}
		fmt.Printf("%.3f ", z)
	}
	// Output:
	// [3.000] [2.500] [1.000]
}

// The metric of a walk whose noise grows with the time of the diffusion: its second
// entry varies more than its first, so late it is the one that moves.
func ExampleSolver_At() {
	total := constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{2}, Upper: []float64{2}}
	s, err := proximal.Projector{Set: total, Metric: func(dst, v []float64, t float64) {
		dst[0], dst[1] = v[0], (1+3*t)*v[1]
	}}.Compile(context.Background(), 2)
	if err != nil {
		panic(err)
	}
	z := make([]float64, 2)
	for _, t := range []float64{1, 0} {
		s.At(t)
		if _, err := s.Solve(z, []float64{0, 0}); err != nil {
			panic(err)
		}
		fmt.Printf("t = %v: %.2f\n", t, z)
	}
	// Output:
	// t = 1: [0.40 1.60]
	// t = 0: [1.00 1.00]
}
