package edge

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// problemBody is what an error answer of the admin listener says (RFC 9457).
type problemBody struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Parameter string `json:"parameter,omitempty"` // none: detail stands alone
}

// answer answers p as application/problem+json.
func (p *problem) answer(w http.ResponseWriter) {
	b := problemBody{
		Type: "about:blank", Title: http.StatusText(p.status), Status: p.status, Detail: p.detail, Parameter: p.parameter,
	}
	if p.parameter != "" {
		b.Detail = p.parameter + " " + p.detail
	}
	writeAdminJSON(w, "application/problem+json", p.status, b)
}

// answerJSON answers v with status.
func answerJSON(w http.ResponseWriter, status int, v any) *problem {
	writeAdminJSON(w, "application/json", status, v)
	return nil
}

func writeAdminJSON(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only a number that is none would do it
		http.Error(w, "cannot be put into JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // who does not wait for the answer misses it
}

// adminQuery reads r's query string, which may hold each of names once and nothing else. Values come as
// they were sent, percent-decoded: any bytes.
func adminQuery(r *http.Request, names ...string) (url.Values, *problem) {
	if len(r.URL.RawQuery) > maxAdminQuery {
		return nil, &problem{status: http.StatusRequestURITooLong, parameter: "query", detail: "is longer than 4096 bytes"}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badParam("query", "is not percent-encoded as it should be")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(names, name):
			return nil, badParam(shown([]byte(name)), "is not a parameter of this path")
		case len(values) > 1:
			return nil, givenTwice(name)
		}
	}
	return query, nil
}

// adminCount reads n, a number of rows.
func adminCount(query url.Values, otherwise int) (int, *problem) {
	if !query.Has("n") {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(query.Get("n"), 10, 16)
	if err != nil || n < 1 || n > maxAdminRows {
		return 0, badParam("n", "must be a whole number from 1 to 1000")
	}
	return int(n), nil
}

// adminRule returns the rule that the parameter rule names, and nil without a problem when it is not
// given.
func (a *Admin) adminRule(query url.Values) (*rule, *problem) {
	if !query.Has("rule") {
		return nil, nil
	}
	if r := a.edge.rules.Load().byName[query.Get("rule")]; r != nil {
		return r, nil
	}
	return nil, unknownRule("rule")
}

// neededRule is adminRule where the parameter must be given.
func (a *Admin) neededRule(query url.Values) (*rule, *problem) {
	if !query.Has("rule") {
		return nil, badParam("rule", "is missing")
	}
	return a.adminRule(query)
}

// ruleAndKey returns the rule and the key a query names, both of which it must; it may hold others besides. The key is
// given as it is, by key, or as it is shown, by shown.
func (a *Admin) ruleAndKey(r *http.Request, others ...string) (in *rule, key []byte, query url.Values, p *problem) {
	if query, p = adminQuery(r, append(others, "rule", "key", "shown")...); p != nil {
		return nil, nil, nil, p
	}
	if in, p = a.neededRule(query); p != nil {
		return nil, nil, nil, p
	}
	key, p = adminKey(query.Get("key"), query.Get("shown"))
	return in, key, query, p
}
