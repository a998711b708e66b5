package padded_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/padded"
)

// TestPadded wants what is made one after another at least a cache line apart, and
// the one that is fetched with it.
func TestPadded(t *testing.T) {
	const line = 128
	type odd [5]byte
	var ends []uintptr
	note := func(p unsafe.Pointer, size uintptr) {
		for i := 0; i < len(ends); i += 2 {
			assert.True(t, uintptr(p) >= ends[i+1]+line || uintptr(p)+size+line <= ends[i])
		}
		ends = append(ends, uintptr(p), uintptr(p)+size)
	}
	var kept []any // what is collected leaves its place to others
	for range 20 {
		a, b, c, d := padded.Make[bool](3), padded.Make[*int](1), padded.Make[odd](7), padded.New([300]byte{7})
		kept = append(kept, a, b, c, d)
		note(unsafe.Pointer(&a[0]), 3)
		note(unsafe.Pointer(&b[0]), unsafe.Sizeof(b[0]))
		note(unsafe.Pointer(&c[0]), 7*5)
		note(unsafe.Pointer(d), 300)
		assert.Equal(t, []int{3, 3, 7, 7}, []int{len(a), cap(a), len(c), cap(c)})
		assert.Equal(t, byte(7), d[0])
	}
	runtime.KeepAlive(kept)
	assert.Empty(t, padded.Make[struct{}](0))
	assert.Len(t, padded.Make[struct{}](3), 3)
}

// What is accepted becomes current, of all chains or of some.
func TestPair(t *testing.T) {
	p := padded.NewPair[int](3, 2)
	copy(p.Next, []int{1, 2, 3, 4, 5, 6})
	p.Accept(1, 2)
	assert.Equal(t, []int{0, 0, 3, 4, 0, 0}, p.Now)
	assert.Equal(t, []int{3, 4}, p.Chain(1, false))
	assert.Equal(t, []int{5, 6}, p.Chain(2, true))
	p.Accept(0, 3)
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6}, p.Now)
}
