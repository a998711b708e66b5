// Package problem states problems by named variables and solves them: what is
// minimised, what must hold, and what is preferred.
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
// where the sum is over the conditions that are preferred. A state is feasible if every
// required condition holds. Expressions ([Expr]) are sums of products of functions of one
// variable each; conditions ([Condition]) compare them and combine comparisons.
//
// There are three questions. [Problem.Minimise] asks for the feasible states of lowest
// energy, [Problem.Sample] for draws from p(x) ∝ exp(−β·E(x)) on feasible states, and
// [Problem.Count] for the number of feasible states. Answers are exact where one of two
// ways is open:
//
//   - elimination (package projection/junction), if variables that share a term form a
//     graph of low width. A comparison of a long sum becomes a counter: a chain of partial
//     sums, each with the variable before it;
//   - a search through the assignments that are still possible, with propagation of
//     conditions and, for Minimise, bounds on the energy, if it ends within
//     [Config].Search.
//
// A [SampleSet] states in Exact whether its answer is of this kind. Otherwise Minimise
// anneals and Sample runs Markov chains chosen by trial. These know no conditions: if there
// are any, Config.Penalty must say what a violation costs, and rows name what they violate.
// Without it the answer is an error, never a guess.
//
// [Read] and [Problem.Program] exchange problems with the files that package energy/read
// reads and writes.
package problem
