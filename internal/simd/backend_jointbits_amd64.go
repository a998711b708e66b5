//go:build amd64 && !purego

package simd

// jointTerms bounds the lanes of a call of jointHeat, at up to 200 ns each with AVX2: a
// multiple of 16.
const jointTerms = 256

// JointWidth returns how many blocks a Joint draws in little more time than one: what a
// register holds, 0 without assembly.
func JointWidth() int { return [...]int{purego: 0, avx2: 8, avx512: 16}[best] }

func jointHeat(j *Joint, own []uint32, lane, n int, near []int32, stride, degree int, o *Odds, ahead uint64) {
	if best == purego || n == 0 || j.ars && !aes128 {
		refJointHeat(j, own, lane, n, near, stride, degree, o, ahead)
		return
	}
	for at := 0; at < n; at += jointTerms {
		from := near
		if degree > 0 {
			from = near[at:]
		}
		jointHeatRun(j, own, lane+at, min(jointTerms, n-at), from, stride, degree, o, ahead+uint64(16*at*BitGroups/16))
	}
}

//go:noinline
func jointHeatRun(j *Joint, own []uint32, lane, n int, near []int32, stride, degree int, o *Odds, ahead uint64) {
	var beside *int32
	if degree > 0 {
		beside = &near[0]
	}
	philox, aes := philoxKeys(j.key), arsKeys(j.key)
	to := own[lane*JointBlocks:]
	if best == avx512 && (!j.ars || aes512) {
		rows := &j.asm.philox[0][0]
		switch {
		case j.ars && o.terms == 5:
			jointHeatARS5AVX512(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &aes, rows, ahead)
		case j.ars:
			jointHeatARS8AVX512(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &aes, rows, ahead)
		case o.terms == 5:
			jointHeat5AVX512(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &philox, rows, ahead)
		default:
			jointHeat8AVX512(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &philox, rows, ahead)
		}
		return
	}
	for half := 0; 8*half < j.blocks; half++ {
		rows, own, to := &j.asm.philox[0][4*half], own[8*half:], to[8*half:]
		switch {
		case j.ars && o.terms == 5:
			jointHeatARS5AVX2(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &aes, rows, ahead)
		case j.ars:
			jointHeatARS8AVX2(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &aes, rows, ahead)
		case o.terms == 5:
			jointHeat5AVX2(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &philox, rows, ahead)
		default:
			jointHeat8AVX2(&own[0], &to[0], beside, n, 4*stride, degree, &o.digits, &philox, rows, ahead)
		}
	}
}
