package main

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/simd/_gen/avx"
	"github.com/gibbsite-go/gibbsite/internal/simd/_gen/kernel"
	"github.com/gibbsite-go/gibbsite/internal/simd/_gen/neon"
)

// arch is an architecture with assembly.
type arch struct {
	name     string // value of GOARCH
	emit     func(kernel.Funcs) (kernel.Emitted, error)
	imports  []string
	sets     []set // instruction sets in ascending order; a set includes all lower ones
	features []feature
}

// set is an instruction set, which is the name of a backend. Names of assembly functions end in its
// name in capitals.
type set struct {
	name    string
	has     string // Go expression that reports whether the CPU supports the set; "" means always
	cpuinfo string // flags in Linux's /proc/cpuinfo that mean the same
}

// feature is a CPU feature that cases may require in addition to an instruction set.
type feature struct{ name, has, doc string }

// archs lists the architectures with assembly.
var archs = []arch{
	{
		name: "amd64", emit: avx.Emit, imports: []string{"golang.org/x/sys/cpu"},
		sets: []set{
			{
				"avx2", "cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT",
				"avx2 fma bmi2 popcnt",
			},
			{
				"avx512", "cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL",
				"avx512f avx512bw avx512dq avx512vl",
			},
		},
		features: []feature{
			{"aes128", "cpu.X86.HasAES", "AES on 128 bits, which AVX2 needs for ARS"},
			{"aes512", "cpu.X86.HasAVX512VAES", "AES on 512 bits; without it AVX-512 uses that of AVX2"},
			{"popcounts", "cpu.X86.HasAVX512VPOPCNTDQ", "AVX-512 counts the bits of words"},
			{"permutes", "cpu.X86.HasAVX512VBMI", "AVX-512 looks bytes up in tables of 128"},
			{"dotWords", "cpu.X86.HasAVX512VNNI", "AVX-512 multiplies pairs of words and adds them up in one instruction"},
		},
	},
	{name: "arm64", emit: neon.Emit, sets: []set{{name: "neon"}}},
}

// Names of instruction sets for which rows of the table have assembly.
const (
	both = "avx2 avx512"
	all  = "avx2 avx512 neon"
)

// row describes a kernel. The Go code written for it depends on which fields are set:
//
//   - with cut, a function that takes any length. It calls assembly for parts of it, and the
//     reference for a last part or if there is no assembly;
//   - with ref but not cut, a function that calls assembly once, or the reference;
//   - with neither, a function whose name ends in Run and that calls assembly. If gate is set,
//     there is also a constant whose name ends in Level, the lowest backend with assembly, for
//     hand-written Go. If need names a feature, there is also a function whose name begins with
//     has.
type row struct {
	name string // name of the Go function and, unless cases gives others, of the assembly function

	// sig lists the parameters of the assembly function in order, in Go syntax. A slice is passed
	// as a pointer to its first entry. A parameter with a value, such as "n = len(x)", is passed to
	// the assembly only; its type is int unless stated.
	sig string
	ret string // result of the assembly function
	doc string // what the assembly function does; "" means the same as the reference

	of, out string // parameters and result of the Go function if they differ from sig and ret

	ref    string // reference function, which defines the bits
	cut    string // "bound: x, y*2" limits a call to bound entries of x and twice as many of y
	by     string // number of which the length of a part is a multiple; "neon 16" for that set
	unless string // condition under which the reference is called
	gate   bool

	on    string            // instruction sets with assembly
	need  string            // feature that the assembly requires
	cases map[string]string // functions to call, by set or, at "", for all sets; see choices
	also  []function        // functions of those cases that have different parameters
	let   string            // statements before the call
	then  string            // statement after the call

	// Tests, "Name: statement" or "Name(…)", on windows of an arena: f0 is a.f[0][from:to].
	test []string
}

// function describes one assembly function, or several with the same prefix, whose parameters
// differ from those of their row.
type function struct{ name, sig, doc string }

// tiles returns the cases for functions of several heights; the last one handles any height.
func tiles(by, name string, heights ...int) string {
	var b strings.Builder
	for i, h := range heights {
		if i < len(heights)-1 {
			fmt.Fprintf(&b, "%s == %d: ", by, h)
		}
		fmt.Fprintf(&b, name+"; ", h)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// with adds a condition to each of the cases.
func with(condition, cases string) string {
	parts := strings.Split(cases, "; ")
	for i, c := range parts {
		if strings.Contains(c, ": ") {
			parts[i] = condition + " && " + c
		} else {
			parts[i] = condition + ": " + c
		}
	}
	return strings.Join(parts, "; ")
}

// Parameter lists, conditions and doc texts that several rows of the table share.
const (
	philoxKeys = "keys *[20]uint32 = &keys, counter uint64 = 16*group, stream uint64"
	arsKeys    = "keys *[16]uint64 = &keys, counter uint64 = 16*group, stream uint64"
	bitStrings = "len(dst) == 0 || len(dst) > maxBits/64"
	heatSig    = "dst []uint64, count *[3][512]uint64 = (*[3][512]uint64)(count), digits *[64][8]uint64 = &o.digits, "
	flipSig    = "dst, own, near []uint64, digits *[64][16]uint64 = &o.digits, "
	heatOf     = "dst []uint64, count *Counts, o *Odds, key, stream, group uint64"
	flipOf     = "dst, own, near []uint64, o *FlipOdds, key, stream, group uint64"
	sixteens   = "is %s on n = 16k ≥ 16 entries."
	tileDoc    = "adds a·b to a tile c for depth ≥ 1; rows have the strides ldc, lda and ldb."
	chosenDoc  = "adds to rows of c, of stride ldc, what they choose of groups ≥ 1 groups of rows of w, of stride ldw; t is for eight tables."
	sumsDoc    = "adds to rows of c, of stride ldc, the sums that they choose from groups ≥ 1 tables."
	jointSig   = "own *uint32 = &own[first], to *uint32 = &to[first], near *int32, n int, stride = 4*stride, degree int, digits *[64][8]uint64 = &o.digits, "
	jointDoc   = "is refJointHeat on n ≥ 1 lanes from to on; stride is that of near in bytes. With AVX2 it is so for eight blocks, whose half of each row begins at own, to and j, the rows of a jointASM."

	rowsSig   = "p, w []float32, max *float32 = &maxes[0], "
	pickSig   = "idx []int32, p []float32, total, u []float64, rows = len(idx)"
	heatVisit = "rows *byte = &rows[0][0], own []uint64, visits *int32 = &visits[0].Row, near *int32 = head(near), odds *byte = &odds[0].high[0], "
	heatTied  = "next *byte = byteAt(next, made), ties *uint32 = head(ties), left = len(ties)/2, t *int32 = &t.Moved[0], valid uint32, "
	heatRows  = heatVisit + "words []uint32, " + heatTied + "n = len(visits)"
	heatGo    = "rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row"
)

var table = []row{
	// Random words.
	{
		name: "philox", on: all, gate: true,
		sig: "dst []uint32, groups = len(dst)/GroupWords, keys *[20]uint32, counter, stream uint64",
		doc: "fills groups ≥ 1 groups of a stream from counter, a multiple of 16, on. keys[2r] and keys[2r+1] are the round keys.",
	},
	{
		name: "unit32", on: all, ref: "refUnit32", cut: "runTerms: dst, bits", by: "neon 16",
		sig: "dst []float32, bits []uint32, n = len(dst)", test: []string{"Unit32(f0, u)"},
	},
	{
		name: "unit64", on: all, ref: "refUnit64", cut: "runTerms: dst, bits*2", by: "8",
		sig: "dst []float64, bits []uint32, n = len(dst)", test: []string{"Unit64(d0, uu)"},
	},
	{
		name: "ars", on: both, need: "aes128", gate: true, cases: map[string]string{"avx512": "aes512: ars"},
		sig: "dst []uint32, groups = len(dst)/GroupWords, keys *[16]uint64, counter, stream uint64",
		doc: "fills groups ≥ 1 groups of a stream from counter, a multiple of 16, on. keys has two halves for each round and before the first.",
	},

	// Elementwise functions and the binary Langevin proposal.
	{
		name: "sigmoid", on: all, ref: "refSigmoid", cut: "runTerms: dst, src",
		sig: "dst, src []float32, n = len(dst)", test: []string{"SigmoidTo(f0, f2)"},
	},
	{
		name: "gelu", on: both, ref: "refGELU", cut: "runTerms: dst, src",
		sig: "dst, src []float32, n = len(dst)", test: []string{"GELU(f0, f2)"},
	},
	{
		name: "geluSlope", on: both, ref: "refGELUSlope", cut: "runTerms: d, x",
		sig: "d, x []float32, n = len(d)", test: []string{"GELUSlope(f0, f2)"},
	},
	{
		name: "flipThresholds", on: all, gate: true,
		sig:  "t []int32, h []float32, x []int32, beta float32, c []float32, step = min(len(c)-1, 1), n = len(t)",
		doc:  "is refFlipThresholds with −beta for beta; c advances by step of its entries per site, 0 or 1.",
		test: []string{"FlipThresholds(i3, f1, i0, 0.5, f0)", "FlipThresholds/one: FlipThresholds(i3, f2, i0, 1.25, []float32{0.3})"},
	},
	{
		name: "flipDraw", on: all, gate: true, sig: "out *[5]uint64, y, x, t []int32, bits []uint32, n = len(t)",
		doc:  "is refFlip up to the logarithm.",
		test: []string{"Flip: s0, s1 = both(Flip(i1, i0, i2, u))"},
	},
	{
		name: "flipScore", on: all, gate: true, sig: "out *[5]uint64, y, x, t []int32, n = len(t)",
		doc:  "is refFlipLogProb up to the logarithm.",
		test: []string{"FlipLogProb: s0 = FlipLogProb(i0, i1, i2)"},
	},
	{
		name: "jumpThresholds", on: both, ref: "refJumpThresholds", cut: "runTerms: t, h, x",
		sig: "t []int32, h []float32, x []int32, tau float32, rate = int(rate), n = len(t)",
		of:  "t []int32, h []float32, x []int32, tau float32, rate JumpRate",
	},

	// Matrix products.
	{
		name: "gemmTile", on: all, gate: true,
		sig: "c, a, b []float32, depth, ldc, lda, ldb int", of: "c, a, b []float32, height, depth, ldc, lda, ldb int", doc: tileDoc,
		cases: map[string]string{
			"avx2": tiles("height", "gemm%dx16", 6, 2, 1), "avx512": tiles("height", "gemm%dx32", 12, 4, 2, 1),
			"neon": tiles("height", "gemm%dx16", 4, 2, 1),
		},
	},
	{
		name: "gemmRow", on: all, doc: tileDoc, of: "c, a, b []float32, n int",
		sig:   "c, a, b []float32, depth = len(a), ldc = n, lda = len(a), ldb = n",
		cases: map[string]string{"": "gemm1x64", "avx512": "gemm1x128"},
	},
	{
		name: "packRows", on: all, sig: "dst, src []float32, rows, ld int",
		doc: "copies rows ≥ 1 rows of two registers (NEON: four) of stride ld to consecutive places.",
	},
	{
		name: "packColumns", on: all, sig: "dst, src []float32, blocks, ld int",
		doc: "transposes a strip of w rows, half of what packRows copies: dst[2w·l+j] = src[j·ld+l] for j < w and l < w·blocks, blocks ≥ 1.",
	},
	{
		name: "fixedTile", on: all, gate: true,
		sig: "acc []int32, a, b []int16, pairs, lda, next int", of: "acc []int32, a, b []int16, rows, pairs, lda, next int",
		doc: "adds the products of pairs ≥ 1 pairs to rows of sums, as wide as two registers (NEON: four); rows of a have the stride lda, the second sixteen columns with AVX-512 lie next entries further.",
		cases: map[string]string{
			"avx2": tiles("rows", "fixedTile%d", 5, 2, 1), "neon": tiles("rows", "fixedTile%d", 3, 2, 1),
			"avx512": with("dotWords", tiles("rows", "fusedTile%d", 13, 12, 8, 4, 2, 1)) + "; " + tiles("rows", "fixedTile%d", 13, 12, 8, 4, 2, 1),
		},
	},
	{
		name: "fixedRows", on: both, ref: "refFixedRows", sig: "c []float32, acc []int32, scale, origin []float32, rows, ldc int",
		doc: "stores origin + scale·acc in rows ≥ 1 rows of c, of stride ldc, as wide as two registers.",
	},
	{
		name: "logisticWords", on: both, gate: true, sig: "dst []int16, src []float32, n = len(src)",
		doc: "is refLogisticWords on n ≥ 1 entries, a multiple of the lanes of a register.",
	},

	// Vectors.
	{
		name: "axpy", on: both, ref: "refAxpy", cut: "runTerms: x, y",
		sig: "alpha float32, x, y []float32, n = len(x)", test: []string{"Axpy(-1.7, f0, f1)"},
	},
	{
		name: "scale", on: both, ref: "refScale", cut: "runTerms: x",
		sig: "alpha float32, x []float32, n = len(x)", test: []string{"Scale(-1.7, f0)"},
	},
	{
		name: "dot", on: both, gate: true, sig: "lane *[16]float32, x, y []float32, n = len(x)",
		doc: "adds the products of n terms to the lanes.", test: []string{"Dot: s0 = float64(Dot(f0, f3))"},
	},
	{
		name: "sum", on: both, gate: true, sig: "lane *[16]float64, x []float32, n = len(x)",
		doc: "adds n terms to the lanes.", test: []string{"Sum: s0 = Sum(f0)"},
	},
	{
		name: "dot64", on: both, gate: true, sig: "x, y []float64, n = len(x)", ret: "(sum float64)",
		doc: "is the sum of refDot64 over n = 16k ≥ 16 entries.", test: []string{"Dot64: s0 = Dot64(d1, d2)"},
	},
	{
		name: "axpy64", on: both, ref: "refAxpy64", cut: "foldTerms: x, y", by: "16", doc: fmt.Sprintf(sixteens, "refAxpy64"),
		sig: "a float64, x, y []float64, n = len(x)", test: []string{"Axpy64(-0.7, d1, d0)"},
	},
	{
		name: "inner", on: both, gate: true, sig: "w []float64, x []float32, n = len(x)", ret: "(sum float64)",
		doc: "is the sum of refInner over n = 16k ≥ 16 entries.", test: []string{"Inner: s0 = Inner(d1, f1)"},
	},
	{
		name: "gap", on: both, gate: true, sig: "x, y []float32, s float64, n = len(x)", ret: "(sum float64)",
		doc: "is the sum of refGap over n = 16k ≥ 16 entries.", test: []string{"Gap: s0 = Gap(f0, f1, 0.3)"},
	},
	{
		name: "addWide", on: both, ref: "refAddWide", cut: "foldTerms: x, dst", by: "16", doc: fmt.Sprintf(sixteens, "refAddWide"),
		sig: "dst []float64, a float64, x []float32, n = len(x)", test: []string{"AddWide(d0, -0.7, f1)"},
	},
	{
		name: "addFinite", on: both, ref: "refAddFinite", cut: "foldTerms: x, dst", by: "16", doc: fmt.Sprintf(sixteens, "refAddFinite"),
		sig: "dst []float32, a float64, x []float32, n = len(x)", test: []string{"AddFinite(f0, -0.7, f1)"},
	},
	{
		name: "weightsMarked", on: both, gate: true, sig: "lane *[32]float64, p, w []float32, a, b []uint16, groups = len(a), m float32",
		doc: "stores e^(w−m) for groups ≥ 1 groups of 16 and adds the entries that a marks to the first 16 lanes, those that b marks to the others.",
	},
	{
		name: "softplus", on: both, gate: true, sig: "product, positive *[16]float64, x []float32, n = len(x)",
		doc: "multiplies and adds n = 16k terms of refSoftplusSum to the lanes.", test: []string{"SoftplusSum: s0 = SoftplusSum(f2)"},
	},
	{
		name: "expGather", on: both, gate: true, sig: "dst []float64, w []float32, idx []int32, shift float64, n = len(dst)", ret: "int",
		doc: "is refExpGather on n = 8k indices; not 0 if a result must be computed again, because an argument is above 709.",
	},
	{
		name: "expMarked", on: both, gate: true, sig: "sums, dst []float64, w []float32, mark []uint8, shift float64, blocks = len(sums)", ret: "int",
		doc: "is refExpMarked on blocks ≥ 1 whole blocks; not 0 if a result must be computed again, because an argument is above 709.",
	},
	{
		name: "torusInner", on: both, gate: true, sig: "out *[2]int, h []float32, table *[8]float32, above, row, below []int32, n = len(h)",
		doc: "is refTorusInner on n ≥ 1 sites.",
	},
	{
		name: "squares", on: both, gate: true, sig: "dst, x, m, w []float64, count = len(dst), n = len(x)",
		doc: "is refSquares on count ≥ 1 rows of n = 16k ≥ 16 columns.",
	},
	{
		name: "attract", on: both, ref: "refAttract", cut: "foldTerms: x, dst, m, w", doc: fmt.Sprintf(sixteens, "refAttract"),
		sig: "dst, x, m, w []float64, p float64, n = len(x)",
	},
	{
		name: "polar", on: both, ref: "refPolar", cut: "polarTerms: r", by: "16", doc: fmt.Sprintf(sixteens, "refPolar"),
		sig: "r []float64, n = len(r)",
	},

	// Rows of log-weights.
	{
		name: "maxSegment", on: all, gate: true, sig: "w []float32, n = len(w)", ret: "float32",
		doc: "returns the maximum of n ≥ 1 entries, NaN aside; −Inf if there is none.",
	},
	{
		name: "weightSegment", on: all, ref: "refWeightSegment", of: "p, w []float32, m, floor float32, total *float64",
		sig: "p, w []float32, n = len(w), m, floor float32, total *float64", unless: "len(w) == 0",
		doc:   "is refWeights on a segment of a row, given its maximum, with the lower bound if its name says floored; n ≥ 1, total is carried on.",
		cases: map[string]string{"": "floor > 0: flooredSegment; weightsSegment"},
	},
	{
		name: "weightRows", on: all, ref: "refWeightRows", of: "p, w, maxes []float32, total []float64, cols int, floor float32",
		sig: rowsSig + "total []float64, rows = len(maxes), cols int, floor float32",
		doc: "is refWeights on rows ≥ 1 rows, with the lower bound if its name says floored; it stores their maxima too.",
		cases: map[string]string{
			"": "floor > 0: flooredRows; weightsRows",
			"avx512": "cols == 2 && floor == 0 && len(maxes) >= 8: go weightPairs; " +
				"cols < blockTerms && len(maxes) > 1 && floor > 0: shiftRowsFloored expsFloored totalRows; " +
				"cols < blockTerms && len(maxes) > 1: shiftRows exps totalRows; floor > 0: flooredRows; weightsRows",
			"avx2": "cols == 2 && floor == 0 && len(maxes) >= 8: go weightPairs; floor > 0: flooredRows; weightsRows",
		},
		also: []function{
			{"shiftRows", rowsSig + "rows = len(maxes), cols int", "stores w less its maximum, and that, of rows ≥ 1 rows of cols < 128 entries; those that are finite stay so if its name says floored."},
			{"exps", "p []float32, n = len(maxes)*cols, floor float32", "replaces n ≥ 1 entries x by e^x, not below the lower bound, where x is not −Inf, if its name says floored."},
			{"totalRows", "p []float32, total []float64, rows = len(maxes), cols int", "stores the totals of rows ≥ 1 rows of cols < 128 weights."},
		},
	},
	{
		name: "pairRows", on: both, of: "p, w, maxes []float32, total []float64", sig: rowsSig + "total []float64, rows = len(maxes)",
		doc: "is weightsRows for two columns and rows = 8k.",
	},
	{
		name: "scaleRows", on: all, gate: true, sig: "dst, p []float32, total []float64, rows = len(total), cols int",
		doc: "stores rows ≥ 1 rows of weights times softmaxScale of their totals.",
	},
	{
		name: "shiftRow", on: all, gate: true, sig: "dst, w []float32, m, l float32, n = len(dst)", doc: "stores (w−m)−l.",
	},
	{
		name: "softmaxPairs", on: both, sig: "dst, w []float32, turns int", ret: "int",
		doc: "is refSoftmax on turns ≥ 1 of as many rows of two as a register has lanes. It returns the turns it left: it stops before one with a row that has NaN, +Inf or nothing above −Inf.",
	},
	{
		name: "pickRow", on: all, gate: true, sig: "p []float32, n = len(p), target, before float64", ret: "int",
		doc: "is refPick on n ≥ 1 weights, before standing for the sum of those to their left; −2 where sums disagree by rounding.",
	},
	{
		name: "pickRows", on: all, gate: true, sig: pickSig + ", cols int",
		doc:   "is Pick on rows ≥ 1 rows of weights; −2 where sums disagree by rounding.",
		cases: map[string]string{"avx512": "len(idx) >= 8: go pickEights; pickRows", "avx2": "cols == 2 && len(idx) >= 8: go pickEights; pickRows"},
	},
	{
		name: "pickEights", on: both, sig: pickSig + ", cols int",
		doc:   "is Pick on rows = 8k ≥ 8 rows of weights, fewer than 128 if its name says short, of which total holds the totals; −2 where sums disagree by rounding.",
		cases: map[string]string{"avx512": "cols == 2: pickPairs; cols < blockTerms: pickShort; pickLong", "avx2": "pickPairs"},
		also:  []function{{"pickPairs", pickSig, "is pickRows for two columns and rows = 8k."}},
	},
	{
		name: "argMaxRows", on: both, gate: true, sig: "idx []int32, w []float32, rows = len(idx), cols int", doc: "is refArgMax on rows ≥ 1 rows.",
	},
	{
		name: "gumbel", on: both, ref: "refGumbel", cut: "runTerms: dst, bits",
		sig: "dst []float32, bits []uint32, n = len(dst)", test: []string{"Gumbel(f0, u)"},
	},
	{
		name: "perturb", on: both, ref: "refPerturb", cut: "runTerms: y, w, noise",
		sig:  "y, w, noise []float32, scale float32, n = len(y)",
		test: []string{"GumbelSoftmax(f0, f1, f3, max(to-from, 1), 0.7)"},
	},
	{
		name: "pull", on: both, ref: "refPull", cut: "runTerms: y, dst, d",
		sig:  "dst, y, d []float32, mean, scale float32, n = len(y)",
		test: []string{"SoftmaxPull(f0, f1, f3, max(to-from, 1), 1.4)", "Slope(f0)"},
	},
	{
		name: "entropy", on: both, ref: "refEntropy", sig: "lane *[16]float64, p, w []float32, m float32, n = len(p)",
		doc: "is refEntropy; p is destroyed.",
	},
	{
		name: "entropyRows", on: both, ref: "refEntropyRows", sig: "sum []float64, p, w, m []float32, rows = len(sum), cols int",
		doc: "stores, for each of rows ≥ 1 rows of cols ≥ 1, the sum of the lanes of refEntropy from 0; p is destroyed.",
	},

	// Forests of eight chains.
	{
		name: "forestOdds", on: "avx512", gate: true, of: "odds []float64, own []uint8, field []float64, bonds []ForestBond, from []int32, lo, hi, first int",
		sig: "odds *float64 = &odds[8*lo], own []uint8, field *float64 = &field[lo], bonds *int32 = &bonds[from[lo]].Place, from *int32 = &from[lo], n = hi - lo, first int",
		doc: "is refForestOdds on n ≥ 1 places.",
	},
	{
		name: "forestUp", on: "avx512", gate: true, of: "odds []float64, links []ForestLink, lo, hi int",
		sig: "odds []float64, at *float64 = &odds[8*lo], links *int32 = &links[lo].Site, n = hi - lo", doc: "is refForestUp on n ≥ 1 places.",
	},
	{
		name: "forestDraw", on: "avx512", gate: true,
		of:  "own []uint8, words []uint32, odds []float64, links []ForestLink, live uint8, left *int",
		sig: "own []uint8, words []uint32, odds *float64 = &odds[8*(len(links)-1)], links *int32 = &links[len(links)-1].Site, live = int(live), left *int",
		doc: "is refForestDraw on *left ≥ 1 pairs of places, beginning with the last.",
	},
	{
		name: "drawPendants", on: "avx512", gate: true,
		of:  "own []uint8, words []uint32, pendants []ForestPendant, live uint8, left *int",
		sig: "own []uint8, words []uint32, pendants *int32 = &pendants[0].Site, live = int(live), left *int",
		doc: "is refDrawPendants on *left ≥ 1 pairs.",
	},
	{
		name: "eightColumns", on: "avx512", gate: true, of: "dst, src []uint32, ld int",
		sig: "dst, src []uint32, ld = 4*ld, blocks = len(dst)/64", doc: "is refEightColumns on blocks ≥ 1 of eight columns; ld is the bytes from a row to the next.",
	},
	{
		name: "forestMoved", on: "avx512", gate: true, of: "moved *[8]int64, old, own []uint8",
		sig: "moved *int64 = &moved[0], old, own []uint8, n = len(own)", doc: "is refForestMoved on n sites, a positive multiple of 64.",
	},
	{
		name: "spinEnergies", on: "avx512", gate: true, of: "sum *[8]int64, own []uint8, bonds []SpinBond",
		sig: "sum *int64 = &sum[0], own []uint8, bonds *int32 = &bonds[0].I, n = len(bonds)",
		doc: "is refSpinEnergies on n ≥ 1 bonds.",
	},
	{
		name: "spreadForest", on: "avx512", gate: true, of: "x []int32, own []uint8, n, chains, stride int",
		sig: "x []int32, own []uint8, n, chains int, stride = 4*stride", doc: "is refSpreadForest on n ≥ 1 sites and chains ≥ 1; stride is the bytes from a chain to the next.",
	},

	// Rows of matrices that states choose, and pieces of vectors.
	{
		name: "sparse", on: both, ref: "refSparseField", sig: "dst []float64, start, adj []int32, w []float64, x []int32, rows = len(dst)",
		unless: "start[len(dst)] == start[0] || start[len(dst)]-start[0] > sparseTerms", doc: "is refSparseField on rows ≥ 1 rows.",
	},
	{
		name: "addRows", on: both, gate: true,
		sig: "dst []float64, f []float32, src []float64, w []float32, stride int, rows []int32, count = len(rows), n = len(dst)",
		doc: "is refAddRows on count ≥ 1 rows and n = 64k ≥ 64 columns.",
	},
	{
		name: "addRows64", on: both, gate: true, sig: "dst, src, w []float64, stride int, rows []int32, count = len(rows), n = len(dst)",
		doc: "is refAddRows64 on count ≥ 1 rows and n = 64k ≥ 64 columns.",
	},
	{
		name: "changes", on: "avx512", gate: true, sig: "rows, y, x []int32, n = len(y)", ret: "int", doc: "is refChanges on n = 16k ≥ 16 sites.",
	},
	{
		name: "quads", on: "avx512", gate: true, sig: "dst []uint8, x []int32, n, ld int",
		doc: "stores 8 times the numbers of n = 4k ≥ 4 groups of four sites in bytes of stride ld.",
	},
	{
		name: "sumTables", on: "avx2", sig: "t, w []float32, groups, ld int",
		doc: "stores the 16 sums of each of groups ≥ 1 groups of four rows of stride ld.",
	},
	{name: "sumTables64", on: "avx2", sig: "t []float64, w []float32, groups, ld int", doc: "is sumTables in float64."},
	{
		name: "addChosen", on: both, gate: true, sig: "c, t, w []float32, q []uint8, groups, ldc, ldw, ldq int",
		of: "c, t, w []float32, q []uint8, rows, groups, ldc, ldw, ldq int", doc: chosenDoc,
		cases: map[string]string{"avx2": tiles("rows", "addSums%d", 8, 4, 2, 1), "avx512": tiles("rows", "addChosen%d", 25, 16, 8, 4, 2, 1)},
		also:  []function{{"addSums", "c, t []float32, q []uint8, groups, ldc, ldq int", sumsDoc}},
	},
	{
		name: "addChosen64", on: both, gate: true, sig: "c, t []float64, w []float32, q []uint8, groups, ldc, ldw, ldq int",
		of: "c, t []float64, w []float32, q []uint8, rows, groups, ldc, ldw, ldq int", doc: chosenDoc,
		cases: map[string]string{"avx2": tiles("rows", "addSums64x%d", 8, 4, 2, 1), "avx512": tiles("rows", "addChosen64x%d", 25, 16, 8, 4, 2, 1)},
		also:  []function{{"addSums", "c, t []float64, q []uint8, groups, ldc, ldq int", sumsDoc}},
	},
	{
		name: "spill", on: both, sig: "dst []float64, f []float32, sums, origin []float64, rows, ld int",
		doc: "stores sums + origin in rows ≥ 1 rows of dst and f, of stride ld, as wide as a table.",
	},
	{
		name: "fold", on: both, gate: true, sig: "dst []float64, stride int, m []float64, at []int32, coef []float64, next int, count = len(at), n int",
		of:    "rows int, dst []float64, stride int, m []float64, at []int32, coef []float64, next, n int",
		doc:   "is refFold for rows of dst of the given stride and coefficients of stride next, count ≥ 1 terms and n = 16k ≥ 16 columns.",
		cases: map[string]string{"": tiles("rows", "fold%d", 1, 2, 3, 4)},
	},
	{
		name: "dots", on: both, gate: true, sig: "dst, m []float64, at []int32, x []float64, next int, count = len(at), n int",
		of:    "rows int, dst, m []float64, at []int32, x []float64, next, n int",
		doc:   "is refDots for rows of x of stride n and sums of stride next, of which it computes count ≥ 1; n = 16k ≥ 16.",
		cases: map[string]string{"": tiles("rows", "dots%d", 1, 2)},
	},
	{
		name: "foldMax", on: both, gate: true, sig: "dst, m []float64, at []int32, coef []float64, count = len(at), n = len(dst)",
		doc: "is refFoldMax on count ≥ 1 terms and n = 16k ≥ 16 columns.",
	},
	{
		name: "raise", on: both, gate: true, sig: "v []float64, by, floor float64, n = len(v)", ret: "(low int)",
		doc: "is refRaise on n = 16k ≥ 16 values; low is not zero where it says true.",
	},

	// Strings of bits.
	{
		name: "heatBits", on: both, ref: "refHeatBits", of: heatOf, sig: heatSig + philoxKeys + ", regs = len(dst)/8", unless: bitStrings, let: "keys := philoxKeys(key)",
		doc:   "is refHeatBits on regs ≥ 1 times 512 sites, with as many terms as its name says; counter is 16 times the group.",
		cases: map[string]string{"": "o.terms == 5: heatBits5; heatBits8"},
	},
	{
		name: "heatBitsARS", on: both, need: "aes128", ref: "refHeatBitsARS", of: heatOf, sig: heatSig + arsKeys + ", regs = len(dst)/8", unless: bitStrings, let: "keys := arsKeys(key)",
		doc:   "is refHeatBitsARS on regs ≥ 1 times 512 sites, with as many terms as its name says; counter is 16 times the group.",
		cases: map[string]string{"avx512": "aes512 && o.terms == 5: heatBitsARS5; aes512: heatBitsARS8", "avx2": "o.terms == 5: heatBitsARS5; heatBitsARS8"},
	},
	{
		name: "flipBits", on: both, ref: "refFlipBits", of: flipOf, sig: flipSig + philoxKeys + ", regs = len(dst)/8", unless: bitStrings, let: "keys := philoxKeys(key)",
		doc: "is refFlipBits on regs ≥ 1 times 512 sites; counter is 16 times the group.",
	},
	{
		name: "flipBitsARS", on: both, need: "aes128", ref: "refFlipBitsARS", of: flipOf, sig: flipSig + arsKeys + ", regs = len(dst)/8", unless: bitStrings, let: "keys := arsKeys(key)",
		doc:   "is refFlipBitsARS on regs ≥ 1 times 512 sites; counter is 16 times the group.",
		cases: map[string]string{"avx512": "aes512: flipBitsARS"},
	},
	{
		name: "torusBits", on: both, ref: "refTorusBits", of: "count *Counts, own []uint64, at int, near *BitTorus, rows, a, b []uint64",
		sig:    "count *uint64 = &count[0][0], own *uint64 = &own[at], near *[6][4]int = &near.asm, rows, a, b []uint64, regs = len(rows)/8",
		unless: "len(rows) > maxBits/64",
		doc:    "is refTorusBits on regs ≥ 1 times 512 sites; near has the bytes to the word, the shift to the right and that of the next word to the left.",
	},
	{
		name: "gridBits", on: both, ref: "refGridBits", of: "near, own []uint64, at int, t *BitTorus, a, b []uint64",
		sig:    "near []uint64, own *uint64 = &own[at], places *[6][4]int = &t.asm, a, b []uint64, regs = len(a)/8",
		unless: "len(a) > maxBits/64", doc: "is refGridBits on regs ≥ 1 times 512 sites; places are as torusBits has them.",
	},
	{
		name: "graphBits", on: both, ref: "refGraphBits", of: "count *Counts, own []uint64, near []int32, n, degree int",
		sig:    "count *[3][512]uint64 = (*[3][512]uint64)(count), own []uint64, near []int32, n, degree int",
		unless: "n*degree == 0 || n*degree > nearTerms", doc: "is refGraphBits on n = 16k ≥ 1 lanes.",
	},
	{
		name: "joinMarks", on: both, ref: "refJoinMarks", of: "grew *Marks, in, may []Marks, start, adj []int32, first, n, step int",
		sig:    "grew *[8]uint64 = (*[8]uint64)(grew), in *[8]uint64 = (*[8]uint64)(&in[0]), may *[8]uint64 = (*[8]uint64)(&may[0]), start, adj []int32, first, n, step int",
		unless: "n == 0 || len(adj) == 0", doc: "is refJoinMarks on n ≥ 1 sites.",
	},
	{
		name: "tallyTorus", on: both, ref: "refTallyTorus", of: "now, old []uint64, count *Counts", out: "(up, moved, bonds int)",
		sig:    "now, old []uint64, count *[3][512]uint64 = (*[3][512]uint64)(count), regs = len(now)/8, sums *[3]int = &sums",
		unless: "len(now) == 0 || len(now) > maxBits/64", let: "var sums [3]int", then: "return sums[0], sums[1], sums[2]",
		doc:   "stores the sums of refTallyTorus on regs ≥ 1 times 512 sites; countTorus needs VPOPCNTDQ.",
		cases: map[string]string{"avx512": "popcounts: countTorus; tallyTorus"},
	},
	{
		name: "tallyFlips", on: both, ref: "refTallyFlips", of: "from, to, before, after, valid []uint64", out: "(forth, back flipTerms)",
		sig:    "from, to, before, after, valid []uint64, regs = len(from)/8, sums *[2][5][2]uint64 = &sums",
		unless: "len(from) == 0 || len(from) > maxBits/64", let: "var sums [2][5][2]uint64", then: "return addHalves(&sums)",
		doc:   "stores parts of the sums of refTallyFlips on regs ≥ 1 times 512 sites, 16 bits each; AVX-512 needs VPOPCNTDQ.",
		cases: map[string]string{"avx512": "popcounts: tallyFlips"},
	},
	{
		name: "spreadBits", on: both, gate: true, sig: "x []int32, even, odd []uint64, bit, n, rows int",
		doc: "is refSpreadBits on n ≥ 1 pairs of columns and rows ≥ 1.",
	},
	{
		name: "unpackBits", on: both, gate: true, sig: "x []int32, own []uint64, n = len(x)/32",
		doc: "is refUnpackBits on n ≥ 1 times 32 sites.",
	},
	{
		name: "tallyBits", on: both, gate: true, of: "t *ChainTally, now, old, count []uint64", sig: "t *int32 = &t.Up[0], now, old, count []uint64, n = 2*len(now)",
		doc: "is refTallyBits on 1 ≤ n ≤ 255 lanes; t is the first number of one, count that of a Counts.",
	},
	{
		name: "spreadChains", on: both, gate: true, of: "x []int32, own []uint64, place []int32, chains, stride int",
		sig: "x []int32, own []uint64, place []int32, n = len(place), chains int, stride = 4*stride",
		doc: "is refSpreadChains on n ≥ 1 sites and chains ≥ 1; stride is the bytes from a chain to the next.",
	},
	{
		name: "jointHeat", on: both, gate: true,
		of:  "j *Joint, own, to []uint32, near *int32, n, stride, degree int, o *Odds, philox *[20]uint32, aes *[16]uint64, ahead uint64, first, width int",
		sig: jointSig + "keys *[20]uint32 = philox, j *uint64 = &j.asm.philox[0][first/2], ahead uint64", doc: jointDoc,
		cases: map[string]string{
			"":       "j.ars && o.terms == 5: jointHeatARS5; j.ars: jointHeatARS8; o.terms == 5: jointHeat5; jointHeat8",
			"avx512": "width == 16 && j.ars && o.terms == 5: jointHeatARS5; width == 16 && j.ars: jointHeatARS8; width == 16 && o.terms == 5: jointHeat5; width == 16: jointHeat8",
		},
		also: []function{{"jointHeatARS", jointSig + "keys *[16]uint64 = aes, j *uint64 = &j.asm.philox[0][first/2], ahead uint64", jointDoc}},
	},

	// Visits of single sites.
	{
		name: "visit", on: "avx2", gate: true, of: "v *Visits, look, x, sites []int32, words []uint32", ret: "uint64",
		sig:   "v *int64 = &v.asm.moved, look, x, sites []int32, words []uint32, table *uint64 = &v.table[0], n = len(sites)",
		doc:   "is refVisit of what its name says on n ≥ 1 sites; v is a visitsASM. It returns the sum.",
		cases: map[string]string{"": "v.propose: visitPropose; visitHeat"},
	},
	{
		name: "heatRows", on: both, ref: "refHeatRows", of: heatGo, sig: heatRows, ret: "(done, used int)", unless: "len(visits) == 0 || len(near) > RowNear",
		doc:   "is refHeatRows on n ≥ 1 visits, up to the first that needs more than what is left of ties: visits, odds and t are the first numbers of theirs, done is the visits made.",
		cases: map[string]string{"": "kept == nil: heatRows; heatRowsKept", "avx512": "permutes && kept == nil: heatRows; permutes: heatRowsKept"},
		also:  []function{{"heatRowsKept", heatRows + ", kept *byte = &kept[0][0]", "is heatRows with sums that are kept."}},
	},
	{
		name: "heatEights", on: "avx512", need: "permutes", gate: true, ret: "(done, used int)",
		of: heatGo + ", philox bool, key, stream, group uint64", let: "var keys [20]uint32\nif philox {\nkeys = philoxKeys(key)\n}",
		sig:   heatVisit + "words []uint32, " + heatTied + "n = len(visits)/eight, kept *byte = &kept[0][0]",
		doc:   "is refHeatRows on n ≥ 1 groups of eight visits, up to the first that needs more than what is left of ties; done are groups.",
		cases: map[string]string{"": "philox: heatEightsPhilox; heatEights"},
		also: []function{{
			"heatEightsPhilox", heatVisit + philoxKeys + ", " + heatTied + "n = len(visits)/eight, kept *byte = &kept[0][0]",
			"is heatEights with the words of a stream of Philox from counter, a multiple of 16, on.",
		}},
	},
	{
		name: "heatPairs", on: "avx512", need: "permutes", ref: "refHeatPairs", ret: "(done, walked int)", unless: "len(visits) == 0 || len(near) > RowNear",
		of: "rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next [2][]uint32, made int, valid uint64, decided bool, t *[2]RowTally, stop *pairStop",
		sig: heatVisit + "words0 *uint32 = &words[0][0], words1 *uint32 = &words[1][0], next0 *byte = byteAt(next[0], made), next1 *byte = byteAt(next[1], made), " +
			"valid uint64, n = len(visits), decided = known, t *int32 = &t[0].Moved[0], stop *byte = (*byte)(unsafe.Pointer(stop))",
		let: "known := 0\nif decided {\nknown = 1\n}",
		doc: "is refHeatPairs on n ≥ 1 visits; t is the first number of the tallies, stop what refHeatPairs says.",
	},
	{
		name: "sumRows", on: both, gate: true, of: "sum *[ChainBits]int32, rows []Row", sig: "sum *int32 = &sum[0], rows *byte = &rows[0][0], n = len(rows)",
		doc: "is refSumRows on 1 ≤ n ≤ 255 rows.",
	},
}

// shape is a property of a backend that hand-written Go needs, as a function without parameters.
type shape struct {
	name, result, doc string
	// Value by set, as in a row's cases; all other backends have the zero value.
	value map[string]string
}

var shapes = []shape{
	{"gemmWidth", "int", "is the width of a panel: two registers, four with NEON", map[string]string{"avx2": "16", "avx512": "32", "neon": "16"}},
	{"gemmHeights", "[4]int", "are the heights of tiles, the tallest first", map[string]string{"avx2": "[...]int{6, 2, 1, 1}", "avx512": "[...]int{12, 4, 2, 1}", "neon": "[...]int{4, 2, 1, 1}"}},
	{"rowWidth", "int", "is the width of the tile of one row", map[string]string{"avx2": "64", "avx512": "128", "neon": "64"}},
	{"fixedWidth", "int", "is the width of a tile of sums: two registers, four with NEON", map[string]string{"avx2": "fixedColumns", "avx512": "2 * fixedColumns", "neon": "fixedColumns"}},
	{"fixedHeights", "[6]int", "are their heights, see fixedRowsOf", map[string]string{"avx2": "[...]int{5, 5, 2, 1, 1, 1}", "avx512": "[...]int{13, 12, 8, 4, 2, 1}", "neon": "[...]int{3, 3, 2, 1, 1, 1}"}},
	{"wordLanes", "int", "is how many entries logisticWords takes at once", map[string]string{"avx2": "8", "avx512": "16"}},
	{"softmaxTurn", "int", "is how many entries softmaxPairs takes at once", map[string]string{"avx2": "16", "avx512": "32"}},
	{"choiceStep", "int", "is how many groups addChosen takes in one call", map[string]string{"avx2": "choiceGroups", "avx512": "choiceRun"}},
	{"choiceHeights", "[6]int", "are how many states it takes, the most first", map[string]string{"avx2": "[...]int{8, 4, 2, 1, 1, 1}", "avx512": "[...]int{25, 16, 8, 4, 2, 1}"}},
	{"jointWidth", "int", "is how many blocks jointHeat draws together: what a register holds", map[string]string{"avx2": "8", "avx512": "16"}},
	{"jointWidthARS", "int", "is jointWidth of ARS", map[string]string{"avx2": "8", "avx512": "aes512: 16; 8"}},
}
