package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint/series"
)

// corpus is a table cut into standardised windows of one length. Training windows share no row
// with held-out windows, unless the split is random.
type corpus struct {
	*table
	length         int
	shift, scale   []float64 // raw = shift + scale·standardised, by channel
	starts         []int     // first rows of the held-out windows
	training, held []float32 // training and held-out windows, each windows × length × channels
}

func (c *corpus) channels() int { return len(c.names) }
func (c *corpus) sites() int    { return c.length * c.channels() }

// window returns window i of x, an array of windows.
func (c *corpus) window(x []float32, i int) []float32 { return x[i*c.sites() : (i+1)*c.sites()] }

// leastTraining is the minimum number of training windows.
const leastTraining = 10

// split is a rule for choosing the held-out windows.
type split string

const (
	auto split = "auto" // the split even if the table is long enough, else chronological
	even split = "even" // evenly spaced over the table, without overlap
	// from the last fifth of every series, with overlap if necessary
	chronological split = "chronological"
	random        split = "random" // random windows, which may overlap training windows
)

// cut holds out windows and uses at most limit of the others for training. Training windows
// share no row with held-out ones, unless the split is random. The random split is the protocol
// of Narasimhan et al. 2025: four fifths of all overlapping windows for training and a tenth for
// testing. Here up to the remaining fifth may be held out.
func cut(t *table, length, heldOut, limit int, by split, seed uint64) (*corpus, error) {
	c := &corpus{table: t, length: length}
	var all []int
	for s := range max(0, t.rows()-length+1) {
		if t.whole(s, length) {
			all = append(all, s)
		}
	}
	var free []int
	switch by {
	case auto:
		if free = c.holdEvenly(all, heldOut); len(free) < leastTraining {
			if free = c.holdLast(all, heldOut); len(free) >= leastTraining {
				t.notes = append(t.notes, "held out: windows of the last fifth, which overlap each other (the file is too short for -split even)")
			}
		}
	case chronological:
		free = c.holdLast(all, heldOut)
	case random:
		if most := len(all) / 5; heldOut > most {
			return nil, fmt.Errorf("%s: -heldout = %d, want ≤ %d, a fifth of its %d windows of %d rows: the others are for training (-split random)",
				t.name, heldOut, most, len(all), length)
		}
		free = c.holdAtRandom(all, heldOut, seed)
	default:
		free = c.holdEvenly(all, heldOut)
	}
	if len(free) < leastTraining || len(c.starts) < heldOut {
		return nil, fmt.Errorf("%s: %d rows, too few to hold out %d windows of %d and keep %d windows for training; lower -heldout or -length",
			t.name, t.rows(), heldOut, length, leastTraining)
	}
	count := min(limit, len(free))
	chosen := make([]int, count)
	for k := range chosen {
		chosen[k] = free[k*len(free)/count]
	}
	if err := c.standardise(free); err != nil {
		return nil, err
	}
	for _, s := range chosen {
		c.training = c.add(c.training, s)
	}
	for _, s := range c.starts {
		c.held = c.add(c.held, s)
	}
	return c, nil
}

// holdAtRandom holds out random windows and returns the training windows, which may overlap
// them.
func (c *corpus) holdAtRandom(all []int, heldOut int, seed uint64) (free []int) {
	order := rand.New(rand.NewPCG(seed, 11)).Perm(len(all))
	c.starts = nil
	for _, k := range order[:heldOut] {
		c.starts = append(c.starts, all[k])
	}
	for _, k := range order[heldOut : heldOut+4*len(all)/5] {
		free = append(free, all[k])
	}
	slices.Sort(c.starts)
	slices.Sort(free)
	return free
}

// holdLast holds out evenly spaced windows of the last fifth of every series. It returns the
// windows that end before it.
func (c *corpus) holdLast(all []int, heldOut int) (free []int) {
	var last []int
	for _, s := range all {
		k, _ := slices.BinarySearch(c.breaks, s+1)
		from, to := 0, c.rows()
		if k > 0 {
			from = c.breaks[k-1]
		}
		if k < len(c.breaks) {
			to = c.breaks[k]
		}
		switch border := to - (to-from)/5; {
		case s >= border:
			last = append(last, s)
		case s+c.length <= border:
			free = append(free, s)
		}
	}
	c.starts = nil
	if len(last) < heldOut {
		return nil
	}
	for i := range heldOut {
		c.starts = append(c.starts, last[i*len(last)/heldOut])
	}
	return free
}

// holdEvenly holds out windows evenly over the table. It returns the windows that share no row
// with them.
func (c *corpus) holdEvenly(all []int, heldOut int) (free []int) {
	c.starts = nil
	rows := c.rows()
	for i := range heldOut {
		at := (2*i+1)*rows/(2*heldOut) - c.length/2
		if at < 0 || len(all) == 0 {
			return nil
		}
		// The nearest window that lies within one series and begins after the
		// last one held out.
		k, found := slices.BinarySearch(all, at)
		if k == len(all) || !found && k > 0 && at-all[k-1] < all[k]-at {
			k--
		}
		if n := len(c.starts); n > 0 && all[k]-c.starts[n-1] < c.length {
			if k, _ = slices.BinarySearch(all, c.starts[n-1]+c.length); k == len(all) {
				return nil
			}
		}
		c.starts = append(c.starts, all[k])
	}
	for _, s := range all {
		k, _ := slices.BinarySearch(c.starts, s)
		if (k == len(c.starts) || c.starts[k]-s >= c.length) && (k == 0 || s-c.starts[k-1] >= c.length) {
			free = append(free, s)
		}
	}
	return free
}

// standardise computes the mean and standard deviation of every channel over the rows of the
// training windows. Held-out windows are not used.
func (c *corpus) standardise(free []int) error {
	seen := make([]bool, c.rows())
	for _, s := range free {
		for row := s; row < s+c.length; row++ {
			seen[row] = true
		}
	}
	n := 0.0
	for _, ok := range seen {
		if ok {
			n++
		}
	}
	for k, name := range c.names {
		mean, square := 0.0, 0.0
		for row, ok := range seen {
			if ok {
				mean += c.at(row, k) / n
			}
		}
		for row, ok := range seen {
			if ok {
				square += (c.at(row, k) - mean) * (c.at(row, k) - mean) / n
			}
		}
		sd := math.Sqrt(square)
		switch {
		case math.IsInf(mean, 0) || math.IsNaN(sd) || math.IsInf(sd, 0):
			return fmt.Errorf("%s: column %s: numbers are too large to have a standard deviation", c.name, name)
		case sd == 0 && c.varies(k):
			return fmt.Errorf("%s: column %s: numbers are too small to have a standard deviation; scale them", c.name, name)
		case sd <= 1e-12*math.Abs(mean): // what is left is rounding
			return fmt.Errorf("%s: column %s is %v on lines %d … %d: a constant channel has no scale; leave it out by -columns",
				c.name, name, c.at(0, k), c.lines[0], c.lines[len(c.lines)-1])
		}
		c.shift, c.scale = append(c.shift, mean), append(c.scale, sd)
	}
	return nil
}

// add appends the standardised window that begins at row start.
func (c *corpus) add(dst []float32, start int) []float32 {
	for t := range c.length {
		for k := range c.names {
			dst = append(dst, float32((c.at(start+t, k)-c.shift[k])/c.scale[k]))
		}
	}
	return dst
}

// raw returns channel k of a standardised window in raw units.
func (c *corpus) raw(x []float32, k int) []float64 {
	out := make([]float64, c.length)
	for t := range out {
		out[t] = c.shift[k] + c.scale[k]*float64(x[t*c.channels()+k])
	}
	return out
}

func (c *corpus) shape() series.Shape {
	return series.Shape{Length: c.length, Channels: c.channels(), Names: c.names, Shift: c.shift, Scale: c.scale}
}

// varies reports whether channel k is not constant.
func (c *corpus) varies(k int) bool {
	for row := range c.lines {
		if c.at(row, k) != c.at(0, k) {
			return true
		}
	}
	return false
}
