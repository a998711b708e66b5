package energytest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
)

func checkGraphs(s *subject) error {
	if m, ok := energy.As[energy.Graphical](s.m); ok {
		start, adj := m.Graph()
		if err := s.lists(start, adj); err != nil {
			return fmt.Errorf("method Graph: %w", err)
		}
		if err := s.strangers(start, adj); err != nil {
			return fmt.Errorf("method Graph: %w", err)
		}
	}
	if m, ok := energy.As[energy.Toroidal](s.m); ok {
		if err := s.torus(m); err != nil {
			return fmt.Errorf("method Torus: %w", err)
		}
	}
	if m, ok := energy.As[energy.Matching](s.m); ok {
		if err := s.matching(m); err != nil {
			return fmt.Errorf("method Matching: %w", err)
		}
	}
	if m, ok := energy.As[energy.Pairwise](s.m); ok {
		if err := s.pairs(m); err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.Factored](s.m); ok {
		if err := s.factored(m); err != nil {
			return fmt.Errorf("method Factors: %w", err)
		}
	}
	if m, ok := energy.As[energy.Clamped](s.m); ok {
		if err := s.clamped(m); err != nil {
			return fmt.Errorf("method Unclamped: %w", err)
		}
	}
	if m, ok := energy.As[energy.Varying](s.m); ok {
		if err := s.varying(m); err != nil {
			return fmt.Errorf("method Now: %w", err)
		}
	}
	return nil
}

// clamped checks that a state in which all fixed sites have their levels has the energy of the
// unclamped model, and that any other state has +Inf.
func (s *subject) clamped(m energy.Clamped) error {
	inside, fixed := m.Unclamped()
	if len(fixed) != s.sites {
		return fmt.Errorf("len(fixed) = %d, want %d", len(fixed), s.sites)
	}
	e := make([]float64, len(s.e))
	inside.Energy(e, s.x)
	for k, want := range e {
		for i, l := range s.state(k) {
			if fixed[i] >= 0 && fixed[i] != l {
				want = math.Inf(1)
			}
		}
		if !s.near(want, s.e[k], 2) {
			return fmt.Errorf("energy of %v = %v, want %v", s.state(k), s.e[k], want)
		}
	}
	return nil
}

// varying checks that the model returned by Now has the same energies as the model, and that its
// structure is correct.
func (s *subject) varying(m energy.Varying) error {
	now := m.Now()
	if _, ok := energy.As[energy.Varying](now); ok {
		return errors.New("the model varies itself")
	}
	e := make([]float64, len(s.e))
	now.Energy(e, s.x)
	for k, want := range s.e {
		if !s.near(want, e[k], 2) {
			return fmt.Errorf("energy of %v = %v, want %v", s.state(k), e[k], want)
		}
	}
	own := *s
	own.m = now
	return checkGraphs(&own)
}

// lists checks that neighbour lists are sorted and symmetric.
func (s *subject) lists(start, adj []int32) error {
	if len(start) != s.sites+1 || start[0] != 0 || int(start[s.sites]) != len(adj) {
		return fmt.Errorf("len(start) = %d, len(adj) = %d, want %d and start[%d]", len(start), len(adj), s.sites+1, s.sites)
	}
	for i := range s.sites {
		row := adj[start[i]:start[i+1]]
		for k, j := range row {
			switch {
			case j < 0 || int(j) >= s.sites || int(j) == i:
				return fmt.Errorf("site %d has the neighbour %d", i, j)
			case k > 0 && row[k-1] >= j:
				return fmt.Errorf("neighbours of site %d are not ascending: %v", i, row)
			case !slices.Contains(adj[start[j]:start[j+1]], int32(i)):
				return fmt.Errorf("site %d has the neighbour %d, and that not the first", i, j)
			}
		}
	}
	return nil
}

// mostPairs is the number of pairs of sites without an edge that are checked.
const mostPairs = 300

// strangers checks by second differences of the energy that sites without an edge do not interact.
func (s *subject) strangers(start, adj []int32) error {
	for n, tried := 0, 0; n < mostPairs && tried < 20*mostPairs; tried++ {
		i, j := s.r.IntN(s.sites), s.r.IntN(s.sites)
		k := s.r.IntN(len(s.e))
		if i == j || !s.finite(k) || slices.Contains(adj[start[i]:start[i+1]], int32(j)) {
			continue
		}
		n++
		x := s.state(k)
		four := make([]int32, 0, 4*s.sites)
		for c := range 4 {
			four = append(four, x...)
			if c&1 != 0 {
				four[c*s.sites+i] = (x[i] + 1) % int32(s.levels)
			}
			if c&2 != 0 {
				four[c*s.sites+j] = (x[j] + 1) % int32(s.levels)
			}
		}
		e := make([]float64, 4)
		s.m.Energy(e, four)
		if d := e[3] - e[1] - e[2] + e[0]; math.Abs(d) > 4*s.slack && !math.IsInf(d, 0) {
			return fmt.Errorf("sites %d and %d of %v are not neighbours, and changing both changes the energy by %v more than changing each", i, j, x, d)
		}
	}
	return nil
}

func (s *subject) torus(m energy.Toroidal) error {
	cols, d, ok := m.Torus()
	if !ok {
		return nil
	}
	if s.levels != 2 || cols < 1 || s.sites%cols != 0 {
		return fmt.Errorf("%d columns of %d sites of %d levels", cols, s.sites, s.levels)
	}
	rows := s.sites / cols
	row := make([]float64, 2)
	for k := range s.e {
		if !s.finite(k) {
			continue
		}
		x := s.state(k)
		for _, i := range s.some(fewSites) {
			r, c := i/cols, i%cols
			up := x[(r+1)%rows*cols+c] + x[(r+rows-1)%rows*cols+c] + x[r*cols+(c+1)%cols] + x[r*cols+(c+cols-1)%cols]
			s.row(row, x, i)
			if got := row[1] - row[0]; !s.near(got, d[up], 4) {
				return fmt.Errorf("d[%d] = %v, and E(x_i=1) − E(x_i=0) = %v at site %d of %v", up, d[up], got, i, x)
			}
		}
	}
	return nil
}

func (s *subject) matching(m energy.Matching) error {
	coupling, field, ok := m.Matching()
	if !ok {
		return nil
	}
	if len(field) != s.levels {
		return fmt.Errorf("len(field) = %d, want %d", len(field), s.levels)
	}
	start, adj := m.Graph()
	return s.formula(func(x []int32) float64 {
		e := 0.0
		for i, l := range x {
			e -= field[l]
			for _, j := range adj[start[i]:start[i+1]] {
				if int(j) > i && x[j] == l {
					e -= coupling
				}
			}
		}
		return e
	})
}

func (s *subject) pairs(m energy.Pairwise) error {
	start, adj, weight, field, ok := m.Pairs()
	if !ok {
		return nil
	}
	if err := s.lists(start, adj); err != nil {
		return fmt.Errorf("method Pairs: %w", err)
	}
	if s.levels != 2 || len(field) != s.sites || len(weight) != len(adj) {
		return fmt.Errorf("method Pairs: %d levels, len(field) = %d, len(weight) = %d, want 2, %d, %d", s.levels, len(field), len(weight), s.sites, len(adj))
	}
	err := s.formula(func(x []int32) float64 {
		twice := 0.0
		for i, v := range x {
			twice += 2 * field[i] * float64(v)
			for k := start[i]; k < start[i+1]; k++ {
				twice += weight[k] * float64(v*x[adj[k]])
			}
		}
		return twice / 2
	})
	if err != nil {
		return fmt.Errorf("method Pairs: %w", err)
	}
	return nil
}

// fewStates is the largest number of states of a model for which all states are checked. It is also
// the largest permitted number of states of the hidden units.
const fewStates = 1 << 12

// factored checks that the factors describe the energy. It checks the states of s and, if there are
// few, all states.
func (s *subject) factored(m energy.Factored) error {
	cards, scopes, tables, ok := m.Factors()
	if !ok {
		return nil
	}
	if len(cards) < s.sites || len(scopes) != len(tables) {
		return fmt.Errorf("len(cards) = %d, len(scopes) = %d, len(tables) = %d, want ≥ %d and as many scopes as tables", len(cards), len(scopes), len(tables), s.sites)
	}
	for i, c := range cards {
		if c < 1 || i < s.sites && int(c) > s.levels {
			return fmt.Errorf("cards[%d] = %d, want 1 … %d", i, c, s.levels)
		}
	}
	for k, scope := range scopes {
		size := 1
		for j, v := range scope {
			if v < 0 || int(v) >= len(cards) || slices.Contains(scope[:j], v) {
				return fmt.Errorf("scopes[%d] = %v, want distinct numbers 0 … %d", k, scope, len(cards)-1)
			}
			size *= int(cards[v])
		}
		if len(tables[k]) != size {
			return fmt.Errorf("len(tables[%d]) = %d, want %d", k, len(tables[k]), size)
		}
		for _, v := range tables[k] {
			if math.IsNaN(v) || math.IsInf(v, -1) {
				return fmt.Errorf("tables[%d] has an entry %v, want a number or +Inf", k, v)
			}
		}
	}
	hidden, few := float64(1), math.Pow(float64(s.levels), float64(s.sites)) <= fewStates
	for _, c := range cards[s.sites:] {
		hidden *= float64(c)
	}
	if hidden > fewStates {
		return fmt.Errorf("%v states of hidden units, want ≤ %d for this law", hidden, fewStates)
	}
	check := func(x []int32, e float64) error {
		got, factor := fromFactors(x, cards, scopes, tables), 4.0
		if hidden > 1 {
			// Models with hidden units round to float32.
			factor += rounding32 * (s.largest + 1) / s.slack
		}
		if !s.near(e, got, factor) {
			return fmt.Errorf("energy of %v = %v, and %v by the factors", x, e, got)
		}
		return nil
	}
	for k, e := range s.e {
		if err := check(s.state(k), e); err != nil {
			return err
		}
	}
	x := make([]int32, s.sites)
	for more := few; more; {
		if err := check(x, s.energy(x)); err != nil {
			return err
		}
		more = false
		for i := range x {
			if x[i]++; int(x[i]) < s.levels {
				more = true
				break
			}
			x[i] = 0
		}
	}
	return nil
}

// fromFactors returns the energy of a state, computed from its factors. Hidden units are summed
// out.
func fromFactors(x, cards []int32, scopes [][]int32, tables [][]float64) float64 {
	all := append(slices.Clone(x), make([]int32, len(cards)-len(x))...)
	for i, l := range x {
		if l >= cards[i] {
			return math.Inf(1)
		}
	}
	var terms []float64 // of the states of hidden units
	for {
		sum := 0.0
		for k, scope := range scopes {
			at := 0
			for _, v := range scope {
				at = at*int(cards[v]) + int(all[v])
			}
			sum += tables[k][at]
		}
		terms = append(terms, sum)
		at := len(x)
		for ; at < len(all); at++ {
			if all[at]++; all[at] < cards[at] {
				break
			}
			all[at] = 0
		}
		if at == len(all) {
			break
		}
	}
	least := slices.Min(terms)
	if len(terms) == 1 || math.IsInf(least, 1) {
		return least
	}
	sum := 0.0
	for _, t := range terms {
		sum += math.Exp(least - t)
	}
	return least - math.Log(sum)
}

// formula checks that the energies of the states equal f up to a constant.
func (s *subject) formula(f func(x []int32) float64) error {
	first := -1
	for k := range s.e {
		if !s.finite(k) {
			continue
		}
		if first < 0 {
			first = k
		}
		want, got := s.e[k]-s.e[first], f(s.state(k))-f(s.state(first))
		if !s.near(want, got, 4) {
			return fmt.Errorf("the difference E%v − E%v = %v, want %v", s.state(k), s.state(first), got, want)
		}
	}
	return nil
}

func checkValues(s *subject) error {
	m, ok := energy.As[energy.Ordinal](s.m)
	if !ok {
		return nil
	}
	v := m.Values()
	if len(v) != s.levels {
		return fmt.Errorf("len(Values) = %d, want %d", len(v), s.levels)
	}
	for l, a := range v {
		if math.IsInf(float64(a), 0) || a != a || l > 0 && a <= v[l-1] {
			return fmt.Errorf("its Values are %v, want finite and strictly ascending numbers", v)
		}
	}
	return nil
}

func checkSupports(s *subject) error {
	m, ok := energy.As[energy.Supported](s.m)
	if !ok {
		return nil
	}
	x := slices.Clone(s.x)
	for i := len(x) / 2; i < len(x); i++ {
		x[i] = int32(s.r.IntN(s.levels))
	}
	before, e := slices.Clone(x), make([]float64, len(s.e))
	s.m.Energy(e, x)
	m.Repair(x)
	after := make([]float64, len(s.e))
	s.m.Energy(after, x)
	for k := range e {
		from, to := before[k*s.sites:(k+1)*s.sites], x[k*s.sites:(k+1)*s.sites]
		if math.IsInf(after[k], 1) {
			return fmt.Errorf("method Repair makes %v of %v, whose energy is +Inf", to, from)
		}
		if !math.IsInf(e[k], 1) && !slices.Equal(from, to) {
			return fmt.Errorf("method Repair makes %v of %v, which has the energy %v", to, from, e[k])
		}
	}
	return nil
}

// checkLayers checks the conditionals of a bipartite model. −E(x) + log p(h|x) − log p(x|h), which
// is log p(h) up to a constant, must not depend on x.
func checkLayers(s *subject) error {
	m, ok := energy.As[energy.Bipartite](s.m)
	if !ok {
		return nil
	}
	n := m.Hidden()
	if n < 1 || s.levels != 2 {
		return fmt.Errorf("%d hidden units of a model of %d levels", n, s.levels)
	}
	h, up, down := make([]int32, n), make([]float32, n), make([]float32, s.sites)
	for range 8 {
		for j := range h {
			h[j] = int32(s.r.IntN(2))
		}
		m.VisibleField(down, h)
		first, at := math.NaN(), 0
		for k := range s.e {
			if !s.finite(k) {
				continue
			}
			m.HiddenField(up, s.state(k))
			a, x := logOdds(up, h), 0.0
			if x = logOdds(down, s.state(k)); math.IsInf(x, 0) || math.IsInf(a, 0) {
				continue
			}
			v, scale := -s.e[k]+a-x, math.Abs(a)+math.Abs(x)
			if math.IsNaN(first) {
				first, at = v, k
			}
			if math.Abs(v-first) > 4*s.slack+8*rounding32*(scale+1) {
				return fmt.Errorf("p(h|x)/p(x|h) is not p(h)/p(x): hidden %v, −E + log p(h|x) − log p(x|h) = %v at %v and %v at %v", h, v, s.state(k), first, s.state(at))
			}
		}
	}
	return nil
}

// logOdds returns the log-probability of bits that are independent with the log-odds f.
func logOdds(f []float32, bits []int32) (v float64) {
	for i, b := range bits {
		a := float64(f[i])
		if b == 1 {
			a = -a
		}
		v -= max(a, 0) + math.Log1p(math.Exp(-math.Abs(a)))
	}
	return v
}

func checkChanges(s *subject) error {
	if m, ok := energy.As[energy.Incremental](s.m); ok {
		err := s.walk("FieldFrom", s.sites, m.CacheLen(), m.FieldFrom, m.Field)
		if err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.IncrementalBipartite](s.m); ok {
		return s.walk("HiddenFieldFrom", m.Hidden(), m.CacheLen(), m.HiddenFieldFrom, func(e []float64, f []float32, x []int32) {
			s.m.Energy(e, x)
			m.HiddenField(f, x)
		})
	}
	return nil
}

// walk checks that evaluations from earlier states equal evaluations from scratch.
func (s *subject) walk(name string, columns, cached int, from func(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32), whole func(e []float64, h []float32, x []int32)) error {
	const states = 4
	x := slices.Clone(s.x[:min(states, len(s.e))*s.sites])
	n := len(x) / s.sites
	cache, next := make([]float64, n*cached), make([]float64, n*cached)
	e, want := make([]float64, n), make([]float64, n)
	h, field := make([]float32, n*columns), make([]float32, n*columns)
	from(e, h, cache, x, nil, nil)
	for step := range 12 {
		whole(want, field, x)
		if !same(e, want) || !same(h, field) {
			return fmt.Errorf("%s after %d changes: other bits than from nothing: energies %v, want %v", name, step, e, want)
		}
		y := slices.Clone(x)
		for range step { // change 0 … 11 sites
			y[s.r.IntN(len(y))] = int32(s.r.IntN(s.levels))
		}
		old, kept := slices.Clone(x), slices.Clone(cache)
		fill(next)
		from(e, h, next, y, cache, x)
		if !slices.Equal(x, old) || !same(cache, kept) {
			return errors.New(name + " changes the earlier states or what it kept of them")
		}
		x, cache, next = y, next, cache
	}
	return nil
}
