package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// These texts say which distribution the samples of a run follow. Programs that condition samples
// print one of them for every run (see [WriteExact]). Model means the distribution that the program
// samples without a constraint.
const (
	// Free is for runs without a constraint that follow the model exactly.
	Free = "exact: samples follow the model"

	// Conditioned is for models in which sites are independent: for samples drawn as a whole, and
	// for diffusions, whose predictions given the constraint are then exact.
	Conditioned = "exact: samples follow the model given the constraint"

	// Steps is for diffusions that condition every prediction on a language (projection.Path).
	Steps = "exact in each step, given its prediction, which treats sites as independent; the samples do not follow the model given the constraint"

	// Weighted is for diffusions that condition every prediction on a language, as for [Steps], and
	// correct the samples with weighted particles.
	Weighted = "approximate: with more particles, samples tend to the model given the constraint"

	// SomeSteps is for diffusions that condition the predictions of some steps only.
	SomeSteps = "conditioned in some of the steps only: the samples do not follow the model given the constraint"

	// Ahead is for samples of scored.Runner, which chooses tokens by looking ahead.
	Ahead = "samples meet the constraint, but looking ahead does not follow the model given the constraint exactly"

	// Moved is for projections that change the predictions of a diffusion. Tokens are then decoded
	// from the changed predictions.
	Moved = "samples meet the constraint, but follow no stated distribution: the projection changes predictions"

	// Tempered is for runs whose predictions are sharpened or flattened by a temperature other than
	// 1.
	Tempered = "samples follow no stated distribution: the temperature changes predictions"

	// Chains is for Markov chain kernels with the right stationary distribution.
	Chains = "the chains have the model given the constraint as their stationary distribution; the MCSE is the error of a mean"
)

// Changed returns the text for a run that the given text describes, except that a cause, such as
// guidance, changes the predictions.
func Changed(cause, text string) string { return cause + " changes predictions; " + text }

// Excluding returns the text for a run that the given text describes, except that no sample may
// repeat an earlier one.
func Excluding(text string) string { return text + "; each sample excludes the earlier ones, too" }

// WriteExact writes which distribution the samples of each run follow, one line for all runs that
// have the same text.
func WriteExact(w io.Writer, runs, texts []string) {
	if len(runs) == 0 {
		return
	}
	fmt.Fprintln(w)
	for i, text := range texts {
		if slices.Contains(texts[:i], text) {
			continue
		}
		var names []string
		for k, name := range runs {
			if texts[k] == text {
				names = append(names, name)
			}
		}
		fmt.Fprintf(w, "%s: %s\n", strings.Join(names, ", "), text)
	}
}
