// Package examples is the root of the example programs, one folder each. They form a separate
// module, so that programs that import the library do not depend on plots and progress bars. The
// packages under internal are shared by the examples.
package examples
