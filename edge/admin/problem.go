package admin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// problemBody is the JSON of an error answer (RFC 9457).
type problemBody struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Parameter string `json:"parameter,omitempty"` // empty: detail stands alone
}

// answerProblem answers p as application/problem+json.
func answerProblem(w http.ResponseWriter, p *api.Problem) {
	b := problemBody{
		Type: "about:blank", Title: http.StatusText(p.Status), Status: p.Status, Detail: p.Detail,
		Parameter: p.Parameter,
	}
	if p.Parameter != "" {
		b.Detail = p.Parameter + " " + p.Detail
	}
	writeAdminJSON(w, "application/problem+json", p.Status, b)
}

// answerJSON answers v with status.
func answerJSON(w http.ResponseWriter, status int, v any) *api.Problem {
	writeAdminJSON(w, "application/json", status, v)
	return nil
}

// writeAdminJSON answers the JSON of v, a line, with status. The text is made whole before the
// first byte is sent, so an error can still be a status.
func writeAdminJSON(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only NaN or infinity
		http.Error(w, "cannot be put into JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client gone misses it
}

// checked returns the handler behind a check of the query string, under /v1/.
func (e *endpoint) checked() handler {
	known, _ := url.ParseQuery(strings.TrimPrefix(e.query, "?"))
	if !strings.HasPrefix(e.path, "/v1/") {
		return e.handle
	}
	return func(w http.ResponseWriter, r *http.Request) *api.Problem {
		if p := checkQuery(r, known); p != nil {
			return p
		}
		return e.handle(w, r)
	}
}

// checkQuery checks the query string of r, which may hold each of the names in known once and
// nothing else. Values are percent-decoded and may hold any bytes.
func checkQuery(r *http.Request, known url.Values) *api.Problem {
	if len(r.URL.RawQuery) > maxAdminQuery {
		return api.NewProblem(http.StatusRequestURITooLong, "query", "is longer than 4096 bytes")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return api.BadParameter("query", "is not valid percent-encoding")
	}
	for name, values := range query {
		switch {
		// a key may be given as it is shown
		case !known.Has(name) && (name != "shown" || !known.Has("key")):
			return api.BadParameter(api.Shown([]byte(name)), "is not a parameter of this path")
		case len(values) > 1:
			return api.GivenTwice(name)
		}
	}
	return nil
}

// adminRule returns the rule the parameter rule names. nil without a problem:  the parameter is
// missing.
func (a *Door) adminRule(query url.Values) (*mitigation.Rule, *api.Problem) {
	if !query.Has("rule") {
		return nil, nil
	}
	if r := a.gate.Rule([]byte(query.Get("rule"))); r != nil {
		return r, nil
	}
	return nil, api.UnknownRule("rule", []byte(query.Get("rule")), a.gate.RuleNames())
}

// listed reads the query of a list: the parameters rule and n. of is nil without a rule; n
// is a number of rows from 1 to maxAdminRows, or otherwise if missing.
func (a *Door) listed(r *http.Request, otherwise int) (
	query url.Values, of *mitigation.Rule, n int, p *api.Problem,
) {
	query = r.URL.Query()
	if n, p = rowsAsked(query, otherwise); p == nil {
		of, p = a.adminRule(query)
	}
	return query, of, n, p
}

// rowsAsked reads the parameter n: a number of rows from 1 to maxAdminRows, or otherwise.
func rowsAsked(query url.Values, otherwise int) (n int, p *api.Problem) {
	if n = otherwise; query.Has("n") {
		rows, err := strconv.ParseUint(query.Get("n"), 10, 16)
		if n = int(rows); err != nil || n < 1 || n > maxAdminRows {
			return 0, api.BadParameter("n", "must be a whole number from 1 to 1000")
		}
	}
	return n, nil
}

// neededRule is adminRule for a required parameter.
func (a *Door) neededRule(query url.Values) (*mitigation.Rule, *api.Problem) {
	if !query.Has("rule") {
		return nil, api.BadParameter("rule", "is missing")
	}
	return a.adminRule(query)
}

// ruleAndKey returns the rule and the key a query names, both required. The parameter key holds the
// key itself, the parameter shown the escaped form.
func (a *Door) ruleAndKey(r *http.Request) (
	in *mitigation.Rule, key []byte, query url.Values, p *api.Problem,
) {
	query = r.URL.Query()
	if in, p = a.neededRule(query); p != nil {
		return nil, nil, nil, p
	}
	key, p = adminKey(query.Get("key"), query.Get("shown"))
	return in, key, query, p
}

// adminKey returns the key given as it is (raw) or in its escaped form (shown). Tables print and
// people copy the escaped form; it gives back the bytes of any key.
func adminKey(raw, shown string) ([]byte, *api.Problem) {
	key, name := []byte(raw), "key"
	if shown != "" {
		if raw != "" {
			return nil, api.BadParameter("shown", "cannot be given together with key")
		}
		var ok bool
		if key, ok = api.UnescapeKey(shown); !ok {
			return nil, api.BadParameter("shown",
				`must be a key as the tables print it, with unprintable bytes as \xNN`)
		}
		name = "shown"
	}
	if len(key) < 1 || len(key) > mitigation.MaxKey {
		return nil, api.BadParameter(name, "must be 1 to 256 bytes long")
	}
	return key, nil
}

// wrongMethod returns the handler of a path existing for other methods, with a list.
func wrongMethod(allowed string) handler {
	return func(w http.ResponseWriter, _ *http.Request) *api.Problem {
		w.Header().Set("Allow", allowed)
		return api.NewProblem(http.StatusMethodNotAllowed, "method",
			"must be one of "+allowed)
	}
}
