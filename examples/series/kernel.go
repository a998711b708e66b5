package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"gonum.org/v1/gonum/mat"
)

// kernels is a kernel density of windows whose kernels have the shape of the data. It uses the
// coordinates z of [problem.kindOf]. Let Σ be their shrunken covariance, m their mean and G the
// diagonal matrix of kernel widths. Let s_j² = ‖z_j − m‖² in units of Σ, scaled to mean 1. The
// density is
//
//	Σ_j N(m + A·(z_j − m), s_j²·A·G·Σ·G·A) / J,  A = (1 + G²)^(−½).
//
// It has mean m and about the variances of Σ for every G. Round kernels would be wider than the
// height of a bar, or narrower than the distance between levels. For x = √ᾱ·x_0 + √(1−ᾱ)·noise,
// the formulas are those of denoise.Windows in the eigenvectors of the kernel, with one variance
// each. A kernels value is safe for concurrent use.
type kernels struct {
	n      int
	width  float64 // kernel width along time
	row    float64 // kernel width for high and low within a bar; 0 without bars
	mean   []float64
	basis  *mat.Dense // eigenvectors of A·G·Σ·G·A, in window coordinates, as columns
	values []float64  // eigenvalues that belong to basis
	y      []float64  // kernel centres minus the mean in the eigenvectors, windows × n
	size   []float64  // distinct values of s_j²
	of     []int      // index of each kernel's entry in size
}

var _ energy.Denoiser[float32] = (*kernels)(nil)

// kindOf returns the linear map from a window to its coordinates. For bars these are the change
// from one close to the next, the overnight change, and the distances of high and low from the
// middle of open and close. For other drifting channels they are the changes. The result within
// marks the coordinates of high and low.
func (p *problem) kindOf() (d *mat.Dense, within []bool) {
	n, c := p.sites(), p.channels()
	d, within = mat.NewDense(n, n, nil), make([]bool, n)
	for k := range c {
		level, change, count := 0.0, 0.0, 0.0
		for i := k; i < len(p.training); i += c {
			v := float64(p.training[i])
			level, count = level+v*v, count+1
			if i%n >= c {
				u := v - float64(p.training[i-c])
				change += u * u
			}
		}
		wandering := change < wanders*wanders*level
		for t := range p.length {
			i := t*c + k
			d.Set(i, i, 1)
			switch {
			case p.ordered && k == p.prices[0]: // standardised prices have scales of their own
				d.Set(i, max(t-1, 0)*c+p.prices[3], -p.scale[p.prices[3]]/p.scale[k])
			case p.ordered && (k == p.prices[1] || k == p.prices[2]):
				for _, other := range []int{p.prices[0], p.prices[3]} {
					d.Set(i, t*c+other, -p.scale[other]/p.scale[k]/2)
				}
				within[i] = true
			case wandering && t > 0:
				d.Set(i, i-c, -1)
			}
		}
	}
	return d, within
}

// newKernels fits the density to the training windows. It chooses each width by the likelihood
// of the last fifth of the windows under the density of the earlier ones. For the width along
// time, whole windows are compared. For the width of high and low, single bars are compared,
// because one kernel for a whole window contains no information about their shape.
func (p *problem) newKernels() (*kernels, error) {
	k := &kernels{n: p.sites()}
	n, count := k.n, len(p.training)/p.sites()
	kind, within := p.kindOf()
	k.mean = make([]float64, n)
	for i, v := range p.training {
		k.mean[i%n] += float64(v) / float64(count)
	}
	var z, back mat.Dense
	less := mat.NewDense(count, n, nil)
	for i, v := range p.training {
		less.Set(i/n, i%n, float64(v)-k.mean[i%n])
	}
	z.Mul(less, kind.T())
	if err := back.Inverse(kind); err != nil {
		return nil, errCovariance
	}
	cov := mat.NewSymDense(n, nil)
	cov.SymOuterK((1-shrinkage)/float64(count), z.T())
	for i := range n {
		cov.SetSym(i, i, cov.At(i, i)/(1-shrinkage)+1e-8)
	}
	var along, apart []int
	for i := range n {
		if within[i] {
			apart = append(apart, i)
		} else {
			along = append(along, i)
		}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	white, err := whitened(&z, cov, all)
	if err != nil {
		return nil, err
	}
	total := 0.0
	sizes := make([]float64, count)
	for j, x := range white {
		for _, v := range x {
			sizes[j] += v * v
		}
		total += sizes[j] / float64(count)
	}
	k.settle(sizes, total)
	if white, err = whitened(&z, cov, along); err != nil {
		return nil, err
	}
	border := count * 4 / 5
	before := max(border-p.length, 1) // share no row with those tested
	k.width = likeliest(thin(white, 0, before), thin(white, border, count), func(i int) float64 { return k.size[k.of[i*before/min(mostLikely, before)]] })
	if len(apart) > 0 {
		if k.row, err = p.rowWidth(&z, apart, before, border); err != nil {
			return nil, err
		}
	}
	for i := range n { // A·G·Σ·G·A and A·(z − m)
		for j := i; j < n; j++ {
			cov.SetSym(i, j, cov.At(i, j)*k.gain(within[i])*k.gain(within[j]))
		}
		for j := range count {
			z.Set(j, i, z.At(j, i)*k.shrink(within[i]))
		}
	}
	var half, full mat.Dense
	half.Mul(&back, cov)
	full.Mul(&half, back.T())
	for i := range n {
		for j := i; j < n; j++ {
			cov.SetSym(i, j, (full.At(i, j)+full.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		return nil, errCovariance
	}
	k.values, k.basis = eigen.Values(nil), &mat.Dense{}
	eigen.VectorsTo(k.basis)
	if !(k.values[0] > 0) {
		return nil, errors.New("columns are linearly dependent; leave some out (-columns), or give a -bandwidth")
	}
	var centres, y mat.Dense
	centres.Mul(&z, back.T())
	y.Mul(&centres, k.basis)
	k.y = y.RawMatrix().Data
	return k, nil
}

// shrink returns a diagonal entry of A.
func (k *kernels) shrink(within bool) float64 {
	h := k.width
	if within {
		h = k.row
	}
	return 1 / math.Sqrt(1+h*h)
}

func (k *kernels) gain(within bool) float64 {
	if within {
		return k.row * k.shrink(true)
	}
	return k.width * k.shrink(false)
}

// whitened returns the given columns of z, transformed so that their covariance is the identity.
func whitened(z *mat.Dense, cov *mat.SymDense, columns []int) ([][]float64, error) {
	d := len(columns)
	part := mat.NewSymDense(d, nil)
	for a, i := range columns {
		for b, j := range columns[a:] {
			part.SetSym(a, a+b, cov.At(i, j))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(part) {
		return nil, errCovariance
	}
	var l mat.TriDense
	chol.LTo(&l)
	rows, _ := z.Dims()
	out := make([][]float64, rows)
	for j := range out {
		x := mat.NewVecDense(d, nil)
		for a, i := range columns {
			x.SetVec(a, z.At(j, i))
		}
		if err := x.SolveVec(&l, x); err != nil {
			return nil, errCovariance
		}
		out[j] = x.RawVector().Data
	}
	return out, nil
}

// thin returns at most mostLikely of the points from … to−1, evenly spaced.
func thin(points [][]float64, from, to int) (out [][]float64) {
	most := min(mostLikely, to-from)
	for i := range most {
		out = append(out, points[from+i*(to-from)/most])
	}
	return out
}

// likeliest returns the width that maximises the likelihood of the points tests under the
// density with the given centres. Points are in units of their covariance; size returns the s_j²
// of a centre.
func likeliest(centres, tests [][]float64, size func(i int) float64) float64 {
	likely := make([]float64, len(widths))
	l := make([]float64, len(centres))
	for _, x := range tests {
		dots := make([][3]float64, len(centres)) // ‖x − a·c‖² = ‖x‖² − 2a·x·c + a²‖c‖²
		for i, c := range centres {
			for d := range x {
				dots[i][0] += x[d] * x[d]
				dots[i][1] += x[d] * c[d]
				dots[i][2] += c[d] * c[d]
			}
		}
		for b, h := range widths {
			a, top := 1/math.Sqrt(1+h*h), math.Inf(-1)
			for i := range centres {
				v := a * a * h * h * size(i)
				l[i] = -(dots[i][0]-2*a*dots[i][1]+a*a*dots[i][2])/2/v - float64(len(x))/2*math.Log(v)
				top = max(top, l[i])
			}
			sum := 0.0
			for _, v := range l {
				sum += math.Exp(v - top)
			}
			likely[b] += top + math.Log(sum)
		}
	}
	return widths[slices.Index(likely, slices.Max(likely))]
}

// rowWidth returns the kernel width for high and low within a bar.
func (p *problem) rowWidth(z *mat.Dense, apart []int, before, border int) (float64, error) {
	count, _ := z.Dims()
	each := len(apart) / p.length
	bars := mat.NewDense(count*p.length, each, nil)
	for j := range count {
		for i, at := range apart {
			bars.Set(j*p.length+i/each, i%each, z.At(j, at))
		}
	}
	cov, columns := mat.NewSymDense(each, nil), make([]int, each)
	cov.SymOuterK(1/float64(count*p.length), bars.T())
	for i := range columns {
		columns[i] = i
		cov.SetSym(i, i, cov.At(i, i)+1e-8)
	}
	white, err := whitened(bars, cov, columns)
	if err != nil {
		return 0, err
	}
	return likeliest(thin(white, 0, before*p.length), thin(white, border*p.length, count*p.length), func(int) float64 { return 1 }), nil
}

// settle rounds sizes to quarter powers of two. A prediction then computes what depends on the
// size once for all kernels of a size.
func (k *kernels) settle(sizes []float64, mean float64) {
	index := map[float64]int{}
	for _, s := range sizes {
		s = math.Exp2(math.Round(4*math.Log2(s/mean)) / 4)
		at, ok := index[s]
		if !ok {
			at = len(k.size)
			index[s] = at
			k.size = append(k.size, s)
		}
		k.of = append(k.of, at)
	}
}

// Shape returns the number of entries of a window, which are its sites, and 1 level, which stands
// for reals.
func (k *kernels) Shape() (sites, levels int) { return k.n, 1 }

// Denoise stores the posterior means in v. It implements energy.Denoiser.
func (k *kernels) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if slices.Contains(q.Clean, true) {
		return errors.New("kernels with the shape of the data cannot predict clean entries; give a -bandwidth")
	}
	mean := make([]float64, k.n)
	for s, alpha := range q.Alpha {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := k.explain(mean, q.X[s*k.n:(s+1)*k.n], alpha, nil); err != nil {
			return err
		}
		for i, u := range mean {
			v[s*k.n+i] = float32(u)
		}
	}
	return nil
}

// explain stores in mean the posterior mean E[x_0 | x]. If visit is not nil, it is called for every
// kernel with a relevant weight. Its arguments are the weight, the kernel's posterior mean minus
// the overall one in eigenvectors, and its posterior variances.
func (k *kernels) explain(mean []float64, x []float32, alpha float64, visit func(weight float64, off, variance []float64)) (trace float64, err error) {
	n := k.n
	signal := math.Sqrt(alpha)
	less := mat.NewVecDense(n, nil)
	for i, v := range x {
		less.SetVec(i, float64(v)-signal*k.mean[i])
	}
	var rotated mat.VecDense
	rotated.MulVec(k.basis.T(), less)
	u := rotated.RawVector().Data
	inverse, gain := make([]float64, len(k.size)*n), make([]float64, len(k.size)*n) // by size
	det := make([]float64, len(k.size))
	for c, s := range k.size {
		for i, l := range k.values {
			v := alpha*s*l + 1 - alpha
			inverse[c*n+i], gain[c*n+i] = 1/v, signal*s*l/v
			det[c] += math.Log(v)
		}
	}
	logs, top := make([]float64, len(k.of)), math.Inf(-1)
	for j, c := range k.of {
		l, in := det[c], inverse[c*n:(c+1)*n]
		for i, y := range k.y[j*n : (j+1)*n] {
			e := u[i] - signal*y
			l += e * e * in[i]
		}
		logs[j] = -l / 2
		top = max(top, logs[j])
	}
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return 0, fmt.Errorf("a state is not finite, or the noise is 0 (signal level %v)", alpha)
	}
	total := 0.0
	for j := range logs {
		if logs[j] = math.Exp(logs[j] - top); logs[j] < 1e-17 {
			logs[j] = 0
		}
		total += logs[j]
	}
	each := func(j int, dst []float64) {
		g := gain[k.of[j]*n : (k.of[j]+1)*n]
		for i, y := range k.y[j*n : (j+1)*n] {
			dst[i] = y + g[i]*(u[i]-signal*y)
		}
	}
	sum, one := make([]float64, n), make([]float64, n)
	for j, w := range logs {
		if w == 0 {
			continue
		}
		each(j, one)
		for i, v := range one {
			sum[i] += w / total * v
		}
	}
	var out mat.VecDense
	out.MulVec(k.basis, mat.NewVecDense(n, sum))
	for i := range mean {
		mean[i] = k.mean[i] + out.AtVec(i)
	}
	if visit == nil {
		return 0, nil
	}
	variance := make([]float64, n)
	for j, w := range logs {
		if w == 0 {
			continue
		}
		each(j, one)
		for i := range one {
			one[i] -= sum[i]
			v := k.size[k.of[j]] * k.values[i]
			variance[i] = v * (1 - alpha) / (alpha*v + 1 - alpha)
			trace += w / total * (variance[i] + one[i]*one[i])
		}
		visit(w/total, one, variance)
	}
	return trace, nil
}

// Moments stores in mean the posterior mean given x, and in product the products of the vectors in
// rows with the posterior covariance. It returns the trace of the covariance. It implements
// twisted.Posterior.
func (k *kernels) Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error) {
	n, count := k.n, len(rows)/k.n
	turned, sums := mat.NewDense(max(count, 1), n, nil), mat.NewDense(max(count, 1), n, nil)
	if count > 0 {
		turned.Mul(mat.NewDense(count, n, rows), k.basis)
	}
	trace, err = k.explain(mean, x, alpha, func(w float64, off, variance []float64) {
		for r := range count {
			row, sum, dot := turned.RawRowView(r), sums.RawRowView(r), 0.0
			for i, v := range off {
				dot += v * row[i]
			}
			for i, v := range off {
				sum[i] += w * (variance[i]*row[i] + dot*v)
			}
		}
	})
	if err != nil || count == 0 {
		return trace, err
	}
	var out mat.Dense
	out.Mul(sums, k.basis.T())
	for r := range count {
		copy(product[r*n:(r+1)*n], out.RawRowView(r))
	}
	return trace, nil
}

// givenEquations is the density conditioned on equations R·x = y.
type givenEquations struct {
	k     *kernels
	rows  *mat.Dense // coefficients R of the equations, q × n
	gain  *mat.Dense // gain of the equations, Σ·Rᵀ·(R·Σ·Rᵀ)⁻¹, n × q
	y     []float64
	total []float64 // cumulative weights of the kernels, for drawing one
}

// Where returns the density conditioned on R·x = values. The argument rows holds R row by row.
func (k *kernels) Where(rows, values []float64) (*givenEquations, error) {
	n, q := k.n, len(values)
	g := &givenEquations{k: k, rows: mat.NewDense(q, n, rows), y: values, gain: &mat.Dense{}}
	var turned, scaled mat.Dense
	turned.Mul(g.rows, k.basis)
	scaled.Apply(func(_, j int, v float64) float64 { return v * math.Sqrt(k.values[j]) }, &turned)
	inner := mat.NewSymDense(q, nil)
	inner.SymOuterK(1, &scaled)
	var chol mat.Cholesky
	if !chol.Factorize(inner) {
		return nil, errors.New("equations that depend on each other given the covariance of windows")
	}
	scaled.Apply(func(_, j int, v float64) float64 { return v * k.values[j] }, &turned)
	var product, inverse mat.Dense
	product.Mul(&scaled, k.basis.T()) // R·Σ
	if err := chol.SolveTo(&inverse, &product); err != nil {
		return nil, err
	}
	g.gain.CloneFrom(inverse.T())
	logs, top := make([]float64, len(k.of)), math.Inf(-1)
	for j, c := range k.of {
		s := k.size[c]
		miss := mat.NewVecDense(q, slices.Clone(values))
		var at mat.VecDense
		at.MulVec(&turned, mat.NewVecDense(n, k.y[j*n:(j+1)*n]))
		miss.SubVec(miss, &at)
		at.MulVec(g.rows, mat.NewVecDense(n, k.mean))
		miss.SubVec(miss, &at)
		var solved mat.VecDense
		if err := chol.SolveVecTo(&solved, miss); err != nil {
			return nil, err
		}
		logs[j] = -mat.Dot(miss, &solved)/2/s - float64(q)/2*math.Log(s)
		top = max(top, logs[j])
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - top)
		g.total = append(g.total, sum)
	}
	return g, nil
}

// Draw draws a window. It chooses a kernel by weight, draws a window from it, and moves the window
// to the nearest point that satisfies the equations. Distances are measured in the metric of the
// covariance Σ.
func (g *givenEquations) Draw(x []float32, src rand.Source) {
	k, r := g.k, rand.New(src)
	j, _ := slices.BinarySearch(g.total, r.Float64()*g.total[len(g.total)-1])
	j = min(j, len(g.total)-1)
	z := mat.NewVecDense(k.n, nil)
	for i, c := range k.y[j*k.n : (j+1)*k.n] {
		z.SetVec(i, c+math.Sqrt(k.size[k.of[j]]*k.values[i])*r.NormFloat64())
	}
	var w, miss, move mat.VecDense
	w.MulVec(k.basis, z)
	w.AddVec(&w, mat.NewVecDense(k.n, k.mean))
	miss.MulVec(g.rows, &w)
	miss.SubVec(mat.NewVecDense(len(g.y), g.y), &miss)
	move.MulVec(g.gain, &miss)
	w.AddVec(&w, &move)
	for i := range x {
		x[i] = float32(w.AtVec(i))
	}
}
