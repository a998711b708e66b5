package simd

// The definitions, in plain Go, of the bits that every backend of gemm.go gives.

func refGemm(c, a, b []float32, m, n, k int) {
	for i := range m {
		row := c[i*n : (i+1)*n]
		for l, v := range a[i*k : (i+1)*k] {
			refAxpy(v, b[l*n:(l+1)*n], row)
		}
	}
}

func refGemmT(c, a, b []float32, m, n, k int) {
	for i := range m {
		x := a[i*k : (i+1)*k]
		for j := range n {
			s := c[i*n+j]
			for l, v := range b[j*k : (j+1)*k] {
				s += float32(x[l] * v)
			}
			c[i*n+j] = s
		}
	}
}
