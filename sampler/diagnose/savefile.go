package diagnose

import (
	"fmt"
	"io"
	"os"
)

// saveFile fills path.partial and then renames it.
func saveFile(path string, write func(io.Writer) error) (err error) {
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(partial)
		}
	}()
	if err = write(f); err != nil {
		f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	if err = os.Rename(partial, path); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	return nil
}
