package sweep

import (
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// workers share the jobs of a sweep. W is the workspace of one of them.
type workers[W any] struct {
	burst *pool.Burst
	each  []*W // by worker, on cache lines of its own
}

// share makes workspaces for n workers, or for the most that find a job. complete, unless nil,
// adds to one what is not zero.
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

// do does the jobs 0 … n−1, a single one without waking other workers.
func (k *workers[W]) do(n int, job func(worker, job int)) {
	if n == 1 || len(k.each) == 1 {
		for i := range n {
			job(0, i)
		}
		return
	}
	k.burst.Each(n, job)
}
