package energy

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Differences returns m's own table of differences if m has one, and makes one
// otherwise: of m's field ([Binary]) or else its windows ([Windowed]), at the cost
// of one evaluation and as exact as these are; or an exact one, from m's
// conditionals if it has them, else by evaluating sites·(levels−1) neighbouring
// states. Whatever else m supports the result supports too.
func Differences(m Model) Differentiable {
	check.Must("energy: Differences", "m", m)
	if d, ok := tableOf(m); ok {
		return d
	}
	return newEvaluated(m)
}

// Conditionals returns m's own exact single-site differences if m has them, and
// otherwise evaluates m at the levels of the site. Whatever else m supports the
// result supports too.
func Conditionals(m Model) Conditional {
	check.Must("energy: Conditionals", "m", m)
	if c, ok := As[Conditional](m); ok {
		return c
	}
	return newEvaluated(m)
}
