package main

import (
	"fmt"
	"io"
	"net"
)

// greet prints where the daemon can be asked, and three lines to try.
func (d *daemon) greet(w io.Writer) {
	fmt.Fprintf(w, "headgate %s on %s\n", thisBuild().Version, d.edge.Node())
	for _, u := range d.udp {
		fmt.Fprintf(w, "  decisions, datagrams  %s\n", u.Addr())
	}
	for _, ln := range d.atHTTP {
		fmt.Fprintf(w, "  decisions, HTTP       %s\n", ln.Addr())
	}
	for _, ln := range d.atMan {
		fmt.Fprintf(w, "  inspection            %s\n", ln.Addr())
	}
	rules := d.edge.Rules()
	if len(rules) == 0 {
		return
	}
	rule := rules[len(rules)-1].Name
	fmt.Fprintf(w, "Try:\n")
	if len(d.udp) > 0 {
		if at, ok := d.udp[0].Addr().(*net.UDPAddr); ok {
			fmt.Fprintf(w, "  echo 'check %s 203.0.113.7' | nc -u -w1 %s %d\n", rule, host(at.IP), at.Port)
		}
	}
	if len(d.atHTTP) > 0 && d.atHTTP[0].Addr().Network() == "tcp" {
		fmt.Fprintf(w, "  curl -i 'http://%s/v1/check?rule=%s&key=203.0.113.7'\n", d.atHTTP[0].Addr(), rule)
	}
	if len(d.atMan) > 0 && d.atMan[0].Addr().Network() == "tcp" {
		fmt.Fprintf(w, "  curl 'http://%s/v1/explain?rule=%s&key=203.0.113.7'\n", d.atMan[0].Addr(), rule)
	}
}

// host returns how to reach ip from this machine.
func host(ip net.IP) string {
	if ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip.String()
}
