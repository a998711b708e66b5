// Package picture writes the plots of examples as PNG files of one width.
package picture

import (
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Width is that of every picture.
const Width = 16 * vg.Centimeter

// Save writes a plot to the folder, which it makes if need be, and returns the
// path.
func Save(p *plot.Plot, dir, name string, height vg.Length) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, p.Save(Width, height, path)
}

// Stack writes plots one above the other, their axes aligned, each of the given
// height.
func Stack(panels []*plot.Plot, dir, name string, height vg.Length) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	rows := make([][]*plot.Plot, len(panels))
	for i, p := range panels {
		rows[i] = []*plot.Plot{p}
	}
	img := vgimg.New(Width, vg.Length(len(panels))*height)
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: 2 * vg.Millimeter}
	canvases := plot.Align(rows, tiles, draw.New(img))
	for i, p := range panels {
		p.Draw(canvases[i][0])
	}
	path = filepath.Join(dir, name)
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(file); err != nil {
		file.Close()
		return "", err
	}
	return path, file.Close()
}
