package momentum

import (
	"fmt"
	"math"
)

// checkStep returns an error unless 0 ≤ step < ∞; 0 stands for the default.
func checkStep(who string, step float64) error {
	if !(step >= 0) || math.IsInf(step, 1) {
		return fmt.Errorf("momentum: %s: StepSize = %v, want positive and finite (0 for the default)", who, step)
	}
	return nil
}

// settings are the settings common to DHAMS and PDHAMS.
type settings struct {
	who                                 string
	persistence, correction, relaxation float64
}

func (s settings) check() error {
	switch {
	case !(s.persistence >= 0 && s.persistence < 1):
		return fmt.Errorf("momentum: %s: Persistence = %v, want within [0, 1)", s.who, s.persistence)
	case math.IsNaN(s.correction) || math.IsInf(s.correction, 0):
		return fmt.Errorf("momentum: %s: Correction = %v, want a finite number", s.who, s.correction)
	case !(s.relaxation >= 0 && s.relaxation <= 1):
		return fmt.Errorf("momentum: %s: Relaxation = %v, want within [0, 1]", s.who, s.relaxation)
	}
	return nil
}
