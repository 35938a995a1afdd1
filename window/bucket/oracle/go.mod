module github.com/headgate-dev/headgate/window/bucket/oracle

go 1.26.0

require (
	github.com/headgate-dev/headgate v0.0.0
	github.com/throttled/throttled/v2 v2.15.0
	golang.org/x/time v0.16.0
)

replace github.com/headgate-dev/headgate => ../../..
