package simd

import "fmt"

// Heat draws the sites of the lanes lane … lane+n−1 of own afresh, one after the other, as
// [HeatBits] does those of each block: lane + p from the digits of lane p of its string,
// ahead groups behind those of Begin. The number of neighbours in state 1 is the sum over
// k = 0, …, degree−1 of lane near[k·stride + p] & (2³¹−1) of own, whose bits are flipped
// where that number is negative; none of these lanes is drawn in the same call. Lanes of
// blocks that there are not are left as they are or drawn, too.
//
// It panics unless 0 ≤ degree ≤ 7, 0 ≤ n ≤ stride, near has the numbers and own the lanes.
// No more than 2³¹ changes of a block may be counted before a call of Moved.
func (j *Joint) Heat(own []uint32, lane, n int, near []int32, stride, degree int, o *Odds, ahead uint64) {
	if degree < 0 || degree > 7 || n < 0 || n > stride || len(near) < (degree-1)*stride+n && degree > 0 {
		panic(fmt.Sprintf("simd: Joint.Heat: n = %d, stride = %d, degree = %d and len(near) = %d, want n ≤ stride, degree ≤ 7 and their product", n, stride, degree, len(near)))
	}
	if lane < 0 || (lane+n)*JointBlocks > len(own) {
		panic(fmt.Sprintf("simd: Joint.Heat: lanes %d … %d of %d", lane, lane+n-1, len(own)/JointBlocks))
	}
	jointHeat(j, own, lane, n, near, stride, degree, o, 16*ahead)
}
