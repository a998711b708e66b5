package corpus

import (
	"math"
	"slices"
)

// Accessibility scores how easily molecules can be synthesised, from 1 (easy) to 10 (difficult), as
// in Ertl and Schuffenhauer 2009. The score of a molecule is a linear function of the mean
// contribution of its fragments minus its complexity.
//
// A fragment is an atom with everything within radius bonds of it, for radii of 0, 1 and 2. Its
// contribution is log10(c/n): c is the number of times that it occurs in the known molecules, at
// least 1, and n the number of the most common fragments that make up 80 % of all occurrences.
//
// The authors count the fragments of PubChem, whose molecules have been made. For QM9 these scores
// and those of RDKit's sascorer have a correlation of 0.84. Molecules that a program has enumerated
// need not be easy to make, so scores from their fragments say nothing about synthesis. The ends of
// the scale are fitted to QM9. With fragments of other molecules, the scores only rank molecules.
type Accessibility struct {
	count map[uint64]int
	most  float64 // n above
}

const (
	radius = 2   // largest radius of a fragment
	bulk   = 0.8 // share of the occurrences that the most common fragments make up

	// Range of the mean contribution minus complexity that the scale from 1 to 10 covers. The
	// authors' range, −4 to 2.5, belongs to their fragments. This one gives 4000 training strings of
	// QM9 the mean and standard deviation of their scores by RDKit 2022.09's sascorer.
	hardest, easiest = -2.76, 0.73

	curved = 8 // score above which the scale becomes logarithmic, as in sascorer

	macrocycle = 8 // rings of more atoms are macrocycles
)

// NewAccessibility returns the score whose fragments are those of the given molecules. It ignores
// strings that are not molecules.
func NewAccessibility(known []string) *Accessibility {
	a := &Accessibility{count: make(map[uint64]int)}
	total := 0
	for _, s := range known {
		if m, err := parse(s); err == nil {
			for _, f := range m.fragments() {
				a.count[f]++
				total++
			}
		}
	}
	counts := make([]int, 0, len(a.count))
	for _, c := range a.count {
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	for sum := 0.0; a.most == 0 || sum < bulk*float64(total); a.most++ {
		if int(a.most) == len(counts) {
			a.most++
			break
		}
		sum += float64(counts[int(a.most)])
	}
	return a
}

// Score returns the score of a molecule. The error states why the string is not a molecule.
func (a *Accessibility) Score(text string) (float64, error) {
	m, err := parse(text)
	if err != nil {
		return 0, err
	}
	all, sum := m.fragments(), 0.0
	for _, f := range all {
		sum += math.Log10(float64(max(1, a.count[f])) / a.most)
	}
	raw := sum/float64(len(all)) - m.complexity()
	score := 1 + 9*(easiest-raw)/(easiest-hardest)
	if score > curved {
		score = curved + math.Log(score-curved+1)
	}
	return min(max(score, 1), 10), nil
}

// fragments returns the hashes of the fragments around all atoms, for every radius.
func (m *molecule) fragments() []uint64 {
	d := m.delocalised()
	n := len(m.label)
	now, all := make([]uint64, n), make([]uint64, 0, (radius+1)*n)
	for i, next := range m.next {
		now[i] = hash(uint64(atomicNumber[element(m.label[i])]), uint64(len(next)), uint64(m.hydrogens(i)), uint64(charge(m.label[i])))
	}
	all = append(all, now...)
	var around []uint64
	for range radius {
		wider := make([]uint64, n)
		for i, next := range d.next {
			around = around[:0]
			for _, l := range next {
				around = append(around, hash(uint64(l.order), now[l.to]))
			}
			slices.Sort(around)
			wider[i] = hash(append(around, now[i])...)
		}
		now = wider
		all = append(all, now...)
	}
	return all
}

// hash returns the FNV-1a hash of the bytes of the parts.
func hash(parts ...uint64) uint64 {
	h := uint64(14695981039346656037)
	for _, p := range parts {
		for range 8 {
			h = (h ^ p&0xff) * 1099511628211
			p >>= 8
		}
	}
	return h
}

// complexity returns the penalty for the size of the molecule, stereocentres, bridgeheads, spiro
// atoms and macrocycles.
func (m *molecule) complexity() float64 {
	rings, n := m.rings(), float64(len(m.label))
	large := 0
	for _, r := range rings {
		if len(r) > macrocycle {
			large++
		}
	}
	bridgeheads, spiro := fused(rings)
	penalty := math.Pow(n, 1.005) - n
	for _, count := range [4]int{m.stereocentres(), bridgeheads, spiro, large} {
		penalty += math.Log10(float64(count + 1))
	}
	return penalty
}

// stereocentres returns the number of carbons with four different neighbours. Neighbours are the
// same if colour refinement cannot tell them apart.
func (m *molecule) stereocentres() int {
	d := m.delocalised()
	colour := d.colours()
	(&canon{m: d}).refine(colour)
	n := 0
	for i, next := range d.next {
		if m.label[i] != "C" || len(next)+m.hydrogens(i) != 4 || m.hydrogens(i) > 1 {
			continue
		}
		different := make(map[int]bool)
		for _, l := range next {
			different[colour[l.to]] = true
		}
		if len(different) == len(next) {
			n++
		}
	}
	return n
}

// fused returns the numbers of bridgeheads and spiro atoms. Two rings that share several bonds
// have bridgeheads at the ends of the shared part; two rings that share one atom are joined by a
// spiro atom.
func fused(rings [][]int) (bridgeheads, spiro int) {
	heads, spiros := make(map[int]bool), make(map[int]bool)
	for i, r := range rings {
		for _, other := range rings[:i] {
			var shared []int
			ends := make(map[int]int) // shared bonds of each atom
			bonds := 0
			for k, a := range r {
				if slices.Contains(other, a) {
					shared = append(shared, a)
				}
				b := r[(k+1)%len(r)]
				if at := slices.Index(other, a); at >= 0 && (other[(at+1)%len(other)] == b || other[(at+len(other)-1)%len(other)] == b) {
					bonds++
					ends[a]++
					ends[b]++
				}
			}
			if len(shared) == 1 {
				spiros[shared[0]] = true
			}
			for a, n := range ends {
				if bonds > 1 && n == 1 {
					heads[a] = true
				}
			}
		}
	}
	return len(heads), len(spiros)
}

// atomicNumber holds the atomic numbers of the elements that the parser reads.
var atomicNumber = map[string]int{"H": 1, "B": 5, "C": 6, "N": 7, "O": 8, "F": 9, "P": 15, "S": 16, "Cl": 17, "Br": 35, "I": 53}
