// Package read reads models and optimisation problems from files in common formats. Each format has
// a function of the same name:
//
//	Rudy      graphs of the generator rudy and the Gset
//	DIMACS    graphs of the DIMACS challenges       (.col, .clq)
//	COO       quadratic energies as lists of coefficients
//	CSV       quadratic energies as matrices, with names
//	QBSolv    QUBOs of D-Wave's qbsolv               (.qubo)
//	BQM       binary quadratic models of dimod       (.json)
//	BQPJSON   binary quadratic programs of bqpjson   (.json)
//	UAI       graphical models of the UAI competitions (.uai)
//	BIF       Bayesian networks with names           (.bif)
//	WCSP      weighted constraint networks           (.wcsp)
//	RBM       restricted Boltzmann machines as NumPy arrays (.npy)
//
// [NewProgram] reads optimisation problems with constraints (LP, MPS, QPLIB, MQLib, CNF, CQM), and
// the quadratic formats above, into one type. [FormatOf] recognises their formats.
//
// If a reader does not understand the input, it returns an error that names the line and column. A
// byte order mark at the beginning of a text is skipped. Readers limit the memory that a short
// input can make them allocate.
package read
