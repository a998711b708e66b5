package diffusion

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
)

// SampleErrors is the error of a call that completed although some samples failed. It has one entry
// per sample, in order: nil if the sample is valid, and otherwise the error of the sample. Use the
// valid samples like this:
//
//	err := d.Sample(ctx, x)
//	var failed diffusion.SampleErrors
//	if err != nil && !errors.As(err, &failed) {
//		return err // the call failed
//	}
//	for i, err := range failed { // err == nil: sample i is valid
//
// errors.Is and errors.As examine the errors of all samples.
type SampleErrors []error

// shown is the number of failed samples that an error text describes.
const shown = 3

// Err returns e as an error, or nil if no sample failed.
func (e SampleErrors) Err() error {
	if e.Failed() > 0 {
		return e
	}
	return nil
}

// Failed returns the number of samples that failed.
func (e SampleErrors) Failed() int {
	n := 0
	for _, err := range e {
		if err != nil {
			n++
		}
	}
	return n
}

// Error returns a message with the first few failures and the number of failed samples.
func (e SampleErrors) Error() string {
	all := e.Unwrap()
	var b strings.Builder
	for i, err := range all[:min(len(all), shown)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	if len(e) != 1 {
		fmt.Fprintf(&b, " (%d of %d samples failed)", len(all), len(e))
	}
	return b.String()
}

// Unwrap returns the errors of the failed samples.
func (e SampleErrors) Unwrap() []error {
	return slices.DeleteFunc(slices.Clone(e), func(err error) bool { return err == nil })
}

// Unfinished is returned by a call that stopped early after some samples had already failed. A call
// stops early if its context ends, if the denoiser returns an error, or if a checkpoint cannot be
// saved. Functions such as errors.Is examine the error that stopped the call, and not the errors of
// the samples.
type Unfinished struct {
	Err error // error that ended the call
	// Finished has one entry, in order, for each sample that the call had finished when it stopped.
	// The entry is nil if the sample is valid, and otherwise its error.
	Finished SampleErrors
}

// Error returns a message with the error that ended the call and the samples that had failed.
func (e *Unfinished) Error() string { return fmt.Sprintf("%v; before: %v", e.Err, e.Finished) }

// Unwrap returns the error that ended the call.
func (e *Unfinished) Unwrap() error { return e.Err }

// join returns the error of a call, given the errors e of its finished samples and the errors of
// the call itself.
func (e SampleErrors) join(call ...error) error {
	call = slices.DeleteFunc(call, func(err error) bool { return err == nil })
	switch {
	case len(call) == 0:
		return e.Err()
	case len(call) > 1:
		call[0] = errors.Join(call...)
	}
	if e.Failed() == 0 {
		return call[0]
	}
	return &Unfinished{call[0], e}
}

// recorded is the error of a sample, restored from a checkpoint.
type recorded struct {
	text       text
	infeasible bool
}

// text is a string that implements encoding.BinaryAppender and encoding.BinaryUnmarshaler.
type text string

func (t *text) AppendBinary(b []byte) ([]byte, error) { return append(b, *t...), nil }

func (t *text) UnmarshalBinary(b []byte) error {
	*t = text(b)
	return nil
}

// mostText is the largest length of an error text in a checkpoint, in bytes.
const mostText = 1 << 10

// record returns the form in which a checkpoint stores an error.
func record(err error) recorded {
	s := err.Error()
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText-len("…")], "") + "…"
	}
	return recorded{text(s), errors.Is(err, constraint.ErrInfeasible)}
}

func (e *recorded) Error() string { return string(e.text) }

// Unwrap returns constraint.ErrInfeasible if the original error wrapped it, and nil otherwise.
func (e *recorded) Unwrap() error {
	if e.infeasible {
		return constraint.ErrInfeasible
	}
	return nil
}

// empty returns the entry of an unknown site: −1 for tokens, NaN for reals.
func empty[S energy.Site]() (v S) {
	switch v := any(&v).(type) {
	case *int32:
		*v = -1
	case *float32:
		*v = float32(math.NaN())
	}
	return v
}
