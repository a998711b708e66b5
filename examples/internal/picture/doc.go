// Package picture draws the examples' pictures in one style: stacked panels on aligned
// axes, one legend outside of them, colours that colour-blind readers can distinguish,
// and every picture as SVG and PNG.
package picture
