package picture

// Album is the pictures of a report, which embeds it.
type Album struct{ figures []*Figure }

// Add appends pictures.
func (a *Album) Add(f ...*Figure) { a.figures = append(a.figures, f...) }

// Figures returns them.
func (a *Album) Figures() []*Figure { return a.figures }
