package energy

// Supported models leave some states without probability and know how to find
// one that has some.
type Supported interface {
	Model

	// Repair changes each state of x, as little as it can, into one whose
	// energy is not known to be +Inf.
	Repair(x []int32)
}
