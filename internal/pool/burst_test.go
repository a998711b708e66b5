package pool_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// Calls that follow at once, while helpers still wait, and after they have gone do every
// job once; then no goroutine is left.
func TestBurstHelpersComeAndGo(t *testing.T) {
	before := runtime.NumGoroutine()
	b := pool.NewBurst(4)
	for round := range 400 {
		if round%20 == 0 {
			time.Sleep(time.Duration(round) * time.Microsecond)
		}
		jobs := round % 7
		var done [7]atomic.Int32
		b.Each(jobs, func(_, job int) { done[job].Add(1) })
		for job := range done {
			want := int32(0)
			if job < jobs {
				want = 1
			}
			assert.Equal(t, want, done[job].Load())
		}
	}
	for wait := 0; runtime.NumGoroutine() > before && wait < 10_000; wait++ {
		time.Sleep(time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}
