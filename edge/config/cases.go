package config

import "go.yaml.in/yaml/v3"

// maxCases is how many cases a file holds. A file of cases is written by hand or made from a log;
// it is read whole, so it has a bound as the configuration has.
const maxCases = 10_000

// Case is a request of a file of cases, and the expected decision. Such as
//
//   - name: a partner's key is counted alone
//     request: {url: api.example.com/v2/x, headers: {x-api-key: abc}}
//     policies: [api]
//     key: abc
//     verdict: ask
type Case struct {
	Line     int // in the file
	Name     string
	Method   string
	URL      string // host and path, with or without a scheme; the file may give both apart
	Headers  []string
	Client   string // "" means as the headers and the peer say
	Peer     string // "" means 127.0.0.1
	Status   int    // of the response; 0: it is not known yet
	Policies []string
	Key      string
	Verdict  string // ask, skip, deny, none, or allow, which is any but deny; "" means any
	// which of the expectations are given: "policies: []" expects no match, and is not the same as
	// nothing
	has map[string]bool
}

// Expects reports whether the case has an expectation of field: policies, key or verdict.
func (c *Case) Expects(field string) bool { return c.has[field] }

// ParseCases reads a list of cases, as strictly as Parse reads a configuration. The error is a
// Faults.
func ParseCases(name string, data []byte) ([]Case, error) {
	d := newDecoder(name)
	var list []Case
	if root, ok := d.document(data); ok {
		list, _ = listOf(maxCases, oneCase)(root)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return list, nil
}

// verdicts are the verdicts a case may expect.
var verdicts = []string{"ask", "skip", "deny", "none", "allow"}

// GET and no expectation are the defaults; only the URL has none.
func oneCase(v value) (Case, bool) {
	c := Case{Line: v.node.Line, Method: "GET", has: map[string]bool{}}
	ok := v.fields([]field{
		leaf("name", set(&c.Name, value.text)),
		leaf("request", func(v value) { v.caseRequest(&c) }),
		leaf("policies", set(&c.Policies, listOf(maxCases, value.text))),
		leaf("key", set(&c.Key, value.text)),
		leaf("verdict", set(&c.Verdict, oneOf(verdicts, same))),
	})
	if ok {
		v.require("request")
	}
	for _, name := range []string{"policies", "key", "verdict"} {
		_, c.has[name] = v.d.given[join(v.path, name)]
	}
	return c, ok
}

// Headers keep the order of the file, and a name may be in any case: a request on the wire has
// both, too.
func (v value) caseRequest(c *Case) {
	var host, path string
	list := []field{
		leaf("host", set(&host, value.text)),
		leaf("path", set(&path, value.text)),
		leaf("method", set(&c.Method, value.text)),
		leaf("url", set(&c.URL, value.text)),
		leaf("headers", func(v value) { v.caseHeaders(c) }),
		leaf("client", set(&c.Client, value.text)),
		leaf("peer", set(&c.Peer, value.text)),
		leaf("status", number(&c.Status, 100, 599)),
	}
	// as the proxy says
	for _, name := range []string{"country", "asn", "ja3", "ja4", "tls", "tier"} {
		list = append(list, leaf(name, func(v value) {
			if v.is(yaml.ScalarNode) {
				c.Headers = append(c.Headers, "Headgate-"+name+": "+v.node.Value)
			}
		}))
	}
	switch ok := v.fields(list); {
	case ok && path == "":
		v.require("url")
	case ok && c.URL != "":
		v.fault("url and path stand side by side: write url, or host and path")
	case ok:
		c.URL = host + path
	}
}

func (v value) caseHeaders(c *Case) {
	if v.node.Kind != yaml.MappingNode {
		v.is(yaml.MappingNode)
		return
	}
	v.entriesOf(maxCases, func(key, item value) {
		if text, ok := item.text(); ok {
			c.Headers = append(c.Headers, key.node.Value+": "+text)
		}
	})
}
