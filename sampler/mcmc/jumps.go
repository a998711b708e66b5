package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// jumps weighs the levels of sites by the distribution of a jump process at a time τ, see
// [DLMC]. With o the present level of a site,
//
//	τ·g(t_l)/ν_l = τ/M(ν_l, ν_o)
//
// where M is the geometric mean (Sqrt), the sum (Barker), the maximum (Min) or the minimum
// (Max). A level costs two exponentials, one of them that of ν.
type jumps struct {
	balance  Balance
	cols     int
	nu, r, e []float32 // rows at a time: ν, −τg/ν and the exponential of that
}

// jumpEntries is the number of entries weighed at a time.
const jumpEntries = 1024

func newJumps(b Balance, cols int) *jumps {
	n := max(jumpEntries/cols, 1) * cols
	return &jumps{balance: b, cols: cols, nu: make([]float32, n), r: make([]float32, n), e: make([]float32, n)}
}

// weigh stores in w the probabilities of the levels of sites at the levels x, given their
// rows g of differences, and in sum their totals, 1 but for rounding: at least leastWeight, 0
// for a level that is known to have probability zero, NaN in a row with NaN.
func (j *jumps) weigh(w []float32, sum []float64, g []float32, x []int32, tau float64) {
	for len(x) > 0 {
		rows := min(len(x), len(j.nu)/j.cols)
		n := rows * j.cols
		j.some(w[:n], sum[:rows], g[:n], x[:rows], float32(tau))
		w, sum, g, x = w[n:], sum[rows:], g[n:], x[rows:]
	}
}

func (j *jumps) some(w []float32, sum []float64, g []float32, x []int32, tau float32) {
	nu, r, e := j.nu[:len(g)], j.r[:len(g)], j.e[:len(g)]
	for i, d := range g {
		nu[i] = -d
	}
	simd.Softmax(nu, nu, j.cols)
	for i, own := range x {
		from, to := i*j.cols, (i+1)*j.cols
		j.balance.exponents(r[from:to], nu[from:to], nu[from+int(own)], -tau)
	}
	simd.WeightsFrom(e, r, 0)
	for i, own := range x {
		from := i * j.cols
		stay, total := float64(nu[from+int(own)]), 0.0
		for l := range j.cols {
			at := from + l
			if l == int(own) {
				continue
			}
			q := float32(nu[at] * simd.Gone(-r[at], e[at]))
			stay += float64(float64(nu[at]) * float64(e[at]))
			if q < leastWeight {
				if q = leastWeight; g[at] > math.MaxFloat32 {
					q = 0
				}
			}
			w[at] = q
			total += float64(q)
		}
		w[from+int(own)] = float32(max(stay, leastWeight))
		sum[i] = total + float64(w[from+int(own)])
	}
}

// exponents stores by/M(ν_l, own) for the levels of a row.
func (b Balance) exponents(r, nu []float32, own, by float32) {
	switch b {
	case Sqrt:
		root := by / float32(math.Sqrt(float64(own)))
		for l, v := range nu {
			r[l] = root / float32(math.Sqrt(float64(v)))
		}
	case Barker:
		for l, v := range nu {
			r[l] = by / (v + own)
		}
	case Min:
		for l, v := range nu {
			r[l] = by / max(v, own)
		}
	case Max:
		for l, v := range nu {
			r[l] = by / min(v, own)
		}
	}
}
