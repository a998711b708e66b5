package subgraph

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Model holds the tables of a model. The energy is the sum of one entry of each table, as in
// energy.Factored. A Model also holds the weight e^−t of each table entry t. Plans are compiled
// from it. The model must have no hidden units.
type Model struct {
	cards   []int32
	scopes  [][]int32
	tables  [][]float64
	of      [][]int32 // indices of the tables that contain each site
	weights map[*float64]*weights
	shared  map[string][]int32 // shared lists of offsets, of which few are distinct
}

// weights holds e^−E for the entries of a table, divided by the largest.
type weights struct {
	w   []float64
	low int // exponent of the smallest positive weight; math.MinInt if a weight underflowed to 0
}

// NewModel returns the model with the given tables. Table k is over the sites scopes[k], and site i
// has cards[i] levels.
func NewModel(cards []int32, scopes [][]int32, tables [][]float64) *Model {
	m := &Model{cards, scopes, tables, make([][]int32, len(cards)), map[*float64]*weights{}, map[string][]int32{}}
	for k, scope := range scopes {
		for _, i := range scope {
			m.of[i] = append(m.of[i], int32(k))
		}
	}
	return m
}

func (m *Model) weigh(table []float64) *weights {
	key := &table[0]
	if w := m.weights[key]; w != nil {
		return w
	}
	least := slices.Min(table)
	t := &weights{w: make([]float64, len(table))}
	lost := false
	for i, e := range table {
		if !math.IsInf(e, 1) && !math.IsInf(least, 1) {
			t.w[i] = simd.Exp(least - e)
			lost = lost || t.w[i] == 0
		}
	}
	if t.low, _ = elimination.Exponents(t.w); lost {
		t.low = math.MinInt
	}
	m.weights[key] = t
	return t
}

// Plan holds the operations that eliminate the sites of a set, one after the other. It is
// immutable.
type Plan struct {
	buckets []bucket
	entries int // number of entries of all messages
	small   int // number of entries of all small tables
	most    int // maximum number of levels of a site
	linear  bool
}

// Entries returns the number of table entries that a [Run] stores for the plan, in all messages and
// tables together.
func (p *Plan) Entries() int { return p.entries + p.small }

// Sites returns the number of sites of the set.
func (p *Plan) Sites() int { return len(p.buckets) }

// bucket is the elimination of one site. Its small table is the product of those model tables
// that contain the site and no earlier one. The small table is multiplied by messages of earlier
// buckets and summed over the levels of the site.
type bucket struct {
	site, card int32
	scope      []int32 // sites of the message, in the order of elimination, the last one fastest
	size       int     // number of entries of the message
	at         int     // offset of the message in Run.messages
	pieces     []piece
	table      int     // offset of the small table in Run.tables
	rows       int     // entries of the small table per level
	strides    []int32 // strides of the small table, by site of the scope
	// positions in the small table, by entry of the message; nil if they are equal
	offsets []int32
	low     int // lower bound on the exponent of the small table's smallest positive entry
	kids    []kid
	walk    pattern
}

// piece is a table of the model that belongs to a bucket.
type piece struct {
	energies, weights []float64
	outside           []outside
	offsets           []int32 // positions in the table, by entry of the small table
}

// outside is a site outside the set and the distance between its levels in a table.
type outside struct{ site, stride int32 }

// kid is the message of an earlier bucket that a bucket multiplies.
type kid struct {
	bucket  int
	step    int     // distance between levels of the bucket's site
	strides []int32 // strides of the message, by site of the scope
	// positions in the message, by entry of the bucket's message; nil if there is a pattern
	offsets []int32
}

// pattern describes the sum over two levels with a single message. The message's variables come
// first, and its last ones, m, do not occur in the small table; the new variables follow:
//
//	out[outer, m, new] = Σ_v message[v, outer, m]·table[v, near[outer, new]].
type pattern struct {
	middle, fresh int // number of entries of m (0 for no pattern) and of new
	near          []int32
}

// Compile returns the plan for a set of sites. Sites are eliminated in the order in which they are
// listed.
func (m *Model) Compile(set []int32) *Plan {
	p := &Plan{buckets: make([]bucket, len(set)), linear: true}
	place := slices.Repeat([]int32{-1}, len(m.cards)) // of the sites in set
	for k, i := range set {
		place[i] = int32(k)
	}
	kids, taken := make([][]int, len(set)), make([]bool, len(m.tables))
	pieces, beyond := m.space(set, place)
	for k, i := range set {
		b := &p.buckets[k]
		b.site, b.card = i, m.cards[i]
		p.most = max(p.most, int(b.card))
		var own []int32 // sites of the small table but i
		var factors []int32
		for _, f := range m.of[i] {
			if taken[f] {
				continue
			}
			taken[f] = true
			factors = append(factors, f)
			for _, j := range m.scopes[f] {
				if place[j] >= 0 && j != i {
					own = append(own, j)
				}
			}
		}
		order := func(s []int32) []int32 {
			slices.SortFunc(s, func(a, c int32) int { return cmp.Compare(place[a], place[c]) })
			return slices.Compact(s)
		}
		own = order(own)
		b.scope = slices.Clone(own)
		for _, c := range kids[k] {
			b.scope = append(b.scope, p.buckets[c].scope[1:]...)
		}
		b.scope = order(b.scope)
		b.size, b.rows = m.size(b.scope), m.size(own)
		b.at, b.table = p.entries, p.small
		p.entries, p.small = p.entries+b.size, p.small+b.rows*int(b.card)
		b.strides = m.strides(b.scope, own)
		if b.rows != b.size {
			b.offsets = m.offsets(b.scope, b.strides)
		}
		b.pieces, pieces = pieces[:0:len(factors)], pieces[len(factors):]
		vars := append([]int32{i}, own...)
		for _, f := range factors {
			beyond = m.add(b, f, vars, place, beyond)
		}
		p.linear = p.linear && b.low >= lowest
		for _, c := range kids[k] {
			from := &p.buckets[c]
			s := m.strides(b.scope, from.scope[1:])
			b.kids = append(b.kids, kid{c, from.size / int(b.card), s, m.offsets(b.scope, s)})
		}
		b.walk = m.pattern(b)
		if b.walk.middle > 0 {
			b.kids[0].offsets, b.offsets = nil, nil
		}
		if len(b.scope) > 0 {
			next := place[b.scope[0]]
			kids[next] = append(kids[next], k)
		}
	}
	return p
}

// space allocates the pieces of a plan and their sites outside at once: a plan has thousands of them.
func (m *Model) space(set, place []int32) ([]piece, []outside) {
	pieces, beyond := 0, 0
	for _, i := range set {
		for _, f := range m.of[i] {
			first := int32(math.MaxInt32) // the site that is eliminated first takes the table
			for _, j := range m.scopes[f] {
				if place[j] >= 0 {
					first = min(first, place[j])
				}
			}
			if first != place[i] {
				continue
			}
			pieces++
			for _, j := range m.scopes[f] {
				if place[j] < 0 {
					beyond++
				}
			}
		}
	}
	return make([]piece, pieces), make([]outside, 0, beyond)
}

// add adds a table of the model to a bucket, whose small table is over vars. It appends the sites
// outside the set to beyond.
func (m *Model) add(b *bucket, f int32, vars, place []int32, beyond []outside) []outside {
	w, n := m.weigh(m.tables[f]), len(beyond)
	for k, j := range m.scopes[f] {
		if place[j] < 0 {
			beyond = append(beyond, outside{j, int32(m.size(m.scopes[f][k+1:]))})
		}
	}
	q := piece{
		energies: m.tables[f], weights: w.w, offsets: m.offsets(vars, m.strides(vars, m.scopes[f])),
		outside: beyond[n:len(beyond):len(beyond)],
	}
	b.pieces = append(b.pieces, q)
	if w.low == math.MinInt || b.low < lowest {
		b.low = 2 * lowest
	} else {
		b.low += w.low - 1
	}
	return beyond
}

func (m *Model) size(vars []int32) int {
	size := 1
	for _, v := range vars {
		size *= int(m.cards[v])
	}
	return size
}

// strides returns, for each site of vars, the distance between its levels in a table over own,
// or 0 if the table does not contain it.
func (m *Model) strides(vars, own []int32) []int32 {
	s := make([]int32, len(vars))
	step := int32(1)
	for k := len(own) - 1; k >= 0; k-- {
		if j := slices.Index(vars, own[k]); j >= 0 {
			s[j] = step
		}
		step *= m.cards[own[k]]
	}
	return s
}

// offsets returns the positions in a table with the given strides, by state of vars.
func (m *Model) offsets(vars, strides []int32) []int32 {
	key := make([]byte, 0, 8*len(vars))
	for k, v := range vars {
		key = binary.LittleEndian.AppendUint32(key, uint32(m.cards[v]))
		key = binary.LittleEndian.AppendUint32(key, uint32(strides[k]))
	}
	if l, ok := m.shared[string(key)]; ok {
		return l
	}
	l := make([]int32, 1, m.size(vars))
	for k, v := range vars {
		n := len(l)
		l = l[:n*int(m.cards[v])]
		for a := n - 1; a >= 0; a-- {
			for c := m.cards[v] - 1; c >= 0; c-- {
				l[a*int(m.cards[v])+int(c)] = l[a] + c*strides[k]
			}
		}
	}
	m.shared[string(key)] = l
	return l
}

// pattern returns the pattern of a bucket, or the zero value if it has none.
func (m *Model) pattern(b *bucket) (w pattern) {
	if len(b.kids) != 1 || b.card != 2 {
		return w
	}
	of := b.kids[0].strides
	t := len(b.scope)
	for t > 0 && of[t-1] == 0 {
		t--
	}
	s := t
	for s > 0 && b.strides[s-1] == 0 {
		s--
	}
	for _, v := range of[:t] {
		if v == 0 {
			return w
		}
	}
	middle := m.size(b.scope[s:t])
	if middle < 4 {
		return w
	}
	vars := slices.Concat(b.scope[:s], b.scope[t:])
	return pattern{middle, m.size(b.scope[t:]), m.offsets(vars, slices.Concat(b.strides[:s], b.strides[t:]))}
}
