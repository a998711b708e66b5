package dualtest_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/dualtest"
)

var ctx = context.Background()

// plain is ascent by 0.3/√(1+t), with a count of its own.
type plain struct {
	n, steps int
	broken   string
	kept     []float64
}

func (p plain) Bind(_ context.Context, n int) (dual.Updater, error) {
	if n < 1 && p.broken != "no bound" {
		return nil, fmt.Errorf("n = %d, want ≥ 1", n)
	}
	if p.broken == "shared" {
		return &shared, nil
	}
	return &plain{n: n, broken: p.broken}, nil
}

var shared = plain{broken: "shared"}

func (p *plain) Update(lambda []float64, b *dual.Batch) error {
	if math.IsNaN(b.Mean[1]) {
		if p.broken == "half an update" {
			lambda[0]++
		}
		return fmt.Errorf("mean 1 = NaN")
	}
	eta := 0.3 / math.Sqrt(1+float64(p.steps))
	p.steps++
	if p.broken == "allocates" {
		p.kept = append([]float64(nil), b.Mean...)
	}
	for j, g := range b.Mean {
		low := 0.0
		if b.Equal[j] && p.broken != "inequalities only" {
			low = -b.Max
		}
		if p.broken == "wrong way" {
			g = -g
		}
		if p.broken == "drifts" {
			g += 0.1
		}
		v := max(low, lambda[j]+eta*g)
		if p.broken != "no maximum" {
			v = min(v, b.Max)
		}
		if p.broken == "below zero" && j == 1 {
			v = lambda[j] + eta*g
		}
		lambda[j] = v
	}
	if p.broken == "writes the batch" {
		b.Mean[0] = 0
	}
	return nil
}

func (p *plain) AppendBinary(data []byte) ([]byte, error) {
	if p.broken == "no state" {
		return data, nil
	}
	if p.broken == "overwrites" {
		data = data[:0]
	}
	return append(data, byte(p.steps), byte(p.steps>>8)), nil
}

func (p *plain) UnmarshalBinary(data []byte) error {
	if p.broken == "no state" {
		if len(data) > 0 {
			return fmt.Errorf("%d bytes, want 0", len(data))
		}
		return nil
	}
	if len(data) != 2 && p.broken != "any length" {
		return fmt.Errorf("%d bytes, want 2", len(data))
	}
	if len(data) > 1 {
		p.steps = int(data[0]) | int(data[1])<<8
	}
	return nil
}

func TestRulePasses(t *testing.T) {
	require.NoError(t, dualtest.TestRule(ctx, plain{}, dualtest.Options{}))
}

func TestRuleFindsBrokenRules(t *testing.T) {
	for broken, want := range map[string]string{
		"no bound":          "bind: Bind(0) returns no error",
		"shared":            "same: two updaters",
		"below zero":        "bounds: λ[1] = -",
		"no maximum":        "bounds: λ[",
		"writes the batch":  "batch: Update changes its batch at step 0",
		"half an update":    "error: λ = [2 0.5 -1]",
		"no state":          "resume: an updater that is restored in every step",
		"overwrites":        "resume: AppendBinary of \"head\"",
		"any length":        "resume: a state with a byte too many",
		"allocates":         "allocation: an update allocates",
		"wrong way":         "optimum: after 4000 steps",
		"inequalities only": "optimum: ",
		"drifts":            "optimum: ",
	} {
		t.Run(broken, func(t *testing.T) {
			shared = plain{broken: "shared"}
			require.ErrorContains(t, dualtest.TestRule(ctx, plain{broken: broken}, dualtest.Options{}), want)
		})
	}
	require.EqualError(t, dualtest.TestRule(ctx, nil, dualtest.Options{}), "dualtest: rule = nil")
}

// tilted is f(x) + λ·g(x) on two sites of two levels, g(x) = x_0 − ½.
type tilted struct {
	lambda []float64
	broken string
}

func (m *tilted) Shape() (sites, levels int) { return 2, 2 }
func (m *tilted) Sites() int                 { return 2 }
func (m *tilted) Len() int                   { return 1 }

func (m *tilted) Beta() float64 {
	if m.broken == "cold" {
		return 0
	}
	return 2
}

func (m *tilted) SetLambda(lambda []float64) error {
	if len(lambda) != 1 {
		panic("dualtest: len(lambda)")
	}
	if m.broken == "forgets first" {
		m.lambda = []float64{0}
	}
	if m.broken != "takes all" && !(lambda[0] >= 0 && lambda[0] < math.Inf(1)) {
		return fmt.Errorf("lambda = %v", lambda)
	}
	m.lambda = append([]float64(nil), lambda...)
	if m.broken == "keeps" {
		m.lambda = lambda
	}
	return nil
}

func (m *tilted) Violation(g []float64, x []int32) {
	for s := range g {
		g[s] = float64(x[2*s]) - 0.5
		if m.broken == "batch" {
			g[s] += float64(x[0])
		}
	}
}

func (m *tilted) Energy(e []float64, x []int32) {
	for s := range e {
		l := 0.0
		if m.lambda != nil {
			l = m.lambda[0]
		}
		if m.broken == "sign" {
			l = -l
		}
		if m.broken == "temperature" {
			l *= 2
		}
		e[s] = (float64(x[2*s+1]) + l*(float64(x[2*s])-0.5)) / 2
		if m.broken == "another base" {
			e[s] += 1e-9 * float64(x[2*s])
		}
	}
}

func TestTarget(t *testing.T) {
	o := dualtest.TargetOptions[int32]{Base: func(e []float64, x []int32) {
		for s := range e {
			e[s] = float64(x[2*s+1]) / 2
		}
	}}
	require.NoError(t, dualtest.TestTarget(ctx, dual.Target[int32](&tilted{}), o))
	for broken, want := range map[string]string{
		"cold":          "shape: Len() = 1, Sites() = 2, Beta() = 0",
		"takes all":     "multipliers: SetLambda([NaN]) returns no error",
		"forgets first": "multipliers: SetLambda([NaN]) fails, and the target is not as before",
		"keeps":         "multipliers: the target keeps the slice",
		"batch":         "batch: state [1 0]",
		"sign":          "energy: state [0 0] has the energy",
		"temperature":   "energy: ",
		"another base":  "base: state [1 0]",
	} {
		t.Run(broken, func(t *testing.T) {
			require.ErrorContains(t, dualtest.TestTarget(ctx, dual.Target[int32](&tilted{broken: broken}), o), want)
		})
	}
}

// Rules and targets of one's own are checked in a line each.
func ExampleTestRule() {
	fmt.Println(dualtest.TestRule(ctx, dual.Ascent{}, dualtest.Options{}))
	// Output: <nil>
}

// A rule that rests elsewhere says where.
func ExampleOptions() {
	r := dual.Decay{Rule: dual.Ascent{Step: dual.Constant(0.1)}, Rate: 0.01}
	fmt.Println(dualtest.TestRule(ctx, r, dualtest.Options{Rest: func(lambda, mean float64) float64 { return mean - 0.01*lambda/0.1 }}))
	// Output: <nil>
}

// The energies of a target are compared with its violations, here at three states.
func ExampleTargetOptions() {
	o := dualtest.TargetOptions[int32]{Lambda: []float64{2}, X: []int32{0, 0, 1, 0, 1, 1}}
	fmt.Println(dualtest.TestTarget(ctx, dual.Target[int32](&tilted{}), o))
	fmt.Println(dualtest.TestTarget(ctx, dual.Target[int32](&tilted{broken: "batch"}), o))
	// Output:
	// <nil>
	// dualtest: *dualtest_test.tilted: batch: state [1 0] has the violations [1.5] alone and [0.5] among others
}
