package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gibbsite-go/gibbsite/projection/proximal"
)

// gammas are the schedules of the penalty that have names; nil is the hard form.
var gammas = map[string]proximal.Gamma{
	"hard":      nil,
	"exp":       proximal.ExpGamma(schedule.Alpha, 0),
	"linear":    proximal.PowerGamma(1, 0),
	"quadratic": proximal.PowerGamma(2, 0),
}

// checkGamma returns what is wrong with -gamma.
func (o *options) checkGamma() error {
	if _, ok := gammas[o.gamma]; ok {
		return nil
	}
	if v, err := strconv.ParseFloat(o.gamma, 64); err != nil || !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("-gamma = %q, want hard, exp, linear, quadratic or a finite number > 0", o.gamma)
	}
	return nil
}

// penalty returns the schedule of -gamma.
func (o *options) penalty() proximal.Gamma {
	if g, ok := gammas[o.gamma]; ok {
		return g
	}
	v, _ := strconv.ParseFloat(o.gamma, 64) // checked when it was read
	return proximal.ConstantGamma(v)
}
