package edge

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"
)

// readMembers reads r's body, one JSON object whose members are strings, into fields by name. It is as
// strict as the decision listener: names match as written, none is unknown, none is given twice.
func readMembers(r *http.Request, fields map[string]*string) *problem {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &problem{status: http.StatusUnsupportedMediaType, parameter: "Content-Type", detail: "must be application/json"}
	}
	body, err := io.ReadAll(r.Body) // ServeHTTP bounds it
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return &problem{status: http.StatusRequestEntityTooLarge, parameter: "body", detail: "is longer than 64 KiB"}
	case err != nil:
		return badParam("body", "did not arrive whole")
	case !utf8.Valid(body):
		return badParam("body", "is not UTF-8")
	}
	j := &jsonReader{b: body}
	p := j.object(func(name []byte) *problem { return takeMember(j, name, fields) })
	if p == nil && (j.peek() != 0 || j.i < len(j.b)) {
		p = j.syntax()
	}
	if p != nil && p.whole {
		p.detail = "is not a JSON object of strings"
	}
	return p
}

// takeMember reads the value of the member called name. A field that was read is taken out of fields, so
// that another of that name finds none.
func takeMember(j *jsonReader, name []byte, fields map[string]*string) *problem {
	to, known := fields[string(name)]
	switch {
	case !known:
		return badParam(shown(name), "is not a member of this request")
	case to == nil:
		return givenTwice(string(name))
	}
	var text []byte
	if p := j.text(string(name), &text); p != nil {
		return p
	}
	*to, fields[string(name)] = string(text), nil
	return nil
}
