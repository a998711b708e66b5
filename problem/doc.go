// Package problem states and solves optimisation, sampling and counting problems over named
// variables. A problem states what to minimise, what must hold, and what is preferred.
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
// where the sum is over the preferred conditions and violation_k measures by how much condition k
// is violated (see [Problem.Prefer]). A state is feasible if every required condition holds. An
// expression ([Expr]) is a sum of products, whose factors are functions of a single variable.
// Conditions ([Condition]) compare expressions and combine comparisons.
//
// [Problem.Minimise] returns the feasible states of lowest energy. [Problem.Count] returns the
// number of feasible states. [Problem.Sample] draws from p(x) ∝ exp(−β·E(x)) on the feasible
// states. Answers are exact if one of two methods applies:
//
//   - elimination, which sums out one variable after another (package projection/junction). It
//     applies if the graph that links variables with a common term has low tree-width. A comparison
//     of a long sum adds a chain of variables for its partial sums;
//   - a search that propagates conditions and, for Minimise, bounds the energy. It applies if it
//     finishes within [Config].Search evaluations.
//
// The field Exact of a [SampleSet] states whether the answer is exact. If neither method applies,
// Minimise anneals, and Sample runs Markov chains chosen by trial. Annealing and chains cannot
// enforce conditions. If there are required conditions, Config.Penalty must set the cost of a
// violation. Each row then names the conditions that it violates. Without a penalty the answer is
// an error, never a guess.
//
// [Read] and [Problem.Program] convert between a problem and the program that package energy/read
// reads from a file or writes to one.
package problem
