package config

import "strings"

// fieldFamilies are families of fields that people write as mappings.
var fieldFamilies = map[string]string{
	"header":  "write header.x-a: b, with the name of the header",
	"headers": "write header.x-a: b, with the name of the header",
	"cookie":  "write cookie.a: b, with the name of the cookie",
	"query":   "write query.a: b, with the name of the parameter",
}

// keyHint returns "; write …" for a part of a key as other tools spell such parts, else "".
func keyHint(part string) string {
	switch plainName(part) {
	case "ip", "ip_address", "remote_addr", "remote_address", "address", "source", "src", "addr":
		return "; write client"
	case "user_agent", "authorization", "referer":
		return "; write header." + strings.ToLower(part)
	}
	if strings.HasPrefix(strings.ToLower(part), "x-") {
		return "; write header." + strings.ToLower(part)
	}
	return ""
}
