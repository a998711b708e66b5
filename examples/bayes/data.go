package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// part is a set of table rows: x holds the inputs row by row, y the target of each row.
type part struct{ x, y []float32 }

// data is a table split into a training and a test part. Each column has mean 0 and standard
// deviation 1 over the training part.
type data struct {
	name        string
	train, test part
}

// load reads the data of -csv, or generates data if there is none.
func load(o options) (*data, error) {
	if o.csv == "" {
		s := shapes[o.shape]
		if s == nil {
			x, y := generate(o.n+o.n/4, o.seed)
			return split("generated", columns, x, y, o.n)
		}
		x, y := s.generate(o.n+o.n/4, o.seed)
		return split("generated like "+o.shape, s.columns(), x, y, o.n)
	}
	file, err := os.Open(o.csv)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, x, y, err := readTable(file, o.target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	shuffle(x, y, rand.New(rand.NewPCG(o.seed, 3)))
	d, err := split(o.csv, names, x, y, len(y)-len(y)/5)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	return d, nil
}

// columns names the columns of the COMPAS table as the paper prepares it: four counts, an age
// and two one-hot coded categories.
var columns = []string{"priors", "felonies", "misdemeanors", "others", "age", "a", "b", "c", "d", "e", "f", "s", "t"}

// generate returns rows in the shape of [columns]: skewed counts, an age and categories. The
// labels follow a logistic model with enough noise that no classifier is right more than about
// seven times in ten.
func generate(rows int, seed uint64) (x, y []float32) {
	r := rand.New(rand.NewPCG(seed, 2))
	count := func(mean float64) float64 { return math.Floor(mean * r.ExpFloat64() * (0.5 + r.Float64())) }
	for range rows {
		row := make([]float32, len(columns))
		age := 18 + 14*r.ExpFloat64()
		priors, juvenile := count(3.5), 0.0
		for k := 1; k <= 3; k++ {
			c := count(0.8)
			juvenile += c
			row[k] = float32(c)
		}
		row[0], row[4] = float32(priors), float32(age)
		group, u := 0, r.Float64()
		for _, share := range []float64{0.4, 0.25, 0.12, 0.1, 0.08} {
			if u -= share; u < 0 {
				break
			}
			group++
		}
		row[5+group] = 1
		sex := 0
		if r.Float64() < 0.2 {
			sex = 1
		}
		row[11+sex] = 1
		logit := 0.1 + 0.55*math.Log1p(priors) + 0.2*math.Min(juvenile, 3) - 0.035*(age-18) - 0.3*float64(sex)
		label := float32(0)
		if r.Float64() < 1/(1+math.Exp(-logit)) {
			label = 1
		}
		x, y = append(x, row...), append(y, label)
	}
	return x, y
}

// shape describes a table for regression: numbers of columns by their kind.
type shape struct {
	counts int     // skewed counts
	shares int     // shares of topics, which add up to 1
	scores int     // numbers between −1 and 1
	words  int     // whether a word occurs, 0 or 1
	groups []int   // one-hot codes of categories, by the number of categories
	zeros  float64 // share of rows with the target 0
}

// shapes has the numbers of inputs of two tables of the paper: Online News Popularity (how often an
// article is shared; 58 inputs) and BlogFeedback (comments on a post within a day; 280 inputs).
var shapes = map[string]*shape{
	"news": {counts: 24, shares: 5, scores: 16, groups: []int{6, 7}},
	"blog": {counts: 66, words: 200, groups: []int{7, 7}, zeros: 0.6},
}

// columns names the columns of the table.
func (s *shape) columns() (names []string) {
	add := func(kind string, n int) {
		for k := range n {
			names = append(names, fmt.Sprintf("%s%d", kind, k+1))
		}
	}
	add("count", s.counts)
	add("share", s.shares)
	add("score", s.scores)
	add("word", s.words)
	for k, n := range s.groups {
		add(fmt.Sprintf("group%d.", k+1), n)
	}
	return names
}

// generate returns rows and targets within 0 … 1, a saturating function of a linear one with random
// coefficients and of noise. A large part of the variance is noise, as in the original tables.
func (s *shape) generate(rows int, seed uint64) (x, y []float32) {
	r := rand.New(rand.NewPCG(seed, 4))
	weights := make([]float64, len(s.columns()))
	for k := range weights {
		weights[k] = r.NormFloat64()
	}
	level := make([]float64, rows)
	for i := range level {
		var row []float64
		busy := r.ExpFloat64()
		for range s.counts {
			row = append(row, math.Floor(4*busy*r.ExpFloat64()))
		}
		total := 0.0
		for range s.shares {
			row = append(row, r.ExpFloat64())
			total += row[len(row)-1]
		}
		for k := len(row) - s.shares; k < len(row); k++ {
			row[k] /= total
		}
		for range s.scores {
			row = append(row, math.Tanh(r.NormFloat64()))
		}
		for k := range s.words {
			in := 0.0
			if r.Float64() < 0.1+0.4/float64(1+k) {
				in = 1
			}
			row = append(row, in)
		}
		for _, n := range s.groups {
			code := make([]float64, n)
			code[r.IntN(n)] = 1
			row = append(row, code...)
		}
		for k, v := range row {
			level[i] += weights[k] * math.Log1p(math.Abs(v)) * math.Copysign(1, v)
			x = append(x, float32(v))
		}
	}
	mean, deviation := stat.MeanStdDev(level, nil)
	sorted := make([]float64, rows)
	for i := range level {
		level[i] = (level[i]-mean)/deviation + r.NormFloat64()
		sorted[i] = level[i]
	}
	slices.Sort(sorted)
	least := sorted[int(s.zeros*float64(rows-1))]
	for _, v := range level {
		switch {
		case s.zeros == 0:
			y = append(y, float32(1/(1+math.Exp(-v))))
		default:
			y = append(y, float32(math.Tanh(max(0, v-least))))
		}
	}
	return x, y
}

// readTable reads a table of numbers whose first line names the columns. The target column, the
// last if target is "", holds numbers from 0 to 1: an observed label or its probability.
func readTable(r io.Reader, target string) (names []string, x, y []float32, err error) {
	c := command.Table(r)
	head, err := c.Read()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("the names of the columns: %w", err)
	}
	for i, n := range head {
		n = strings.TrimSpace(n)
		if n == "" || slices.Contains(names, n) {
			return nil, nil, nil, fmt.Errorf("column %d has the name %q of another column, want different names", i+1, n)
		}
		names = append(names, n)
	}
	if len(names) < 2 {
		return nil, nil, nil, fmt.Errorf("%d columns, want at least 2: what to predict and from what", len(names))
	}
	at := len(names) - 1
	if target != "" {
		if at = slices.Index(names, target); at < 0 {
			return nil, nil, nil, fmt.Errorf("-target: no column %q; there are %s", target, strings.Join(names, ", "))
		}
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, nil, err
		}
		line, _ := c.FieldPos(0)
		for k, text := range row {
			text = strings.TrimSpace(text)
			v, err := strconv.ParseFloat(text, 32)
			switch {
			case text == "":
				return nil, nil, nil, fmt.Errorf("line %d, column %q: no value, want a number; leave out or fill in rows with missing values", line, names[k])
			case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
				return nil, nil, nil, fmt.Errorf("line %d, column %q: %q, want a finite number; code categories as columns of 0 and 1", line, names[k], text)
			case k == at && (v < 0 || v > 1):
				return nil, nil, nil, fmt.Errorf("line %d, column %q: %q, want 0 … 1 in the column to predict", line, names[k], text)
			case k == at:
				y = append(y, float32(v))
			default:
				x = append(x, float32(v))
			}
		}
	}
	if len(y) < 10 {
		return nil, nil, nil, fmt.Errorf("%d rows, want at least 10", len(y))
	}
	return slices.Delete(names, at, at+1), x, y, nil
}

// shuffle permutes the rows at random.
func shuffle(x, y []float32, r *rand.Rand) {
	n := len(x) / len(y)
	r.Shuffle(len(y), func(i, j int) {
		y[i], y[j] = y[j], y[i]
		for k := range n {
			x[i*n+k], x[j*n+k] = x[j*n+k], x[i*n+k]
		}
	})
}

// split makes the first train rows the training part and standardises all columns by their mean
// and deviation there, in place. A column that is constant in the training part is an error.
func split(name string, names []string, x, y []float32, train int) (*data, error) {
	n := len(names)
	if constant(y[:train], 1) {
		return nil, fmt.Errorf("the column to predict is %v in every training row, want values that differ", y[0])
	}
	for k, column := range names {
		mean, square := 0.0, 0.0
		for i := range train {
			mean += float64(x[i*n+k]) / float64(train)
		}
		for i := range train {
			d := float64(x[i*n+k]) - mean
			square += d * d / float64(train)
		}
		if constant(x[k:train*n], n) {
			return nil, fmt.Errorf("column %q is %v in every training row and carries no information; leave it out", column, x[k])
		}
		for i := range y {
			x[i*n+k] = float32((float64(x[i*n+k]) - mean) / math.Sqrt(square))
		}
	}
	return &data{name, part{x[:train*n], y[:train]}, part{x[train*n:], y[train:]}}, nil
}

// constant reports whether x[0], x[n], x[2n], … are all equal.
func constant(x []float32, n int) bool {
	for i := 0; i < len(x); i += n {
		if x[i] != x[0] {
			return false
		}
	}
	return true
}
