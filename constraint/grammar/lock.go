package grammar

import "sync"

// lock is a read-write lock for values that are read far more often than written. A reader locks
// one shard and a writer locks all of them. Readers on different cores thus rarely write to the
// same cache line. The zero value is unlocked.
type lock [16]struct {
	sync.RWMutex
	_ [128]byte // no two mutexes share a pair of cache lines, which some processors fetch together
}

// shard returns the shard for the i-th reader.
func (l *lock) shard(i uint32) *sync.RWMutex { return &l[i%uint32(len(l))].RWMutex }

// Lock locks every shard (partial mutex) for writing.
func (l *lock) Lock() {
	for i := range l {
		l[i].Lock()
	}
}

// Unlock unlocks every shard (partial mutex) after writing.
func (l *lock) Unlock() {
	for i := range l {
		l[i].Unlock()
	}
}
