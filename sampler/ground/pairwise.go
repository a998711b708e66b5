package ground

import "github.com/gibbsite-go/gibbsite/energy"

// Pairwise is [energy.Pairwise].
type Pairwise = energy.Pairwise
