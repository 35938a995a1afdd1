// Package interceptor asks headgate about the calls of a gRPC server: its policies, or one rule.
//
//	call ─► Unary, Stream ─► client.Limiter: a daemon, or a node in the program
//	             │◄──── allow, deny ◄──┘
//	             ├─► the handler ─► report: status, time, and what the call held is given back
//	             └─► RESOURCE_EXHAUSTED, with RetryInfo and grpc-retry-pushback-ms
//
// It is a module of its own, so that the daemon links nothing of gRPC.
//
//	c, err := client.Dial("127.0.0.1:4290")
//	…
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(interceptor.Unary(c)),
//		grpc.ChainStreamInterceptor(interceptor.Stream(c)),
//	)
//
// # A call as policies see it
//
// The method is POST, the path that of the call, /package.Service/Method, the host its authority.
// Headers are its metadata: by default those of client.SentHeaders. The client is the peer, or
// behind trusted proxies the address that they name.
//
// A response counts by its status: OK is 200, UNAUTHENTICATED 401, PERMISSION_DENIED 403, NOT_FOUND
// 404, INTERNAL 500 and so on; see [Status]. The header grpc-status of a response is the code's
// number.
//
// What a delay allows for later waits before its handler, unless [WithoutWait] says otherwise.
// Nothing pretends: the reply that would is of another type for each method, so that calls which a
// policy denies with deceive are denied.
//
// # Without a verdict
//
// Where the daemon does not answer, the client's FailMode decides: FailOpen calls the handler,
// FailClosed ends the call with UNAVAILABLE.
package interceptor
