// Package automata holds what every compiler of finite automata needs: token classes,
// dense tables over them, and the unique minimal table of a language. Packages constraint
// and constraint/text build on it. It knows neither limits nor the meaning of tokens.
package automata
