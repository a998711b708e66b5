//go:build (!amd64 && !arm64) || purego

package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func checkSupported(t *testing.T) { assert.Equal(t, purego, supported()) }

// setAES stands for what another build of this file does.
func setAES(bool, bool) (narrow, wide bool) { return false, false }

// withoutPopcounts stands for what another build of this file does.
func withoutPopcounts(f func()) { f() }
