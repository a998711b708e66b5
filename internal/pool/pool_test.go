package pool_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errUser = errors.New("the user's own")

func userCode(job int) {
	if job == 3 {
		panic(errUser)
	}
}

func caught(t *testing.T, f func()) *pool.Panic {
	t.Helper()
	var p *pool.Panic
	func() {
		defer func() {
			err, _ := recover().(error)
			require.ErrorAs(t, err, &p)
		}()
		f()
	}()
	return p
}

// A panic reaches the caller with its value and its stack, whatever the number
// of workers.
func TestPanicsReachTheCaller(t *testing.T) {
	for workers := 1; workers <= 5; workers++ {
		p := caught(t, func() { pool.Each(workers, 100, userCode) })
		assert.ErrorIs(t, p, errUser)
		assert.Contains(t, p.Error(), "userCode", "the stack, %d workers", workers)
		assert.Equal(t, 1, countOf(p.Error(), "in a job:"))

		c := pool.New(workers)
		c.Start()
		for range 20 {
			p = caught(t, func() { c.Each(0, 100, func(_, job int) { userCode(job) }) })
			assert.ErrorIs(t, p, errUser)
			assert.Contains(t, p.Error(), "userCode", "the stack, %d workers", workers)
			var sum atomic.Int64
			c.Each(0, 100, func(_, job int) { sum.Add(int64(job)) })
			assert.EqualValues(t, 4950, sum.Load(), "the pool stays usable")
		}
		c.Stop()

		p = caught(t, func() { pool.Each(2, 4, func(int) { pool.Each(2, 4, userCode) }) })
		assert.Equal(t, errUser, p.Value, "jobs within jobs")
	}
}

func countOf(s, sub string) (n int) {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			n++
		}
	}
	return n
}

// A job that ends its goroutine, as testing.T.FailNow does, ends the caller's.
func TestGoexitReachesTheCaller(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		for _, each := range []func(do func(int)){
			func(do func(int)) { pool.Each(workers, 50, do) },
			func(do func(int)) {
				c := pool.New(workers)
				c.Start()
				defer c.Stop()
				c.Each(0, 50, func(_, job int) { do(job) })
			},
		} {
			went := make(chan bool, 1)
			go func() {
				on := false
				defer func() { went <- on }()
				each(func(job int) {
					if job == 49 {
						runtime.Goexit()
					}
				})
				on = true
			}()
			assert.False(t, <-went, fmt.Sprint(workers, " workers"))
		}
	}
}
