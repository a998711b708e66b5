package shard

import (
	"fmt"
	"strings"
)

// checkNames says that names is not nil and does not name n functions, as
// [diagnose.Tally.Name] wants it.
func checkNames(who string, names []string, n int) error {
	if names != nil && len(names) != n {
		return fmt.Errorf("shard: %s.Names = %v, want %d of them", who, names, n)
	}
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, ",\r\n") {
			return fmt.Errorf("shard: %s.Names[%d] = %q, want one without comma and line break", who, i, name)
		}
	}
	return nil
}
