package setup

// envoys are the snippets for Envoy, for gateways made of Envoy, and for the last of the others.
var envoys = []snippet{
	{
		name:    "envoy",
		proxy:   "Envoy (rate limit service, over gRPC)",
		address: atGRPC,
		other:   "unix:/run/headgate/grpc.sock",
		dir:     "/etc/envoy",
		sockets: true,
		spell:   spellEnvoy,
		whole: form{
			door: "gRPC", files: []string{"envoy/headgate-rls.yaml"}, waits: true, next: nextEnvoy,
			use: "One file: a filter for http_filters, rate limits for the virtual hosts to " +
				"guard, and a cluster for clusters. headgate.yaml needs listen.grpc.",
		},
	},
	{
		name:    "envoy-authz-grpc",
		proxy:   "Envoy (ext_authz over gRPC)",
		address: atGRPC,
		other:   "unix:/run/headgate/grpc.sock",
		dir:     "/etc/envoy",
		sockets: true,
		spell:   spellEnvoy,
		whole: form{
			door:  "gRPC",
			files: []string{"envoy/headgate-authz-grpc.yaml"},
			waits: true,
			next:  nextEnvoy,
			use: "One file: a filter for http_filters and a cluster for clusters. headgate.yaml " +
				"needs listen.grpc.",
		},
	},
	{
		name:    "envoy-authz",
		proxy:   "Envoy (ext_authz over HTTP)",
		address: atHTTP,
		dir:     "/etc/envoy",
		spell:   spellIP,
		whole: form{
			door: "HTTP", files: []string{"envoy/headgate-authz.yaml"}, waits: true,
			use:  "One file: a filter for http_filters and a cluster for clusters.",
			next: nextEnvoy,
		},
	},
	{
		name:    envoyGateway,
		proxy:   "Envoy Gateway, in place of its rate limit service",
		address: "envoy-gateway:18001",
		other:   "envoy-gateway.gateways:18001",
		cluster: true,
		whole: form{
			door: "gRPC", files: []string{"envoy-gateway/headgate.yaml"}, waits: true,
			use: "One file: headgate's configuration, a part of Envoy Gateway's, and a limit as " +
				"an example.\nEnvoy Gateway sends the limits to headgate.",
			next: "read its comments; then look at: headgate rls",
		},
	},
	{
		name:    "istio",
		proxy:   "Istio's gateways (EnvoyFilter)",
		address: inCluster,
		cluster: true,
		whole: form{
			door: "gRPC", files: []string{"istio/headgate.yaml"}, waits: true, next: nextKubectl,
			use: "One file: an EnvoyFilter with the filter, the rate limits and the cluster. " +
				"headgate.yaml\nneeds listen.grpc.",
		},
	},
	{
		name:    "kgateway",
		proxy:   "kgateway (GatewayExtension and TrafficPolicy)",
		address: inCluster,
		other:   "headgate.edge:4294",
		cluster: true,
		spell:   spellService,
		whole: form{
			door: "gRPC", files: []string{"kgateway/headgate.yaml"}, waits: true, next: nextKubectl,
			use: "One file: the extension, and a policy as an example. headgate.yaml needs " +
				"listen.grpc.",
		},
	},
	{
		name:    "ingress-nginx",
		proxy:   "ingress-nginx, retired in March 2026: for clusters that still have it",
		address: "headgate.headgate.svc.cluster.local:4291",
		cluster: true,
		whole: form{
			door: "HTTP", files: []string{"ingress-nginx/headgate.yaml"}, waits: true,
			use:  "One file: annotations for each Ingress to guard.",
			next: "run: kubectl patch ingress NAME --patch-file headgate.yaml",
		},
	},
}
