package main

import (
	"encoding/binary"
	"math"
)

// windowed is the walker that bounds the number of G and C in windows of size bases. The windows
// begin at multiples of step, counted from the first base of the flank before the design, and
// contain at least one base of the design.
//
// The key holds, for every open window, the bounds on the number of G and C from the current
// base to its end. Bounds are tightened to what the remaining codons can reach and to what the
// other windows imply. Few keys remain if the windows are easily satisfied.
type windowed struct {
	frame
	size, step  int
	least, most int      // bounds on the number of G and C in a window
	can         [2][]int // least and greatest number of G and C in the codons before each site
	part        [2][][3]int
	base        [2][]int // least and greatest number of G and C before each base, base by base
	afterSum    []int
}

func newWindowed(f frame, size, step, least, most int, tokens [][]int32) *windowed {
	w := &windowed{frame: f, size: size, step: step, least: least, most: most, afterSum: []int{0}}
	for k := range 2 {
		w.can[k], w.base[k] = []int{0}, []int{0}
		better := func(a, b int) int {
			if k == 0 {
				return min(a, b)
			}
			return max(a, b)
		}
		fixed := func(flank string) {
			for i := range len(flank) {
				w.base[k] = append(w.base[k], w.base[k][len(w.base[k])-1]+strong(flank[i:i+1]))
			}
		}
		fixed(f.before)
		for i, list := range tokens {
			var first [4]int // of the first bases of the codon
			var one [3]int
			for n, t := range list {
				codon := codons.Tokens[t]
				for r := range 4 {
					if v := strong(codon[:r]); n == 0 {
						first[r] = v
					} else {
						first[r] = better(first[r], v)
					}
				}
				for r := range 3 {
					if v := strong(codon[r : r+1]); n == 0 {
						one[r] = v
					} else {
						one[r] = better(one[r], v)
					}
				}
			}
			w.part[k] = append(w.part[k], [3]int(first[:3]))
			w.can[k] = append(w.can[k], w.can[k][i]+first[3])
			for _, v := range one {
				w.base[k] = append(w.base[k], w.base[k][len(w.base[k])-1]+v)
			}
		}
		fixed(f.after)
	}
	for i := range len(f.after) {
		w.afterSum = append(w.afterSum, w.afterSum[i]+strong(f.after[i:i+1]))
	}
	return w
}

// reach returns the least (k = 0) or greatest (k = 1) number of G and C between a site and the
// base end.
func (w *windowed) reach(k, site, end int) int {
	at := end - len(w.before)
	if at > w.bases {
		return w.can[k][w.bases/3] - w.can[k][site] + w.afterSum[at-w.bases]
	}
	n := w.can[k][at/3] - w.can[k][site]
	if r := at % 3; r > 0 {
		n += w.part[k][at/3][r]
	}
	return n
}

// open is a window that has begun. From the current base to end, it may contain low … high G and
// C.
type open struct{ end, low, high int }

func (w *windowed) total() int { return len(w.before) + w.bases + len(w.after) }

// firstEnd returns the first end beyond base of a window that begins before base. Ends are size
// + multiples of step.
func (w *windowed) firstEnd(base int) int {
	if base < w.size {
		return w.size
	}
	return w.size + (base-w.size)/w.step*w.step + w.step
}

// decode returns the windows that are open before a site.
func (w *windowed) decode(site int, key string) []open {
	var all []open
	here := len(w.before) + 3*site
	for end := w.firstEnd(here); len(key) > 0; end += w.step {
		all = append(all, open{end, int(binary.LittleEndian.Uint16([]byte(key[:2]))), int(binary.LittleEndian.Uint16([]byte(key[2:4])))})
		key = key[4:]
	}
	return all
}

// encode tightens the bounds and returns the key. It returns ok = false if the bounds leave
// nothing.
func (w *windowed) encode(site int, all []open) (string, bool) {
	for i := range all {
		o := &all[i]
		o.low = max(o.low, w.reach(0, site, o.end))
		o.high = min(o.high, w.reach(1, site, o.end))
	}
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], &all[i]
		b.low = max(b.low, a.low+w.base[0][b.end]-w.base[0][a.end])
		b.high = min(b.high, a.high+w.base[1][b.end]-w.base[1][a.end])
	}
	for i := len(all) - 1; i > 0; i-- {
		a, b := &all[i-1], all[i]
		a.low = max(a.low, b.low-w.base[1][b.end]+w.base[1][a.end])
		a.high = min(a.high, b.high-w.base[0][b.end]+w.base[0][a.end])
	}
	var key []byte
	for _, o := range all {
		if o.low > o.high {
			return "", false
		}
		key = binary.LittleEndian.AppendUint16(key, uint16(o.low))
		key = binary.LittleEndian.AppendUint16(key, uint16(o.high))
	}
	return string(key), true
}

// begin opens the windows that begin in a word at the base from and end after it.
func (w *windowed) begin(all []open, from int, word string) []open {
	for s := (from + w.step - 1) / w.step * w.step; s < from+len(word) && s+w.size <= w.total(); s += w.step {
		if end := s + w.size; end > from+len(word) {
			n := strong(word[s-from:])
			all = append(all, open{end, w.least - n, w.most - n})
		}
	}
	return all
}

func (w *windowed) start() string {
	key, ok := w.encode(0, w.begin(nil, 0, w.before))
	if !ok {
		return "dead"
	}
	return key
}

func (w *windowed) next(site int, key, codon string) (string, bool) {
	if key == "dead" {
		return "", false
	}
	from := len(w.before) + 3*site
	all := w.decode(site, key)
	left := all[:0]
	for _, o := range all {
		if o.end <= from+3 {
			if n := strong(codon[:o.end-from]); n < o.low || n > o.high {
				return "", false
			}
			continue
		}
		n := strong(codon)
		left = append(left, open{o.end, o.low - n, o.high - n})
	}
	for s := (from + w.step - 1) / w.step * w.step; s+w.size <= from+3; s += w.step { // windows within the codon
		if n := strong(codon[s-from : s-from+w.size]); n < w.least || n > w.most {
			return "", false
		}
	}
	return w.encode(site+1, w.begin(left, from, codon))
}

// accepts returns true, because encode has already applied the bounds to the flank after the
// design.
func (w *windowed) accepts(string) bool { return true }

// counts returns the least and greatest number k for which k/n is in [low, high].
func counts(n int, low, high float64) (least, most int) {
	content := func(k int) float64 { return float64(k) / float64(n) }
	least, most = int(math.Floor(low*float64(n))), int(math.Ceil(high*float64(n)))
	for content(least) < low {
		least++
	}
	for content(most) > high {
		most--
	}
	return least, most
}
