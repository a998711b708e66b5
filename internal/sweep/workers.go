package sweep

import (
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// workers divides the jobs of a sweep. W is the type of the workspace of one worker.
type workers[W any] struct {
	burst *pool.Burst
	each  []*W // per worker: its workspace, on cache lines of its own
}

// share allocates workspaces for n workers, or for as many as there are jobs if that is less. If
// complete is not nil, it initialises a workspace beyond its zero value.
func (k *workers[W]) share(n, most int, complete func(w *W)) {
	if n = max(1, min(n, most)); n == len(k.each) {
		return
	}
	k.burst = pool.NewBurst(n)
	k.each = make([]*W, n)
	for i := range k.each {
		w := padded.New(*new(W))
		if complete != nil {
			complete(w)
		}
		k.each[i] = w
	}
}

// do runs the jobs 0 … n−1. It runs a single job without waking other workers.
func (k *workers[W]) do(n int, job func(worker, job int)) {
	if n == 1 || len(k.each) == 1 {
		for i := range n {
			job(0, i)
		}
		return
	}
	k.burst.Each(n, job)
}
