module github.com/gibbsite-go/gibbsite/sampler/beam

go 1.26.0

require (
	github.com/apache/beam/sdks/v2 v2.77.0
	github.com/gibbsite-go/gibbsite v0.1.0
	github.com/stretchr/testify v1.12.1
)
