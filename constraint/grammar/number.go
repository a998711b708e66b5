package grammar

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/big"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// numberSpec describes a set of JSON numbers. If it has any restriction, numbers are spelled
// without an exponent.
type numberSpec struct {
	integer bool
	whole   bool // true if a number has no fraction, not even one of zeros
	plain   bool // true if a number has no exponent, even if there are no other restrictions
	bounds  []bound
	among   []decimal // if not nil, the only numbers allowed
	except  []decimal // numbers that are excluded
	steps   []step

	// true if a number has no exponent, is not -0, and has no zero at the end of its fraction
	canonical bool
}

// bound compares a number with the constant at. excluded means that equality is not allowed.
type bound struct {
	at       decimal
	lower    bool // true for x ≥ at, false for x ≤ at
	excluded bool
}

// step is a divisor. If want is true, the number must be a multiple of it; otherwise it must
// not.
type step struct {
	by   decimal
	want bool
}

// decimal is a number in decimal digits. whole has no leading zero and fraction no trailing
// zero; both are empty for the number 0.
type decimal struct {
	negative        bool
	whole, fraction string
}

// digits bounds the number of digits of a constant in a schema.
const digits = 400

func parseDecimal(n json.Number) (decimal, error) {
	tooLong := func() error {
		return fmt.Errorf("number %s, want at most %d digits", check.Clip(string(n)), digits)
	}
	e := strings.IndexAny(string(n), "eE")
	if e >= 0 && len(n)-e > 5 || len(n) > digits { // package big takes a time that is quadratic in the digits
		return decimal{}, tooLong()
	}
	text, negative := strings.CutPrefix(string(n), "-")
	if e >= 0 {
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			return decimal{}, tooLong()
		}
		text = r.FloatString(digits)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d := decimal{whole: strings.TrimLeft(whole, "0"), fraction: strings.TrimRight(fraction, "0")}
	d.negative = negative && d.whole+d.fraction != ""
	if len(d.whole) > digits {
		return d, tooLong()
	}
	return d, nil
}

func (s numberSpec) free() bool {
	return !s.canonical && !s.integer && !s.plain && len(s.bounds) == 0 && s.among == nil && s.except == nil && s.steps == nil
}

// numberAutomaton reads a number digit by digit and compares it with all constants of its spec
// at the same time.
type numberAutomaton struct {
	numberSpec
	free    bool
	against []decimal // magnitudes of all constants: bounds, allowed and excluded numbers
	widest  int       // largest number of digits in the whole part of a constant
	deepest int       // largest number of digits in the fraction of a constant
	// modulus for the remainders of the value, which is counted in units of 10^−places
	modulus int64
	places  int
	units   []int64 // every divisor in units of 10^−places; the modulus is a multiple of each
	beyond  bool    // true if nonzero digits beyond the last place of all divisors are allowed
	// allowed remainders, and for every remainder the first one that acts alike; nil if they were not
	// computed (see united)
	good  []bool
	class []int32
	algebra.Numbering[numberState]
	latest int32 // last result of find
}

type numberState struct {
	at       numberPlace
	negative bool
	whole    int16 // number of digits read in the whole part, at most widest+1
	places   int16 // number of digits read in the fraction
	nonzero  bool
	zero     bool // true if the last digit was 0, kept only if the spelling is canonical
	// result of comparing the digits read so far with each constant: '<', '=' or '>'
	order string
	// remainder of the value modulo modulus; −1 if there are nonzero digits beyond the last
	// place of all divisors
	rest int64
}

type numberPlace uint8

const (
	first numberPlace = iota
	sign
	zeroDigit
	wholePart
	point
	fractionPart
	exponent
	exponentSign
	exponentPart
)

// Limits of multipleOf: divisor bounds the divisor in units of its last place. multiple bounds
// the least common multiple of several divisors if a search decides whether a number can be
// completed, and multiples bounds it
// otherwise, so that ten times it fits an int64. fewMultiples bounds how many multiples between
// two bounds are compared one by one.
const (
	divisor      = 10_000
	multiple     = 1 << 14
	multiples    = 1 << 58
	fewMultiples = 256
)

func newNumber(spec numberSpec) (*numberAutomaton, error) {
	spec.enumerate()
	return numbersOf(spec)
}

// numbersOf is newNumber without a list of the few numbers that satisfy divisors and bounds.
func numbersOf(spec numberSpec) (*numberAutomaton, error) {
	a := &numberAutomaton{numberSpec: spec, free: spec.free(), modulus: 1}
	a.beyond = !slices.ContainsFunc(spec.steps, func(s step) bool { return s.want })
	for _, b := range spec.bounds {
		a.against = append(a.against, b.at)
	}
	a.against = append(append(a.against, spec.among...), spec.except...)
	for _, d := range a.against {
		a.widest, a.deepest = max(a.widest, len(d.whole)), max(a.deepest, len(d.fraction))
	}
	for _, s := range spec.steps {
		a.places = max(a.places, len(s.by.fraction))
	}
	for _, s := range spec.steps {
		units, ok := new(big.Int).SetString(s.by.whole+s.by.fraction, 10)
		if !ok || s.by.negative || units.Sign() <= 0 || !units.IsInt64() || units.Int64() > divisor {
			return nil, fmt.Errorf("multipleOf %s.%s, want positive and at most %d in units of its last digit", s.by.whole, s.by.fraction, divisor)
		}
		units.Mul(units, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.places-len(s.by.fraction))), nil))
		gcd := new(big.Int).GCD(nil, nil, units, big.NewInt(a.modulus))
		all := new(big.Int).Mul(units, big.NewInt(a.modulus))
		most := int64(multiple)
		bounded := len(a.bounds)+len(a.except) > 0
		if !a.canonical && a.among == nil && a.places <= 6 && len(spec.steps) <= 64 && !(bounded && (a.integer || spec.whole) && a.places > 0) {
			most = multiples
		}
		if all.Div(all, gcd); !all.IsInt64() || all.Int64() > most {
			return nil, fmt.Errorf("%d values of multipleOf, want their least common multiple at most %d in units of the last digit", len(spec.steps), most)
		}
		a.units, a.modulus = append(a.units, units.Int64()), all.Int64()
	}
	a.deepest = max(a.deepest, a.places)
	a.find(numberState{order: strings.Repeat("=", len(a.against))})
	return a, nil
}

// enumerate replaces the divisors and bounds of the spec by the list of numbers that satisfy
// them, if these are few.
func (s *numberSpec) enumerate() {
	var low, high, by *big.Rat
	for _, b := range s.bounds {
		if v := b.at.rat(); b.lower && (low == nil || v.Cmp(low) > 0) {
			low = v
		} else if !b.lower && (high == nil || v.Cmp(high) < 0) {
			high = v
		}
	}
	if low == nil || high == nil || len(s.steps) < 2 || s.among != nil {
		return
	}
	for _, x := range s.steps {
		if v := x.by.rat(); x.want && v.Sign() > 0 {
			by = leastCommon(by, v)
		}
		if by != nil && by.Num().BitLen() > 8*digits { // multiples of it are few, and tested by all steps
			break
		}
	}
	if by == nil {
		return
	}
	first, last := new(big.Rat).Quo(low, by), new(big.Rat).Quo(high, by)
	k := new(big.Int).Div(first.Num(), first.Denom()) // rounded down
	if n := new(big.Rat).Sub(last, first); n.Sign() < 0 || n.Cmp(big.NewRat(fewMultiples, 1)) > 0 {
		return
	}
	among := []decimal{}
	for ; ; k.Add(k, big.NewInt(1)) {
		v := new(big.Rat).Mul(new(big.Rat).SetInt(k), by)
		if v.Cmp(high) > 0 {
			break
		}
		is := func(x step) bool { return new(big.Rat).Quo(v, x.by.rat()).IsInt() != x.want }
		if v.Cmp(low) >= 0 && !slices.ContainsFunc(s.steps, is) {
			d, err := parseDecimal(json.Number(v.FloatString(digits / 2)))
			if err != nil || d.rat().Cmp(v) != 0 {
				return
			}
			among = append(among, d)
		}
	}
	s.among, s.steps = among, nil
}

// leastCommon returns the least common multiple of two positive numbers. If x is nil, it returns
// y.
func leastCommon(x, y *big.Rat) *big.Rat {
	if x == nil {
		return y
	}
	gcd := new(big.Int).GCD(nil, nil, x.Num(), y.Num())
	num := new(big.Int).Mul(x.Num(), y.Num())
	return new(big.Rat).SetFrac(num.Div(num, gcd), new(big.Int).GCD(nil, nil, x.Denom(), y.Denom()))
}

// rat returns the number as a big.Rat.
func (d decimal) rat() *big.Rat {
	v, _ := new(big.Rat).SetString("0" + d.whole + "." + d.fraction + "0")
	if d.negative {
		v.Neg(v)
	}
	return v
}

// looked bounds the number of multiples that completes tries.
const looked = 1 << 10

// completes reports whether further digits can complete the number from state q. sure is false
// if deciding this would take a search. It uses two facts. First, enough digits of the whole part
// lead to every remainder. Second, some multiple of the wanted divisors is a multiple of none of
// the unwanted ones, unless an unwanted divisor divides all of them.
func (a *numberAutomaton) completes(q int32) (yes, sure bool) {
	if len(a.steps) == 0 || a.canonical || a.among != nil {
		return false, false
	}
	wanted, some := int64(1), a.integer
	for i, x := range a.steps {
		if x.want {
			wanted, some = wanted/gcd(wanted, a.units[i])*a.units[i], true
		}
	}
	beyond := !some && !a.numberSpec.whole // digits beyond the last place violate no divisor
	s := a.Values[q]
	whole := a.integer || a.numberSpec.whole
	inWhole := s.at < point && s.at != zeroDigit
	if inWhole {
		unit := int64(1)
		if whole {
			unit = power(a.places)
		}
		for i, x := range a.steps {
			// u divides the least common multiple of wanted and unit, which may overflow, if it is that
			// of its common divisors with them.
			u := a.units[i]
			g, h := gcd(u, wanted), gcd(u, unit)
			if !x.want && !beyond && g/gcd(g, h)*h == u {
				return false, true
			}
		}
		if s.at == first && a.grows(false) || a.grows(s.negative || s.at == first) {
			return true, true
		}
	}
	if !inWhole {
		if s.at < point {
			a.settle(&s)
		}
		if strings.Contains(s.order, "=") {
			return false, false
		}
		more := a.places - int(s.places)
		if s.nonzero {
			return a.inPlaces(s, wanted, more, 0, beyond)
		}
		zero, known := a.inPlaces(s, wanted, 0, 0, false)
		s.nonzero = true
		yes, sure = a.inPlaces(s, wanted, more, 1, beyond)
		return zero || yes, zero || yes || known && sure
	}
	if !s.nonzero {
		return false, false
	}
	for i, d := range a.against {
		if s.order[i] == '=' && s.negative == d.negative && int(s.whole) <= len(d.whole) {
			return false, false
		}
	}
	if whole && a.places > 0 {
		return false, false
	}
	sure = true
	for n := int(s.whole); n <= a.widest; n++ {
		t := s
		t.whole = int16(n)
		a.settle(&t)
		yes, known := a.inPlaces(t, wanted, n-int(s.whole)+a.places, 0, beyond)
		if yes && known {
			return true, true
		}
		sure = sure && known
	}
	return false, sure
}

// grows reports whether all numbers of the given sign satisfy the bounds if they are large
// enough.
func (a *numberAutomaton) grows(negative bool) bool {
	return !slices.ContainsFunc(a.bounds, func(b bound) bool { return b.lower == negative })
}

// inPlaces reports whether the given number of further digits, up to the last place of the
// divisors, can complete the number. As a whole number, these digits must be at least least.
// wanted is the least common multiple of the wanted divisors. beyond tells that still further
// digits complete it in any case. All comparisons in s with constants are final.
func (a *numberAutomaton) inPlaces(s numberState, wanted int64, digits int, least int64, beyond bool) (yes, sure bool) {
	for i, b := range a.bounds {
		if c := s.sign(s.order[i], b.at); c < 0 == b.lower {
			return false, true
		}
	}
	if beyond {
		return true, true
	}
	if s.rest < 0 {
		return false, true
	}
	// more is the number of values of the digits. 10¹⁸ exceeds multiples: if 18 digits do not lead to a
	// remainder, more do not.
	rest, more := s.rest, power(min(digits, 18))
	for range digits {
		rest = rest * 10 % a.modulus
	}
	if (a.integer || a.numberSpec.whole) && s.at != wholePart { // only zeros may follow
		more = 1
	}
	d := (wanted - rest%wanted) % wanted
	if d < least {
		d += wanted
	}
	for range looked {
		if d >= more {
			return false, true
		}
		is := true
		for i, x := range a.steps {
			is = is && (x.want || (rest+d)%a.units[i] != 0)
		}
		if is {
			return true, true
		}
		d += wanted
	}
	return false, false
}

// power returns 10ⁿ.
func power(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (a *numberAutomaton) start() int32 { return 0 }

func (a *numberAutomaton) find(s numberState) int32 {
	if a.free {
		s = numberState{at: s.at}
	}
	if len(a.Values) == 0 || a.Values[a.latest] != s {
		a.latest = a.Numbering.Find(s)
	}
	return a.latest
}

// Hash returns a hash of the state.
func (s numberState) Hash() uint64 {
	h := uint64(s.at) | uint64(bit(s.negative)|bit(s.nonzero)<<1|bit(s.zero)<<2)<<8 | uint64(uint16(s.whole))<<16 | uint64(uint16(s.places))<<32
	h = algebra.Mix(h*algebra.Golden, uint64(s.rest))
	if s.order != "" {
		h = algebra.Mix(h, maphash.String(orders, s.order))
	}
	return h
}

// orders is the seed of the hashes of comparisons.
var orders = maphash.MakeSeed()

func (a *numberAutomaton) next(q int32, b byte) int32 {
	s := a.Values[q]
	isDigit := b >= '0' && b <= '9'
	switch {
	case s.at == first && b == '-':
		s.at, s.negative = sign, true
	case (s.at == first || s.at == sign) && b == '0':
		s.at = zeroDigit
	case (s.at == first || s.at == sign || s.at == wholePart) && isDigit:
		s.at = wholePart
		s.nonzero = true
		a.wholeDigit(&s, b)
	case (s.at == zeroDigit || s.at == wholePart) && b == '.' && !a.numberSpec.whole:
		s.at = point
		a.settle(&s)
	case (s.at == point || s.at == fractionPart) && isDigit:
		s.at = fractionPart
		s.zero = a.canonical && b == '0'
		if !a.fractionDigit(&s, b) {
			return -1
		}
	case a.free && (s.at == zeroDigit || s.at == wholePart || s.at == fractionPart) && (b == 'e' || b == 'E'):
		s.at = exponent
	case s.at == exponent && (b == '+' || b == '-'):
		s.at = exponentSign
	case s.at >= exponent && isDigit:
		s.at = exponentPart
	default:
		return -1
	}
	return a.find(s)
}

// wholeDigit appends the digit b to the whole part and updates the comparison with each
// constant.
func (a *numberAutomaton) wholeDigit(s *numberState, b byte) {
	at := int(s.whole)
	s.compares(func(i int) byte {
		if d := &a.against[i]; s.order[i] == '=' && at < len(d.whole) && b != d.whole[at] {
			return compare(b, d.whole[at])
		}
		return s.order[i]
	})
	s.whole = int16(min(at+1, a.widest+1))
	s.rest = a.append(s.rest, b)
}

// append returns the remainder of a number with the remainder rest and the digit b after it.
func (a *numberAutomaton) append(rest int64, b byte) int64 {
	rest = (rest*10 + int64(b-'0')) % a.modulus
	if a.class != nil {
		rest = int64(a.class[rest])
	}
	return rest
}

// divides reports whether a number that is rest in units of 10^−places, divided by scale, satisfies all
// divisors.
func (a *numberAutomaton) divides(rest, scale int64) bool {
	for i, x := range a.steps {
		if (rest >= 0 && rest%(a.units[i]*scale) == 0) != x.want {
			return false
		}
	}
	return true
}

// compares sets the results of the comparisons for which to returns another one than before.
func (s *numberState) compares(to func(i int) byte) {
	var order []byte
	for i := range len(s.order) {
		if c := to(i); c != s.order[i] {
			if order == nil {
				order = []byte(s.order)
			}
			order[i] = c
		}
	}
	if order != nil {
		s.order = string(order)
	}
}

func compare(x, y byte) byte {
	if x < y {
		return '<'
	}
	return '>'
}

// settle compares the numbers of digits with those of the constants, once the whole part has
// ended.
func (a *numberAutomaton) settle(s *numberState) {
	n := int(s.whole)
	s.compares(func(i int) byte {
		switch most := len(a.against[i].whole); {
		case n < most:
			return '<'
		case n > most:
			return '>'
		}
		return s.order[i]
	})
	s.whole = 0
}

func (a *numberAutomaton) fractionDigit(s *numberState, b byte) bool {
	if b != '0' {
		s.nonzero = true
		if a.integer {
			return false
		}
	}
	at := int(s.places)
	s.compares(func(i int) byte {
		if s.order[i] != '=' {
			return s.order[i]
		}
		c := byte('0')
		if d := &a.against[i]; at < len(d.fraction) {
			c = d.fraction[at]
		}
		if b != c {
			return compare(b, c)
		}
		return '='
	})
	s.places = int16(min(at+1, a.deepest))
	switch {
	case at < a.places:
		s.rest = a.append(s.rest, b)
	case len(a.steps) > 0 && b != '0': // no multiple of anything
		s.rest = -1
		return a.beyond
	}
	return true
}

func (a *numberAutomaton) final(q int32) bool {
	s := a.Values[q]
	switch s.at {
	case zeroDigit, wholePart:
		a.settle(&s)
	case fractionPart, exponentPart:
	default:
		return false
	}
	if a.free {
		return true
	}
	if s.zero || a.canonical && s.negative && !s.nonzero {
		return false
	}
	s.compares(func(i int) byte {
		if s.order[i] == '=' && int(s.places) < len(a.against[i].fraction) { // the rest of the constant is not zero
			return '<'
		}
		return s.order[i]
	})
	for i, b := range a.bounds {
		c := s.sign(s.order[i], b.at)
		if c == 0 && b.excluded || c < 0 && b.lower || c > 0 && !b.lower {
			return false
		}
	}
	is := func(from int, list []decimal) bool { // one of a list
		for i, d := range list {
			if s.sign(s.order[from+i], d) == 0 {
				return true
			}
		}
		return false
	}
	if n := len(a.bounds); a.among != nil && !is(n, a.among) || is(n+len(a.among), a.except) {
		return false
	}
	rest := s.rest
	for i := int(s.places); i < a.places; i++ {
		rest = rest * 10 % a.modulus
	}
	if a.good != nil {
		return rest < 0 && a.beyond || rest >= 0 && a.good[rest]
	}
	return a.divides(rest, 1)
}

// sign compares the number with d and returns −1, 0 or 1. order is the comparison of their
// magnitudes.
func (s numberState) sign(order byte, d decimal) int {
	negative := s.negative && s.nonzero
	switch {
	case negative && !d.negative:
		return -1
	case !negative && d.negative:
		return 1
	}
	c := strings.IndexByte("<=>", order) - 1
	if negative {
		return -c
	}
	return c
}
