package pushdown

// task is a span that leaves by exit κ at site e.
type task struct {
	span
	e, exit int
}

// step is one way in which a value came about.
type step struct {
	kind     stepKind
	from     int32 // state or half
	w        int32 // edge: its weight
	group, k int32 // of a return: group and exit of the callee
	site     int   // of a call
	row      int32 // of the callee
}

type stepKind uint8

const (
	byEdge stepKind = iota
	byReturn
	byHalf
)

// span is a call: start s at site c. The whole sequence has s = −1, c = −1.
type span struct{ c, s int }
