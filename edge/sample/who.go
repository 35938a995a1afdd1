package sample

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
)

// Client is a client as people say who is meant: a key, or fields of requests.
type Client struct {
	Key  string
	Rule string // of that rule alone; empty: of all
	// Fields are values by the names of keys: client, header.x-api-key, cookie.session, path.
	Fields map[string]string
}

// IsNetwork reports whether the client is a network, and so many clients.
func (c *Client) IsNetwork() bool {
	_, err := netip.ParsePrefix(c.Key)
	return err == nil
}

// AsIs returns the text that stands for the client where no policy makes keys; "": there is none.
func (c *Client) AsIs() string {
	if c.Key == "" && len(c.Fields) == 1 {
		return c.Fields["client"]
	}
	return c.Key
}

// Keys returns the keys of the client under the rules the policies of e ask; nil asks none. The
// error says in words why there cannot be any.
func (c *Client) Keys(e *policy.Engine) (found []policy.Held, err error) {
	take := func(h policy.Held) {
		if c.Rule == "" || c.Rule == h.Rule {
			found = append(found, h)
		}
	}
	switch {
	case c.Key == "" && len(c.Fields) == 0:
		return nil, errors.New("a key, or a field of the client's requests, is missing")
	case c.Key != "" && len(c.Fields) > 0:
		return nil, errors.New("a key cannot be given together with fields")
	}
	fields := c.Fields
	if c.Key != "" && e != nil {
		if fields, err = c.meant(e, take); err != nil {
			return nil, err
		}
	}
	if e == nil || len(fields) == 0 {
		return found, nil
	}
	if err := c.unkeyed(fields, e); err != nil {
		return nil, err
	}
	r, err := requestOf(fields, e)
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for field := range fields {
		given[field] = true
	}
	e.Keys(r, given, take)
	return found, nil
}

// unkeyed returns the error of fields no policy keys by.
func (c *Client) unkeyed(fields map[string]string, e *policy.Engine) error {
	known := append(Fields(e, c.Rule), "client")
	if slices.ContainsFunc(known, func(field string) bool { return fields[field] != "" }) {
		return nil
	}
	slices.Sort(known)
	return fmt.Errorf("no key is made of %s: the keys are of %s",
		strings.Join(slices.Sorted(maps.Keys(fields)), " and "),
		strings.Join(slices.Compact(known), ", "))
}

// meant returns the fields a key stands for: of an address, the client; of FIELD=VALUE, this field;
// under a rule, the field of which a digest is made. Other text may be in any part of text.
func (c *Client) meant(e *policy.Engine, take func(policy.Held)) (map[string]string, error) {
	var digests []string
	known := Fields(e, c.Rule)
	e.KeyFields(func(rule, field string, digest bool) {
		if digest && c.Rule == rule && !slices.Contains(digests, field) {
			digests = append(digests, field)
		}
	})
	name, value, pair := strings.Cut(c.Key, "=")
	address, isAddress := request.ParseAddress([]byte(c.Key))
	switch {
	case isAddress:
		return map[string]string{"client": address.String()}, nil
	case c.IsNetwork() || len(c.Key) == 33 && c.Key[0] == '~': // a digest
		return nil, nil
	case pair && slices.Contains(known, name):
		return map[string]string{name: value}, nil
	case len(digests) == 1:
		return map[string]string{digests[0]: c.Key}, nil
	case len(digests) > 1:
		slices.Sort(digests)
		family, field, _ := strings.Cut(digests[len(digests)-1], ".")
		return nil, fmt.Errorf("rule %s: its keys are made of %s: say which, such as --%s %s=…",
			c.Rule, strings.Join(digests, " or "), family, field)
	}
	e.KeysOfText([]byte(c.Key), take)
	return nil, nil
}

// requestOf returns a request with fields.
func requestOf(fields map[string]string, e *policy.Engine) (*request.Request, error) {
	s := api.TestRequest{Client: fields["client"], Method: fields["method"]}
	query := url.Values{}
	for field, value := range fields {
		switch family, name, _ := strings.Cut(field, "."); family {
		case "header":
			s.Headers = append(s.Headers, name+": "+value)
		case "cookie":
			s.Headers = append(s.Headers, "cookie: "+name+"="+value)
		case "query":
			query.Set(name, value)
		}
	}
	s.URL = "http://" + cmp.Or(fields["host"], "host") + fields["path"] + "?" + query.Encode()
	r := new(request.Request)
	_, err := fill(r, &s, e)
	return r, err
}

// Fields returns the fields in the keys by which the policies of e ask rule; of "", all rules.
func Fields(e *policy.Engine, rule string) (fields []string) {
	e.KeyFields(func(of, field string, _ bool) {
		if (rule == "" || rule == of) && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	})
	return fields
}
