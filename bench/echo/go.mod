module github.com/headgate-dev/headgate/bench/echo

go 1.26.0

require (
	github.com/valyala/fasthttp v1.74.0
	golang.org/x/net v0.62.0
)

require (
	github.com/klauspost/compress v1.20.0 // indirect
	github.com/molecule-man/go-brrr v1.0.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
