package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/mitigation"
)

// fields describes every top-level field of c's file, in the order of Marshal.
func (c *Config) fields() []field {
	headers := described("headers", &c.Headers, answerHeaders, "draft-10",
		"Headers that say how much is left, of `listen.http` and `listen.spop`: "+
			"`RateLimit` and `RateLimit-Policy`; `X-RateLimit-Limit`, `-Remaining` and "+
			"`-Reset`, a Unix second; both.").atStart()
	return slices.Concat(c.nodeFields(), []field{headers}, c.requestFields(), c.policyFields())
}

// nodeFields describes the fields of the node itself.
func (c *Config) nodeFields() []field {
	return []field{
		described("node", &c.Node, nodeNames, `""`,
			"The name of this node, unique among all nodes. Empty: the host name.").atStart(),
		described("pop", &c.PoP, names(MaxPoPName, "characters"), "local",
			"The point of presence (PoP) of this node: all nodes with this name and the same "+
				"ring servers count together.").atStart(),
		group("listen", "Where decisions and the admin interface are served.",
			c.Listen.fields()),
		group("tls", "TLS of listen.grpc and listen.resp.",
			c.TLS.fields()),
		group("resp", "Redis clients, at listen.resp.",
			c.RESP.fields()),
		group("rls", "Limits of envoyproxy/ratelimit, at listen.grpc.",
			c.RLS.fields()),
		described("admin_token_file", &c.AdminTokenFile, paths, `""`,
			"A file with the token that changes need, and off loopback nearly every admin "+
				"request. Required when `listen.admin` is neither loopback nor a "+
				"unix socket. Not accepted when everybody may write it. A reload reads it again."),
		described("memory", &c.Memory, sizes(MinMemory, MaxMemory), "64MiB",
			"The memory for counters and mitigations, reserved at start, with the parts for "+
				"surges and `history`. 64MiB have 95,616 exact slots, with a ring 63,136. "+
				"With gossip an eighth is for keys of scope `global`. `headgate suggest` takes a "+
				"sixteenth more at most. The process stays within `memory` + sets + 64MiB under "+
				"floods of keys, and + 128MiB while every door is full "+
				"of clients that end no request and read no answer. Sets are the bytes that "+
				"`config check` prints; they count twice while a reload changes them. The "+
				"kernel's buffers come on top; `GOMEMLIMIT` goes before.").atStart(),
		described("state_dir", &c.StateDir, paths, `""`,
			"A directory for `headgate.state`, which keeps blocks, allows and the counts of "+
				"busy keys over a restart. It is written every second while something changes. "+
				"`digest.key` keys the digests in keys of policies where no "+
				"`gossip.key_file` does. One daemon a directory. Empty: nothing is kept. The "+
				"packaged systemd unit creates `/var/lib/headgate` for it.").atStart(),
		group("ring", "The memcached servers with which the nodes of a PoP count together.",
			c.Ring.fields()),
		group("gossip", "The exchange with the other nodes.",
			c.Gossip.fields()),
	}
}

// requestFields describes the fields about requests and their limits.
func (c *Config) requestFields() []field {
	return []field{
		group("tickets", "Responses that are reported.", []field{described("keep", &c.TicketKeep,
			durations(MinTicketKeep, MaxTicketKeep), "60s",
			"How long a policy that counts by the response waits for its report. Later "+
				"reports are answered `late=1`.")}),
		group("surge", "The common properties of the requests of a surge.",
			c.Surge.fields()),
		group("history", "The past of keys.", []field{historyMemory(&c.History)}),
		// The rule is made for names alone: below lists the fields of an item.
		{
			name: "rules", read: set(&c.Rules, rules), below: ruleFields(new(mitigation.Rule)),
			print: func() any { return printedRules(c.Rules) },
		},
		// Policies, their sets and their clients have faults of their own kind, with a place for
		// each condition. Marshal writes them as read.
		documented("clients", func(v value) { clients(v, &c.Policies.Clients) },
			"fields: from, trusted, hops, ipv4, ipv6, path, path_fold", "{}",
			"How the address of the client is found. Headers of senders in the networks of "+
				"`trusted` are used (127.0.0.0/8 and ::1/128). Behind one of them the client "+
				"stands in the header `from` (x-forwarded-for; forwarded, peer, or a header with "+
				"one address): it is the rightmost address of the list that is not trusted, or "+
				"exactly the `hops`-th from the right. `ipv4` (8 to 32, default 32) and `ipv6` "+
				"(16 to 128, default 64) are the bits of an address that make a key. `path: raw` "+
				"matches paths as they are sent. `path_fold` (default [slash]; slash, case, "+
				"params, tail) lists the spellings that the site takes for one path."),
		documented("sets", func(v value) { c.Policies.Sets = namedSets(v) },
			"names, each with one of cidr, cidr_file, values, table, table_file", "{}",
			"Named lists: of networks (`cidr`, or a file with one a line); of `values`, exact "+
				"or with * at the end; or of values with a tier beside each (`table`, or a file "+
				"with `value,tier` a line). Policies name them with @. A file that lost more than "+
				"half of ten or more entries fails the reload, unless `allow_shrink: true` stands "+
				"beside it, or with `reload --force`. With `watch: 10s` (1s to 1h) a changed file "+
				"is read. All sets hold at most 1,000,000 entries."),
	}
}

// policyFields describes the list of policies and the names they use.
func (c *Config) policyFields() []field {
	return []field{
		documented("pools", set(&c.Pools, pools), "list of at most 64", "[]",
			"Things that can be busy, such as workers or a database. Whoever knows reports "+
				"the share in use (`load NAME 0.93`), and policies name the pool with `pool`. "+
				"Each has `name`, `shed_above` (0.85) and `restore_below` (0.70): once a second a "+
				"level rises by `up` (10%) while the mean of the reports is above the one, and "+
				"falls by `down` (2%) while it is below the other. Level 1.3 of `order` ([test, "+
				"batch, normal]) denies all requests of the first tier and 30 % of the second, "+
				"with status 503 and `why=load`. Requests without a tier are `normal`, a tier "+
				"that is not in the order is never shed. A report counts for `stale` (10s, 1s to "+
				"10m); without any the level falls."),
		documented("policies", set(&c.Policies.Policies, policies), "list of at most 1000", "[]",
			"Each has `name` and `match`, and one of: `limit` and `window` with the other "+
				"fields of a rule, `rules` (names; with `burst`, part of theirs), `skip` "+
				"(`all`, or names of policies below), `deny` (a status, 400 to 599), `tier`, "+
				"`pool`. Beside a limit: `key` (or client), `count_when`, `pending` (0 to "+
				"1000000, or free), `cost`, `tiers`, `numbers`, `group`, `missing`; "+
				"beside all: `mode`, `until` (a time: later it matches nothing), and "+
				"`on_deny`: `status` (400 to 599), `announce: false`, "+
				"`deceive: true`, `body` (up to 4 KiB). With key `client`, `ladder` limits its networks as well, as in `[{v4: 24, v6: 56, times: 4}]`: "+
				"rules NAME/24,56 with `times` the limit, which deny once `siblings` (3; 1 to 16) "+
				"clients of a network ask. `match` is a map of `method`, `host`, `path`, "+
				"`query.NAME`, `header.NAME`, `cookie.NAME`, `client`, `peer`, `country`, `asn`, "+
				"`ja3`, `ja4`, `tls`, `scheme`, `tier`, `any`, `not`, `when`; a list: one of. "+
				"`count_when`: `status`, too."),
	}
}

func (l *Listen) fields() []field {
	return []field{
		described("udp", &l.UDP, openDoors, "127.0.0.1:4290",
			"Decisions, as lines of text in datagrams. A unix address is a datagram "+
				"socket.").atStart(),
		described("http", &l.HTTP, openDoors, "127.0.0.1:4291",
			"Decisions over HTTP/1.1.").atStart(),
		described("admin", &l.Admin, openDoors, "127.0.0.1:4292",
			"The dashboard, the JSON interface of the other commands, and Prometheus metrics "+
				"at `/metrics`. Off loopback it needs `admin_token_file`.").atStart(),
		described("grpc", &l.GRPC, closedDoors, "[]",
			"Decisions for Envoy over gRPC, at `127.0.0.1:4294` by convention. Off loopback "+
				"it needs `tls`, or `clients.trusted`, which then says who may connect.").atStart(),
		described("spop", &l.SPOP, closedDoors, "[]",
			"Decisions for HAProxy over SPOP 2.0, such as `127.0.0.1:4295` or "+
				"`unix:/run/headgate/spop.sock`. Empty: closed.").atStart(),
		described("resp", &l.RESP, closedDoors, "[]",
			"Decisions for Redis clients, such as `127.0.0.1:4296` or "+
				"`unix:/run/headgate/resp.sock`: `CL.THROTTLE`, `HEADGATE.CHECK` and "+
				"`HEADGATE.ASK`. Off loopback it needs `tls`, or `clients.trusted`. Empty: "+
				"closed.").atStart(),
	}
}

func (t *TLS) fields() []field {
	return []field{
		described("cert_file", &t.CertFile, paths, `""`,
			"The certificate of `listen.grpc` and `listen.resp`, in PEM, with those between "+
				"it and its authority. Unix sockets stay plain. Empty: TCP listeners are plain, "+
				"too.").atStart(),
		described("key_file", &t.KeyFile, paths, `""`,
			"The private key of the certificate, in PEM. The file has the same rules for its "+
				"permissions as `admin_token_file`.").atStart(),
		described("client_ca_file", &t.ClientCAFile, paths, `""`,
			"Authorities, in PEM, of which a client must have a certificate. Empty: clients "+
				"need none; see `tls.clients`.").atStart(),
		described("clients", &t.Clients, words("known", AnyClient).as("known or any"), "known",
			"Without `tls.client_ca_file`: who may connect over TLS. `known`: who may connect "+
				"plain (this machine, `clients.trusted`), and over RESP who shows its password. "+
				"`any`: everybody.").atStart(),
	}
}

func (r *RESP) fields() []field {
	return []field{
		described("rule", &r.Rule, names(mitigation.MaxRuleName, "").as("name"), "cl.throttle",
			"A rule of this name, if there is one, lends `CL.THROTTLE` its `mode`. The "+
				"numbers travel with each call.").atStart(),
		described("password_file", &r.PasswordFile, paths, `""`,
			"The password that Redis clients begin with (`AUTH`), read again at a reload. "+
				"Empty: none is asked for."),
	}
}

func (r *RLS) fields() []field {
	return []field{
		described("files", &r.Files, rlsFiles, "[]",
			"Files of envoyproxy/ratelimit. `listen.grpc` decides their domains. "+
				"Each limit becomes a rule, of scope `pop` where there is a ring. "+
				"A reload reads all files again, or changes nothing."),
		described("long_units", &r.LongUnits, eitherOf("fault", "day"), "fault",
			"A window is a day at most: units above it are a fault, or become a seventh, a "+
				"thirtieth or a 365th of the limit a day."),
		described("dynamic_metadata", &r.Metadata,
			booleans, "false",
			"Answers carry the request and the `metadata` of its limits, as "+
				"envoyproxy/ratelimit's with `RESPONSE_DYNAMIC_METADATA`."),
		described("headers", &r.Headers, rlsHeaders, "draft-10",
			"Headers that an answer adds: `RateLimit` and `RateLimit-Policy`; `RateLimit-` or "+
				"`X-RateLimit-` with `Limit`, `Remaining` and `Reset`; none."),
		described("xds", &r.XDS, xdsServers, "{}",
			"A management server that sends limits beside `files`, as Envoy Gateway's does: "+
				"`server`, `node_id`, `cluster`, `metadata`, `headers`, `tls`; see docs/xds.md."),
	}
}

func (r *Ring) fields() []field {
	return []field{
		described("servers", &r.Servers, ringServers, "[]",
			"The memcached servers. Empty: this node is its PoP. `unix:/path` is allowed. A "+
				"server with weight 2 holds twice as many keys as one with weight 1. Use "+
				"instances that no other program can write to.").atStart(),
		described("flush", &r.Flush, durations(MinFlush, MaxFlush), "100ms",
			"The time between two exchanges with memcached. Longer means fewer exchanges and "+
				"later knowledge of what other nodes admitted. The same on all nodes.").atStart(),
		described("timeout", &r.Timeout, durations(MinTimeout, MaxTimeout), "50ms",
			"The time one exchange may take. After two failed exchanges in a row a server is "+
				"left alone for 250ms; after 500ms without an answer `failure_mode` applies to "+
				"the keys of that server.").atStart(),
	}
}

func (g *Gossip) fields() []field {
	return []field{
		described("bind", &g.Bind, bindAddresses, `""`,
			"The address, UDP and TCP, at which the other nodes reach this one; port 4293 by "+
				"convention. Empty: no gossip, and rules of scope `global` hold over this PoP "+
				"only.").atStart(),
		described("join", &g.Join, seeds, "[]",
			"Some of the other nodes, in more than one PoP, or a DNS name of all of them. "+
				"They are tried again for as long as the daemon runs. Empty: this node waits for "+
				"others to join it.").atStart(),
		described("key_file", &g.KeyFile, paths, `""`,
			"A file with the secret of the cluster: 32 bytes, as they are, in base64 or as 64 "+
				"hexadecimal digits; up to 8 keys, one a line, of which the first encrypts and "+
				"all decrypt. Required when `bind` is off loopback. The first key also names the "+
				"counters in memcached: a node with another first key counts separately in its "+
				"PoP. Digests of secrets in keys of policies have the same key. To "+
				"change the key, add the new one as second on all nodes, then move it to the "+
				"first place, then remove the old one, with a reload each time. The file has the "+
				"same rules for its permissions as `admin_token_file`."),
	}
}

// The values of fields whose values no other field has.
var (
	nodeNames = codec[string]{
		atMost("name", MaxNodeName, "characters"), nameOrNone(MaxNodeName), itself[string],
		schema.NameOrNone(MaxNodeName),
	}
	addressValues = atMost("address, or a list of them", MaxListeners, "")
	openDoors     = codec[[]Address]{
		addressValues, listenAddresses, inOneLine[Address], addressShape(false),
	}
	closedDoors = codec[[]Address]{
		addressValues, doorAddresses, inOneLine[Address], addressShape(true),
	}
	bindAddresses = codec[Address]{
		"`host:port`", bindAddress, func(a Address) any { return a.String() },
		schema.HostPort(true),
	}
	ringServers = codec[[]Server]{
		atMost("list of `host:port` or `host:port weight`", MaxServers, "") +
			fmt.Sprintf("; weight 1 to %d", MaxWeight), servers, texts[Server],
		schema.List(0, MaxServers, schema.Weighted()),
	}
	seeds = codec[[]Address]{
		atMost("list of `host:port`", MaxSeeds, ""), listOf(MaxSeeds, seedAddress), texts[Address],
		schema.List(0, MaxSeeds, schema.HostPort(false)),
	}
	rlsFiles = codec[[]string]{
		atMost("list of paths", MaxRLSFiles, "") +
			" and of at most 8 MiB each, with `*`, `?` and `[]` for several files",
		listOf(MaxRLSFiles, filePath),
		func(list []string) any { return oneLine(list) },
		schema.List(0, MaxRLSFiles, schema.Text(MaxPath)),
	}
	rlsHeaders    = headersIn(headerStyles)
	answerHeaders = headersIn([]string{headerStyles[0], "x-ratelimit", "both"})
)

// headersIn returns the codec of a choice of headers. The first, the default, is kept as "".
func headersIn(styles []string) codec[string] {
	return codec[string]{
		quotedWords(styles...),
		oneOf(styles, func(s string) (string, bool) {
			return strings.TrimPrefix(s, styles[0]), true
		}),
		func(s string) any { return cmp.Or(s, styles[0]) },
		schema.Word(styles...),
	}
}
