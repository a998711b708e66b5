package denoise

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Cost holds the numbers of calls and states of a [Metered] denoiser.
type Cost struct {
	Calls int // number of calls of Denoise
	Rows  int // number of states in all calls
	Asked int // number of states that were passed on to the wrapped denoiser
	Hits  int // number of states whose prediction was in the cache
	Shown int // number of states without masked tokens, which Metered predicts itself
}

// Metered wraps a denoiser of masked tokens. It counts the calls and the states passed to the
// denoiser, and can cache predictions. With a cache, states without masked tokens are not passed to
// the denoiser, because all their tokens are known. It is safe for concurrent use.
type Metered struct {
	d             energy.Denoiser[int32]
	mask          int32
	entries       int
	sites, levels int

	mu    sync.Mutex
	cost  Cost
	at    map[string]int // index of the cache entry for each state
	keys  []string       // state of each cache entry; the oldest is evicted first
	table []float32      // prediction of each cache entry
	next  int

	part  []float32
	key   []byte
	state []int // indices of states to request from the wrapped denoiser
	view  energy.Noised[int32]
}

// never is the log-weight of an impossible level.
var never = float32(math.Inf(-1))

// NewMetered returns d wrapped in a denoiser that counts calls and states. The wrapper can also
// cache predictions. The argument mask is the level of the mask. The cache holds up to the given
// number of entries, each one prediction of sites × levels float32 values. With entries = 0 there
// is no cache. The cache is not used for a batch that has a Meta or is Guided (see
// [energy.Noised]).
//
// NewMetered returns an error in these cases:
//
//   - d is nil, or entries < 0;
//   - mask is not a level, or not the mask of d;
//   - entries > 0 and d is not energy.TimeFree.
func NewMetered(d energy.Denoiser[int32], mask int32, entries int) (*Metered, error) {
	if err := check.Given("denoise: NewMetered", "d", d); err != nil {
		return nil, err
	}
	sites, levels := d.Shape()
	switch {
	case mask < 0 || int(mask) >= levels:
		return nil, fmt.Errorf("denoise: NewMetered: mask = %d, want 0 … %d", mask, levels-1)
	case entries < 0:
		return nil, fmt.Errorf("denoise: NewMetered: entries = %d, want ≥ 0", entries)
	case entries > 0 && !energy.TimeFree(d):
		return nil, fmt.Errorf("denoise: NewMetered: entries = %d, want 0: the denoiser is not free of time", entries)
	}
	if m, ok := energy.As[energy.Masking](d); ok && m.MaskLevel() != mask {
		return nil, fmt.Errorf("denoise: NewMetered: mask = %d, want %d, the denoiser's", mask, m.MaskLevel())
	}
	return &Metered{d: d, mask: mask, entries: entries, sites: sites, levels: levels, at: map[string]int{}}, nil
}

// Cost returns the numbers of calls and states counted so far.
func (m *Metered) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

// Shape returns the shape of the wrapped denoiser.
func (m *Metered) Shape() (sites, levels int) { return m.sites, m.levels }

// MaskLevel returns the mask level given to [NewMetered].
func (m *Metered) MaskLevel() int32 { return m.mask }

// As implements [energy.Capable]: a Metered supports the same interfaces as the wrapped denoiser.
func (m *Metered) As(target any) bool { return energy.AsInto(m.d, target) }

// Denoise stores predictions in v, either from the cache or from the wrapped denoiser. It
// implements [energy.Denoiser]. It panics if the slices do not match the shape.
func (m *Metered) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	n := q.States(m.sites)
	check.Len("denoise", "v", len(v), len(q.X)*m.levels)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.Calls++
	m.cost.Rows += n
	if m.entries == 0 || q.Meta != nil || q.Guided {
		m.cost.Asked += n
		return m.d.Denoise(ctx, v, q)
	}
	size := m.sites * m.levels
	m.state = m.state[:0]
	for s := range n {
		x, dst := q.X[s*m.sites:(s+1)*m.sites], v[s*size:(s+1)*size]
		if !slices.Contains(x, m.mask) {
			m.cost.Shown++
			for i, l := range x {
				row := dst[i*m.levels : (i+1)*m.levels]
				for j := range row {
					row[j] = never
				}
				row[l] = 0
			}
			continue
		}
		if e, ok := m.at[string(m.name(q, s))]; ok {
			m.cost.Hits++
			copy(dst, m.table[e*size:])
			continue
		}
		m.state = append(m.state, s)
	}
	return m.ask(ctx, v, q)
}

// name encodes everything on which the prediction for state s depends.
func (m *Metered) name(q energy.Noised[int32], s int) []byte {
	m.key = m.key[:0]
	for i, l := range q.X[s*m.sites : (s+1)*m.sites] {
		m.key = append(m.key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
		if q.Clean != nil {
			clean := byte(0)
			if q.Clean[s*m.sites+i] {
				clean = 1
			}
			m.key = append(m.key, clean)
		}
	}
	return m.key
}

// ask requests predictions for the remaining states from the wrapped denoiser and caches them.
func (m *Metered) ask(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if len(m.state) == 0 {
		return nil
	}
	size := m.sites * m.levels
	p := &m.view
	p.X, p.Time, p.Alpha, p.Sample, p.Src, p.Clean = p.X[:0], p.Time[:0], p.Alpha[:0], p.Sample[:0], p.Src[:0], nil
	var clean []bool
	for _, s := range m.state {
		p.X = append(p.X, q.X[s*m.sites:(s+1)*m.sites]...)
		p.Time, p.Alpha = append(p.Time, q.Time[s]), append(p.Alpha, q.Alpha[s])
		if q.Sample != nil {
			p.Sample = append(p.Sample, q.Sample[s])
		}
		if q.Src != nil {
			p.Src = append(p.Src, q.Src[s])
		}
		if q.Clean != nil {
			clean = append(clean, q.Clean[s*m.sites:(s+1)*m.sites]...)
		}
	}
	p.Clean = clean
	m.part = slices.Grow(m.part[:0], len(m.state)*size)[:len(m.state)*size]
	m.cost.Asked += len(m.state)
	view := *p
	if q.Sample == nil {
		view.Sample = nil
	}
	if q.Src == nil {
		view.Src = nil
	}
	if err := m.d.Denoise(ctx, m.part, view); err != nil {
		return err
	}
	for k, s := range m.state {
		row := m.part[k*size : (k+1)*size]
		copy(v[s*size:(s+1)*size], row)
		m.store(string(m.name(q, s)), row)
	}
	return nil
}

// store caches a prediction. If the cache is full, it replaces the oldest entry.
func (m *Metered) store(key string, row []float32) {
	if _, ok := m.at[key]; ok {
		return // the state occurs twice in one call
	}
	if len(m.keys) < m.entries {
		m.keys, m.table = append(m.keys, key), append(m.table, row...)
		m.at[key] = len(m.keys) - 1
		return
	}
	delete(m.at, m.keys[m.next])
	m.keys[m.next], m.at[key] = key, m.next
	copy(m.table[m.next*len(row):], row)
	m.next = (m.next + 1) % m.entries
}
