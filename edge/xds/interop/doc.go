// Package interop holds rls.xds to go-control-plane's own management server, with its types. It is a
// module of its own, so that neither is a dependency of the daemon.
package interop
