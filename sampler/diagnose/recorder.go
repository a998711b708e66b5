package diagnose

import (
	"fmt"
	"sync"
)

// recorder holds the draws of chains until they have all.
type recorder struct {
	first, draws, nested int
	functions            []func(x []int32) float64
	chains               []underway // of this part

	mu   sync.Mutex  // for the tally and what follows
	free [][]float64 // buffers of finished chains
}

// underway is a chain that draws are made of; one goroutine at a time uses it.
type underway struct {
	draws   int
	values  []float64 // functions × draws
	means   []float64 // of the functions, once finished, until their group is
	actions chainActions
}

func (r *recorder) buffer(n int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 {
		b := r.free[last]
		r.free = r.free[:last]
		return b
	}
	return make([]float64, n)
}

// unfinished returns an error unless all chains are done.
func (r *recorder) unfinished(done spans) error {
	if done.chains() >= len(r.chains) {
		return nil
	}
	for i := range r.chains {
		if n := r.chains[i].draws; n < r.draws {
			return fmt.Errorf("chain %d has %d draws, want %d", r.first+i, n, r.draws)
		}
	}
	return nil
}
