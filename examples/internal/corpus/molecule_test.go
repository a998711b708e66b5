package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// shuffled renumbers the atoms of a molecule.
func shuffled(m *molecule, to []int) *molecule {
	s := &molecule{label: make([]string, len(m.label)), next: make([][]link, len(m.label))}
	for i, l := range m.label {
		s.label[to[i]] = l
	}
	for i, n := range m.next {
		for _, l := range n {
			if i < l.to {
				s.bind(to[i], to[l.to], l.order)
			}
		}
	}
	return s
}

func TestKeyDoesNotDependOnNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, text := range []string{"CC(C)(C)C", "C1CCC1", "C1=CC=CC=C1", "FC(F)(F)C(F)(F)F", "C12C3C4C1C5C2C3C45", "N#CC(C#N)C#N", "C1CC12CC2", "OC(=O)C1CC1C(O)=O"} {
		m, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		key, order := m.key()
		for range 20 {
			s := shuffled(m, rng.Perm(len(m.label)))
			if got, _ := s.key(); got != key {
				t.Errorf("%s: %s and %s", text, key, got)
			}
		}
		slices.Sort(order)
		for i, o := range order {
			if i != o {
				t.Errorf("%s: the order is %v", text, order)
			}
		}
	}
	for _, two := range [][2]string{{"CC=C", "CCC"}, {"CNO", "CON"}, {"C1CCC1", "CC1CC1"}, {"C1CCCC1C1CC1", "C1CCC1C1CCC1"}} {
		a, _ := parse(two[0])
		b, _ := parse(two[1])
		ka, _ := a.key()
		if kb, _ := b.key(); ka == kb {
			t.Errorf("%s and %s are not the same", two[0], two[1])
		}
	}
}

// All graphs of up to four numbered atoms, with all bond orders: what is
// connected, within valences and has at most one ring is in the list, once.
func TestEnumerationIsComplete(t *testing.T) {
	want := make(map[string]bool)
	for n := 1; n <= 4; n++ {
		pairs := n * (n - 1) / 2
		for kinds := range pow(len(elements), n) {
			label := make([]string, n)
			for i, k := 0, kinds; i < n; i, k = i+1, k/len(elements) {
				label[i] = elements[k%len(elements)].symbol
			}
			if !slices.IsSorted(label) {
				continue // another numbering of the same
			}
			for orders := range pow(4, pairs) {
				m := &molecule{label: label, next: make([][]link, n)}
				bonds, o := 0, orders
				for a := range n {
					for b := range a {
						if o%4 > 0 {
							m.bind(a, b, o%4)
							bonds++
						}
						o /= 4
					}
				}
				if bonds < n-1 || bonds > n-1+mostRings || !sound(m) {
					continue
				}
				key, _ := m.key()
				want[key] = true
			}
		}
	}
	got := make(map[string]bool)
	for _, s := range molecules(4) {
		m, err := parse(s)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := m.key()
		if got[key] {
			t.Errorf("%s occurs twice", s)
		}
		got[key] = true
		if !want[key] {
			t.Errorf("%s is not a molecule", s)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d molecules, want %d", len(got), len(want))
	}
}

func pow(b, n int) int {
	p := 1
	for range n {
		p *= b
	}
	return p
}

// sound reports whether a graph is connected and within its valences.
func sound(m *molecule) bool {
	reached, todo := map[int]bool{0: true}, []int{0}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		for _, l := range m.next[i] {
			if !reached[l.to] {
				reached[l.to] = true
				todo = append(todo, l.to)
			}
		}
	}
	for i := range m.label {
		if !reached[i] || free(m, i) < 0 {
			return false
		}
	}
	return true
}

// What the writer writes the judge reads as the same molecule, of as many atoms,
// and no two strings are of one molecule.
func TestStringsOfMolecules(t *testing.T) {
	known := make(map[string]string)
	sizes := make(map[int]int)
	for _, s := range molecules(5) {
		m, err := parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if again := write(m); again != s {
			t.Errorf("%s is written as %s", s, again)
		}
		key, _ := m.key()
		if known[key] != "" {
			t.Errorf("%s and %s are the same", s, known[key])
		}
		known[key] = s
		sizes[len(m.label)]++
	}
	// Sizes 1 and 2 by hand: C, N, O, F; C with C, N (three bonds each), O (two)
	// and F, N with N (three), O (two) and F, O with O (two) and F, F with F.
	if sizes[1] != 4 || sizes[2] != 9+6+3+1 {
		t.Errorf("sizes %v", sizes)
	}
	if fmt.Sprint(molecules(1)) != "[C F N O]" {
		t.Errorf("%v", molecules(1))
	}
}
