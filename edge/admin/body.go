package admin

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/api"
)

// readMembers reads the body of r into fields, by name. The body is a JSON object of strings. Like
// the decision listener it is strict: names match exactly, none is unknown, and none is given
// twice. A misspelt ttl must not become the default silently: a block of an hour would become a
// block of ten minutes.
func readMembers(r *http.Request, fields map[string]*string) *api.Problem {
	j, p := readJSON(r)
	if p != nil {
		return p
	}
	p = j.Object(func(name []byte) *api.Problem { return takeMember(j, name, fields) })
	if p == nil && !j.End() {
		p = j.Syntax()
	}
	// The reader words problems for a check.
	if p != nil && p.Whole {
		p.Detail = "is not a JSON object of strings"
	}
	return p
}

// readJSON returns a reader of the body of r.
func readJSON(r *http.Request) (*api.JSONReader, *api.Problem) {
	// A form of another site can send text/plain or a form's own types without asking first, but
	// not this type.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		media != "application/json" {
		return nil, api.NewProblem(http.StatusUnsupportedMediaType, "Content-Type",
			"must be application/json")
	}
	body, err := io.ReadAll(r.Body) // ServeHTTP bounds it
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, api.NewProblem(http.StatusRequestEntityTooLarge, "body",
			fmt.Sprintf("is longer than %d KiB", long.Limit>>10))
	case err != nil:
		return nil, api.BadParameter("body", "did not arrive in full")
	case !utf8.Valid(body):
		return nil, api.BadParameter("body", "is not UTF-8")
	}
	return api.NewJSONReader(body), nil
}

// takeMember reads the value of the member called name. The entry of a read field becomes nil, so a
// second member of the same name is noticed.
func takeMember(j *api.JSONReader, name []byte, fields map[string]*string) *api.Problem {
	to, known := fields[string(name)]
	switch {
	case !known:
		return api.BadParameter(api.Shown(name), "is not a member of this request")
	case to == nil:
		return api.GivenTwice(string(name))
	}
	var text []byte
	if c := j.Peek(); c >= '0' && c <= '9' && (string(name) == "limit" || string(name) == "burst") {
		text = j.Decimal() // a number may stand bare
	} else if p := j.Text(string(name), &text); p != nil {
		return p
	}
	*to, fields[string(name)] = string(text), nil
	return nil
}
