package serve

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/mitigation"
)

// maxNamedRules is the most rules the banner names.
const maxNamedRules = 5

// streamNames are the names of doors in people's spelling.
var streamNames = map[string]string{"grpc": "gRPC", "spop": "SPOP", "resp": "RESP"}

// greet prints the addresses of a node, the address of the dashboard, and three lines to try.
func greet(w io.Writer, name string, at edge.Addresses, rules []mitigation.Rule) {
	fmt.Fprintf(w, "headgate %s on %s\n", cli.ThisBuild().Version, name)
	for _, addr := range at.Datagram {
		fmt.Fprintf(w, "  decisions, datagrams  %s\n", addr)
	}
	for _, addr := range at.HTTP {
		fmt.Fprintf(w, "  decisions, HTTP       %s\n", addr)
	}
	for _, name := range slices.Sorted(maps.Keys(at.Streams)) {
		for _, addr := range at.Streams[name] {
			fmt.Fprintf(w, "  decisions, %-9s  %s\n", streamNames[name], addr)
		}
	}
	for _, addr := range at.Admin {
		fmt.Fprintf(w, "  inspection            %s\n", addr)
	}
	for _, addr := range at.Admin {
		if tcp, ok := addr.(*net.TCPAddr); ok {
			fmt.Fprintf(w, "  dashboard             http://%s/\n", reach(tcp.IP, tcp.Port))
			break
		}
	}
	if rule, ok := ruleToTry(rules); ok {
		writeShadowed(w, rules, &rule)
		writeTrials(w, at, &rule)
	}
}

// ruleToTry returns the rule denying after the fewest requests: of the enforcing rules, else of
// rules in shadow, the rule with the smallest limit or burst. ok is false when every rule is off,
// or has places, which a check does not take.
func ruleToTry(rules []mitigation.Rule) (least mitigation.Rule, ok bool) {
	counting := slices.DeleteFunc(slices.Clone(rules),
		func(r mitigation.Rule) bool {
			return r.Mode == mitigation.Off ||
				r.Kind == mitigation.Concurrency
		})
	if len(counting) == 0 {
		return least, false
	}
	return slices.MinFunc(counting, func(a, b mitigation.Rule) int {
		// enforce comes before shadow
		return cmp.Or(cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Quota(), b.Quota()))
	}), true
}

// writeShadowed says which rules are in shadow mode, if there are any, and how to enforce a rule:
// tried, the rule the next lines ask about, if in shadow.
func writeShadowed(w io.Writer, rules []mitigation.Rule, tried *mitigation.Rule) {
	var names []string
	for _, r := range rules {
		if r.Mode == mitigation.Shadow {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	first := names[0]
	if tried.Mode == mitigation.Shadow {
		first = tried.Name
	}
	more := ""
	if n := len(names) - maxNamedRules; n > 0 {
		names, more = names[:maxNamedRules], fmt.Sprintf(" and %d more", n)
	}
	if len(names) == len(rules) {
		fmt.Fprintf(w, "shadow: nothing is denied yet; every rule only counts and reports. To "+
			"enforce one: headgate mode enforce %s\n", first)
	} else {
		fmt.Fprintf(w, "shadow: nothing is denied yet by %s%s; rules in shadow only count and "+
			"report. To enforce one: headgate mode enforce %s\n", strings.Join(names,
			", "), more, first)
	}
}

// writeTrials prints a line for each listener a person can ask about rule.
func writeTrials(w io.Writer, at edge.Addresses, rule *mitigation.Rule) {
	comment := ""
	if n := rule.Quota() / rule.Parts(); rule.Mode == mitigation.Enforce && n < 1000 {
		within := "within " + cli.Span(rule.Window)
		if rule.Burst > 0 {
			within = "at once"
		}
		comment = fmt.Sprintf(" (after %d requests %s the next is denied)", n, within)
	}
	fmt.Fprintf(w, "Try%s:\n", comment)
	if len(at.Datagram) > 0 {
		if udp, ok := at.Datagram[0].(*net.UDPAddr); ok {
			fmt.Fprintf(w, "  echo 'check %s 203.0.113.7' | nc -u -w1 %s %d\n", rule.Name,
				host(udp.IP), udp.Port)
		}
	}
	if len(at.HTTP) > 0 {
		if tcp, ok := at.HTTP[0].(*net.TCPAddr); ok {
			fmt.Fprintf(w, "  curl -i 'http://%s/v1/check?rule=%s&key=203.0.113.7'\n",
				reach(tcp.IP, tcp.Port), rule.Name)
		}
	}
	if tcp := nearest(at.Admin); tcp != nil {
		token := ""
		if !tcp.IP.IsLoopback() {
			//nolint:gosec // reading needs it there; the shell has it
			token = `-H "Authorization: Bearer $TOKEN" `
		}
		fmt.Fprintf(w, "  curl %s'http://%s/v1/explain?rule=%s&key=203.0.113.7'\n", token,
			reach(tcp.IP, tcp.Port), rule.Name)
	}
}

// nearest returns the first address on loopback, where nobody needs a token to read; else the first
// reachable for a browser; nil if there is none.
func nearest(addresses []net.Addr) *net.TCPAddr {
	var first *net.TCPAddr
	for _, addr := range addresses {
		tcp, ok := addr.(*net.TCPAddr)
		if ok && tcp.IP.IsLoopback() {
			return tcp
		}
		if ok && first == nil {
			first = tcp
		}
	}
	return first
}

// reach returns host and port by which ip is reached from this machine.
func reach(ip net.IP, port int) string { return net.JoinHostPort(host(ip), strconv.Itoa(port)) }

// host returns the address by which ip is reached from this machine.
func host(ip net.IP) string {
	if ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip.String()
}
