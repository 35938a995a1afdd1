package input

import (
	"bytes"
	"slices"

	"github.com/headgate-dev/headgate/edge/api"
)

// MaxRequests is the most requests in a body.
const MaxRequests = 100

// maxMembers is the most members and headers of a request: to find a member given twice, all are
// compared.
const maxMembers = 1000

// Member is a member of a request in JSON or a query. The meaning of names is the business of
// edge/door/lines, which all doors share.
type Member struct{ Name, Header, Value []byte } // header: the name of one in "headers", else nil

// Members reads the members of a query.
// header.x-plan=gold is a header; the rest of the names are those of the line protocol.
func Members(query []byte) (list []Member, p *api.Problem) {
	for pair := range bytes.SplitSeq(query, []byte{'&'}) {
		if len(pair) == 0 {
			continue
		}
		name, value, _ := bytes.Cut(pair, []byte{'='})
		// A plus sign is a blank, as browsers write forms; a plus itself is %2B.
		text, ok := unescape(value)
		if !ok {
			return nil, api.BadParameter(api.Shown(name),
				"has a % without two hexadecimal digits after it")
		}
		if n, ok := bytes.CutPrefix(name, []byte("header.")); ok {
			list = append(list, Member{[]byte("headers"), n, text})
			continue
		}
		if slices.ContainsFunc(list, func(m Member) bool { return bytes.Equal(m.Name, name) }) {
			return nil, api.GivenTwice(api.Shown(name))
		}
		if len(list) >= maxMembers {
			return nil, api.BadParameter("query", "has more than 1000 members and headers")
		}
		list = append(list, Member{Name: name, Value: text})
	}
	return list, nil
}

// Requests parses a request or {"requests": […]}.
func Requests(body []byte) (all [][]Member, batch bool, p *api.Problem) {
	r := api.NewJSONReader(body)
	var one []Member
	p = r.Object(func(name []byte) *api.Problem {
		if string(name) != "requests" {
			return readMember(r, name, &one)
		}
		if batch {
			return api.GivenTwice("requests")
		}
		batch = true
		return readRequests(r, &all)
	})
	switch {
	case p != nil:
		return nil, batch, p
	case !r.End():
		return nil, batch, r.Syntax()
	// A member beside the list would hold for all requests, or for none: nobody can know which was
	// meant.
	case batch && len(one) > 0:
		return nil, batch, api.BadParameter("requests", "must stand alone")
	case !batch:
		all = [][]Member{one}
	}
	return all, batch, nil
}

// readRequests reads the list of a batch.
func readRequests(r *api.JSONReader, all *[][]Member) *api.Problem {
	if !r.Take('[') || r.Take(']') {
		return api.BadParameter("requests", "must be a list of 1 to 100 requests")
	}
	for {
		if len(*all) == MaxRequests {
			return api.BadParameter("requests", "has more than 100 elements")
		}
		var one []Member
		if p := r.Object(func(name []byte) *api.Problem {
			return readMember(r, name,
				&one)
		}); p != nil {
			return p
		}
		*all = append(*all, one)
		if r.Take(']') {
			return nil
		}
		if !r.Take(',') {
			return r.Syntax()
		}
	}
}

// decimals are the members with fractions, or nought.
var decimals = [...]string{"utilisation", "status", "cost", "delta"}

// readMember reads the value of the member called name: a string, a whole number, or for headers an
// object of strings. Names are copied, since the reader decodes into the names' memory.
func readMember(r *api.JSONReader, name []byte, list *[]Member) *api.Problem {
	name = bytes.Clone(name)
	if string(name) == "headers" || string(name) == "response_headers" {
		return r.Object(func(header []byte) *api.Problem {
			if len(*list) == maxMembers {
				return api.BadParameter("body", "has more than 1000 members and headers")
			}
			m := Member{Name: name, Header: bytes.Clone(header)}
			p := r.Text(string(name)+"."+api.Shown(header), &m.Value)
			*list = append(*list, m)
			return p
		})
	}
	for i := range *list {
		if bytes.Equal((*list)[i].Name, name) {
			return api.GivenTwice(api.Shown(name))
		}
	}
	if len(*list) >= maxMembers {
		return api.BadParameter("body", "has more than 1000 members and headers")
	}
	m := Member{Name: name}
	var p *api.Problem
	if r.Peek() == '"' {
		p = r.Text(string(name), &m.Value)
	} else if slices.Contains(decimals[:], string(name)) {
		m.Value = r.Decimal()
	} else if m.Value = r.Number(); len(m.Value) == 0 {
		p = api.BadParameter(api.Shown(name), "must be a string or a whole number")
	}
	*list = append(*list, m)
	return p
}
