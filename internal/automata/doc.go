// Package automata provides what all compilers of finite automata have in common: token
// classes, dense transition tables over these classes, and minimisation to the unique minimal
// table of a language. Packages constraint and constraint/text are built on it. It does not
// enforce limits and does not interpret tokens.
package automata
