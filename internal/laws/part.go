package laws

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Part is a value under test, such as a kernel or a language.
type Part struct {
	Package string // test package that checks the value, such as "constrainttest"
	Value   any
}

// Given returns a [Part] for the value v of an argument, or an error if v is nil. The error message
// contains pkg, the name of the test package, and argument, the name of the argument.
func Given(pkg, argument string, v any) (Part, error) {
	return Part{pkg, v}, check.Given(pkg, argument, v)
}

// Broken returns the error for a violated law. The message contains the name of the law and a case
// that reproduces the violation.
func (p Part) Broken(law, format string, args ...any) error {
	return fmt.Errorf("%s: %T: %s: %s", p.Package, p.Value, law, fmt.Sprintf(format, args...))
}

// Run calls f and returns its error. A panic of f is reported as a violation of the law.
func (p Part) Run(law string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.Broken(law, "panic: %v", v)
		}
	}()
	return f()
}
