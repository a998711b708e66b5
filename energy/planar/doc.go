// Package planar computes exact partition functions, energies and correlations of Ising models on
// planar graphs. The models have no field; couplings may have any sign. An example is a spin glass
// on a square lattice of 200 × 200 sites with free boundaries.
//
//	d, err := planar.New(m, at) // at[i] is where site i is drawn in the plane
//	logZ, err := d.LogZ(ctx)
//
// # Method
//
// With spins s = ±1 and a coupling K_e on each edge e, the partition function of n sites is
//
//	Z = 2ⁿ ∏ cosh K_e · Σ ∏ tanh K_e,
//
// where the sum is over the sets of edges that meet every site an even number of times. On a planar
// graph the sum is the Pfaffian of a skew-symmetric matrix (Kac and Ward 1952; Kasteleyn 1963). The
// matrix has a row for each end of an edge, and its signs follow from the directions of the edges
// in a straight-line drawing. The matrix is eliminated by nested dissection of the drawing (Lipton,
// Rose and Tarjan 1979), in about n^1.5 operations.
//
// At low temperatures terms of both signs cancel, and relative errors grow like e^(2·max |K|) times
// 10⁻¹⁶. For graphs that are not planar and models with fields see package projection/junction.
package planar
