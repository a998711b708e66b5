package durable

import (
	"os"
	"strings"
)

// lockFile creates a file for exclusive use. The file server lets only one process open it at a
// time.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666|os.ModeExclusive)
	if err != nil {
		// As the Go command knows them from Plan 9's file servers.
		for _, text := range []string{"file is locked", "exclusive lock", "exclusive use file already open"} {
			if strings.Contains(err.Error(), text) {
				return nil, ErrInUse
			}
		}
		return nil, err
	}
	return func() { _, _ = os.Remove(name), f.Close() }, nil
}
