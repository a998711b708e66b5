//go:build !amd64 || purego

package simd

// The kernels that only amd64 has in assembly are the references elsewhere.

func ars(dst []uint32, key, stream, group uint64) { refARS(dst, key, stream, group) }

func jumpThresholds(t []int32, h []float32, x []int32, tau float32, rate JumpRate) {
	refJumpThresholds(t, h, x, tau, rate)
}

func argMax(idx []int32, w []float32, cols int) { refArgMax(idx, w, cols) }

func dot(x, y []float32) float32         { return refDot(x, y) }
func axpy(alpha float32, x, y []float32) { refAxpy(alpha, x, y) }
func scale(alpha float32, x []float32)   { refScale(alpha, x) }
func sum(x []float32) float64            { return refSum(x) }

func softplusSum(x []float32) float64 { return refSoftplusSum(x) }
func expGather(dst []float64, w []float32, idx []int32, shift float64) {
	refExpGather(dst, w, idx, shift)
}
func torusInner(h []float32, table *[8]float32, above, row, below []int32) (pairs, up int) {
	return refTorusInner(h, table, above, row, below)
}

func gumbel(dst []float32, bits []uint32)           { refGumbel(dst, bits) }
func perturb(y, w, noise []float32, scale float32)  { refPerturb(y, w, noise, scale) }
func pull(dst, y, d []float32, mean, scale float32) { refPull(dst, y, d, mean, scale) }
func entropy(lane *[lanes]float64, p, w []float32, m float32) {
	refEntropy(lane, p, w, m)
}

func entropyRows(sum []float64, p, w, m []float32, cols int) {
	refEntropyRows(sum, p, w, m, cols)
}

func sparseField(dst []float64, start, adj []int32, w []float64, x []int32) {
	refSparseField(dst, start, adj, w, x)
}

func addRows(dst []float64, f []float32, src []float64, w []float32, stride int, rows []int32) {
	refAddRows(dst, f, src, w, stride, rows)
}

func addRows64(dst, src, w []float64, stride int, rows []int32) {
	refAddRows64(dst, src, w, stride, rows)
}

func heatBits(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	refHeatBits(dst, count, o, key, stream, group)
}

func heatBitsARS(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	refHeatBitsARS(dst, count, o, key, stream, group)
}

func flipBits(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	refFlipBits(dst, own, near, o, key, stream, group)
}

func flipBitsARS(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	refFlipBitsARS(dst, own, near, o, key, stream, group)
}

func tallyFlips(from, to, before, after, valid []uint64) (forth, back flipTerms) {
	return refTallyFlips(from, to, before, after, valid)
}

func gridBits(near, own []uint64, at int, t *BitTorus, a, b []uint64) {
	refGridBits(near, own, at, t, a, b)
}

func unpackBits(x []int32, own []uint64) { refUnpackBits(x, own) }

func tallyTorus(now, old []uint64, count *Counts) (up, moved, bonds int) {
	return refTallyTorus(now, old, count)
}

func torusBits(count *Counts, own []uint64, at int, near *BitTorus, rows, a, b []uint64) {
	refTorusBits(count, own, at, near, rows, a, b)
}

func spreadBits(x []int32, even, odd []uint64, first, n int) {
	refSpreadBits(x, even, odd, first, n)
}

func foldRows(dst []float64, n int, m []float64, at []int32, coef []float64) {
	refFoldRows(dst, n, m, at, coef)
}
func dots(dst []float64, n int, m []float64, at []int32, x []float64) { refDots(dst, n, m, at, x) }
func foldMax(dst, m []float64, at []int32, coef []float64)            { refFoldMax(dst, m, at, coef) }
func raise(v []float64, by, floor float64) bool                       { return refRaise(v, by, floor) }

func weightsMarked(p, w []float32, m float32, marks [2][]uint16) [2]float64 {
	return refWeightsMarked(p, w, m, marks)
}

func squares(dst, x, m, w []float64)                { refSquares(dst, x, m, w) }
func attract(dst, x, m, w []float64, p float64)     { refAttract(dst, x, m, w, p) }
func polar(r []float64)                             { refPolar(r) }
func dot64(x, y []float64) float64                  { return refDot64(x, y) }
func axpy64(a float64, x, y []float64)              { refAxpy64(a, x, y) }
func gelu(dst, src []float32)                       { refGELU(dst, src) }
func geluSlopes(d, x []float32)                     { refGELUSlope(d, x) }
func inner(w []float64, x []float32) float64        { return refInner(w, x) }
func gap(x, y []float32, s float64) float64         { return refGap(x, y, s) }
func addWide(dst []float64, a float64, x []float32) { refAddWide(dst, a, x) }

func graphBits(count *Counts, own []uint64, near []int32, n, degree int) {
	refGraphBits(count, own, near, n, degree)
}
func visit(v *Visits, look, x, sites []int32, words []uint32) Visited {
	return refVisit(v, look, x, sites, words)
}

func jointHeat(j *Joint, own []uint32, lane, n int, near []int32, stride, degree int, o *Odds, ahead uint64) {
	refJointHeat(j, own, lane, n, near, stride, degree, o, ahead)
}

// JointWidth returns how many blocks a Joint draws in little more time than one: what a
// register holds, 0 without assembly.
func JointWidth() int { return 0 }

func tallyBits(t *ChainTally, now, old []uint64, count *Counts) { refTallyBits(t, now, old, count) }
func spreadChains(x []int32, own []uint64, place []int32)       { refSpreadChains(x, own, place) }

func changes(rows, y, x []int32) int                      { return refChanges(rows, y, x) }
func quads(dst []uint8, x []int32, ld int)                { refQuads(dst, x, ld) }
func addChosen(c, b, _ []float32, n, _, _ int, q *Choice) { refAddChosen(c, n, b, n, n, q) }
func addChosen64(dst []float64, f []float32, ld int, origin []float64, w []float32, q *Choice) {
	refAddChosen64(dst, f, ld, origin, w, len(origin), len(origin), q)
}

func heatRows(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row) (done, used int) {
	return refHeatRows(rows, own, visits, near, odds, words, next, made, ties, valid, t, kept)
}

// atOnce reports whether there is heatOctets.
func atOnce() bool { return false }

func heatOctets(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row, _ bool, _, _, _ uint64) (done, used int) {
	return heatRows(rows, own, visits, near, odds, words, next, made, ties, valid, t, kept)
}

func heatPairs(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next [2][]uint32, made int, valid uint64, decided bool, t *[2]RowTally, stop *pairStop) (done, walked int) {
	return refHeatPairs(rows, own, visits, near, odds, words, next, made, valid, decided, t, stop)
}
func sumRows(sum *[ChainBits]int32, rows []Row) { refSumRows(sum, rows) }
