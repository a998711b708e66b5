package check

import (
	"fmt"
	"strconv"
	"strings"
)

// named is an enumeration with values from 0 on, whose String method returns their names.
type named interface {
	~int | ~uint8
	String() string
}

// Name returns names[v], or the text kind followed by v in parentheses if v is not an index of
// names. It implements the String method of an enumeration.
func Name[E ~int | ~uint8](kind string, v E, names ...string) string {
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, int(v))
	}
	return names[v]
}

// MarshalName returns the name of v, or an error unless 0 ≤ v ≤ last. It implements the MarshalText
// method of an enumeration. Error messages begin with the first argument.
func MarshalName[E named](what string, v, last E) ([]byte, error) {
	if v < 0 || v > last {
		return nil, fmt.Errorf("%s = %d, want 0 … %d", what, int(v), int(last))
	}
	return []byte(v.String()), nil
}

// UnmarshalName sets *v to the value between 0 and last that has the given name. It implements the
// UnmarshalText method of an enumeration. Error messages begin with the first argument.
func UnmarshalName[E named](what string, v *E, last E, name []byte) error {
	var names []string
	for k := E(0); k <= last; k++ {
		if k.String() == string(name) {
			*v = k
			return nil
		}
		names = append(names, strconv.Quote(k.String()))
	}
	return fmt.Errorf("%s = %s, want %s", what, Quote(string(name)), strings.Join(names, " or "))
}
