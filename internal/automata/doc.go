// Package automata owns what every compiler of finite automata needs, whatever
// its input is made of: token classes, dense tables over them, and the one
// minimal table of a language. Packages constraint and constraint/text build on
// it; it knows neither limits nor what tokens mean.
package automata
