package sampler

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Generator is a counter-based random number generator that supplies the streams of a run; the
// zero value is Philox4x32. Both generators are from Salmon, Moraes, Dror and Shaw (2011,
// "Parallel random numbers: as easy as 1, 2, 3") and use more rounds than needed to pass the test
// batteries described there. A seed gives different numbers with each generator, but the same
// numbers on every machine.
type Generator uint8

const (
	// Philox4x32 computes four words from a counter in ten rounds of multiplications
	// (Philox4x32-10). It is the default and fast everywhere.
	Philox4x32 Generator = iota

	// ARS4x32 computes four words from a counter in seven rounds of AES (ARS4x32-7). It is two or
	// three times as fast as Philox4x32 on amd64 with AES instructions, and a third as fast
	// elsewhere.
	ARS4x32
)

// String returns "Philox4x32-10" or "ARS4x32-7".
func (k Generator) String() string {
	return check.Name("sampler.Generator", k, "Philox4x32-10", "ARS4x32-7")
}

// Check returns an error if k is not a known generator.
func (k Generator) Check() error {
	if k > ARS4x32 {
		return fmt.Errorf("generator = %d, want %d (%s) or %d (%s)", uint8(k), Philox4x32, Philox4x32, ARS4x32, ARS4x32)
	}
	return nil
}

// UnmarshalText sets k to the generator with the given name, as returned by String, for flags and
// files.
func (k *Generator) UnmarshalText(text []byte) error {
	return check.UnmarshalName("generator", k, ARS4x32, text)
}

// MarshalText returns the name that UnmarshalText reads.
func (k Generator) MarshalText() ([]byte, error) {
	return []byte(k.String()), k.Check()
}
