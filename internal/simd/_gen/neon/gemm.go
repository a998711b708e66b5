package neon

import "fmt"

// gemm writes the register tiles of the matrix products, which add a·b to a tile c of rows × cols.
// Each entry is one fused chain in ascending order of k, so that all tiles give the same bits.
func gemm(f *file) {
	for _, tile := range [][2]int{{4, 16}, {2, 16}, {1, 16}, {1, 64}} {
		rows, cols := tile[0], tile[1]
		f.function(fmt.Sprintf("gemm%dx%d", rows, cols), func(k *function) { gemmTile(k, rows, cols/4) })
	}
	f.function("packRows", packRows)
	f.function("packColumns", packColumns)
}

// gemmTile holds four columns of a row of a in one register, and each product uses one of its
// lanes.
func gemmTile(k *function, rows, parts int) {
	c, b, depth, ldc, ldb := k.param("c"), k.param("b"), k.param("depth"), k.param("ldc"), k.param("ldb")
	at, lda := []x{k.param("a")}, k.param("lda")
	k.emit("LSL $2, %v, %v", ldc, ldc)
	k.emit("LSL $2, %v, %v", ldb, ldb)
	for i := 1; i < rows; i++ {
		at = append(at, k.x())
		k.emit("ADD %v<<2, %v, %v", lda, at[i-1], at[i])
	}
	acc := make([][]v, rows)
	out := k.x()
	k.emit("MOVD %v, %v", c, out)
	for i := range acc {
		acc[i] = k.vs(parts)
		for j := 0; j < parts; j += 2 {
			k.ldp(acc[i][j], acc[i][j+1], out, 16*j)
		}
		k.emit("ADD %v, %v, %v", ldc, out, out)
	}
	ldb4 := min(parts, 4) // registers of b that are loaded at a time
	in, cols := k.vs(rows), k.vs(ldb4)
	row := func(lane int) {
		for j := 0; j < parts; j += ldb4 {
			for i := 0; i < ldb4; i += 2 {
				k.ldp(cols[i], cols[i+1], b, 16*(j+i))
			}
			for i := range rows {
				for h := range ldb4 {
					k.fmlaLane(acc[i][j+h], cols[h], in[i], lane)
				}
			}
		}
		k.emit("ADD %v, %v, %v", ldb, b, b)
	}
	k.emit("SUBS $4, %v, %v", depth, depth)
	k.emit("BLT rest")
	k.at("loop")
	for i, p := range at {
		k.ldrNext(in[i], p)
	}
	for lane := range 4 {
		row(lane)
	}
	k.emit("SUBS $4, %v, %v", depth, depth)
	k.emit("BGE loop")
	k.at("rest")
	k.emit("ADDS $4, %v, %v", depth, depth)
	k.emit("BEQ done")
	k.at("one")
	for i, p := range at {
		k.ld1r(in[i], p)
	}
	row(0)
	k.emit("SUBS $1, %v, %v", depth, depth)
	k.emit("BNE one")
	k.at("done")
	for i := range acc {
		for j := 0; j < parts; j += 2 {
			k.stp(acc[i][j], acc[i][j+1], c, 16*j)
		}
		k.emit("ADD %v, %v, %v", ldc, c, c)
	}
}

func packRows(k *function) {
	dst, src, rows, ld := k.param("dst"), k.param("src"), k.param("rows"), k.param("ld")
	r := k.vs(4)
	k.emit("LSL $2, %v, %v", ld, ld)
	k.at("loop")
	k.ldp(r[0], r[1], src, 0)
	k.ldp(r[2], r[3], src, 32)
	k.emit("ADD %v, %v, %v", ld, src, src)
	k.stpNext(r[0], r[1], dst)
	k.stpNext(r[2], r[3], dst)
	k.emit("SUBS $1, %v, %v", rows, rows)
	k.emit("BNE loop")
}

// packColumns transposes blocks of 4×4 entries, two blocks at a time.
func packColumns(k *function) {
	dst, src, blocks, ld := k.param("dst"), k.param("src"), k.param("blocks"), k.param("ld")
	p := k.x()
	in, mid := k.vs(8), k.vs(8)
	k.emit("LSL $2, %v, %v", ld, ld)
	k.emit("LSL $1, %v, %v", blocks, blocks)
	k.at("block")
	k.emit("MOVD %v, %v", src, p)
	for _, r := range in {
		k.ldr(r, p, 0)
		k.emit("ADD %v, %v, %v", ld, p, p)
	}
	for h := 0; h < 8; h += 4 {
		q, m := in[h:h+4], mid[h:h+4]
		for i := range 2 {
			k.op("zip1.4s", m[2*i], q[i], q[i+2])
			k.op("zip2.4s", m[2*i+1], q[i], q[i+2])
		}
		for i := range 2 {
			k.op("zip1.4s", q[2*i], m[i], m[i+2])
			k.op("zip2.4s", q[2*i+1], m[i], m[i+2])
		}
	}
	for i := range 4 {
		k.stp(in[i], in[4+i], dst, 64*i)
	}
	k.emit("ADD $16, %v, %v", src, src)
	k.emit("ADD $256, %v, %v", dst, dst)
	k.emit("SUBS $1, %v, %v", blocks, blocks)
	k.emit("BNE block")
}
