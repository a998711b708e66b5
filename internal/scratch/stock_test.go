package scratch_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Nobody has what another has, and no more is made than was out at once.
func TestStockLendsToOneAtATime(t *testing.T) {
	var s scratch.Stock[atomic.Int32]
	var made atomic.Int32
	var wg sync.WaitGroup
	const users = 8
	for range users {
		wg.Go(func() {
			for range 1000 {
				v := s.Take(func() *atomic.Int32 { made.Add(1); return new(atomic.Int32) })
				if v.Add(1) != 1 {
					t.Error("lent twice")
				}
				v.Add(-1)
				s.Give(v)
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, made.Load(), int32(users))
	assert.Positive(t, made.Load())
}
