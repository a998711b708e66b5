package fingerprint_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func of(v any) *fingerprint.List {
	l := &fingerprint.List{Sites: 4, Levels: 2}
	l.Add("recipe", v)
	return l
}

// probe is a recipe that is set to anything; other is another type like it, and
// called one with a name.
type (
	probe   struct{ setting any }
	other   struct{ setting any }
	called  struct{ setting any }
	wrapped struct{ called }
	table   func(int) float64
	spoken  func()
	own     struct{ f func() } //lint:ignore U1000 only its presence counts
	free    struct{ Within constraint.Automaton }
	knot    struct{ next *knot }
)

func (called) Name() string { return "called" }
func (spoken) Name() string { return "spoken" }

func (o own) Settings(add func(string, any)) { add("tables", []int{1, 2}) }

// What is listed must tell values apart, and equal values must agree.
func TestValuesAreDistinguished(t *testing.T) {
	f := func() {}
	values := []any{
		probe{}, probe{1}, probe{1.5}, probe{true}, probe{"1"}, probe{"true;"},
		probe{[]int{1, 2}}, probe{[]int{12}}, probe{[]string{"a b"}}, probe{[]string{"a", "b"}}, probe{[][]int{{1}, {2}}}, probe{[][]int{{1, 2}, {}}}, probe{[]any{1, nil}},
		probe{make([]int, 9)}, probe{make([]int, 10)}, probe{[]int{0, 0, 0, 0, 0, 0, 0, 0, 1}}, probe{make([]int, 2000)},
		probe{append(make([]int, 1999), 1)}, probe{[]other{{1}, {2}}}, probe{[]other{{1}, {3}}},
		probe{f}, probe{map[int]int{1: 2}}, probe{make(chan int)}, probe{probe{1}}, &probe{2}, other{}, other{1}, called{1}, nil, own{},
		spoken(f), table(func(t int) float64 { return 1 }), table(func(t int) float64 { return float64(t) }),
		table(func(t int) float64 { return []float64{1, 2, 3}[t] }), table(func(t int) float64 { return []float64{1, 2}[t] }),
		free{}, free{constraint.Count{Levels: []int32{1}, Max: 2}}, free{constraint.Count{Levels: []int32{1}, Max: 3}},
		knot{}, []float64{1}, []float64{1, 2}, []float64{2},
	}
	for i, v := range values {
		assert.NoError(t, fingerprint.Compare(of(v), of(v)), "%d: %v", i, v)
		back, err := fingerprint.Read(of(v).Append(nil))
		require.NoError(t, err)
		assert.NoError(t, fingerprint.Compare(back, of(v)), "%d: %v", i, v)
		assert.Equal(t, of(v).Sum(), back.Sum())
		for j, w := range values[:i] {
			var differs *fingerprint.Mismatch
			require.ErrorAs(t, fingerprint.Compare(of(v), of(w)), &differs, "%d and %d: %v and %v", i, j, v, w)
			assert.NotEmpty(t, differs.Setting)
		}
	}
}

func TestSameValuesInOtherClothes(t *testing.T) {
	same := func(a, b any) { t.Helper(); assert.NoError(t, fingerprint.Compare(of(a), of(b))) }
	p := &called{1}
	same(called{1}, p)
	same(called{1}, &p)
	same(called{1}, wrapped{called{1}})
	same(probe{new(int)}, probe{0})
	same([]float64{1, math.NaN()}, []float64{1 + 1e-9, math.NaN()})
	least := constraint.Count{Levels: []int32{1}, Min: 1, Max: constraint.Unbounded}
	same(free{least}, free{&least})
	same(free{least}, free{constraint.Count{Levels: []int32{1, 1, 5}, Min: 1, Max: constraint.Unbounded}})
	one, err := constraint.ContainsAny([]int32{1})
	require.NoError(t, err)
	same(free{least}, free{one})

	k := knot{}
	k.next = &k // a recipe that contains itself ends
	same(k, k)
}

func TestNames(t *testing.T) {
	assert.Equal(t, "called", fingerprint.Name(called{}))
	assert.Equal(t, "called", fingerprint.Name(&called{}))
	assert.Equal(t, "fingerprint_test.probe", fingerprint.Name(&probe{}))
	assert.ErrorContains(t, fingerprint.Compare(of(called{1}), of(called{2})), "called.setting is 1 in the checkpoint and 2 here")
	assert.ErrorContains(t, fingerprint.Compare(&fingerprint.List{}, of(1)), "recipe is unset in the checkpoint and 1 here")
	assert.ErrorContains(t, fingerprint.Compare(of(1), &fingerprint.List{}), "recipe is 1 in the checkpoint and unset here")
	assert.ErrorContains(t, fingerprint.Compare(of([]float64{1, 2}), of([]float64{1, 3})), "recipe[1] is 2 in the checkpoint and 3 here")
}

func FuzzRead(f *testing.F) {
	f.Add(of(probe{1}).Append(nil))
	f.Add(of([]float64{1, 2}).Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := fingerprint.Read(data)
		if err == nil {
			require.Equal(t, data, l.Append(nil))
		}
	})
}

// Rows of numbers agree to rounding by the magnitude of the row: one of doubles to
// 1e-12, outputs of a network to 1e-3, others to 1e-6. Energies have a least magnitude.
func TestNumbersAgreeByTheirMagnitude(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	lists := func(wrap func([]float64) any) func(a, b []float64) error {
		return func(a, b []float64) error {
			l, m := &fingerprint.List{}, &fingerprint.List{}
			l.Add("row", wrap(a))
			m.Add("row", wrap(b))
			return fingerprint.Compare(l, m)
		}
	}
	for _, scale := range []float64{1e-12, 1, 1e12} {
		row := []float64{scale, 0, inf, nan, -inf}
		for name, c := range map[string]struct {
			compare func(saved, here []float64) error
			by      float64 // of the scale: this agrees, ten times that does not
			least   float64
		}{
			"numbers":  {lists(func(v []float64) any { return v }), 5e-7, 0},
			"doubles":  {lists(func(v []float64) any { return fingerprint.Doubles(v) }), 5e-13, 0},
			"outputs":  {lists(func(v []float64) any { return fingerprint.Predictions(v) }), 5e-4, 0},
			"energies": {func(a, b []float64) error { return fingerprint.Energies("row", a, b, 0) }, 5e-7, 0},
			"running":  {func(a, b []float64) error { return fingerprint.Energies("row", a, b, 1) }, 5e-7, 1},
		} {
			by := c.by * max(scale, c.least)
			here := slices.Clone(row)
			here[1] = by
			require.NoError(t, c.compare(row, here), "%s %v", name, scale)
			here[1] = 10 * by
			var other *fingerprint.Mismatch
			require.ErrorAs(t, c.compare(row, here), &other, "%s %v", name, scale)
			require.Equal(t, "row[1]", other.Setting)
			require.Equal(t, "0", other.Saved)
			require.ErrorContains(t, c.compare(row, row[:4]), "5 numbers in the checkpoint and 4 numbers here")
		}
	}
	// What was read compares as numbers.
	l := &fingerprint.List{}
	l.Doubles("row", []float64{1, 2})
	read, err := fingerprint.Read(l.Append(nil))
	require.NoError(t, err)
	m := &fingerprint.List{}
	m.Numbers("row", []float64{1 + 1e-9, 2})
	require.NoError(t, fingerprint.Compare(m, read))
	m = &fingerprint.List{}
	m.Numbers("row", []float64{1})
	require.ErrorContains(t, fingerprint.Compare(m, read), "1 numbers in the checkpoint and 2 numbers here")
}
