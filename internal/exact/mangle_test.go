package exact_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/stretchr/testify/assert"
)

func TestMangleRepairsLengthAndChecksum(t *testing.T) {
	file := wire.Append(wire.Append(nil, "one 1\n", []byte("abcd")), "two\n", []byte("xyz"))
	assert.Equal(t, file, exact.Mangle(file, nil))
	assert.Equal(t, []byte("not a frame"), exact.Mangle([]byte("not a frame"), []byte{0, 0, 0, 1, 0}))
	for want, edits := range map[string][]byte{
		"aBcd": {0, 0, 1, 'b' ^ 'B', 0}, "abcD": {0, 128, 0, 'd' ^ 'D', 0}, "ab": {0, 0, 2, 0, 0}, "abcdcd": {0, 0, 2, 0, 1},
	} {
		got := exact.Mangle(file, edits)
		body, err := wire.Body(got[:len("one 1\n")+16+len(want)], "one 1\n")
		assert.NoError(t, err)
		assert.Equal(t, want, string(body))
	}
}
