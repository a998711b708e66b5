// Package picture is the house style of the examples' pictures: panels above each
// other on aligned axes, one legend outside of them, colours that colour-blind
// readers tell apart, and every picture as SVG and PNG.
package picture
