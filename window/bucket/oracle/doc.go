// Package oracle holds the arithmetic of window/bucket against two limiters of other authors:
// throttled, which computes as redis-cell does, and golang.org/x/time/rate. It is a module of its
// own, so that neither is a dependency of the daemon. Run it with
//
//	cd window/bucket/oracle && go test ./...
package oracle
