package diagnose

// Thresholds of the warnings: draws are good enough if R̂ < 1.01 and the bulk
// and tail ESS exceed 400 (Vehtari et al. 2021, recommendations).
const (
	rHatLimit = 1.01
	essLimit  = 400
)

// Reason is one reason not to use the draws.
type Reason struct {
	Row    string  // name of the function; empty if it is about the run
	Figure string  // "rhat", "ess_bulk", "ess_tail", "ess_mean" or "invalid"
	Value  float64 // of the figure; 0 if it is not defined
	Limit  float64 // that it should not pass
	Text   string  // a sentence for people, as [Summary.Warnings] gives it
	Advice string  // what may help
}

// String returns the sentence.
func (r Reason) String() string { return r.Text }

// Advice of reasons.
const (
	adviceMix      = "run longer; if that does not help, use another method or tempering, or look for chains stuck in modes of their own"
	adviceLonger   = "run longer or with more chains"
	adviceConstant = "observe a function that varies, or check that the chains move at all"
	adviceFinite   = "check the observed function"
	adviceInvalid  = "check the model: these proposals were rejected"
)
