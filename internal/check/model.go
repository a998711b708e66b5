package check

import "fmt"

// Model returns the shape of m, which the constructor caller of the package who
// got as its argument name, or an error if m is nil or has no sites or levels.
func Model(who, caller, name string, m interface{ Shape() (sites, levels int) }) (sites, levels int, err error) {
	if Nil(m) {
		return 0, 0, fmt.Errorf("%s: %s: %s is nil", who, caller, name)
	}
	sites, levels = m.Shape()
	if sites < 1 || levels < 1 {
		return 0, 0, fmt.Errorf("%s: %s: %s has %d sites and %d levels, want both ≥ 1", who, caller, name, sites, levels)
	}
	return sites, levels, nil
}
