package train

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Labelled is an [Objective] that has a label or target for every row of the data. Rows returns the
// number of rows.
type Labelled interface {
	Objective
	Rows() int
}

// Telling is an objective that also gives the network the class of every state (see
// [neural.Config.Classes]).
type Telling interface {
	Labelled

	// Tell returns the class of a row of the data, or −1 for none.
	Tell(row int, r *rand.Rand) int32
}

// Pooled is an objective whose loss depends on the means of a network's outputs over the positions.
// The loss of other objectives depends on the outputs at every position.
type Pooled interface {
	Labelled

	// Loss returns the loss of a row of the data, given the means of the network's outputs over the
	// positions. It stores in d the gradient with respect to these means. The slices d and mean may
	// be the same.
	Loss(d, mean []float32, row int) float64
}

// Classes is an objective for a network that has the class of a state as an input. In training the
// network receives the class of a row of the data or, with probability Drop, no class. In this way
// one network learns to predict both with and without a class; diffusion.ClassifierFree compares
// the two predictions (Ho and Salimans 2022; Schiff et al. 2025).
type Classes struct {
	Objective // objective of the tokens: Masked or Noisy

	// Labels holds the class of each row of the data, or −1 for no class.
	Labels []int32

	// Drop is the probability that the network does not receive the class of a row. 0 means 0.1,
	// and −1 means never.
	Drop float64
}

// Check returns an error unless the field Objective can train a network of configuration c. Every
// label must be −1 or one of the network's classes.
func (o Classes) Check(c neural.Config) error {
	if err := inner("Classes", o.Objective); err != nil {
		return err
	}
	if c.Classes == 0 {
		return fmt.Errorf("train: Classes: the network has no Classes")
	}
	if !(o.Drop == -1 || o.Drop >= 0 && o.Drop <= 1) {
		return fmt.Errorf("train: Classes: Drop = %v, want 0 … 1, or −1", o.Drop)
	}
	if err := checkLabels("Classes", o.Labels, -1, c.Classes); err != nil {
		return err
	}
	return o.Objective.Check(c)
}

// Rows returns the number of rows of data; it implements [Labelled].
func (o Classes) Rows() int { return len(o.Labels) }

// Corrupt corrupts the tokens as the field Objective does; it implements [Objective].
func (o Classes) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	check.Must("train: Classes", "Objective", o.Objective)
	return o.Objective.Corrupt(x, weight, clean, u, r)
}

// Tell returns the label of a row of the data or, with probability Drop, −1 for no class. It
// implements [Telling].
func (o Classes) Tell(row int, r *rand.Rand) int32 {
	check.Index("train: Classes: Tell", "row", row, len(o.Labels))
	check.Must("train: Classes: Tell", "r", r)
	drop := o.Drop
	if drop == 0 {
		drop = 0.1
	}
	if r.Float64() < drop {
		return -1
	}
	return o.Labels[row]
}

// Classify is the objective that trains a [neural.Classifier]. Its loss is the cross-entropy, in
// nats, of the class of a state given the corrupted state. The field Objective corrupts the
// states, except that a state of L tokens stays clean with probability 1/(L+1).
type Classify struct {
	Objective // corrupts the states; its loss is not used

	// Labels holds the class of each row of the data.
	Labels []int32
}

// Check returns an error unless the field Objective matches the tokens of a network of
// configuration c. Every label must be in 0 … Outputs−1.
func (o Classify) Check(c neural.Config) error {
	if err := inner("Classify", o.Objective); err != nil {
		return err
	}
	if err := checkLabels("Classify", o.Labels, 0, c.Outputs); err != nil {
		return err
	}
	return o.Objective.Check(c)
}

// Rows returns the number of rows of data; it implements [Labelled].
func (o Classify) Rows() int { return len(o.Labels) }

// Corrupt corrupts the tokens as the field Objective does, except that a state of L tokens stays
// clean with probability 1/(L+1). It implements [Objective].
func (o Classify) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	check.Must("train: Classify", "Objective", o.Objective)
	return corruptOrNot(o.Objective, x, weight, clean, u, r)
}

// Loss returns the cross-entropy, in nats, of the label of one row; it implements [Pooled].
func (o Classify) Loss(d, mean []float32, row int) float64 {
	check.Index("train: Classify: Loss", "row", row, len(o.Labels))
	check.Index("train: Classify: Loss", "Labels[row]", int(o.Labels[row]), len(mean))
	check.Len("train", "d", len(d), len(mean))
	return layer.CrossEntropy(d, mean, o.Labels[row:row+1], one[:], len(mean))
}

// one is the weight of a single state.
var one = [1]float64{1}

// Regress trains the network of a [neural.Scorer]. The network predicts one number for each state,
// and the loss is the squared error. [Evaluate] returns the mean squared error of such a network.
type Regress struct {
	// Objective corrupts the states from which the number is predicted. A state of L tokens stays
	// clean with probability 1/(L+1). nil means that all states are clean.
	Objective

	// Targets holds the desired prediction for each row of the data.
	Targets []float64
}

// Check returns an error unless a network of configuration c has one output. It also checks that
// the field Objective matches the network's tokens and that all targets are finite.
func (o Regress) Check(c neural.Config) error {
	if c.Outputs != 1 {
		return fmt.Errorf("train: Regress: the network has %d outputs, want 1", c.Outputs)
	}
	for i, v := range o.Targets {
		if !check.Finite(v) || math.Abs(v) > math.MaxFloat32 {
			return fmt.Errorf("train: Regress: Targets[%d] = %v, want a finite number of 32 bits", i, v)
		}
	}
	if check.Nil(o.Objective) {
		return nil
	}
	if err := inner("Regress", o.Objective); err != nil {
		return err
	}
	return o.Objective.Check(c)
}

// Rows returns the number of rows of data; it implements [Labelled].
func (o Regress) Rows() int { return len(o.Targets) }

// Corrupt corrupts the tokens as the field Objective does, except that a state of L tokens stays
// clean with probability 1/(L+1). If Objective is nil, it copies the tokens. It implements
// [Objective].
func (o Regress) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	if check.Nil(o.Objective) {
		checkCorrupt("Regress", x, weight, clean, r)
		copy(x, clean)
		return 0
	}
	return corruptOrNot(o.Objective, x, weight, clean, u, r)
}

// Loss returns the squared error of the prediction for a row of the data; it implements [Pooled].
func (o Regress) Loss(d, mean []float32, row int) float64 {
	check.Index("train: Regress: Loss", "row", row, len(o.Targets))
	check.Len("train", "d", len(d), 1)
	check.Len("train", "mean", len(mean), 1)
	miss := float64(mean[0]) - o.Targets[row]
	d[0] = float32(2 * miss)
	return miss * miss
}

// corruptOrNot corrupts a state by o, except that it leaves one of L+1 states clean. A classifier
// also sees clean states, when a sampler draws the last token.
func corruptOrNot(o Objective, x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	n := float64(len(clean))
	if u = float64(u*(n+1)) - 1; u < 0 {
		checkCorrupt("Corrupt", x, weight, clean, r)
		copy(x, clean)
		return 0
	}
	return o.Corrupt(x, weight, clean, min(u/n, 1-0x1p-53), r)
}

// inner returns an error unless o is an objective without labels.
func inner(who string, o Objective) error {
	if err := check.Given("train: "+who, "Objective", o); err != nil {
		return err
	}
	if _, ok := o.(Labelled); ok {
		return fmt.Errorf("train: %s: Objective is a %T, want one without labels", who, o)
	}
	return nil
}

func checkLabels(who string, labels []int32, from, end int) error {
	for i, l := range labels {
		if int(l) < from || int(l) >= end {
			return fmt.Errorf("train: %s: Labels[%d] = %d, want %d … %d", who, i, l, from, end-1)
		}
	}
	return nil
}
