//go:build (!amd64 && !arm64) || purego

package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func checkSupported(t *testing.T) { assert.Equal(t, purego, supported()) }
