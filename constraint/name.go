package constraint

import (
	"fmt"
	"strings"
)

// Name returns a short name of a language for messages: what its String method
// says if it has one, the names of the parts of an [Intersection], or else its
// type.
func Name(a any) string {
	switch a := a.(type) {
	case fmt.Stringer:
		return a.String()
	case *Intersection:
		parts := make([]string, len(a.Parts()))
		for i, p := range a.Parts() {
			parts[i] = Name(p)
		}
		return strings.Join(parts, " ∩ ")
	case Count:
		return fmt.Sprintf("Count%+v", struct {
			Levels   []int32
			Min, Max int
		}(a))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", a), "*")
}
