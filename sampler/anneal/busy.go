package anneal

import (
	"context"
	"fmt"
	"sync/atomic"
)

// busy is 1 while a run is under way.
type busy uint32

func (b *busy) begin(who string, ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("anneal: %s: Run: ctx = nil", who)
	}
	if !atomic.CompareAndSwapUint32((*uint32)(b), 0, 1) {
		return fmt.Errorf("anneal: %s: Run: another Run of it is under way, want one at a time", who)
	}
	return nil
}

func (b *busy) end() { atomic.StoreUint32((*uint32)(b), 0) }
