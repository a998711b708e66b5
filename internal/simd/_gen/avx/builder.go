package avx

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	gen "github.com/gibbsite-go/gibbsite/internal/simd/_gen/kernel"
)

// builder collects the kernels of one topic, which become one assembly file.
type builder struct {
	*build.Context
	topic string
	funcs gen.Funcs
	names []string // names of the functions written so far
	data  map[string]operand.Mem
}

func newBuilder(topic string, funcs gen.Funcs) *builder {
	b := &builder{Context: build.NewContext(), topic: topic, funcs: funcs, data: map[string]operand.Mem{}}
	b.ConstraintExpr("amd64,!purego")
	return b
}

// kernel is one function for one instruction set. Types that use one have a named field for it: if they
// embedded it, the compiler would write 3,000 methods of build.Context again for each.
type kernel struct {
	*builder
	w      int // number of 32-bit lanes in a register: 8 or 16
	consts map[uint32]operand.Op
	labels int
}

// each writes a function of the table for both instruction sets. It calls body once for each.
func (b *builder) each(name string, body func(k *kernel)) {
	b.one(8, name, body)
	b.one(16, name, body)
}

func (b *builder) one(w int, name string, body func(k *kernel)) {
	f, full := b.funcs[name], name+map[int]string{8: "AVX2", 16: "AVX512"}[w]
	if f == nil {
		panic(name + " is not in the table")
	}
	b.names = append(b.names, full)
	b.Function(full)
	b.Attributes(attr.NOSPLIT)
	b.SignatureExpr("func" + f.Signature())
	k := &kernel{builder: b, w: w, consts: map[uint32]operand.Op{}}
	body(k)
	k.VZEROUPPER()
	k.RET()
}

func (k *kernel) wide() bool { return k.w == 16 }

// vec allocates a full register.
func (k *kernel) vec() reg.VecVirtual {
	if k.wide() {
		return k.ZMM()
	}
	return k.YMM()
}

// half allocates a register of half the full width.
func (k *kernel) half() reg.VecVirtual {
	if k.wide() {
		return k.YMM()
	}
	return k.XMM()
}

func (k *kernel) param(name string) reg.GPVirtual {
	r := k.GP64()
	k.Load(k.Param(name), r)
	return r
}

// at returns the memory operand base + 4·index + offset bytes.
func at(base, index reg.Register, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 4, Disp: offset}
}

func imm(v int) operand.Constant { return operand.I32(int32(v)) }

// table stores words in read-only memory under the given name and returns their operand.
func (b *builder) table(name string, words ...uint32) operand.Mem {
	if m, ok := b.data[name]; ok {
		return m
	}
	m := b.StaticGlobal(b.topic + "_" + name)
	b.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, v := range words {
		b.AddDatum(4*i, operand.U32(v))
	}
	b.data[name] = m
	return m
}

// u32 returns an operand with the constant v in every 32-bit lane. With AVX-512 it is a register,
// which must be requested before the first loop. With AVX2 it is a memory operand.
func (k *kernel) u32(v uint32) operand.Op {
	if c, ok := k.consts[v]; ok {
		return c
	}
	words := make([]uint32, 8)
	for i := range words {
		words[i] = v
	}
	m := k.table(fmt.Sprintf("const%08x", v), words...)
	var c operand.Op = m
	if k.wide() {
		z := k.ZMM()
		k.VPBROADCASTD(m, z)
		c = z
	}
	k.consts[v] = c
	return c
}

func (k *kernel) f32(v float64) operand.Op { return k.u32(math.Float32bits(float32(v))) }

// u64 returns an operand with the constant v in every 64-bit lane, a register with AVX-512 and
// memory with AVX2.
func (k *kernel) u64(name string, v uint64) operand.Op {
	var words []uint32
	for range 4 {
		words = append(words, uint32(v), uint32(v>>32))
	}
	m := k.table(name, words...)
	if !k.wide() {
		return m
	}
	z := k.ZMM()
	k.VPBROADCASTQ(m, z)
	return z
}

// f64 returns an operand with the float64 v in every 64-bit lane.
func (k *kernel) f64(name string, v float64) operand.Op { return k.u64(name, math.Float64bits(v)) }

// resident returns a register with the constant v in every lane, for both instruction sets.
func (k *kernel) resident(v uint32) reg.VecVirtual {
	if k.wide() {
		return k.u32(v).(reg.VecVirtual)
	}
	r := k.YMM()
	k.VMOVDQU(k.u32(v), r)
	return r
}

// splat copies a 32-bit parameter to every lane of a new register.
func (k *kernel) splat(name string) reg.VecVirtual {
	p, err := k.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := k.vec()
	k.VBROADCASTSS(p.Addr, r)
	return r
}

func (k *kernel) label(name string) string {
	k.labels++
	return fmt.Sprintf("%s%d", name, k.labels)
}

// mask selects the leading lanes of a register. A nil mask selects all lanes.
type mask struct {
	k reg.OpmaskVirtual
	y reg.VecVirtual
}

// leading returns a mask of the first n lanes, 0 ≤ n ≤ w. It destroys n.
func (k *kernel) leading(n reg.GPVirtual) *mask {
	if k.wide() {
		ones, m := k.GP64(), k.K()
		k.MOVQ(operand.I32(-1), ones)
		k.BZHIQ(n, ones, ones)
		k.KMOVW(ones.As32(), m)
		return &mask{k: m}
	}
	words := make([]uint32, 16)
	for i := range 8 {
		words[i] = math.MaxUint32
	}
	t := k.table("leading", words...)
	p, y := k.GP64(), k.YMM()
	k.LEAQ(t.Offset(32), p)
	k.SHLQ(operand.U8(2), n)
	k.SUBQ(n, p)
	k.VMOVDQU(operand.Mem{Base: p}, y)
	return &mask{y: y}
}

// load loads the selected lanes into a new register; the other lanes are 0.
func (k *kernel) load(m operand.Mem, sel *mask) reg.VecVirtual {
	r := k.vec()
	switch {
	case sel == nil:
		k.VMOVUPS(m, r)
	case k.wide():
		k.VMOVUPS_Z(m, sel.k, r)
	default:
		k.VMASKMOVPS(m, sel.y, r)
	}
	return r
}

// store stores the selected lanes of a register.
func (k *kernel) store(r reg.VecVirtual, m operand.Mem, sel *mask) {
	switch {
	case sel == nil:
		k.VMOVUPS(r, m)
	case k.wide():
		k.VMOVUPS(r, sel.k, m)
	default:
		k.VMASKMOVPS(r, sel.y, m)
	}
}

// stream runs body over n elements, one register at a time at index i. The last register has a
// mask.
func (k *kernel) stream(n reg.GPVirtual, body func(i reg.GPVirtual, sel *mask)) {
	i, end := k.GP64(), k.GP64()
	loop, tail, done := k.label("loop"), k.label("tail"), k.label("done")
	k.XORQ(i, i)
	k.MOVQ(n, end)
	k.SUBQ(imm(k.w), end)
	k.Label(loop)
	k.CMPQ(i, end)
	k.JG(operand.LabelRef(tail))
	body(i, nil)
	k.ADDQ(imm(k.w), i)
	k.JMP(operand.LabelRef(loop))
	k.Label(tail)
	rest := k.GP64()
	k.MOVQ(n, rest)
	k.SUBQ(i, rest)
	k.JZ(operand.LabelRef(done))
	body(i, k.leading(rest))
	k.Label(done)
}

// The arithmetic functions below take their operands in the order of the formula.

func (k *kernel) add(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VADDPS(b, a, r)
	return r
}

func (k *kernel) sub(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VSUBPS(b, a, r)
	return r
}

func (k *kernel) mul(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VMULPS(b, a, r)
	return r
}

func (k *kernel) div(a, b reg.VecVirtual) reg.VecVirtual {
	r := k.vec()
	k.VDIVPS(b, a, r)
	return r
}

// larger returns a if a > b, and b otherwise, so also if a is NaN.
func (k *kernel) larger(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VMAXPS(b, a, r)
	return r
}

func (k *kernel) and(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VANDPS(b, a, r)
	return r
}

func (k *kernel) or(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VORPS(b, a, r)
	return r
}

func (k *kernel) xor(a reg.VecVirtual, b operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VXORPS(b, a, r)
	return r
}

func (k *kernel) shl(a operand.Op, n uint8) reg.VecVirtual {
	r := k.vec()
	k.VPSLLD(operand.U8(n), a, r)
	return r
}

func (k *kernel) shr(a operand.Op, n uint8) reg.VecVirtual {
	r := k.vec()
	k.VPSRLD(operand.U8(n), a, r)
	return r
}
