// Package npy reads and writes arrays in NumPy's .npy format, versions 1 to 3
// (NumPy Enhancement Proposal 1): one array of float32, float64 or int32 of any
// shape. In memory arrays are always flat and row-major (C order); a file in
// Fortran order is transposed on the way in.
//
// Headers are not trusted. Memory grows with the data that arrives, never with
// the size that a header claims.
package npy
