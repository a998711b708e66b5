package neon

import (
	"fmt"
	"strings"
)

// word writes one instruction as a machine word, with its mnemonic as a comment.
func (k *function) word(code uint32, format string, args ...any) {
	k.emit("WORD $0x%08x // %s", code, fmt.Sprintf(format, args...))
}

// ops lists the instructions whose operands are all vector registers: the machine word for
// registers 0, and the arrangement of each operand, the result first. The part of a name before the
// dot is the mnemonic.
var ops = map[string]struct {
	code uint32
	args string
}{
	"fadd.4s": {0x4E20D400, "4s 4s 4s"}, "fadd.2d": {0x4E60D400, "2d 2d 2d"},
	"fsub.4s": {0x4EA0D400, "4s 4s 4s"},
	"fmul.4s": {0x6E20DC00, "4s 4s 4s"}, "fmul.2d": {0x6E60DC00, "2d 2d 2d"},
	"fdiv.4s": {0x6E20FC00, "4s 4s 4s"},
	"fmls.4s": {0x4EA0CC00, "4s 4s 4s"},
	"fmax.4s": {0x4E20F400, "4s 4s 4s"}, "fmin.4s": {0x4EA0F400, "4s 4s 4s"},
	"fcmgt.4s": {0x6EA0E400, "4s 4s 4s"}, "fcmge.4s": {0x6E20E400, "4s 4s 4s"}, "fcmeq.4s": {0x4E20E400, "4s 4s 4s"},
	"and": {0x4E201C00, "16b 16b 16b"}, "bic": {0x4E601C00, "16b 16b 16b"},
	"orr": {0x4EA01C00, "16b 16b 16b"}, "orn": {0x4EE01C00, "16b 16b 16b"},
	"eor": {0x6E201C00, "16b 16b 16b"},
	"bsl": {0x6E601C00, "16b 16b 16b"}, "bit": {0x6EA01C00, "16b 16b 16b"}, "bif": {0x6EE01C00, "16b 16b 16b"},
	"add.4s": {0x4EA08400, "4s 4s 4s"}, "add.2d": {0x4EE08400, "2d 2d 2d"},
	"sub.4s":  {0x6EA08400, "4s 4s 4s"},
	"cmgt.4s": {0x4EA03400, "4s 4s 4s"}, "cmeq.4s": {0x6EA08C00, "4s 4s 4s"},
	"smax.4s": {0x4EA06400, "4s 4s 4s"}, "smin.4s": {0x4EA06C00, "4s 4s 4s"}, "umin.4s": {0x6EA06C00, "4s 4s 4s"},
	"fmla.4s": {0x4E20CC00, "4s 4s 4s"},
	"zip1.4s": {0x4E803800, "4s 4s 4s"}, "zip2.4s": {0x4E807800, "4s 4s 4s"},
	"umull": {0x2EA0C000, "2d 2s 2s"}, "umull2": {0x6EA0C000, "2d 4s 4s"},
	"smlal": {0x0E608000, "4s 4h 4h"}, "smlal2": {0x4E608000, "4s 8h 8h"},
	"addp.4s": {0x4EA0BC00, "4s 4s 4s"},
	"uzp1.4s": {0x4E801800, "4s 4s 4s"}, "uzp2.4s": {0x4E805800, "4s 4s 4s"},
	"ext8":   {0x6E004000, "16b 16b 16b #8"},
	"fcvtl":  {0x0E617800, "2d 2s"},
	"fcvtl2": {0x4E617800, "2d 4s"},
	"uxtl":   {0x2F20A400, "2d 2s"}, "uxtl2": {0x6F20A400, "2d 4s"},
	"fcvtzs.4s": {0x4EA1B800, "4s 4s"}, "ucvtf.4s": {0x6E21D800, "4s 4s"}, "ucvtf.2d": {0x6E61D800, "2d 2d"},
	"cmlt.4s": {0x4EA0A800, "4s 4s #0"},
	"dup.s0":  {0x4E040400, "4s s[0]"}, "dup.d0": {0x4E080400, "2d d[0]"}, "dup.d1": {0x4E180400, "2d d[1]"},
	"fmaxv.s": {0x6E30F800, "S 4s"},
	"faddp.d": {0x7E70D800, "D 2d"}, "addp.d": {0x5EF1B800, "D 2d"},
	"addv.s": {0x4EB1B800, "S 4s"}, "sminv.s": {0x4EB1A800, "S 4s"}, "uminv.s": {0x6EB1A800, "S 4s"},
}

// op writes an instruction of the table ops. The result register comes first.
func (k *function) op(name string, r ...v) {
	o, ok := ops[name]
	if !ok {
		panic("no instruction " + name)
	}
	mnemonic, _, _ := strings.Cut(name, ".")
	mnemonic = strings.TrimSuffix(mnemonic, "8")
	var text []string
	code, n := o.code, 0
	for a := range strings.SplitSeq(o.args, " ") {
		switch {
		case a[0] == '#':
			text = append(text, a)
			continue
		case a == "D" || a == "S":
			text = append(text, fmt.Sprintf("%s%d", strings.ToLower(a), r[n]))
		default:
			text = append(text, fmt.Sprintf("v%d.%s", r[n], a))
		}
		code |= uint32(r[n]) << []int{0, 5, 16}[n]
		n++
	}
	if n != len(r) {
		panic("operands of " + name)
	}
	k.word(code, "%s %s", mnemonic, strings.Join(text, ", "))
}

// shift writes a shift by a constant: shl, ushr or sshr of 32-bit or 64-bit lanes.
func (k *function) shift(name string, d, n v, by int) {
	mnemonic, lanes, _ := strings.Cut(name, ".")
	width := map[string]int{"4s": 32, "2d": 64}[lanes]
	code, amount := uint32(0x4F005400), width+by
	if mnemonic != "shl" {
		code, amount = 0x4F000400, 2*width-by
	}
	if mnemonic == "ushr" {
		code |= 0x20000000
	}
	k.word(code|uint32(amount)<<16|uint32(n)<<5|uint32(d), "%s v%d.%s, v%d.%s, #%d", mnemonic, d, lanes, n, lanes, by)
}

// dupW copies the low word of a general register to every 32-bit lane; dupX copies the whole
// register to every 64-bit lane.
func (k *function) dupW(d v, r x) {
	k.word(0x4E040C00|uint32(r)<<5|uint32(d), "dup v%d.4s, w%d", d, int(r))
}
func (k *function) dupX(d v, r x) {
	k.word(0x4E080C00|uint32(r)<<5|uint32(d), "dup v%d.2d, x%d", d, int(r))
}

// negative sets the sign bit of every lane.
func (k *function) negative(d v) { k.word(0x4F047400|uint32(d), "orr v%d.4s, #128, lsl #24", d) }

// fmlaLane adds n times lane i of m to d.
func (k *function) fmlaLane(d, n, m v, i int) {
	code := 0x4F801000 | uint32(i&1)<<21 | uint32(i>>1)<<11
	k.word(code|uint32(m)<<16|uint32(n)<<5|uint32(d), "fmla v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, i)
}

// zero clears a register.
func (k *function) zero(d v) { k.word(0x4F000400|uint32(d), "movi v%d.4s, #0", d) }

// copy copies register n to d.
func (k *function) copy(d, n v) {
	k.word(0x4EA01C00|uint32(n)<<16|uint32(n)<<5|uint32(d), "mov v%d.16b, v%d.16b", d, n)
}

// ld1r loads a word from p to every lane of d and advances p.
func (k *function) ld1r(d v, p x) {
	k.word(0x4DDFC800|uint32(p)<<5|uint32(d), "ld1r {v%d.4s}, [x%d], #4", d, int(p))
}

// ldr loads a register from p plus an offset in bytes, and str stores it there.
func (k *function) ldr(d v, p x, offset int) {
	k.word(0x3DC00000|uint32(offset/16)<<10|uint32(p)<<5|uint32(d), "ldr q%d, [x%d, #%d]", d, int(p), offset)
}

func (k *function) str(d v, p x, offset int) {
	k.word(0x3D800000|uint32(offset/16)<<10|uint32(p)<<5|uint32(d), "str q%d, [x%d, #%d]", d, int(p), offset)
}

// ldp loads two registers from p plus an offset in bytes, and stp stores them there.
func (k *function) ldp(d, e v, p x, offset int) { k.pair(0xAD400000, "ldp", d, e, p, offset) }
func (k *function) stp(d, e v, p x, offset int) { k.pair(0xAD000000, "stp", d, e, p, offset) }

func (k *function) pair(code uint32, name string, d, e v, p x, offset int) {
	code |= uint32(offset/16)&127<<15 | uint32(e)<<10 | uint32(p)<<5 | uint32(d)
	k.word(code, "%s q%d, q%d, [x%d, #%d]", name, d, e, int(p), offset)
}

// ldpNext and stpNext load and store two registers and advance p by 32 bytes.
func (k *function) ldpNext(d, e v, p x) { k.pairNext(0xACC10000, "ldp", d, e, p) }
func (k *function) stpNext(d, e v, p x) { k.pairNext(0xAC810000, "stp", d, e, p) }

func (k *function) pairNext(code uint32, name string, d, e v, p x) {
	k.word(code|uint32(e)<<10|uint32(p)<<5|uint32(d), "%s q%d, q%d, [x%d], #32", name, d, e, int(p))
}

// lane loads one lane of a register from p, or stores it there. The lane is s (32 bits) or d (64
// bits).
func (k *function) lane(load bool, size byte, d v, at int, p x) {
	name, code := "st1", uint32(0x0D008000)
	if load {
		name, code = "ld1", 0x0D408000
	}
	index := at // bits Q and S of the encoding
	if size == 'd' {
		code |= 0x400
		index = 2 * at
	}
	code |= uint32(index>>1)<<30 | uint32(index&1)<<12
	k.word(code|uint32(p)<<5|uint32(d), "%s {v%d.%c}[%d], [x%d]", name, d, size, at, int(p))
}

// ldrNext loads a register from p and advances p by 16 bytes.
func (k *function) ldrNext(d v, p x) {
	k.word(0x3CC10400|uint32(p)<<5|uint32(d), "ldr q%d, [x%d], #16", d, int(p))
}
