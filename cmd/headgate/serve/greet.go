package serve

import (
	"fmt"
	"io"
	"net"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge"
)

// greet prints where node can be asked, and three lines to try.
func greet(w io.Writer, node *edge.Node) {
	at, rules := node.Addresses(), node.Gate().Rules()
	fmt.Fprintf(w, "headgate %s on %s\n", cli.ThisBuild().Version, node.Gate().Node())
	for _, addr := range at.Datagram {
		fmt.Fprintf(w, "  decisions, datagrams  %s\n", addr)
	}
	for _, addr := range at.HTTP {
		fmt.Fprintf(w, "  decisions, HTTP       %s\n", addr)
	}
	for _, addr := range at.Admin {
		fmt.Fprintf(w, "  inspection            %s\n", addr)
	}
	if len(rules) == 0 {
		return
	}
	rule := rules[len(rules)-1].Name
	fmt.Fprintf(w, "Try:\n")
	if len(at.Datagram) > 0 {
		if udp, ok := at.Datagram[0].(*net.UDPAddr); ok {
			fmt.Fprintf(w, "  echo 'check %s 203.0.113.7' | nc -u -w1 %s %d\n", rule, host(udp.IP), udp.Port)
		}
	}
	if len(at.HTTP) > 0 && at.HTTP[0].Network() == "tcp" {
		fmt.Fprintf(w, "  curl -i 'http://%s/v1/check?rule=%s&key=203.0.113.7'\n", at.HTTP[0], rule)
	}
	if len(at.Admin) > 0 && at.Admin[0].Network() == "tcp" {
		fmt.Fprintf(w, "  curl 'http://%s/v1/explain?rule=%s&key=203.0.113.7'\n", at.Admin[0], rule)
	}
}

// host returns how to reach ip from this machine.
func host(ip net.IP) string {
	if ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip.String()
}
