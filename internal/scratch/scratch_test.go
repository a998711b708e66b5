package scratch_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/stretchr/testify/assert"
)

func TestBuffersHaveTheLengthAskedFor(t *testing.T) {
	var p scratch.Pool[int32]
	for _, n := range []int{0, 5, 3, 100, 7} {
		b := p.Get(n)
		assert.Len(t, *b, n)
		p.Put(b)
	}
}

func TestBuffersAreNotShared(t *testing.T) {
	var p scratch.Pool[float64]
	a, b := p.Get(4), p.Get(4)
	(*a)[0], (*b)[0] = 1, 2
	assert.Equal(t, 1.0, (*a)[0])
}

func TestLendingAllocatesNothing(t *testing.T) {
	if exact.Race || testing.CoverMode() != "" {
		t.Skip("the race detector makes pools drop what they are given")
	}
	var p scratch.Pool[float32]
	p.Put(p.Get(64))
	assert.Zero(t, testing.AllocsPerRun(100, func() { p.Put(p.Get(64)) }))
}

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
