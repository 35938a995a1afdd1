package reference

const policiesText = "A policy counts the requests that `match` selects, by `key`, against a limit; or it skips or denies them. " +
	"Policies are looked at in the order of the file. `headgate test-request` shows which of them match a request, " +
	"and `headgate policy test` compares a file of cases.\n\n" +
	"  policies:\n" +
	"    - {name: office, match: {client: 192.0.2.0/24}, skip: all}\n" +
	"    - {name: scanners, match: {path: [/wp-admin/**, /.env]}, deny: 403}\n" +
	"    - name: api\n" +
	"      match: {host: api.example.com, path: /v2/**}\n" +
	"      key: header.x-api-key | client\n" +
	"      limit: 60\n" +
	"      window: 1m"

func policyReference() []Field {
	return []Field{
		{
			"clients", "fields: from, trusted, hops, ipv4, ipv6, path, path_fold", "{}",
			"How the address of the client is found. Headers of senders in the networks of `trusted` are used (127.0.0.0/8 and ::1/128). Behind " +
				"one of them the client stands in the header `from` (x-forwarded-for; forwarded, peer, or a header with one address): it is the " +
				"rightmost address of the list that is not trusted, or exactly the `hops`-th from the right. `ipv4` (8 to 32, default 32) and " +
				"`ipv6` (16 to 128, default 64) are the bits of an address that make a key. `path: raw` matches paths as they are sent. " +
				"`path_fold` (default [slash]; slash, case, params, tail) lists the spellings that the site takes for one path.",
		},
		{
			"sets", "names, each with one of cidr, cidr_file, values, table, table_file", "{}",
			"Named lists: of networks (`cidr`, or a file with one a line), of `values`, exact or with * at the end, or of values with a tier " +
				"beside each (`table`, or a file with `value,tier` a line). Policies name them with @. All sets together hold at most 1,000,000 entries. " +
				"`config check` says how much memory they take: 12 bytes a network of IPv4.",
		},
		{
			"pools", "list of at most 64", "[]",
			"Things that can be busy, such as workers or a database. Whoever knows reports the share in use (`load NAME 0.93`), and policies name the pool with `pool`. Each has " +
				"`name`, `shed_above` (0.85) and `restore_below` (0.70): once a second a level rises by `up` (10%) while the mean of the reports is above the one, " +
				"and falls by `down` (2%) while it is below the other. Level 1.3 of `order` ([test, batch, normal]) denies all requests of the first tier and 30 % of " +
				"the second, with status 503 and `why=load`. Requests without a tier are `normal`, a tier that is not in the order is never shed. A report counts for " +
				"`stale` (10s, 1s to 10m); without any the level falls.",
		},
		{
			"policies", "list of at most 1000", "[]",
			"Each has `name` and `match`, and one of: `limit` and `window` with the other fields of a rule, `rules` (names of rules), `skip` " +
				"(`all`, or names of policies below), `deny` (a status, 400 to 599), `tier`, `pool`. Beside a limit: `key` (default client), `count_when`, `pending` (0 to 1000000, or free), `cost`, " +
				"`tiers`, `group`, `missing`, `mode`, and `on_deny`: `status` (400 to 599), `announce: false`, `deceive: true`, `body` (up to 4 KiB). With key `client`, `ladder` limits its networks " +
				"as well, as in `[{v4: 24, v6: 56, times: 4}]`: rules NAME/24,56 with `times` the limit, which deny once `siblings` (3; 1 to 16) clients of a network ask.\n\n" +
				"`match` is a map of `method`, `host`, `path`, `query.NAME`, `header.NAME`, `cookie.NAME`, `client`, `peer`, `country`, `asn`, `ja3`, " +
				"`ja4`, `tls`, `scheme`, `tier`, `any`, `not` and `when`; a list means one of. `count_when` also takes `status` and `response.header.NAME`.",
		},
	}
}
