// Package verdict says which samples of a call failed, and why: an error belongs
// to its sample and loses no others.
package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// Errors has an entry for every sample of a call, in order: nil for one that was
// made, otherwise why it was given up. It is the error of a call that has finished
// with all of its samples,
//
//	err := d.Sample(ctx, x)
//	failed, finished := err.(verdict.Errors)
//	if err != nil && !finished {
//		return err // of the call
//	}
//	for i, err := range failed { // err, unless nil, is that of row i
//
// and joined to the error of one that ended early: there errors.As finds it, with the
// samples that were finished before. errors.Is and errors.As look at the errors of all
// samples.
type Errors []error

// shown is how many failures a text names.
const shown = 3

// Of returns each as an error, nil if no sample failed. It keeps each.
func Of(each []error) error {
	if e := Errors(each); e.Failed() > 0 {
		return e
	}
	return nil
}

// Failed returns the number of samples that failed.
func (e Errors) Failed() int {
	n := 0
	for _, err := range e {
		if err != nil {
			n++
		}
	}
	return n
}

// Error names the first failures and how many there are.
func (e Errors) Error() string {
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

// Unwrap returns the errors of the samples that failed.
func (e Errors) Unwrap() []error {
	return slices.DeleteFunc(slices.Clone(e), func(err error) bool { return err == nil })
}
