package drawfile

// Page gathers consecutive draws of a block.
type Page struct {
	block, first, many int
	body, out          []byte
}

// Begin empties the page, for draws of a block from a number on.
func (p *Page) Begin(block int) { p.block, p.many, p.body = block, 0, p.body[:0] }

// Draw begins the next draw, and returns what its states and infos are to be
// appended to; the result goes to [Page.Drawn].
func (p *Page) Draw(draw int) []byte {
	if p.many == 0 {
		p.first = draw
		p.body = append(p.body[:0], make([]byte, frameHead)...)
	}
	p.many++
	return p.body
}

// Drawn takes a draw.
func (p *Page) Drawn(b []byte) (full bool) {
	p.body = b
	return len(b) >= pageSize
}

// pageSize is what is written at a time, if there is so much.
const pageSize = 1 << 16
