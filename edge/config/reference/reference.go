// Package reference documents every field of headgate.yaml: its values, its default and its effect.
//
//	edge/config: bounds, defaults ──► All ──► headgate.yaml(5) and docs/configuration.md
package reference

import (
	"fmt"
	"slices"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/config/document"
)

// Section documents one part of headgate.yaml. Texts are plain paragraphs with an empty line
// between them: `code` stands between backquotes, and a paragraph that begins with two spaces is
// YAML.
type Section struct {
	Title  string
	Text   string
	Fields []Field
}

// Field documents one field of headgate.yaml.
type Field struct {
	Path    string // from the top of the file, such as ring.flush; a rule's begins with rules[].
	Values  string // the type, and the values or the range that it may have
	Default string // as the file would have it; "" means that the field must be given
	Meaning string // one or more paragraphs
}

// NeedsRestart reports whether another value takes effect at a restart only. The other fields are
// read again at every reload.
func (f Field) NeedsRestart() bool {
	return slices.Contains(config.FixedSettings(), f.Path)
}

// All documents every field of headgate.yaml, in the order of deploy/headgate.yaml. It is the
// source of headgate.yaml(5) and of docs/configuration.md.
// Ranges are those of config's constants and not written out, so that the manual and the checks
// cannot differ.
func All() []Section {
	return []Section{
		{"The node", "", nodeReference()},
		{"Listeners", listenText, slices.Concat(listenReference(), tlsReference(), rlsReference())},
		{"The ring: several nodes of one PoP", ringText, ringReference()},
		{"Gossip: several PoPs", gossipText, gossipReference()},
		{"Rules", rulesText, ruleReference()},
		{"Policies: which requests ask which rules", policiesText, policyReference()},
	}
}

const (
	listenText = "A listener takes one address or a list of them; `[]` closes it, and `udp` and `http` cannot both be " +
		"closed. An address is `127.0.0.1:4290`, `[::1]:4290`, `localhost:4290`, `:4290` for every interface, or " +
		"`unix:/run/headgate/http.sock` with an absolute path. Unix sockets are created with mode 0660.\n\n" +
		"Every local user can reach loopback, and can then `count` any client over its limit: on shared machines " +
		"listen on unix sockets."
	ringText = "Rules of scope `pop` hold over all nodes of a PoP, which add up their counts in memcached. " +
		"`servers`, `pop`, `gossip.key_file` and the rules must be the same on every node of the PoP, the servers with the " +
		"same spelling: an address on one node and a DNS name on another are two servers. `headgate cluster` shows a " +
		"fingerprint of the list to compare. No request waits for memcached."
	gossipText = "Rules of scope `global` hold over all PoPs, which exchange what they count by gossip over UDP and TCP. " +
		"`headgate block`, `allow` and `unblock` reach every member."
	rulesText = "A rule is a named limit; a request names the rule it is counted by. A file has at most 1000 of them. Without a `rules` field the two built-in " +
		"rules hold: `per-ip` (100 in 10s, action shed) and `login` (5 in 1m, action block, block_for 10m). With `rules: []` " +
		"there are none, and every request is answered `unknown-rule`.\n\n" +
		"  rules:\n" +
		"    - name: per-ip            # requests name it\n" +
		"      limit: 100\n" +
		"      window: 10s             # in any 10 seconds\n" +
		"      mode: shadow            # decide, count and report, but allow\n" +
		"    - {name: login, limit: 5, window: 1m, action: block, block_for: 10m}"
)

func nodeReference() []Field {
	return []Field{
		{
			"node", atMost("name", config.MaxNodeName, "characters"), `""`,
			"The name of this node, unique among all nodes. Empty: the host name.",
		},
		{
			"pop", atMost("name", config.MaxPoPName, "characters"), "local",
			"The point of presence (PoP) of this node: all nodes with this name and the same ring servers count together.",
		},
		{
			"admin_token_file", "path", `""`,
			"A file with the token that changes need, and off loopback nearly every request to the admin listener. Required when " +
				"`listen.admin` is neither loopback nor a unix socket. Like an SSH key, the file is not accepted when everybody " +
				"may write it; the log warns when others may read or own it. A reload reads it again.",
		},
		{
			"memory", fmt.Sprintf("size, `%s` to `%s`", document.InUnits(config.MinMemory), document.InUnits(config.MaxMemory)), "64MiB",
			"The memory for counters and mitigations, reserved at start: a sixteenth for mitigations, a fifth of the rest for the " +
				"sketch, and the rest for exact slots (136,608 of them in 64MiB; 93,744 with a ring). `headgate suggest` takes " +
				"another sixteenth at most. The process stays within `memory` + sets + 64MiB, under floods of keys too, and within `memory` + sets + 128MiB " +
				"while every door is full of clients that end no request and read no answer. Sets are the bytes that `config check` prints; they count " +
				"twice while a reload changes them. The kernel's socket buffers come on top. `GOMEMLIMIT`, if set, replaces the limit that is derived from this field.",
		},
		{
			"state_dir", "path", `""`,
			"A directory for `headgate.state`, which keeps blocks, allows and the counts of busy keys over a restart. It is written " +
				"every second while something changes. One daemon a directory. Empty: nothing is kept. The packaged systemd unit " +
				"creates `/var/lib/headgate` for it.",
		},
	}
}

func listenReference() []Field {
	values := atMost("address, or a list of them", config.MaxListeners, "")
	return []Field{
		{
			"listen.udp", values, "127.0.0.1:4290",
			"Decisions, as lines of text in datagrams. A unix address is a datagram socket.",
		},
		{"listen.http", values, "127.0.0.1:4291", "Decisions over HTTP/1.1."},
		{
			"listen.admin", values, "127.0.0.1:4292",
			"The dashboard, the JSON interface of the other commands, and Prometheus metrics at `/metrics`. Off loopback it " +
				"needs `admin_token_file`.",
		},
		{
			"listen.grpc", values, "[]",
			"Decisions for Envoy over gRPC, at `127.0.0.1:4294` by convention. Off loopback it needs `tls`, or `clients.trusted`, which then " +
				"says who may connect.",
		},
		{"listen.spop", values, "[]", "Decisions for HAProxy over SPOP 2.0, such as `127.0.0.1:4295` or `unix:/run/headgate/spop.sock`. Empty: closed."},
		{
			"listen.resp", values, "[]",
			"Decisions for Redis clients, such as `127.0.0.1:4296` or `unix:/run/headgate/resp.sock`: `CL.THROTTLE`, `HEADGATE.CHECK` and " +
				"`HEADGATE.ASK`. Off loopback it needs `tls`, or `clients.trusted`. Empty: closed.",
		},
	}
}

func tlsReference() []Field {
	return []Field{
		{
			"tls.cert_file", "path", `""`,
			"The certificate of `listen.grpc` and `listen.resp`, in PEM, with those between it and its authority. Unix sockets stay plain. " +
				"Empty: TCP listeners are plain, too.",
		},
		{"tls.key_file", "path", `""`, "The private key of the certificate, in PEM. The file has the same rules for its permissions as `admin_token_file`."},
		{
			"tls.client_ca_file", "path", `""`,
			"Authorities, in PEM, of which a client must have a certificate. Empty: clients need none; see `tls.clients`.",
		},
		{
			"tls.clients", "known or any", "known",
			"Without `tls.client_ca_file`: who may connect over TLS. `known`: who may connect plain (this machine, `clients.trusted`), and over RESP who shows its password. `any`: everybody.",
		},
		{"resp.rule", "name", "cl.throttle", "A rule of this name, if there is one, lends `CL.THROTTLE` its `mode`. The numbers travel with each call."},
		{"resp.password_file", "path", `""`, "The password that Redis clients begin with (`AUTH`), read again at a reload. Empty: none is asked for."},
	}
}

func rlsReference() []Field {
	return []Field{
		{
			"rls.files", atMost("list of paths", config.MaxRLSFiles, "") + " and of at most 8 MiB each, with `*`, `?` and `[]` for several files", "[]",
			"Configuration of envoyproxy/ratelimit, as it is, which decides its domains for `listen.grpc`. Each limit becomes a rule, of " +
				"scope `pop` where there is a ring. A reload reads all files again, or changes nothing.",
		},
		{
			"rls.dynamic_metadata", oneOf("true", "false"), "false",
			"Answers carry the request and the `metadata` of its limits, as envoyproxy/ratelimit's with `RESPONSE_DYNAMIC_METADATA`.",
		},
		{
			"rls.headers", oneOf("draft-10", "ratelimit", "x-ratelimit", "none"), "draft-10",
			"Headers that an answer adds: `RateLimit` and `RateLimit-Policy`; `RateLimit-` or `X-RateLimit-` with `Limit`, `Remaining` and `Reset`; none.",
		},
		{
			"rls.long_units", oneOf("fault", "day"), "fault",
			"A window is a day at most: units above it are a fault, or become a seventh, a thirtieth or a 365th of the limit a day.",
		},
	}
}

func ringReference() []Field {
	return []Field{
		{
			"ring.servers", atMost("list of `host:port` or `host:port weight`", config.MaxServers, "") + fmt.Sprintf("; weight 1 to %d", config.MaxWeight), "[]",
			"The memcached servers. Empty: this node is its PoP. `unix:/path` is allowed. A server with weight 2 holds twice as " +
				"many keys as one with weight 1. Use instances that no other program can write to.",
		},
		{
			"ring.flush", between(config.MinFlush, config.MaxFlush), "100ms",
			"The time between two exchanges with memcached. Longer means fewer exchanges and later knowledge of what other nodes " +
				"admitted. The same on all nodes.",
		},
		{
			"ring.timeout", between(config.MinTimeout, config.MaxTimeout), "50ms",
			"The time one exchange may take. After two failed exchanges in a row a server is left alone for 250ms; after 500ms " +
				"without an answer `failure_mode` applies to the keys of that server.",
		},
	}
}

func gossipReference() []Field {
	return []Field{
		{
			"gossip.bind", "`host:port`", `""`,
			"The address, UDP and TCP, at which the other nodes reach this one; port 4293 by convention. Empty: no gossip, and " +
				"rules of scope `global` hold over this PoP only.",
		},
		{
			"gossip.join", atMost("list of `host:port`", config.MaxSeeds, ""), "[]",
			"Some of the other nodes, in more than one PoP, or a DNS name of all of them. They are tried again for as long as the " +
				"daemon runs. Empty: this node waits for others to join it.",
		},
		{
			"gossip.key_file", "path", `""`,
			"A file with the secret of the cluster: 32 bytes, as they are, in base64 or as 64 hexadecimal digits; up to 8 keys, " +
				"one a line, of which the first encrypts and all decrypt. Required when `bind` is off loopback. It also names the " +
				"counters in memcached, so a node that has another first key counts separately in its PoP, and keys the digests of " +
				"secrets in keys of policies, also of a node alone. To change the key, add " +
				"the new one as second on all nodes, then move it to the first place, then remove the old one, with a reload each " +
				"time. The file has the same rules for its permissions as `admin_token_file`.",
		},
		{
			"tickets.keep", between(config.MinTicketKeep, config.MaxTicketKeep), "60s",
			"How long a policy that counts by the response waits for its report. Later reports are answered `late=1`.",
		},
	}
}
