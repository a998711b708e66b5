package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint/series"
)

// corpus is a table cut into windows of one length, standardised per channel.
// No training window shares a row with one that is held out.
type corpus struct {
	*table
	length         int
	shift, scale   []float64 // raw = shift + scale·standardised
	starts         []int     // first rows of the windows held out
	training, held []float32 // windows × length × channels
}

func (c *corpus) channels() int { return len(c.names) }
func (c *corpus) sites() int    { return c.length * c.channels() }

// window returns held-out window i as it was generated or as it is in x.
func (c *corpus) window(x []float32, i int) []float32 { return x[i*c.sites() : (i+1)*c.sites()] }

// leastTraining is the fewest windows worth learning from.
const leastTraining = 10

// cut holds out windows evenly over the table and takes at most limit of the
// others for training.
func cut(t *table, length, heldOut, limit int) (*corpus, error) {
	c := &corpus{table: t, length: length}
	if err := c.standardise(); err != nil {
		return nil, err
	}
	var free []int
	if rows := t.rows(); rows/heldOut >= length {
		for i := range heldOut {
			c.starts = append(c.starts, (2*i+1)*rows/(2*heldOut)-length/2)
		}
		for s := range rows - length + 1 {
			k, _ := slices.BinarySearch(c.starts, s)
			if (k == len(c.starts) || c.starts[k]-s >= length) && (k == 0 || s-c.starts[k-1] >= length) {
				free = append(free, s)
			}
		}
	}
	if len(free) < leastTraining {
		return nil, fmt.Errorf("%s: %d rows, too few to hold out %d windows of %d and keep %d windows for training; lower -heldout or -length",
			t.name, t.rows(), heldOut, length, leastTraining)
	}
	count := min(limit, len(free))
	for k := range count {
		c.training = c.add(c.training, free[k*len(free)/count])
	}
	for _, s := range c.starts {
		c.held = c.add(c.held, s)
	}
	return c, nil
}

// standardise finds mean and standard deviation of every channel.
func (c *corpus) standardise() error {
	n := float64(c.rows())
	for k, name := range c.names {
		mean, square := 0.0, 0.0
		for row := range c.rows() {
			mean += c.at(row, k) / n
		}
		for row := range c.rows() {
			square += (c.at(row, k) - mean) * (c.at(row, k) - mean) / n
		}
		sd := math.Sqrt(square)
		switch {
		case math.IsInf(mean, 0) || math.IsNaN(sd) || math.IsInf(sd, 0):
			return fmt.Errorf("%s: column %s: numbers are too large to have a standard deviation", c.name, name)
		case sd <= 1e-12*math.Abs(mean): // what is left is rounding
			return fmt.Errorf("%s: column %s is %v on lines %d … %d: a constant channel has no scale; leave it out by -columns",
				c.name, name, c.at(0, k), c.lines[0], c.lines[len(c.lines)-1])
		}
		c.shift, c.scale = append(c.shift, mean), append(c.scale, sd)
	}
	return nil
}

// add appends the window that begins at a row.
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
