package exact

// Language is a finite automaton over tokens, with the methods of constraint.Automaton. It is
// declared here so that the tests of package constraint can import this package.
type Language interface {
	States() int
	Start() int
	Next(state int, token int32) int
	Accepting(state int) bool
}

// Tabled is a Language with a dense transition table. Tokens that have the same transitions in all
// states form a class. From state s, a token of class c leads to state next[s·classes + c].
type Tabled interface {
	Language
	Table() (next []int32, classes int)
}

// Sequences calls f with every sequence of tokens 0 … levels−1 up to the given length, shortest
// first. f must not keep the slice.
func Sequences(levels, length int, f func(x []int32)) {
	for n := range length + 1 {
		x := make([]int32, n)
		for {
			f(x)
			i := 0
			for ; i < n; i++ {
				if x[i]++; int(x[i]) < levels {
					break
				}
				x[i] = 0
			}
			if i == n {
				break
			}
		}
	}
}

// Accepts fails the test unless the language a accepts exactly the sequences x for which want(x) is
// true. It tries all sequences of tokens 0 … levels−1 up to the given length.
func Accepts(tb TB, a Language, levels, length int, want func(x []int32) bool) {
	tb.Helper()
	wrong := 0
	Sequences(levels, length, func(x []int32) {
		s := a.Start()
		for _, t := range x {
			if s = a.Next(s, t); s < 0 {
				break
			}
		}
		if got := s >= 0 && a.Accepting(s); got != want(x) && wrong < 5 {
			wrong++
			tb.Errorf("%T accepts %v: %v", a, x, got)
		}
	})
}

// Minimal checks that d is a minimal automaton. No two states may be equivalent, and every state
// must be reachable and lead to an accepting one. No two token classes may have equal columns in
// the transition table; such classes should be one. Equivalence is decided by the table-filling
// method.
func Minimal(tb TB, d Tabled) {
	tb.Helper()
	next, k := d.Table()
	n := d.States()
	distinct := distinguishable(d, next, n, k)
	live, reached := make([]bool, n), make([]bool, n)
	for s := range live {
		live[s] = d.Accepting(s)
	}
	reached[d.Start()] = true
	for range n {
		for s := range n {
			for _, to := range next[s*k : (s+1)*k] {
				if to >= 0 {
					live[s] = live[s] || live[to]
					reached[to] = reached[to] || reached[s]
				}
			}
		}
	}
	for i := range n {
		if !live[i] || !reached[i] {
			tb.Errorf("state %d: live %v, reached %v", i, live[i], reached[i])
		}
		for j := range i {
			if !distinct[i][j] {
				tb.Errorf("states %d and %d are equivalent", i, j)
			}
		}
	}
	for c := range k {
		for e := range c {
			same := true
			for s := range n {
				same = same && next[s*k+c] == next[s*k+e]
			}
			if same {
				tb.Errorf("classes %d and %d are equal", c, e)
			}
		}
	}
}

// distinguishable returns a matrix that tells which pairs of states differ for some
// continuation.
func distinguishable(d Tabled, next []int32, n, k int) [][]bool {
	distinct := make([][]bool, n)
	for i := range distinct {
		distinct[i] = make([]bool, n)
		for j := range distinct[i] {
			distinct[i][j] = d.Accepting(i) != d.Accepting(j)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range n {
			for j := range i {
				for c := 0; c < k && !distinct[i][j]; c++ {
					p, q := next[i*k+c], next[j*k+c]
					if p != q && (p < 0 || q < 0 || distinct[p][q]) {
						distinct[i][j], distinct[j][i], changed = true, true, true
					}
				}
			}
		}
	}
	return distinct
}
