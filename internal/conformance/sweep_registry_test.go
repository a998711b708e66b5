package conformance_test

import "reflect"

// The exported functions and structs of the module, which the sweep calls: none in
// this build of the tests. [sweepBinary] builds them anew with all of them in place of
// this file.
var (
	sweptFuncs map[string]any
	sweptTypes []reflect.Type
)
