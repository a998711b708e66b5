package diffusion

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/verdict"
)

// verdicts says what became of the finished samples of a call.
type verdicts struct{ each []error }

// done returns the number of finished samples.
func (v *verdicts) done() int { return len(v.each) }

// add takes the samples that were finished next: nil for one that was made.
func (v *verdicts) add(faults ...error) { v.each = append(v.each, faults...) }

// join returns the error of the call: those of the call itself, and of its samples.
func (v *verdicts) join(call ...error) error {
	all := slices.DeleteFunc(append(call, verdict.Of(v.each)), func(err error) bool { return err == nil })
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// recorded is the error of a sample as a checkpoint has it.
type recorded struct {
	text       string
	infeasible bool
}

// mostText bounds the text of an error in a checkpoint, in bytes.
const mostText = 1 << 10

// record returns what a checkpoint keeps of an error.
func record(err error) *recorded {
	text := err.Error()
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText-len("…")], "") + "…"
	}
	return &recorded{text, errors.Is(err, constraint.ErrInfeasible)}
}

func (e *recorded) Error() string { return e.text }

// Unwrap returns constraint.ErrInfeasible if the error wrapped it.
func (e *recorded) Unwrap() error {
	if e.infeasible {
		return constraint.ErrInfeasible
	}
	return nil
}

// empty is the entry of a site that nothing is known of: −1 or NaN.
func empty[S energy.Site]() (v S) {
	switch v := any(&v).(type) {
	case *int32:
		*v = -1
	case *float32:
		*v = float32(math.NaN())
	}
	return v
}
