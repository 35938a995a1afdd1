// Package interop holds the gRPC door to what others make: h2spec beside a bare grpc-go server,
// clients by grpc-go and gRPC's C core, and Envoy's own protobuf types. It is a module of its own,
// so that none of them is a dependency of the daemon.
package interop
