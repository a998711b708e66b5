package scratch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
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
