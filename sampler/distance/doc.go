// Package distance says how far samples are from data: the Fréchet distance of
// Gaussians and dynamic time warping. Its figures decide no sample.
package distance
