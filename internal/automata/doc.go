// Package automata provides the parts that all compilers of finite automata share. These are
// token classes, dense transition tables over the classes, and minimisation to the unique minimal
// table of a language. Packages constraint and constraint/text are built on it. It does not
// enforce limits and does not interpret tokens.
package automata
