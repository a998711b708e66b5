package neon

import "fmt"

// fixed writes the products of matrices of 16-bit integers.
func fixed(f *file) {
	for _, rows := range []int{3, 2, 1} {
		f.function(fmt.Sprintf("fixedTile%d", rows), func(k *function) { fixedTile(k, rows) })
	}
}

// fixedTile accumulates the two products of a pair separately and adds them at the end.
func fixedTile(k *function, rows int) {
	sums, at, b, pairs, lda := k.param("acc"), []x{k.param("a")}, k.param("b"), k.param("pairs"), k.param("lda")
	for i := 1; i < rows; i++ {
		at = append(at, k.x())
		k.emit("ADD %v<<1, %v, %v", lda, at[i-1], at[i])
	}
	acc := make([][]v, rows)
	for i := range acc {
		acc[i] = k.vs(8)
		for _, r := range acc[i] {
			k.zero(r)
		}
	}
	cols, in := k.vs(4), k.v()
	k.at("pair")
	k.ldpNext(cols[0], cols[1], b)
	k.ldpNext(cols[2], cols[3], b)
	for i, p := range at {
		k.ld1r(in, p)
		for q, c := range cols {
			k.op("smlal", acc[i][2*q], c, in)
			k.op("smlal2", acc[i][2*q+1], c, in)
		}
	}
	k.emit("SUBS $1, %v, %v", pairs, pairs)
	k.emit("BNE pair")
	for i := range acc {
		for q := range cols {
			k.op("addp.4s", acc[i][2*q], acc[i][2*q], acc[i][2*q+1])
			k.ldr(cols[q], sums, 16*(4*i+q))
			k.op("add.4s", cols[q], cols[q], acc[i][2*q])
			k.str(cols[q], sums, 16*(4*i+q))
		}
	}
}
