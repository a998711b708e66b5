// Package read reads models from files: graphs in rudy's format ([Rudy]),
// quadratic energies as lists of coefficients ([COO]) and restricted
// Boltzmann machines as NumPy arrays ([RBM]).
//
// Readers refuse what they do not understand, with the line and column, and
// bound what a short input can make them allocate.
package read
