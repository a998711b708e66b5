package unlearn_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
)

// Move a distribution on four states away from another, until the divergence is
// 0.8.
func ExampleProblem_Solve() {
	u, err := unlearn.New([]float64{0.4, 0.3, 0.2, 0.1}, []float64{0.1, 0.2, 0.3, 0.4})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := u.Solve(context.Background(), unlearn.ReverseKL, []float64{0.8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("λ = %.4f, cost %.4f, p = %.3f\n", s.Lambda[0], s.Cost, s.P)

	// There is a limit to how far multipliers lead.
	_, err = u.Solve(context.Background(), unlearn.ReverseKL, []float64{2.305})
	var critical *unlearn.CriticalError
	fmt.Printf("%t, limit %.4f\n", errors.As(err, &critical), critical.Critical)
	// Output:
	// λ = 0.2809, cost 0.0541, p = [0.542 0.277 0.135 0.046]
	// true, limit 2.3026
}

// What forgetting costs in each formulation.
func ExampleProblem_TradeOff() {
	u, _ := unlearn.New([]float64{0.4, 0.3, 0.2, 0.1}, []float64{0.1, 0.2, 0.3, 0.4})
	points, err := u.TradeOff(context.Background(), []float64{0.9, 0.6}, unlearn.ForwardKL, unlearn.LikelihoodRatio, unlearn.ReverseKL)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range points {
		fmt.Printf("%-16v %.1f costs %.4f at λ = %.4f\n", p.Formulation, p.Unlearned, p.KL, p.Lambda)
	}
	// Output:
	// forward-kl       0.9 costs 0.0044 at λ = 0.0764
	// forward-kl       0.6 costs 0.1120 at λ = 0.2487
	// likelihood-ratio 0.9 costs 0.0044 at λ = 0.0911
	// likelihood-ratio 0.6 costs 0.0930 at λ = 0.5859
	// reverse-kl       0.9 costs 0.0053 at λ = 0.1037
	// reverse-kl       0.6 costs 0.1114 at λ = 0.3710
}
