// Command coef prints the polynomial coefficients of package simd. They are minimax fits by the
// Remez exchange algorithm, in 300-bit arithmetic, rounded once at the end.
//
//	go -C internal/simd/_gen run ./coef
//
// It fits q in e^r = 1 + r + r²·q(r), |r| ≤ (ln 2)/2 + a guard, relative to e^r. It also fits R in
// log(1+f) = s·(2 + z·R(z)), s = f/(2+f), z = s², relative to the logarithm.
package main

import (
	"fmt"
	"math"
	"math/big"
)

const prec = 300

func num(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }
func add(a, b *big.Float) *big.Float {
	return new(big.Float).SetPrec(prec).Add(a, b)
}
func sub(a, b *big.Float) *big.Float {
	return new(big.Float).SetPrec(prec).Sub(a, b)
}
func mul(a, b *big.Float) *big.Float {
	return new(big.Float).SetPrec(prec).Mul(a, b)
}
func quo(a, b *big.Float) *big.Float {
	return new(big.Float).SetPrec(prec).Quo(a, b)
}

// expTail returns (e^r − 1 − r)/r², computed by its series.
func expTail(r *big.Float) *big.Float {
	sum, term := num(0), num(0.5)
	for k := 3; k < 80; k++ {
		sum = add(sum, term)
		term = quo(mul(term, r), num(float64(k)))
	}
	return sum
}

// atanhTail returns (2 atanh(√z)/√z − 2)/z, computed by its series.
func atanhTail(z *big.Float) *big.Float {
	sum, pow := num(0), num(2)
	for k := 3; k < 200; k += 2 {
		sum = add(sum, quo(pow, num(float64(k))))
		pow = mul(pow, z)
	}
	return sum
}

// remez fits a polynomial p of the given degree to f on [lo, hi] so that the maximum of w·|f − p|
// is minimal. It returns the coefficients and that maximum.
func remez(degree int, lo, hi float64, f, w func(*big.Float) *big.Float) ([]*big.Float, float64) {
	const grid = 4000
	n := degree + 2
	at := func(i int) *big.Float { return num(lo + (hi-lo)*float64(i)/grid) }
	fs, ws := make([]*big.Float, grid+1), make([]*big.Float, grid+1)
	for i := range fs {
		fs[i], ws[i] = f(at(i)), w(at(i))
	}
	node := make([]int, n)
	for i := range node {
		node[i] = int(grid * (1 - math.Cos(math.Pi*(float64(i)+0.5)/float64(n))) / 2)
	}
	var c []*big.Float
	worst := 0.0
	for range 30 {
		a := make([][]*big.Float, n)
		for i, k := range node {
			a[i] = make([]*big.Float, n+1)
			pow := num(1)
			for j := 0; j <= degree; j++ {
				a[i][j] = pow
				pow = mul(pow, at(k))
			}
			a[i][degree+1] = quo(num(1-2*float64(i%2)), ws[k])
			a[i][n] = fs[k]
		}
		c = solve(a)[:degree+1]
		err := make([]float64, grid+1)
		for i := range err {
			p := num(0)
			for j := degree; j >= 0; j-- {
				p = add(mul(p, at(i)), c[j])
			}
			err[i], _ = mul(sub(fs[i], p), ws[i]).Float64()
		}
		// One extremum per run of equal sign.
		var ext []int
		for i := range err {
			if len(ext) == 0 || math.Signbit(err[i]) != math.Signbit(err[ext[len(ext)-1]]) {
				ext = append(ext, i)
			} else if math.Abs(err[i]) > math.Abs(err[ext[len(ext)-1]]) {
				ext[len(ext)-1] = i
			}
		}
		worst = 0
		for _, i := range ext {
			worst = max(worst, math.Abs(err[i]))
		}
		for len(ext) > n {
			if math.Abs(err[ext[0]]) < math.Abs(err[ext[len(ext)-1]]) {
				ext = ext[1:]
			} else {
				ext = ext[:len(ext)-1]
			}
		}
		if len(ext) < n {
			break
		}
		copy(node, ext)
	}
	return c, worst
}

// solve solves a linear system, given as an augmented matrix, by Gaussian elimination with row
// pivoting.
func solve(a [][]*big.Float) []*big.Float {
	n := len(a)
	for i := range n {
		p := i
		for k := i; k < n; k++ {
			if new(big.Float).Abs(a[k][i]).Cmp(new(big.Float).Abs(a[p][i])) > 0 {
				p = k
			}
		}
		a[i], a[p] = a[p], a[i]
		for k := i + 1; k < n; k++ {
			m := quo(a[k][i], a[i][i])
			for j := i; j <= n; j++ {
				a[k][j] = sub(a[k][j], mul(m, a[i][j]))
			}
		}
	}
	x := make([]*big.Float, n)
	for i := n - 1; i >= 0; i-- {
		s := a[i][n]
		for j := i + 1; j < n; j++ {
			s = sub(s, mul(a[i][j], x[j]))
		}
		x[i] = quo(s, a[i][i])
	}
	return x
}

func show(name string, c []*big.Float, worst float64, bits int) {
	fmt.Printf("%s: maximum relative error %.3g\n", name, worst)
	for j, v := range c {
		if bits == 32 {
			f, _ := v.Float32()
			fmt.Printf("\tc%d = %x\n", j, f)
		} else {
			f, _ := v.Float64()
			fmt.Printf("\tc%d = %x\n", j, f)
		}
	}
}

func main() {
	half := math.Ln2/2 + 1e-6
	weight := func(r *big.Float) *big.Float { // r²/e^r
		e := add(num(1), add(r, mul(mul(r, r), expTail(r))))
		return quo(mul(r, r), e)
	}
	guard := func(w func(*big.Float) *big.Float) func(*big.Float) *big.Float {
		return func(r *big.Float) *big.Float { return add(w(r), num(1e-9)) }
	}
	c, e := remez(3, -half, half, expTail, guard(weight))
	show("exp, float32", c, e, 32)
	c, e = remez(9, -half, half, expTail, guard(weight))
	show("exp, float64", c, e, 64)
	z := func(z *big.Float) *big.Float { return add(quo(z, num(2)), num(1e-9)) }
	c, e = remez(2, 0, 0.0295, atanhTail, z)
	show("log, float32", c, e, 32)
	c, e = remez(6, 0, 0.0295, atanhTail, z)
	show("log, float64", c, e, 64)
}
