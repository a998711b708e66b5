package exact

import "context"

// countdown is a context that is cancelled at its n-th look.
type countdown struct {
	context.Context
	n *int
}

func (c countdown) Err() error {
	if *c.n--; *c.n < 0 {
		return context.Canceled
	}
	return nil
}

// Cancelled runs a computation that takes a context once for every point at
// which it looks at the context, cancelled there, and hands the error to check;
// many points are thinned out. It returns how many there are when the
// computation succeeds.
func Cancelled(run func(ctx context.Context) error, check func(err error)) (looks int) {
	for ; ; looks++ {
		left := looks
		err := run(countdown{context.Background(), &left})
		if err == nil {
			return looks
		}
		check(err)
		if looks > 40 {
			looks += looks / 4 // many looks: try some
		}
	}
}
