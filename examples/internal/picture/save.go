package picture

import (
	"bytes"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// fonts are what a reader without the Liberation fonts is shown: fonts of the
// same widths first.
const fonts = "'Liberation Sans', Arial, Helvetica, sans-serif"

// SVG returns the figure as an SVG document.
func (f *Figure) SVG() ([]byte, error) {
	l := f.arrange()
	c := vgsvg.New(l.size.X, l.size.Y)
	f.draw(draw.New(c), l)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:"+fonts)), nil
}

// PNG returns the figure as a PNG image of 144 points to the inch.
func (f *Figure) PNG() ([]byte, error) {
	l := f.arrange()
	c := vgimg.NewWith(vgimg.UseWH(l.size.X, l.size.Y), vgimg.UseDPI(144))
	f.draw(draw.New(c), l)
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}

// Save writes the figure to a folder as SVG and PNG and returns the two paths.
func (f *Figure) Save(dir string) ([]string, error) {
	var paths []string
	for _, kind := range []struct {
		extension string
		bytes     func() ([]byte, error)
	}{{".svg", f.SVG}, {".png", f.PNG}} {
		b, err := kind.bytes()
		if err != nil {
			return paths, err
		}
		path := filepath.Join(dir, f.Name+kind.extension)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
