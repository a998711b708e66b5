package folder_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/tools/folder"
)

// A folder holds itself and what is below it, and not what begins like it.
func TestAmong(t *testing.T) {
	for _, all := range [][]string{nil, {"."}, {"./"}, {"a", "."}} {
		assert.True(t, folder.Among("a/b.go", all), "%v", all)
	}
	for _, of := range []string{"a", "a/", "./a", "a/b.go"} {
		assert.True(t, folder.Among("a/b.go", []string{"c", of}), of)
		assert.False(t, folder.Among("ab/b.go", []string{of}), of)
	}
}
