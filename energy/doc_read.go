// Package read reads models from files: graphs in rudy's format ([ReadRudy]),
// quadratic energies as lists of coefficients ([ReadCOO]) and restricted
// Boltzmann machines as NumPy arrays ([ReadRBM]).
//
// Readers refuse what they do not understand, with the line and column, and
// bound what a short input can make them allocate.
package energy
