package auto

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// phase is the progress of the choice among candidates.
type phase int

const (
	waiting phase = iota // before the first call of Adapt, which reports the length of warm-up
	tuning
	trying
	decided
)

// choice schedules the trials of the candidates and drops the slow candidates.
type choice struct {
	sites, levels, chains int

	all    []candidate
	record *record // nil before the first trial and after the last one
	behind bool    // the current kernel has not been Reset to the states
	note   string  // warning about a choice made without trials; empty if there is none

	phase    phase
	current  int  // index of the current candidate
	left     int  // steps left in the current visit
	perVisit int  // steps per visit while tuning
	passes   int  // number of visits to each candidate while tuning
	at       int  // number of the tuning pass or of the round of trials
	entered  int  // number of candidates at the start of the round
	total    int  // total steps of warm-up for all candidates
	alone    bool // the chosen kernel tunes itself: there were no trials, or this is a later warm-up
}

const (
	stepsEach  = 60 // minimum warm-up steps per candidate; a round of trials takes a fifth of them
	mostPasses = 4
	leastVisit = 4 // minimum steps of a tuning visit, if there are several visits
	rounds     = 3
)

// Division of warm-up into parts for tuning and trials.
const (
	tenth     = 10 // number of parts into which warm-up is divided
	tunes     = 3  // number of tenths of warm-up that tuning takes
	triesEach = 2  // number of tenths of warm-up that each round of trials takes
)

// After each round but the last, candidates are dropped. To stay, a candidate must reach at least
// the fraction share of the best rate. The function stay returns the maximum number of candidates
// that stay.
var (
	share = [rounds - 1]float64{0.1, 0.3}
	stay  = [rounds - 1]func(candidates int) int{
		func(n int) int { return max(3, (n+1)/2) },
		func(int) int { return 2 },
	}
)

// now returns the candidate that currently moves the chains.
func (k *choice) now() *candidate { return &k.all[k.current] }

// alive returns the number of candidates that have not been dropped.
func (k *choice) alive() (n int) {
	for i := range k.all {
		if k.all[i].kernel != nil {
			n++
		}
	}
	return n
}

// plan begins the trials, given the number of steps left in warm-up.
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

// crop keeps the first candidates, as many as capacity, and drops the others. The argument n is the
// number of candidates.
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

// first returns the first candidate after index i that has not been dropped, or −1 if there is
// none.
func (k *choice) first(i int) int {
	for i++; i < len(k.all); i++ {
		if k.all[i].kernel != nil {
			return i
		}
	}
	return -1
}

// visit makes candidate i the current one, for the given number of steps.
func (k *choice) visit(i, steps int) {
	k.behind = k.behind || i != k.current
	k.current, k.left = i, steps
	if k.phase == trying {
		k.record.begin(steps)
	}
}

// next ends the current visit and begins the next one, or decides after the last round.
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

// judge ends a round of trials. It drops slow candidates and returns the winner, or −1 if another
// round follows.
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
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rate[j], rate[i]) })
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

// decide chooses candidate i and drops all others.
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
	reason string         // why the candidate was left out; empty if it was not
	kernel sampler.Kernel // nil if the candidate was left out or dropped
	trial
}

// price returns the cost in nanoseconds of the step that reported info.
func (c *candidate) price(info []sampler.Info) float64 {
	costed, _ := sampler.As[sampler.Costed](c.kernel) // checked by kernel.build
	return costed.Cost(info)
}
