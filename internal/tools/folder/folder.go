// Package folder is how the tools read the folders that they are given.
package folder

import (
	"path"
	"slices"
	"strings"
)

// Among reports whether a slash-separated path is one of some folders or below one. No folders
// hold every path, and so does ".".
func Among(name string, folders []string) bool {
	return len(folders) == 0 || slices.ContainsFunc(folders, func(folder string) bool {
		folder = path.Clean(folder)
		return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
	})
}
