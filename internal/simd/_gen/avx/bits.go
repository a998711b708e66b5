package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bits writes the kernels for sites that are one bit each.
func bits(b *builder) {
	sources := map[string]func(*kernel) source{"": newPhiloxSource, "ARS": newAESSource}
	heat := func(name string, terms int) {
		b.each(fmt.Sprintf("heatBits%s%d", name, terms), func(k *kernel) { heatBits(k, terms, sources[name](k), nil) })
	}
	heat("", 5)
	heat("ARS", 5)
	heat("", 8)
	heat("ARS", 8)
	for _, name := range []string{"", "ARS"} {
		b.each("flipBits"+name, func(k *kernel) {
			own := k.param("own")
			heatBits(k, 5, sources[name](k), &own)
		})
	}
	b.each("torusBits", torusBits)
	b.each("spreadBits", spreadBits)
}

// plane is the distance in bytes between the planes of a count.
const plane = 8 * 512

// source provides the random words for the sites of a register.
type source interface {
	// begin moves to the words for a pass; with AVX2 a pass is half of a register.
	begin(pass int)
	// planes returns the words of some groups from the current position on, one random bit of every
	// site in each.
	planes(group ...int) []reg.VecVirtual
	batch() int      // batch returns the number of groups that are best computed together.
	skip(groups int) // skip advances by the given number of groups.
	next()           // next advances to the words for the next register of sites.
}

// heat holds the registers of the heatBits kernels.
type heat struct {
	k *kernel
	source
	terms   int
	digits  reg.GPVirtual
	stride  int            // distance in bytes from one digit to the next
	factors [][]operand.Op // factors of the terms; AVX2 has no registers for them
	own     []operand.Op   // states of the sites, if probabilities depend on them
}

// heatBits writes a kernel that draws the sites of a register. It starts with twelve binary digits
// each (with AVX2, half a register with four digits). It continues with four digits at a time while
// a site is undecided, that is, while all of its digits equal those of its probability. If own is
// not nil, the probabilities also depend on the bits of that string.
func heatBits(k *kernel, terms int, s source, own *reg.GPVirtual) {
	h := &heat{k: k, source: s, terms: terms, digits: k.param("digits"), stride: 64}
	if own != nil {
		h.stride = 128
	}
	dst, regs := k.param("dst"), k.param("regs")
	var count reg.GPVirtual // of three planes or, with own, of planes register by register
	if own == nil {
		count = k.param("count")
	} else {
		count = k.param("near")
	}
	i, end := k.GP64(), k.GP64()
	k.XORQ(i, i)
	k.MOVQ(regs, end)
	k.SHLQ(operand.U8(6), end)
	k.Label("register")
	for pass := 0; pass < 16/k.w; pass++ {
		h.begin(pass)
		at := func(p reg.Register, disp int) operand.Mem {
			return operand.Mem{Base: p, Index: i, Scale: 1, Disp: disp + 32*pass}
		}
		from := [3]operand.Mem{at(count, 0), at(count, plane), at(count, 2*plane)}
		if own != nil {
			h.own = []operand.Op{at(*own, 0)}
			for p := range from {
				from[p] = operand.Mem{Base: count, Disp: 64*p + 32*pass}
			}
		}
		h.half(at(dst, 0), from)
	}
	s.next()
	if own != nil {
		k.ADDQ(imm(3*64), count)
	}
	k.ADDQ(imm(64), i)
	k.CMPQ(i, end)
	k.JL(operand.LabelRef("register"))
}

// half draws the sites of one register.
func (h *heat) half(dst operand.Mem, count [3]operand.Mem) {
	k := h.k
	draw := func(groups int, digits func(plane int) operand.Mem) (less, equal reg.VecVirtual) {
		var planes []reg.VecVirtual
		for g := groups - 1; g >= 0; g-- { // from the last group of digits to the first
			if len(planes) == 0 {
				var batch []int
				for b := max(0, g+1-h.batch()); b <= g; b++ {
					batch = append(batch, b)
				}
				planes = h.planes(batch...)
			}
			if g == groups-1 {
				if h.factors == nil || groups > 1 || !k.wide() {
					h.load(count)
				}
				less, equal = k.vec(), k.vec()
				k.clear(less)
				k.ones(equal)
			}
			rest := len(planes) - 4
			for p := 3; p >= 0; p-- {
				h.compare(less, equal, planes[rest+p], digits(4*g+p))
			}
			planes = planes[:rest]
		}
		h.skip(groups)
		return less, equal
	}
	fixed := func(p int) operand.Mem { return operand.Mem{Base: h.digits, Disp: h.stride * p} }
	groups := 1
	if k.wide() {
		groups = 3 // one register of 512 bits needs more digits
	}
	res, und := draw(groups, fixed)
	p, left := k.GP64(), k.GP64()
	k.MOVQ(h.digits, p)
	k.ADDQ(imm(4*h.stride*groups), p)
	k.MOVQ(imm(16-groups), left)
	more, done := k.label("more"), k.label("done")
	k.Label(more)
	if k.wide() {
		m := k.K()
		k.VPTESTMD(und, und, m)
		k.KORTESTW(m, m)
	} else {
		k.VPTEST(und, und)
	}
	k.JZ(operand.LabelRef(done))
	less, equal := draw(1, func(q int) operand.Mem { return operand.Mem{Base: p, Disp: h.stride * q} })
	if k.wide() {
		k.VPTERNLOGQ(operand.U8(0xF8), less, und, res)
		k.VPANDQ(equal, und, und)
	} else {
		k.VPAND(und, less, less)
		k.VPOR(less, res, res)
		k.VPAND(equal, und, und)
	}
	k.ADDQ(imm(4*h.stride), p)
	k.DECQ(left)
	k.JNZ(operand.LabelRef(more))
	k.Label(done)
	if h.own != nil {
		k.differ(h.own[0], res, res)
	}
	k.VMOVUPS(res, dst)
}

// load sets the factors of the terms, which are products of the planes of the counts. With AVX-512
// it loads them into registers.
func (h *heat) load(from [3]operand.Mem) {
	k := h.k
	if !k.wide() {
		c0, c1, c2 := from[0], from[1], from[2]
		h.factors = [][]operand.Op{nil, {c0}, {c1}, {c0, c1}, {c2}, {c0, c2}, {c1, c2}, {c0, c1, c2}}
		return
	}
	if h.own != nil {
		r := k.vec()
		k.VMOVUPS(h.own[0], r)
		h.own = []operand.Op{r}
	}
	h.factors = [][]operand.Op{nil}
	for j := 1; j < h.terms; j++ {
		r := k.vec()
		if j&(j-1) == 0 {
			k.VMOVUPS(from[j/2], r)
		} else { // the product without its highest plane, times that plane
			high := 4
			if j < 4 {
				high = 2
			}
			k.VPANDQ(h.factors[j-high][0], h.factors[high][0], r)
		}
		h.factors = append(h.factors, []operand.Op{r})
	}
}

// compare adds a digit in front of the comparison: r of the random number and t of the probability.
// less holds the sites whose random number is smaller, and equal those where all digits are the
// same.
func (h *heat) compare(less, equal, r reg.VecVirtual, digits operand.Mem) {
	k := h.k
	t := h.sum(digits)
	if h.own != nil {
		h.add(t, h.own, h.sum(digits.Offset(64)))
	}
	if k.wide() {
		k.VPTERNLOGQ(operand.U8(0xD4), r, t, less)  // the majority of less, t and not r
		k.VPTERNLOGQ(operand.U8(0x90), r, t, equal) // equal & (t = r)
		return
	}
	d := k.vec()
	k.VPXOR(r, t, d)
	k.VPANDN(t, r, t) // t and not r
	k.VPANDN(less, d, less)
	k.VPOR(t, less, less)
	k.VPANDN(equal, d, equal)
}

// sum returns the sum modulo 2 of the terms of a digit.
func (h *heat) sum(digits operand.Mem) reg.VecVirtual {
	k := h.k
	t := k.vec()
	k.VPBROADCASTQ(digits, t)
	for j := 1; j < h.terms; j++ {
		m := digits.Offset(8 * j)
		if k.wide() {
			k.VPTERNLOGQ_BCST(operand.U8(0x78), m, h.factors[j][0], t) // t ^ (factor & digit)
			continue
		}
		s := k.vec()
		k.VPBROADCASTQ(m, s)
		h.add(t, h.factors[j], s)
	}
	return t
}

// add adds the product of factors and s to t, modulo 2. It overwrites s.
func (h *heat) add(t reg.VecVirtual, factors []operand.Op, s reg.VecVirtual) {
	k := h.k
	if k.wide() {
		k.VPTERNLOGQ(operand.U8(0x78), s, factors[0], t)
		return
	}
	for _, f := range factors {
		k.VPAND(f, s, s)
	}
	k.VPXOR(s, t, t)
}

// ones sets all bits of r.
func (k *kernel) ones(r reg.VecVirtual) {
	if k.wide() {
		k.VPTERNLOGQ(operand.U8(0xFF), r, r, r)
	} else {
		k.VPCMPEQD(r, r, r)
	}
}

// quads returns a memory operand with a number in every 64-bit lane.
func (b *builder) quads(name string, v uint32) operand.Mem {
	var words []uint32
	for range 8 {
		words = append(words, v, 0)
	}
	return b.table(name, words...)
}
