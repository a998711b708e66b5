//go:build amd64 && !purego

package simd

import "golang.org/x/sys/cpu"

// level orders the backends of the architecture; a higher one needs all that a lower one
// needs.
type level int

const (
	purego level = iota
	avx2
	avx512
)

var levelNames = [...]string{purego: "purego", avx2: "avx2", avx512: "avx512"}

// supported returns the highest backend that this binary and this CPU have.
func supported() level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2 || !x.HasPOPCNT:
		return purego
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return avx512
	}
	return avx2
}

// AES instructions are apart from the levels: of 128 bits, which AVX2 wants for
// ARS, and of 512, which AVX-512 does; where these are missing, the former serve.
var (
	aes128 = cpu.X86.HasAES
	aes512 = cpu.X86.HasAVX512VAES
)

// popcounts: AVX-512 counts the bits of words.
var popcounts = cpu.X86.HasAVX512VPOPCNTDQ

// permutes: AVX-512 looks bytes up in tables of 128.
var permutes = cpu.X86.HasAVX512VBMI
