//go:build amd64 && !purego

package simd

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/cpu"
)

// checkSupported asks the operating system, where it can be asked, whether
// supported overlooks a backend.
func checkSupported(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return
	}
	has := func(flags string) bool {
		for _, f := range strings.Fields(flags) {
			if !strings.Contains(string(info), " "+f+" ") {
				return false
			}
		}
		return true
	}
	want := purego
	if has("avx2 fma bmi2 popcnt") {
		want = avx2
		if has("avx512f avx512bw avx512dq avx512vl") {
			want = avx512
		}
	}
	assert.Equal(t, want, supported())
}

// setAES says which AES instructions ARS may use, of those that the CPU has, and
// returns which it did.
func setAES(narrow, wide bool) (bool, bool) {
	was, wasWide := aes128, aes512
	aes128, aes512 = narrow && cpu.X86.HasAES, wide && cpu.X86.HasAVX512VAES
	return was, wasWide
}

// withoutPopcounts runs f with and without what counts the bits of words.
func withoutPopcounts(f func()) {
	f()
	defer func(was bool) { popcounts = was }(popcounts)
	popcounts = false
	f()
}

// withoutDots runs f with and without what multiplies words and adds them up.
func withoutDots(f func()) {
	f()
	defer func(was bool) { dotWords = was }(dotWords)
	dotWords = false
	f()
}

// withoutPermutes runs f without what looks bytes up in long tables.
func withoutPermutes(f func()) {
	defer func(was bool) { permutes = was }(permutes)
	permutes = false
	f()
}
