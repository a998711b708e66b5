package main

// row is one line of the printed table.
type row struct {
	label string
	bench string // name of the benchmark, without its backend
	// Times at the reference clock; floor is 0 if there is none, and may be fma.
	floor, target float64
	peer          string // operation that PyTorch times; "" for none
	// Elements or floating-point operations of a call of the peer; 0 means that times are in ms.
	size float64
	unit string // unit of the benchmark; "" means ns/elem
	dir  string // directory of the package, from the root; "" means internal/simd, on each backend
}

// fma marks the floor of a matrix product, which is the rate of fused multiply-adds that peak
// measures.
const fma = -1

// reference is the clock frequency, in GHz, at which floors and targets are stated.
const reference = 4.45

// forward and products are numbers of floating-point operations in matrix products.
const (
	forward  = 2 * 32 * 64 * (6*(12*256*256+2*64*256) + 256*512)
	products = 2 * 100 * 784 * 500
)

var rows = []row{
	{label: "softmax 64×512", bench: "Rows/Softmax/64x512", floor: 0.115, target: 0.21, peer: "softmax 64x512", size: 64 * 512},
	{label: "softmax 1024×40", bench: "Rows/Softmax/1024x40", target: 0.45, peer: "softmax 1024x40", size: 1024 * 40},
	{label: "softmax 1024×2", bench: "Rows/Softmax/1024x2", floor: 0.18, target: 0.22, peer: "softmax 1024x2", size: 1024 * 2},
	{label: "softmax 32×50257", bench: "Rows/Softmax/32x50257", target: 0.25, peer: "softmax 32x50257", size: 32 * 50257},
	{label: "log-softmax 64×512", bench: "Rows/LogSoftmax/64x512", peer: "log-softmax 64x512", size: 64 * 512},
	{label: "log-sum-exp 64×512", bench: "Rows/LogSumExp/64x512", peer: "log-sum-exp 64x512", size: 64 * 512},
	{label: "categorical 4×50000", bench: "Rows/FreshCategorical/4x50000", floor: 0.19, target: 0.25, peer: "categorical 4x50000", size: 4 * 50000},
	{label: "categorical 64×512", bench: "Rows/FreshCategorical/64x512", floor: 0.21, target: 0.30, peer: "categorical 64x512", size: 64 * 512},
	{label: "categorical 1024×40", bench: "Rows/FreshCategorical/1024x40", target: 0.60, peer: "categorical 1024x40", size: 1024 * 40},
	{label: "entropy 64×512", bench: "Rows/Entropy/64x512", peer: "entropy 64x512", size: 64 * 512},
	{label: "Gumbel-softmax and pullback 64×512", bench: "Rows/GumbelSoftmax/64x512", floor: 0.66, target: 0.85, peer: "gumbel-softmax 64x512", size: 64 * 512},
	{label: "arg max 64×512", bench: "Rows/ArgMax/64x512", peer: "arg max 64x512", size: 64 * 512},
	{label: "flip: thresholds, draw, log q", bench: "Flip/Whole/16384", target: 0.53, peer: "flip 16384", size: 16384},
	{label: "flip thresholds alone", bench: "Flip/Thresholds/16384"},
	{label: "reverse log q", bench: "Flip/LogProb/16384"},
	{label: "Philox, per word", bench: "Random/Philox", floor: 0.194},
	{label: "ARS-7, per word", bench: "Random/ARS", floor: 0.053},
	{label: "SGEMM 100×784×500 (GFLOP/s)", bench: "Gemm/Gemm/100x784x500", floor: fma, unit: "GFLOP/s", peer: "gemm 100x784x500", size: products},
	{label: "SGEMM 100×500×784, b transposed (GFLOP/s)", bench: "Gemm/GemmT/100x500x784", floor: fma, unit: "GFLOP/s", peer: "gemmt 100x500x784", size: products},
	{label: "SGEMV 784×500 (GFLOP/s)", bench: "Gemm/Gemm/1x784x500", unit: "GFLOP/s", peer: "gemv 784x500", size: products / 100},
	{label: "softplus sum 500", bench: "Double/SoftplusSum/500"},
	{label: "float64 exp-gather 500", bench: "Double/ExpGather/500"},
	{label: "add rows, 50 of 512", bench: "AddRows/50x512"},
	{label: "torus field 50²", bench: "Double/Torus/50"},
	{label: "torus field 1024²", bench: "Double/Torus/1024"},
	{label: "sparse field, degree 48", bench: "Sparse/Field/48"},
	{label: "heat bath of bits, per spin", bench: "Bits/Heat"},
	{label: "heat bath of bits with ARS-7, per spin", bench: "Bits/HeatARS"},
	{label: "counts of bits, per spin", bench: "Bits/Tally"},
	{label: "neighbours of bits, per spin", bench: "Bits/Torus"},
	{label: "numbers of bits, 512 a row, per spin", bench: "Bits/Spread/512"},
	{label: "DMALA, 100 chains, 50×50 torus (ms a step)", bench: "DMALA/model=torus/side=50", dir: ".", unit: "ms/step", peer: "dmala torus 50"},
	{label: "DMALA, 100 chains, RBM 784×500 (ms a step)", bench: "DMALA/model=rbm/784x500", dir: ".", unit: "ms/step", target: 0.5, peer: "dmala rbm"},
	{label: "heat bath, 1024×1024 torus, Philox (ns a spin)", bench: "GibbsTorus/side=1024/Philox4x32-10/read=false", dir: "internal/sweep", unit: "ns/site", target: 0.13},
	{label: "heat bath, 1024×1024 torus, ARS-7 (ns a spin)", bench: "GibbsTorus/side=1024/ARS4x32-7/read=false", dir: "internal/sweep", unit: "ns/site", target: 0.07},
	{label: "Gibbs, 5×5 torus, 64 chains, Philox (ns a spin)", bench: "WordBatch/torus=5/Philox4x32-10/chains=64", dir: "internal/sweep", unit: "ns/site", target: 0.5},
	{label: "Gibbs, 5×5 torus, 512 chains, Philox (ns a spin)", bench: "WordBatch/torus=5/Philox4x32-10/chains=512", dir: "internal/sweep", unit: "ns/site", target: 0.12},
	{label: "Gibbs, 5×5 torus, 512 chains, ARS-7 (ns a spin)", bench: "WordBatch/torus=5/ARS4x32-7/chains=512", dir: "internal/sweep", unit: "ns/site"},
	{label: "heat bath, 64 chains, 800 sites of 48 neighbours, β = 0.1 (ns an update)", bench: "RowBatch/beta=0.1/Philox4x32-10/chains=64", dir: "internal/sweep", unit: "ns/update", target: 0.3},
	{label: "heat bath, 64 chains, 800 sites of 48 neighbours, β = 1 (ns an update)", bench: "RowBatch/beta=1/Philox4x32-10/chains=64", dir: "internal/sweep", unit: "ns/update", target: 0.3},
	{label: "block Gibbs, 100 chains, RBM 784×500 (ms a step)", bench: "BlockGibbs/model=rbm/784x500", dir: ".", unit: "ms/step", target: 0.85, peer: "block gibbs rbm"},
	{label: "transformer 6×256, L 64, V 512, batch 32, forward (GFLOP/s)", bench: "Forward/network", floor: fma, dir: "energy/neural", unit: "GFLOP/s", peer: "forward 6x256", size: forward},
	{label: "transformer 4×128, L 32, V 20, batch 64, forward and backward (ms)", bench: "Training", dir: "energy/neural", unit: "ms/step", peer: "training 4x128"},
}

// convert converts the time of a call of the peer, in nanoseconds, to the unit of the row.
func (r row) convert(ns float64) float64 {
	switch r.unit {
	case "GFLOP/s":
		return r.size / ns
	case "ms/step":
		return ns / 1e6
	}
	return ns / r.size
}
