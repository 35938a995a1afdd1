package global

import (
	"net/netip"
	"strconv"
	"strings"
)

// hostRunes are the characters of a host name.
const hostRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

// DashboardOf returns the address of a member's page, http://host:port/, from the address of its
// admin listener as it publishes it and the address it gossips on, which stands for a missing host.
// It is empty if the member publishes none. The text comes from another machine and becomes a link:
// anything but a host and a port gives no address.
func DashboardOf(admin, gossips string) string {
	colon := strings.LastIndexByte(admin, ':')
	if colon < 0 {
		return ""
	}
	host, port := admin[:colon], admin[colon+1:]
	if at, err := netip.ParseAddrPort(admin); host == "" ||
		err == nil && at.Addr().IsUnspecified() {
		member, err := netip.ParseAddrPort(gossips)
		if err != nil {
			return ""
		}
		host = member.Addr().String()
		if member.Addr().Is6() {
			host = "[" + host + "]"
		}
	} else if err != nil && strings.Trim(host, hostRunes) != "" {
		return ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 ||
		strings.Contains(host, "%") {
		return ""
	}
	return "http://" + host + ":" + port + "/"
}
