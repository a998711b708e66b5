module github.com/gibbsite-go/gibbsite/site

go 1.26.0

require (
	github.com/gibbsite-go/gibbsite v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

// The site is built from the tree that it describes.
replace github.com/gibbsite-go/gibbsite => ../
