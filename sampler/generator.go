package sampler

import "github.com/gibbsite-go/gibbsite/internal/check"

// Generator selects the random number generator of a run's streams; the zero value is Philox4x32.
// Both generators are counter-based: they compute the words at any position directly. They are from
// Salmon, Moraes, Dror and Shaw (2011, "Parallel random numbers: as easy as 1, 2, 3"). Both use
// more rounds than needed to pass the test batteries described there. For the same seed, the two
// give different numbers, and each gives the same numbers on every machine.
type Generator uint8

const (
	// Philox4x32 computes four words from a counter by ten rounds of multiplications
	// (Philox4x32-10). It is the default and fast on every machine.
	Philox4x32 Generator = iota

	// ARS4x32 computes four words from a counter by seven rounds of AES (ARS4x32-7). Compared with
	// Philox4x32, it is two or three times as fast on amd64 with AES instructions. On other
	// machines it is a third as fast as Philox4x32.
	ARS4x32
)

// String returns "Philox4x32-10" or "ARS4x32-7".
func (k Generator) String() string {
	return check.Name("sampler.Generator", k, "Philox4x32-10", "ARS4x32-7")
}

// Check returns an error if k is not a known generator.
func (k Generator) Check() error {
	return check.If(k > ARS4x32, "generator = %d, want %d (%s) or %d (%s)", uint8(k), Philox4x32, Philox4x32, ARS4x32, ARS4x32)
}

// UnmarshalText sets k to the generator with the given name, as String returns it. It lets flags
// and files hold a generator.
func (k *Generator) UnmarshalText(text []byte) error {
	return check.UnmarshalName("generator", k, ARS4x32, text)
}

// MarshalText returns the name of the generator, as String does.
func (k Generator) MarshalText() ([]byte, error) {
	return []byte(k.String()), k.Check()
}
