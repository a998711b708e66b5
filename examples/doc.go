// Package examples holds programs that show gibbsite at work, one folder each. It is a
// module of its own, so that plots and progress bars do not reach programs that import
// the library. Packages under internal are shared by them.
package examples
