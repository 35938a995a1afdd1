module github.com/headgate-dev/headgate/bench/rivals

go 1.26.0

require (
	github.com/maypok86/otter/v2 v2.4.0
	github.com/sethvargo/go-limiter v0.7.1
	github.com/throttled/throttled/v2 v2.15.0
	github.com/ulule/limiter/v3 v3.11.2
	golang.org/x/time v0.16.0
)

require (
	github.com/hashicorp/golang-lru v1.0.2 // indirect
	github.com/headgate-dev/headgate v0.0.0
	github.com/pkg/errors v0.9.1 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/headgate-dev/headgate => ../..
