// Package problem states and solves problems over named variables: what to minimise, what
// must hold, and what is preferred.
//
//	p := problem.New()
//	x, y := p.Integer("x", 0, 9), p.Integer("y", 0, 9)
//	p.Objective(x.Times(y).Minus(x))
//	p.Require("budget", problem.Sum(x, y).AtLeast(7))
//	s, err := p.Minimise(ctx, problem.Config{})
//	fmt.Println(s.Rows[0])
//
// A [Problem] has variables (Binary, Spin, Integer, Category) and an energy
//
//	E(x) = objective(x) + Σ_k weight_k · violation_k(x),
//
// where the sum is over the preferred conditions. A state is feasible if every required
// condition holds. Expressions ([Expr]) are sums of products of functions of one variable
// each; conditions ([Condition]) compare them and combine comparisons.
//
// Three questions can be asked. [Problem.Minimise] returns the feasible states of lowest
// energy, [Problem.Sample] draws from p(x) ∝ exp(−β·E(x)) on the feasible states, and
// [Problem.Count] returns the number of feasible states. Answers are exact if one of two
// methods applies:
//
//   - elimination (package projection/junction), if variables that share a term form a
//     graph of low width. A comparison of a long sum becomes a counter: a chain of partial
//     sums, each with the variable before it;
//   - a search through the assignments that are still possible, with propagation of
//     conditions and, for Minimise, bounds on the energy, if it finishes within
//     [Config].Search.
//
// The field Exact of a [SampleSet] states whether the answer is exact. Otherwise Minimise
// anneals, and Sample runs Markov chains chosen by trial. Neither can enforce conditions:
// if there are any, Config.Penalty must set the cost of a violation, and rows name the
// conditions they violate. Without a penalty the answer is an error, never a guess.
//
// [Read] and [Problem.Program] convert problems from and to the programs that package
// energy/read reads from and writes to files.
package problem
