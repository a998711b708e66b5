package dual

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Newton is the stochastic Newton rule: with C a running mean of the batch
// covariance of g,
//
//	C ← Keep·C + (1 − Keep)·cov(g),
//	λ ← clip(λ + s_t·β·(C + Ridge·I)⁻¹ ḡ, 0, max),
//
// since the dual's Hessian is −Cov(g)/β. The system is solved for the free
// coordinates only: a multiplier that sits at a bound and is pushed beyond it
// stays there and does not bend the others' step.
//
// It needs no step size that suits the problem and is far faster than ascent.
// It needs batches of two states at least, and better dozens: its error is that
// of the batch covariance.
type Newton struct {
	Step  Schedule // s_t; nil means min(1, 2/(1+t)^0.6)
	Start float64  // C begins at Start·I; 0 means 0.05
	Keep  float64  // 0 means 0.9
	Ridge float64  // 0 means 1e−4
}

// The defaults suit statistics g of the order of 1; TestIsingRing fixes them.
const (
	newtonStart = 0.05
	newtonKeep  = 0.9
	newtonRidge = 1e-4
)

// Bind implements [Rule]. It returns an error if a field is out of range.
func (r Newton) Bind(_ context.Context, n int) (Updater, error) {
	if r.Step == nil {
		r.Step = Capped(1, Power(2, 0.6))
	}
	for _, f := range []struct {
		v  *float64
		to float64
	}{{&r.Start, newtonStart}, {&r.Keep, newtonKeep}, {&r.Ridge, newtonRidge}} {
		if *f.v == 0 {
			*f.v = f.to
		}
	}
	switch {
	case !(r.Start > 0) || !check.Finite(r.Start):
		return nil, fmt.Errorf("dual: Newton: Start = %v, want a finite number > 0", r.Start)
	case !(r.Keep > 0 && r.Keep < 1):
		return nil, fmt.Errorf("dual: Newton: Keep = %v, want 0 < Keep < 1", r.Keep)
	case !(r.Ridge > 0) || !check.Finite(r.Ridge):
		return nil, fmt.Errorf("dual: Newton: Ridge = %v, want a finite number > 0", r.Ridge)
	}
	u := &newton{Newton: r, c: make([]float64, n*n), factor: make([]float64, n*n), d: make([]float64, n), free: make([]int, 0, n)}
	for j := range n {
		u.c[j*n+j] = r.Start
	}
	return u, nil
}

type newton struct {
	Newton
	c      []float64 // running covariance
	factor []float64 // scratch
	d      []float64
	free   []int
}

func (u *newton) Update(lambda []float64, b *Batch) error {
	s, err := stepSize("Newton", u.Step, b.Step)
	if err != nil {
		return err
	}
	if b.States < 2 {
		return fmt.Errorf("dual: Newton: batch of %d states has no covariance, want ≥ 2", b.States)
	}
	for i, v := range b.Cov {
		u.c[i] = float64(u.Keep*u.c[i]) + float64((1-u.Keep)*v)
	}
	n := len(lambda)
	u.free = u.free[:0]
	for j, g := range b.Mean {
		if lambda[j] <= 0 && g <= 0 || lambda[j] >= b.Max && g >= 0 {
			continue
		}
		u.free = append(u.free, j)
	}
	m := len(u.free)
	a, d := u.factor[:m*m], u.d[:m]
	for p, i := range u.free {
		for q, j := range u.free {
			a[p*m+q] = u.c[i*n+j]
		}
		a[p*m+p] += u.Ridge
		d[p] = b.Mean[i]
	}
	if !concave.SolvePositive(a, d) {
		return fmt.Errorf("dual: Newton: the covariance of the batch is not finite")
	}
	step := float64(s * b.Beta)
	for p, j := range u.free {
		lambda[j] = clip(lambda[j]+float64(step*d[p]), b.Max)
	}
	return nil
}

func (u *newton) AppendBinary(data []byte) ([]byte, error) {
	return wire.AppendFloat64s(data, u.c), nil
}

func (u *newton) UnmarshalBinary(data []byte) error {
	data, err := wire.ReadFloat64s(data, u.c)
	if err != nil {
		return err
	}
	return wire.ReadEnd(data)
}
