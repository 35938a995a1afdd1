package global

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// hostRunes are the characters of an IP address or a host name.
const hostRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:"

// DashboardOf returns the address of a member's page, http://host:port/, from the address of its
// admin listener as it publishes it and the address it gossips on, which stands for a missing host.
// It is empty if the member publishes none. The text comes from another machine and becomes a link:
// anything but a host and a port gives no address.
func DashboardOf(admin, gossips string) string {
	host, port, err := net.SplitHostPort(admin)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		if host, _, err = net.SplitHostPort(gossips); err != nil {
			return ""
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strings.Trim(host, hostRunes) != "" {
		return ""
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}
