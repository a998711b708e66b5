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

// Given returns the value v as a part, or an error if v is nil. The argument pkg is the name of the
// test package, and name is the name of the argument that holds v. The error message contains both.
func Given(pkg, name string, v any) (Part, error) {
	return Part{pkg, v}, check.Given(pkg, name, v)
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
