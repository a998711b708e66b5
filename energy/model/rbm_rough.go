package model

import (
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// rough is −W in fixed point, made when it is first wanted: nil if it is not good enough.
type rough struct {
	once    sync.Once
	weights *simd.Fixed
}

// words lends rows of logistic functions in fixed point.
var words scratch.Pool[int16]

// fixedField stores the field for proposals of the n rows of act.
func fixedField(fixed *simd.Fixed, h, act []float32, n, hidden, stride int) {
	size := fixed.Words()
	buf := words.Get(n * size)
	defer words.Put(buf)
	for k := range n {
		row := (*buf)[k*size : (k+1)*size]
		simd.LogisticWords(row[:hidden], act[k*stride:k*stride+hidden])
		clear(row[hidden:])
	}
	fixed.Gemm(h, *buf, n)
}
