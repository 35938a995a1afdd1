package condition

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

// someRequest returns a request, and the headers that are looked at.
func someRequest(t *testing.T) (*request.Request, *request.Names) {
	t.Helper()
	names := new(request.Names)
	for _, name := range []string{"x-a", "x-b", "cookie"} {
		names.Add(name)
	}
	r := new(request.Request)
	r.Reset(names)
	r.Method, r.Client, r.Country, r.ASN = []byte("POST"),
		netip.MustParseAddr("2001:db8::7"), []byte("DE"), 3320
	r.SetHost([]byte("api.example.com"))
	r.SetTarget([]byte("/v2/users?q=1&q=2&e="), new(request.Clients))
	r.AddHeader([]byte("x-a"), []byte("a"))
	r.AddHeader([]byte("cookie"), []byte("c=v; c=w"))
	return r, names
}

func TestWhen(t *testing.T) {
	r, names := someRequest(t)
	words := sets.OfValues([]sets.Entry{{Value: "b*"}, {Value: "a"}})
	for text, want := range map[string]bool{
		`method == "POST"`:                               true,
		`"POST" != method`:                               false,
		`host == 'api.example.com' && path == "/v2"`:     false,
		`path.startsWith("/v2/") && !(asn < 3320)`:       true,
		`asn >= 3320 && asn <= 3320 && 3319 < asn`:       true,
		`asn > 3320 || asn in [1, 2]`:                    false,
		`asn in [1, 3320]`:                               true,
		`country in ["AT", "DE"]`:                        true,
		`country in []`:                                  false,
		`client == "2001:db8::7"`:                        true,
		`client in ["192.0.2.1"]`:                        false,
		`header["X-A"] in sets.words`:                    true,
		`"x-a" in header && !("x-b" in header)`:          true,
		`"q" in query && "c" in cookie && "d" in cookie`: false,
		`query["q"] == "2"`:                              true,
		`query["q"] != "2"`:                              false,
		`cookie["c"] == "v" && cookie["c"] == "w"`:       true,
		`cookie["c"] != "w"`:                             false,
		`query["e"] == ""`:                               true,
		`header["x-b"] != "a"`:                           true,
		`header["x-b"] == ""`:                            false,
		`header["x-b"] < "a"`:                            false,
		`header["x-a"] <= "a" && header["x-a"] >= "a"`:   true,
		`header["x-a"] < "b" && header["x-a"] > "A"`:     true,
		`path.matches("^/v[0-9]+/") && path.endsWith("users") && path.contains("/u")`: true,
		`header["x-a"] == header["x-b"]`:                                              false,
		`header["x-a"] != header["x-b"]`:                                              true,
		`1 < 2 && "a" == "a" && true != false`:                                        true,
		`"b" in ["a", "b"] && !!(method == "POST")`:                                   true,
		`method == "GET" && path == "/" || country == "DE"`:                           true,
		`method == "GET" && (path == "/" || country == "DE")`:                         false,
		`asn > -9223372036854775808 && asn < 9223372036854775807`:                     true,
		`asn < -9223372036854775808 || asn == 9223372036854775807`:                    false,
		"path == \"/v2/users\"\n  && method == \"POST\"":                              true,
	} {
		expr, err := ParseWhen(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := expr.Resolve(names, new(request.Clients),
			func(string) *sets.Set { return words }).Holds(r); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func TestWhenFaults(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "at character 1: a value must stand here, not the end",
		`method = "GET"`:              "at character 8: '=' is not part of an expression: write ==",
		`method == GET`:               `at character 11: "GET" is not a field; fields are cookie, header, query, method, host, path, client, country, asn, status, tier`,
		`method == "GET" path == "/"`: `at character 17: an operator such as && or == is missing before "path"`,
		`(method == "GET"`:            "at character 17: ) must stand here, not the end",
		`method == 5`:                 "at character 11: method is text: write 5 in quotes",
		`asn == "5"`:                  `at character 8: asn is a number, "5" is not`,
		`client == "x"`:               `at character 11: client is an address, "x" is not; networks stand in sets`,
		`client < "192.0.2.1"`:        "at character 1: client takes ==, != and in only",
		`client.startsWith("10.")`: "at character 1: a field that is text must stand " +
			"before startsWith",
		`header[x] == "a"`:     `at character 8: a name in quotes must stand here, not "x"`,
		`header["a b"] == "a"`: `at character 8: "a b" is not the name of a header`,
		`path.size() == 1`:     `at character 6: startsWith, endsWith, contains or matches must stand here, not "size"`,
		`path.matches("(")`: "at character 14: the regular expression is at " +
			"fault: error parsing regexp: missing closing ): `(`",
		`path in "a"`: `at character 9: a list, sets.NAME, header, query or cookie must follow in, not "a"`,
		`path == "a`:  "at character 9: the string has no end",
		`path == "\x41"`: "at character 10: this escape is not known; a " +
			"backslash is written twice",
		`asn == 99999999999999999999`: "at character 8: 99999999999999999999 is too large " +
			"a number",
		`path`: "at character 5: a comparison must stand here, " +
			"such as == or in, not the end",
		`path in [host]`: "at character 10: a list holds strings and numbers " +
			"only",
		`asn == status`: "at character 8: only fields that are text can be " +
			"compared with one another",
		strings.Repeat("!",
			80) + `asn > 1`: "at character 65: more than 64 brackets and negations inside one " +
			"another",
	} {
		_, err := ParseWhen(text)
		if _, ok := errors.AsType[*ExprError](err); !ok || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
