module github.com/gibbsite-go/gibbsite/internal/simd/_gen

go 1.26.0
