package scored

import "fmt"

// Report is what a sample took.
type Report struct {
	// Violation is max_j g_j of what is in the sample's place, by the judge:
	// ≤ 0 for feasible samples, NaN where nothing was finished.
	Violation float64

	Rounds int // how often tokens were taken back, by a [Runner]
	Paths  int // proposals made, by [Exact]
	Judged int // states that the judge or the guide saw for this sample

	// Predictions counts those for this sample, without those that samples share if
	// the denoiser is time-free: for the state without tokens and, where they fit in
	// 64 MiB together, for states with one.
	Predictions int
}

// NotConverged is the error of a sample that is not feasible: none was found. The best there was is in
// its place.
type NotConverged struct {
	Violation float64 // of the best
	Tries     int     // rounds of taking back, or proposals
}

// Error implements error.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("scored: violation = %.4g after %d tries, want ≤ 0", e.Violation, e.Tries)
}
