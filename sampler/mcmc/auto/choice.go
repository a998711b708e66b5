package auto

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// phase is the progress of the choice.
type phase int

const (
	waiting phase = iota // for the first Adapt, which has the length of warm-up
	tuning
	trying
	decided
)

// choice schedules the candidates and drops the slow ones.
type choice struct {
	sites, levels, chains int

	all    []candidate
	record *record // nil before the first trial and after the last
	behind bool    // the current kernel has not seen the states
	note   string  // a warning about a choice without trials

	phase    phase
	current  int // candidate
	left     int // steps of its visit
	perVisit int // of tuning
	passes   int // visits of tuning
	at       int // pass of tuning, or round of trials
	entered  int // candidates that the round began with
	total    int // steps of warm-up that there are for all
	alone    bool
}

const (
	stepsEach  = 60 // least warm-up of a candidate, of which a fifth is a round of trials
	mostPasses = 4
	leastVisit = 4 // steps of a visit of tuning, where there are several
	rounds     = 3
)

// Tenths of warm-up for tuning and for each round of trials.
const (
	tenth     = 10
	tunes     = 3
	triesEach = 2
)

// After each round except the last, a candidate stays only if its rate is at least this share of
// the best rate, and at most this many candidates stay.
var (
	share = [rounds - 1]float64{0.1, 0.3}
	stay  = [rounds - 1]func(candidates int) int{
		func(n int) int { return max(3, (n+1)/2) },
		func(int) int { return 2 },
	}
)

// now returns the candidate that currently moves the chains.
func (k *choice) now() *candidate { return &k.all[k.current] }

// alive returns the number of candidates that may still be chosen.
func (k *choice) alive() (n int) {
	for i := range k.all {
		if k.all[i].kernel != nil {
			n++
		}
	}
	return n
}

// plan begins the trials in a warm-up that has the given number of steps left.
func (k *choice) plan(steps int) {
	k.total = steps
	n, capacity := k.alive(), steps/stepsEach
	if capacity < n {
		k.crop(n, max(capacity, 1))
		n = k.alive()
	}
	if n < 2 {
		k.alone = true
		k.decide(k.current)
		return
	}
	k.record = newRecord(k.sites, k.levels, k.chains)
	for i := range k.all {
		pairs, jumps := k.record.sums()
		k.all[i].trial = trial{pairs: pairs, jumps: jumps}
	}
	each := tunes * steps / tenth / n
	k.passes = min(mostPasses, max(1, each/leastVisit))
	k.perVisit = each / k.passes
	k.phase, k.at = tuning, 0
	k.visit(k.first(-1), k.perVisit)
}

// crop drops all but the first capacity of n candidates.
func (k *choice) crop(n, capacity int) {
	kept := 0
	for i := range k.all {
		c := &k.all[i]
		if c.kernel == nil {
			continue
		}
		if kept++; kept > capacity {
			c.kernel = nil
			c.reason = fmt.Sprintf("warm-up is too short: %d steps, want ≥ %d for each of %d candidates", k.total, stepsEach, n)
		}
	}
	if capacity < 2 {
		k.note = fmt.Sprintf("auto: warm-up is too short to try %d candidates, want ≥ %d steps for each: %s moves the chains without a trial", n, stepsEach, k.now().name)
	} else {
		k.note = fmt.Sprintf("auto: warm-up is too short to try more than %d of %d candidates, want ≥ %d steps for each", capacity, n, stepsEach)
	}
}

// first returns the first candidate after number i that may be chosen, or −1 if there is none.
func (k *choice) first(i int) int {
	for i++; i < len(k.all); i++ {
		if k.all[i].kernel != nil {
			return i
		}
	}
	return -1
}

// visit hands the chains to a candidate.
func (k *choice) visit(i, steps int) {
	k.behind = k.behind || i != k.current
	k.current, k.left = i, steps
	if k.phase == trying {
		k.record.begin(steps)
	}
}

// next ends a visit and begins the next one.
func (k *choice) next() {
	i := k.first(k.current)
	if i >= 0 {
		k.visit(i, k.visitLength())
		return
	}
	k.at++
	switch {
	case k.phase == tuning && k.at < k.passes:
	case k.phase == tuning:
		k.phase, k.at = trying, 0
	default:
		if i := k.judge(); i >= 0 {
			k.decide(i)
			return
		}
	}
	k.entered = k.alive()
	k.visit(k.first(-1), k.visitLength())
}

func (k *choice) visitLength() int {
	if k.phase == tuning {
		return k.perVisit
	}
	return max(2, triesEach*k.total/tenth/max(k.entered, 1))
}

// judge ends a round of trials: it drops candidates and returns the winner, or −1 if another round
// follows.
func (k *choice) judge() int {
	rate := make([]float64, len(k.all))
	var order []int
	var of []*trial
	for i := range k.all {
		if k.all[i].kernel != nil {
			of = append(of, &k.all[i].trial)
		}
	}
	k.record.weigh(of)
	for i := range k.all {
		c := &k.all[i]
		if c.kernel == nil {
			continue
		}
		c.time = k.record.time(&c.trial)
		if cost := c.cost / float64(c.steps); cost > 0 {
			rate[i] = 1 / float64(cost*c.time)
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case rate[i] > rate[j]:
			return -1
		case rate[i] < rate[j]:
			return 1
		}
		return 0
	})
	best := order[0]
	if k.at == rounds {
		return best
	}
	for place, i := range order {
		if place >= stay[k.at-1](len(order)) || !(rate[i] >= float64(share[k.at-1]*rate[best])) {
			k.all[i].kernel = nil
		}
	}
	if k.alive() == 1 {
		return best
	}
	return -1
}

// decide chooses candidate i.
func (k *choice) decide(i int) {
	k.behind = k.behind || i != k.current
	k.phase, k.current, k.record = decided, i, nil
	for j := range k.all {
		if j != i {
			k.all[j].kernel = nil
		}
		k.all[j].pairs, k.all[j].jumps = nil, nil
	}
}

// candidate is one of the methods to choose from, with its results so far.
type candidate struct {
	method sampler.Method
	name   string
	reason string         // why it was left out; empty if it was not
	kernel sampler.Kernel // nil if it was left out or another was chosen
	trial
}

// price returns the cost of a step of the kernel.
func (c *candidate) price(info []sampler.Info) float64 {
	costed, _ := sampler.As[sampler.Costed](c.kernel) // checked when it was made
	return costed.Cost(info)
}
