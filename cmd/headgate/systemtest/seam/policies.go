package seam

import (
	"fmt"
	"slices"
	"strings"
)

// Who asks. Visitors come from addresses of their own in 127.0.0.0/8, and proxies are at 127.0.0.1.
const (
	// Limited has used up the limit of everybody: nothing of it is served but what lies below
	// /free.
	Limited = "127.0.0.66"
	// Skipped is exempt from limits, and from no denial.
	Skipped = "127.9.9.9"
)

// limit is how much everybody may ask.
const limit = 3

// Names are the headers that a door, a proxy or a library gives a meaning, and one of no meaning.
var Names = []string{
	"X-Any", "X-Api-Key", "Accept", "Accept-Encoding", "Authorization", "Connection",
	"Content-Length", "Content-Type", "Cookie", "Expect",
	"Forwarded", "Headgate-Accept", "Headgate-ASN", "Headgate-Country", "Headgate-JA3",
	"Headgate-JA4", "Headgate-Ticket", "Headgate-Tier",
	"Headgate-TLS", "Headgate-Verdict", "Host", "If-Modified-Since", "Keep-Alive", "Origin",
	"Proxy-Connection", "Range", "Referer", "Sec-Fetch-Site", "TE",
	"Trailer", "Transfer-Encoding", "Upgrade", "User-Agent", "Via", "X-Forwarded-For",
	"X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Proto",
	"X-Forwarded-Uri", "X-Http-Method-Override", "X-Original-Method", "X-Original-Uri",
	"X-Original-Url", "X-Real-Ip",
}

// unjudged are headers whose value no policy of the suite looks at: those that a proxy owns, and
// those that end where they frame.
var unjudged = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection",
	"TE", "Trailer", "Upgrade", "Cookie",
	"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Proto",
	"X-Forwarded-Uri", "X-Original-Method", "X-Original-Uri",
	"X-Original-Url", "Headgate-Accept", "Headgate-ASN", "Headgate-Country", "Headgate-JA3",
	"Headgate-JA4", "Headgate-Ticket", "Headgate-Tier", "Headgate-TLS", "Headgate-Verdict",
}

// Usual are the headers that the clients send unless they are told others.
var Usual = []string{
	"X-Api-Key", "Authorization", "User-Agent", "Cookie", "Origin",
	"Referer", "Content-Type",
}

// Judged returns the headers of Names that a policy denies by the value secret.
func Judged() (all []string) {
	return slices.DeleteFunc(slices.Clone(Names),
		func(name string) bool { return slices.Contains(unjudged, name) })
}

// Policies returns the policies of the suite as lines of headgate.yaml, with the options of
// clients.
func Policies(clients string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "clients: {trusted: [127.0.0.1/32]%s}\nrules: []\npolicies:\n", clients)
	b.WriteString("  - {name: by-path, match: {path: /secret}, deny: 410}\n  - {name: by-host, " +
		"match: {host: secret.test}, deny: 451}\n")
	b.WriteString("  - {name: by-cookie, match: {cookie.secret: '1'}, deny: 404}\n  - {name: " +
		"by-query, match: {query.secret: '1'}, deny: 404}\n")
	for _, name := range Judged() {
		fmt.Fprintf(&b, "  - {name: by-%s, match: {header.%[1]s: secret}, deny: 403}\n",
			strings.ToLower(name))
	}
	fmt.Fprintf(&b, "  - {name: ours, match: {client: %s}, skip: all}\n  - {name: free, match: "+
		"{path: /free/**}, skip: all}\n", Skipped)
	fmt.Fprintf(&b, "  - {name: everybody, match: {}, limit: %d, window: 1h}\n", limit)
	return b.String()
}
