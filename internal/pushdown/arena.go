package pushdown

// arena gives out slices that live until it is emptied.
type arena struct {
	chunks [][]float64
	used   int // of the last chunk in use
	chunk  int
}

func (a *arena) take(n int) []float64 {
	if n == 0 {
		return nil
	}
	for a.chunk < len(a.chunks) && a.used+n > len(a.chunks[a.chunk]) {
		a.chunk, a.used = a.chunk+1, 0
	}
	if a.chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]float64, max(n, chunkSize)))
	}
	x := a.chunks[a.chunk][a.used : a.used+n : a.used+n]
	a.used += n
	clear(x)
	return x
}

func (a *arena) empty() { a.chunk, a.used = 0, 0 }

const chunkSize = 1 << 16

func grid[T any](n, m int) [][]T {
	all, g := make([]T, n*m), make([][]T, n)
	for i := range g {
		g[i] = all[i*m : (i+1)*m : (i+1)*m]
	}
	return g
}

const (
	tileSites = 64       // rows of one start fill two strips of the kernel
	lowest    = 0x1p-600 // smaller values are raised to it
	faint     = 0x1p-300 // smaller weights are dropped
	remote    = -411     // log₂ of what a return weighs at least: times lowest and drift it is normal
	vanishing = -422     // log₂ of what lowest may be multiplied by: the product is normal
	highest   = 100      // log₂ of the greatest value
)
