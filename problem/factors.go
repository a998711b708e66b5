package problem

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

const (
	// maxTable is the largest number of entries of a table over the variables of a term or
	// condition.
	maxTable = 1 << 20

	// countFrom is the table size above which a comparison of a sum of single-variable functions is
	// represented by a counter instead of one table.
	countFrom = 1 << 8

	// maxCounts is the largest number of entries of a table of a counter.
	maxCounts = 1 << 24
)

// factors represents a problem as a sum of tables over its variables and additional counter
// variables. The variables that precede a counter variable determine its level.
type factors struct {
	cards  []int32
	levels int
	scopes [][]int32
	tables [][]float64
	left   int64 // number of entries of further tables
	meter  poll.Meter
}

func (f *factors) Shape() (sites, levels int) { return len(f.cards), f.levels }

func (f *factors) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return f.cards, f.scopes, f.tables, true
}

func (f *factors) add(scope []int32, table []float64) {
	f.scopes, f.tables = append(f.scopes, scope), append(f.tables, table)
}

// reserve takes size entries from the memory for tables, of which most are left for one table of
// what.
func (f *factors) reserve(what string, size float64, most int) error {
	if size > float64(most) {
		return &tooLarge{what, size, most}
	}
	if f.left -= int64(size); f.left < 0 {
		return &tooLarge{what + ", in addition to the tables before it,", size, int(min(f.left+int64(size), math.MaxInt))}
	}
	return nil
}

func (f *factors) variable(card int) int32 {
	f.cards, f.levels = append(f.cards, int32(card)), max(f.levels, card)
	return int32(len(f.cards) - 1)
}

// tooLarge is the error for a term or condition whose table would be too large.
type tooLarge struct {
	what string
	size float64
	most int
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("%s takes a table of %.3g entries, want ≤ %d", e.what, e.size, e.most)
}

// factors returns β times the energy as a sum of tables, with +Inf where a required condition does
// not hold. The tables take at most half of the memory that elimination may use, or 8 MiB if that is
// more.
func (p *Problem) factors(ctx context.Context, beta float64, bytes int64) (*factors, error) {
	if bytes == 0 {
		bytes = 1 << 30
	}
	f := &factors{levels: 1, left: max(bytes/16, maxTable)}
	f.meter.Watch(ctx)
	for _, v := range p.vars {
		f.variable(len(v.values))
	}
	if err := p.objectiveFactors(f, beta); err != nil {
		return nil, err
	}
	for i := range p.preferred {
		s := &p.preferred[i]
		cost := func(v float64) float64 {
			if s.squared {
				v *= v
			}
			return beta * s.weight * v
		}
		if beta == 0 {
			continue
		}
		if err := p.conditionFactors(f, s, cost); err != nil {
			return nil, err
		}
	}
	for i := range p.required {
		if err := p.conditionFactors(f, &p.required[i], forbid); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func forbid(violation float64) float64 {
	if violation > 0 {
		return math.Inf(1)
	}
	return 0
}

// objectiveFactors adds to f one table for every set of variables that terms of the objective have
// in common.
func (p *Problem) objectiveFactors(f *factors, beta float64) error {
	if beta == 0 {
		return nil
	}
	tables := map[string]int{}
	var key []byte
	for i := range p.objective {
		t := &p.objective[i]
		vars := scope(p.objective[i : i+1])
		key = key[:0]
		for _, v := range vars {
			key = appendBits(key, uint64(v))
		}
		k, met := tables[string(key)]
		if !met {
			if err := f.reserve(fmt.Sprintf("a product of %d variables", len(vars)), p.size(vars), maxTable); err != nil {
				return err
			}
			k = len(f.tables)
			tables[string(key)] = k
			f.add(sites(vars), make([]float64, int(p.size(vars))))
		}
		table, n := f.tables[k], 0
		p.states(vars, func(x []int32) (more bool) {
			table[n] += float64(beta * t.at(x))
			n++
			return !f.meter.Done(len(t.f) + 1)
		})
		if err := f.meter.Err(); err != nil {
			return err
		}
	}
	return nil
}

func sites(vars []int) []int32 {
	s := make([]int32, len(vars))
	for i, v := range vars {
		s[i] = int32(v)
	}
	return s
}

// conditionFactors adds to f the tables of cost(violation) of a condition. It uses a single table,
// or counters for those comparisons that are sums of functions of one variable each.
func (p *Problem) conditionFactors(f *factors, s *statement, cost func(float64) float64) error {
	c := &s.c
	size := p.size(c.scope)
	// For two variables a counter is no smaller than a table.
	if size <= countFrom || len(c.scope) <= 2 && size <= maxTable {
		return p.table(f, s, c.scope, nil, cost)
	}
	if _, _, ok := c.separable(); ok {
		hard := s.weight == 0
		last, sums, err := p.counter(f, s, c, hard)
		if err != nil {
			return err
		}
		table := make([]float64, len(sums))
		for i, v := range sums {
			table[i] = cost(c.distance(v))
		}
		f.add([]int32{last}, table)
		return nil
	}
	counted, rest := p.atoms(c)
	if direct := p.size(rest); len(counted) == 0 || size <= direct*countFrom && size <= maxTable {
		return p.table(f, s, c.scope, nil, cost)
	}
	return p.table(f, s, rest, counted, cost)
}

// atoms splits the comparisons within a condition. counted lists the comparisons for which a
// counter is used, and rest lists the variables of all others.
func (p *Problem) atoms(c *Condition) (counted []*Condition, rest []int) {
	var walk func(c *Condition)
	walk = func(c *Condition) {
		if c.op != between {
			for i := range c.parts {
				walk(&c.parts[i])
			}
			return
		}
		if _, _, ok := c.separable(); ok && p.size(c.scope) > 16 {
			counted = append(counted, c)
		} else {
			rest = append(rest, c.scope...)
		}
	}
	walk(c)
	slices.Sort(rest)
	return counted, slices.Compact(rest)
}

// table adds to f the cost of the condition s as a table over vars and the final sums of a counter
// for each comparison in counted.
func (p *Problem) table(f *factors, s *statement, vars []int, counted []*Condition, cost func(float64) float64) error {
	size := p.size(vars)
	scope := sites(vars)
	sums := make([][]float64, len(counted))
	for i, atom := range counted {
		last, values, err := p.counter(f, s, atom, false)
		if err != nil {
			return err
		}
		sums[i] = values
		scope = append(scope, last)
		size *= float64(len(values))
	}
	if err := f.reserve(fmt.Sprintf("the condition %q", s.name), size, maxTable); err != nil {
		return err
	}
	table := make([]float64, 0, int(size))
	at, work := make([]int, len(counted)), s.c.work()
	p.states(vars, func(x []int32) (more bool) {
		for !f.meter.Done(work) {
			table = append(table, cost(s.c.given(x, func(c *Condition) (float64, bool) {
				for i, atom := range counted {
					if atom == c {
						return c.distance(sums[i][at[i]]), true
					}
				}
				return 0, false
			})))
			i := len(at) - 1
			for ; i >= 0; i-- {
				if at[i]++; at[i] < len(sums[i]) {
					break
				}
				at[i] = 0
			}
			if i < 0 {
				return true
			}
		}
		return false
	})
	if err := f.meter.Err(); err != nil {
		return err
	}
	f.add(scope, table)
	return nil
}

// counter adds to f a chain of variables for the partial sums of a comparison. It returns the last
// one, which represents the whole sum, and the sum at each of its levels. For a required comparison
// (hard), partial sums that can no longer satisfy the bounds are dropped. Partial sums that satisfy
// them whatever the remaining variables are merged into one level.
func (p *Problem) counter(f *factors, s *statement, c *Condition, hard bool) (last int32, sums []float64, err error) {
	constant, u, _ := c.separable()
	// Least and greatest sum of the remaining functions.
	least, most := make([]float64, len(u)+1), make([]float64, len(u)+1)
	for i := len(u) - 1; i >= 0; i-- {
		least[i], most[i] = least[i+1]+slices.Min(u[i]), most[i+1]+slices.Max(u[i])
	}
	sums = []float64{constant}
	last = -1
	for i, v := range c.scope {
		var next []float64
		index := map[float64]int{}
		safe := -1 // index of the level that merges all partial sums that satisfy the bounds
		card := len(u[i])
		to := make([]int, len(sums)*card)
		what := fmt.Sprintf("counting for the condition %q", s.name)
		for k, before := range sums {
			if f.meter.Done(16 * card) { // as a map takes
				return 0, nil, f.meter.Err()
			}
			if size := float64(len(sums)) * float64(card) * float64(len(next)); size > maxCounts {
				return 0, nil, &tooLarge{what, size, maxCounts}
			}
			for l, w := range u[i] {
				v := before + w
				n, met := 0, false
				switch {
				case math.IsNaN(before): // NaN marks a sum that already satisfies the bounds
					n, met = safe, safe >= 0
					v = before
				case hard && c.distance(v+least[i+1]) == 0 && c.distance(v+most[i+1]) == 0:
					n, met = safe, safe >= 0
					v = math.NaN()
				case hard && (v+most[i+1] < c.lo-c.tol || v+least[i+1] > c.hi+c.tol):
					to[k*card+l] = -1
					continue
				default:
					n, met = c.find(index, v)
				}
				if !met {
					n = len(next)
					next = append(next, v)
					if math.IsNaN(v) {
						safe = n
					} else {
						index[c.key(v)] = n
					}
				}
				to[k*card+l] = n
			}
		}
		if len(next) == 0 { // no state is allowed: a single level, which is forbidden
			next = append(next, constant)
		}
		size := float64(len(sums)) * float64(card) * float64(len(next))
		if err := f.reserve(what, size, maxCounts); err != nil {
			return 0, nil, err
		}
		table := make([]float64, int(size))
		for k, n := range to {
			row := table[k*len(next) : (k+1)*len(next)]
			for i := range row {
				row[i] = math.Inf(1)
			}
			if n >= 0 {
				row[n] = 0
			}
			if f.meter.Done(len(row)) {
				return 0, nil, f.meter.Err()
			}
		}
		scope := []int32{int32(v)}
		if last >= 0 {
			scope = []int32{last, int32(v)}
		}
		last = f.variable(len(next))
		f.add(append(scope, last), table)
		sums = next
	}
	for i, v := range sums {
		if math.IsNaN(v) {
			sums[i] = c.inside()
		}
	}
	return last, sums, nil
}

// inside returns a sum that satisfies the bounds of a comparison.
func (c *Condition) inside() float64 {
	if math.IsInf(c.lo, 0) {
		return c.hi
	}
	return c.lo
}

// key returns the index key of the sum v. Sums that differ only by rounding have equal or adjacent
// keys.
func (c *Condition) key(v float64) float64 {
	if c.tol == 0 {
		return v
	}
	return math.Round(v / (c.tol / 16))
}

func (c *Condition) find(index map[float64]int, v float64) (n int, met bool) {
	k := c.key(v)
	if n, met = index[k]; met || c.tol == 0 {
		return n, met
	}
	for _, near := range []float64{k - 1, k + 1} {
		if n, met = index[near]; met {
			return n, met
		}
	}
	return 0, false
}
