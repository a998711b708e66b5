package exact

import "flag"

var long = flag.Bool("long", false, "run the long forms of tests: every case, at full size (see CONTRIBUTING.md)")

// Long reports whether tests are to run in their long form, by the flag -long.
func Long() bool { return *long }
