package momentum

// frame is the linear map L between the coordinates v of a state and its momentum u. The
// auxiliary vector of a proposal is z = Lᵀv + u.
type frame interface {
	// drift stores L·u in dst. Entry i is the slope that the momentum u adds to −E along site i.
	drift(dst, u []float64)

	// push adds Lᵀ·d to u, where d is the change of the coordinates v.
	push(u, d []float64)

	// cost returns ½(LLᵀ)_ii, the factor of d² in the exponent of the proposal of site i.
	cost(i int) float64

	// setStep sets the step size to δ. It returns false if the step size is fixed.
	setStep(delta float64) bool
}

// scaled is the frame L = I/δ, with step size δ.
type scaled struct {
	sites   int
	inverse float64 // 1/δ
}

func (f *scaled) drift(dst, u []float64) {
	for i, v := range u {
		dst[i] = f.inverse * v
	}
}

func (f *scaled) push(u, d []float64) {
	for i, v := range d {
		u[i] += float64(f.inverse * v)
	}
}

func (f *scaled) cost(int) float64 { return float64(f.inverse*f.inverse) / 2 }

func (f *scaled) setStep(delta float64) bool {
	f.inverse = 1 / delta
	return true
}

// factored is a frame with a lower triangular L, stored row after row: row i has i+1 entries.
type factored struct {
	l     []float64
	sites int
}

func (f *factored) row(i int) []float64 {
	at := i * (i + 1) / 2
	return f.l[at : at+i+1]
}

func (f *factored) drift(dst, u []float64) {
	for i := range dst {
		sum := 0.0
		for j, l := range f.row(i) {
			sum += float64(l * u[j])
		}
		dst[i] = sum
	}
}

func (f *factored) push(u, d []float64) {
	for i, v := range d {
		if v == 0 {
			continue
		}
		for j, l := range f.row(i) {
			u[j] += float64(l * v)
		}
	}
}

func (f *factored) cost(i int) float64 {
	sum := 0.0
	for _, l := range f.row(i) {
		sum += float64(l * l)
	}
	return sum / 2
}

func (f *factored) setStep(float64) bool { return false }
