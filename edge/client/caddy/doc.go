// Package caddy is headgate as a handler of Caddy 2.8 and later: Caddy asks a headgate daemon about
// each request by a datagram, and reports the response.
//
//	request ─► Handler ─► client.Client ──datagram──► the daemon: its policies, or one rule
//	              │◄───────── allow, deny ◄───────────┘
//	              ├─► the site ─► report: status, time, size
//	              └─► 429 with Retry-After and RateLimit, or the status that a policy names
//
// It is a module of its own, so that the daemon links nothing of Caddy. To build a Caddy with it,
// from a clone of headgate:
//
//	go build -C edge/client/caddy -o caddy ./cmd/caddy
//	xcaddy build --with github.com/headgate-dev/headgate/edge/client/caddy=./edge/client/caddy --replace github.com/headgate-dev/headgate=.
//
// # Caddyfile
//
//	headgate [<matcher>] [<address>] {
//		timeout          20ms           # how long a request waits for the daemon at most
//		fail             open           # or closed: without a verdict 503, in place of letting it pass
//		rule             login          # one rule, in place of the policies
//		key              {http.request.header.X-Api-Key}    # with rule; default: the client's address
//		headers          X-Api-Key Authorization            # that policies look at
//		response_headers X-Cost         # that policies look at
//		country          {http.vars.country}                # and tier: what a policy matches, by placeholders
//		wait             on             # or off: what a delay allows for later waits here, or is denied
//		deceive          200 "Thank you."                   # in place of denials by policies that deceive; default: they deny
//	}
//
// The address is that of the daemon's datagrams, 127.0.0.1:4290 by default, or
// unix:/run/headgate/udp.sock. The handler runs before redirects and rewrites, and sees the request
// as the visitor sent it.
package caddy
