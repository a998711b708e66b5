// Package folder interprets the folder arguments of the tools.
package folder

import (
	"path"
	"slices"
	"strings"
)

// Among reports whether a slash-separated path is in or below one of the folders. An empty list
// and the folder "." include every path.
func Among(name string, folders []string) bool {
	return len(folders) == 0 || slices.ContainsFunc(folders, func(folder string) bool {
		folder = path.Clean(folder)
		return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
	})
}
