package main

import (
	"math"

	"gonum.org/v1/plot/plotter"
)

// rounds is the number of layout rounds. Further rounds hardly move a node.
const rounds = 400

// place lays the graph out in the unit square by the method of Fruchterman and Reingold (1991).
// At distance d, nodes repel each other by k²/d and edges attract by d²/k. A temperature, which
// falls to 0, limits the movement per round. The initial layout is a circle.
func place(c *community) plotter.XYs {
	at := make([]complex128, c.n)
	for i := range at {
		s, cos := math.Sincos(2 * math.Pi * float64(i) / float64(c.n))
		at[i] = complex(cos, s)
	}
	k := 2 / math.Sqrt(float64(c.n))
	force := make([]complex128, c.n)
	for round := range rounds {
		clear(force)
		for i := range at {
			for j := range i {
				d, r := apart(at[i] - at[j])
				push := d * complex(k*k/(r*r), 0)
				force[i] += push
				force[j] -= push
			}
		}
		for _, e := range c.edges {
			d, r := apart(at[e.I] - at[e.J])
			pull := d * complex(r/k, 0)
			force[e.I] -= pull
			force[e.J] += pull
		}
		heat := 0.2 * (1 - float64(round)/rounds)
		for i, f := range force {
			f, r := apart(f)
			at[i] += f * complex(math.Min(1, heat/r), 0)
		}
	}
	return unit(at)
}

// apart returns d and its length, but at least 1e−9, to avoid dividing by zero for nodes at the
// same position.
func apart(d complex128) (complex128, float64) {
	return d, math.Max(1e-9, math.Hypot(real(d), imag(d)))
}

// unit scales the layout to the unit square.
func unit(at []complex128) plotter.XYs {
	low, high := complex(math.Inf(1), math.Inf(1)), complex(math.Inf(-1), math.Inf(-1))
	for _, v := range at {
		low = complex(math.Min(real(low), real(v)), math.Min(imag(low), imag(v)))
		high = complex(math.Max(real(high), real(v)), math.Max(imag(high), imag(v)))
	}
	_, wide := apart(complex(real(high-low), 0))
	_, tall := apart(complex(imag(high-low), 0))
	xy := make(plotter.XYs, len(at))
	for i, v := range at {
		xy[i] = plotter.XY{X: real(v-low) / wide, Y: imag(v-low) / tall}
	}
	return xy
}
