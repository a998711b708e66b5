// Package automata provides the parts that all compilers of finite automata share: token classes,
// dense transition tables over the classes, and minimisation to the unique minimal table of a
// language. Packages constraint and constraint/text are built on this package. Package automata
// does not enforce limits and does not interpret tokens.
package automata
