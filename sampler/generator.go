package sampler

import (
	"fmt"
)

// Generator is a counter-based generator of random words that the streams of a run draw
// from; the zero value is Philox4x32. Both are from Salmon, Moraes, Dror and Shaw (2011,
// "Parallel random numbers: as easy as 1, 2, 3") and pass the test batteries described
// there with rounds to spare. A seed gives different numbers with each of the two, and the
// same numbers on every machine.
type Generator uint8

const (
	// Philox4x32 makes four words from a counter by ten rounds of multiplications,
	// Philox4x32-10: the default, fast everywhere.
	Philox4x32 Generator = iota

	// ARS4x32 makes them by seven rounds of AES, ARS4x32-7: two or three times as fast
	// on amd64 with AES instructions, a third as fast as Philox4x32 elsewhere.
	ARS4x32
)

// String returns "Philox4x32-10" or "ARS4x32-7".
func (k Generator) String() string {
	if k > ARS4x32 {
		return fmt.Sprintf("sampler.Generator(%d)", uint8(k))
	}
	return [...]string{"Philox4x32-10", "ARS4x32-7"}[k]
}

// Check returns an error unless k is one of the generators.
func (k Generator) Check() error {
	if k > ARS4x32 {
		return fmt.Errorf("generator = %d, want %d (%s) or %d (%s)", uint8(k), Philox4x32, Philox4x32, ARS4x32, ARS4x32)
	}
	return nil
}

// UnmarshalText sets k to the generator of the given name, as String returns it, for
// flags and files.
func (k *Generator) UnmarshalText(text []byte) error {
	for g := Philox4x32; g <= ARS4x32; g++ {
		if g.String() == string(text) {
			*k = g
			return nil
		}
	}
	return fmt.Errorf("generator = %q, want %q or %q", text, Philox4x32, ARS4x32)
}

// MarshalText returns what UnmarshalText reads.
func (k Generator) MarshalText() ([]byte, error) {
	return []byte(k.String()), k.Check()
}
