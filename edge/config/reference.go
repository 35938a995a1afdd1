package config

import "slices"

// Section documents a part of headgate.yaml. Texts are plain paragraphs with an empty line in
// between: `code` stands between backquotes, and a paragraph beginning with two spaces is YAML.
type Section struct {
	Title  string
	Text   string
	Fields []Field
}

// Field documents a field of headgate.yaml.
type Field struct {
	Path    string // from the top of the file, such as ring.flush; a rule's begins with rules[].
	Values  string // the type, and the values or the range it may have
	Default string // as the file would have it; "" means that the field must be given
	Meaning string // one or more paragraphs
	// NeedsRestart is whether another value takes effect at a restart only. The other fields are
	// read again at every reload.
	NeedsRestart bool
}

// sections are the parts of the documentation, with the top-level fields of each.
var sections = []struct {
	title, text string
	fields      []string
}{
	{"The node", "", []string{"node", "pop", "admin_token_file", "memory", "state_dir"}},
	{"Listeners", listenText, []string{"listen", "tls", "resp", "rls", "headers"}},
	{"The ring: several nodes of one PoP", ringText, []string{"ring"}},
	{"Gossip: several PoPs", gossipText, []string{"gossip", "tickets", "surge", "history"}},
	{"Rules", rulesText, []string{"rules"}},
	{
		"Policies: which requests ask which rules", policiesText,
		[]string{"clients", "sets", "pools", "policies"},
	},
}

// Reference documents every field of headgate.yaml. The source of headgate.yaml(5) and of
// docs/configuration.md. Ranges are the ranges of the fields' readers.
func Reference() (all []Section) {
	table := new(Config).fields()
	for _, s := range sections {
		section := Section{Title: s.title, Text: s.text}
		for _, f := range table {
			if !slices.Contains(s.fields, f.name) {
				continue
			}
			leavesOf([]field{f}, "", func(path string, f *field) {
				section.Fields = append(section.Fields,
					Field{path, f.values, f.usual, f.text, f.fixed})
			})
		}
		all = append(all, section)
	}
	return all
}

const (
	listenText = "A listener takes one address or a list of them; `[]` closes it, and `udp` and " +
		"`http` cannot both be " +
		"closed. An address is `127.0.0.1:4290`, `[::1]:4290`, `localhost:4290`, `:4290` for " +
		"every interface, or " +
		"`unix:/run/headgate/http.sock` with an absolute path. Unix sockets are created with " +
		"mode 0660.\n\n" +
		"Every local user can reach loopback, and can then `count` any client over its limit: " +
		"on shared machines " +
		"listen on unix sockets."
	ringText = "Rules of scope `pop` hold over all nodes of a PoP, which add up their counts in " +
		"memcached. " +
		"`servers`, `pop`, `gossip.key_file` and the rules must be the same on every node of " +
		"the PoP, the servers with the " +
		"same spelling: an address on one node and a DNS name on another are two servers. " +
		"`headgate cluster` shows a " +
		"fingerprint of the list to compare. No request waits for memcached."
	gossipText = "Rules of scope `global` hold over all PoPs, which exchange what they count by " +
		"gossip over UDP and TCP. " +
		"`headgate block`, `allow` and `unblock` reach every member."
	rulesText = "A rule is a named limit; a request names the rule it is counted by. A file has " +
		"at most 1000 of them. Without a `rules` field the two built-in " +
		"rules hold: `per-ip` (100 in 10s, action shed) and `login` (5 in 1m, action block, " +
		"block_for 10m). With `rules: []` " +
		"there are none, and every request is answered `unknown-rule`."
	policiesText = "A policy counts the requests that `match` selects, by `key`, against a " +
		"limit; or it skips or denies them. " +
		"Policies are looked at in the order of the file. `headgate test-request` shows which " +
		"of them match a request, " +
		"and `headgate policy test` compares a file of cases.\n\n" +
		"  policies:\n" +
		"    - {name: office, match: {client: 192.0.2.0/24}, skip: all}\n" +
		"    - {name: scanners, match: {path: [/wp-admin/**, /.env]}, deny: 403}\n" +
		"    - name: api\n" +
		"      match: {host: api.example.com, path: /v2/**}\n" +
		"      key: header.x-api-key | client\n" +
		"      limit: 60\n" +
		"      window: 1m"
)
