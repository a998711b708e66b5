package trellis

import "github.com/gibbsite-go/gibbsite/internal/simd"

func exp(x float64) float64 { return simd.Exp(x) }
func log(x float64) float64 { return simd.Log(x) }
