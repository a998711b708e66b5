package projection

import (
	"context"
	"errors"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// blame adds to an infeasibility the parts of the language that clash.
func (p Path) blame(ctx context.Context, err error, sites, levels int) error {
	var dead *InfeasibleError
	product, ok := p.Language.(constraint.Product)
	if !ok || !errors.As(err, &dead) {
		return err
	}
	for _, part := range p.clash(ctx, product.Parts(), sites, levels) {
		dead.Clash = append(dead.Clash, automata.Name(part))
	}
	return err
}

// clash returns parts that have no sequence in common, every one of them needed
// for that: each part goes that can (deletion; Chinneck, Feasibility and
// Infeasibility in Optimization, 2008, chapter 2). A part stays where it is too
// costly to tell.
func (p Path) clash(ctx context.Context, parts []constraint.Automaton, sites, levels int) []constraint.Automaton {
	left := slices.Clone(parts)
	for i := 0; i < len(left); {
		fewer := slices.Delete(slices.Clone(left), i, i+1)
		both, err := constraint.Intersect(fewer...)
		if err == nil {
			p.Language = both
			_, err = p.compile(ctx, sites, levels, 1)
		}
		if errors.Is(err, constraint.ErrInfeasible) {
			left = fewer
		} else {
			i++
		}
	}
	return left
}
