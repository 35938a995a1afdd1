package admin

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/sample"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// mostHeld is the most keys of a rule looked for by a part.
const mostHeld = 50

// held is a key under a rule.
type held struct{ rule, key string }

// who answers POST /v1/who: every key of a client, and whether it is denied. A POST though nothing
// changes: secrets are not for a URL.
func (a *Door) who(w http.ResponseWriter, r *http.Request) *api.Problem {
	var c sample.Client
	if p := readClient(r, &c, map[string]*string{"rule": &c.Rule}); p != nil {
		return p
	}
	var v api.WhoView
	var problem *api.Problem
	if p := a.listing(r, func() { v, problem = a.viewWho(a.gate.Now(), &c) }); p != nil {
		return p
	}
	if problem != nil {
		return problem
	}
	return answerJSON(w, http.StatusOK, v)
}

// readClient reads the client in the body of r, and the members in more.
func readClient(r *http.Request, c *sample.Client, more map[string]*string) *api.Problem {
	j, p := readJSON(r)
	if p != nil {
		return p
	}
	c.Fields = map[string]string{}
	plain := map[string]*string{
		"client": new(string), "method": new(string), "path": new(string), "host": new(string),
	}
	texts := maps.Clone(plain)
	maps.Copy(texts, more)
	texts["key"] = &c.Key
	p = j.Object(func(name []byte) *api.Problem {
		family := string(name)
		if family != "header" && family != "cookie" && family != "query" {
			return takeMember(j, []byte(family), texts)
		}
		return readFields(j, family+".", c)
	})
	if p == nil && !j.End() {
		p = j.Syntax()
	}
	if p != nil && p.Whole { // the reader words problems for a check
		p.Detail = "is not a JSON object of strings"
	}
	for field, value := range plain {
		if *value != "" {
			c.Fields[field] = *value
		}
	}
	return p
}

// readFields reads an object of fields of a family.
func readFields(j *api.JSONReader, family string, c *sample.Client) *api.Problem {
	return j.Object(func(name []byte) *api.Problem {
		field := family + string(name)
		if family == "header." {
			field = strings.ToLower(field)
		}
		var value []byte
		p := j.Text(field, &value)
		c.Fields[field] = string(value)
		return p
	})
}

// heldKeys gathers keys, of the rule alone if there is one.
type heldKeys struct {
	rule string
	all  []held
	more bool // than are gathered
}

// add adds a key once.
func (k *heldKeys) add(rule, key string) {
	if h := (held{rule, key}); (k.rule == "" || k.rule == rule) && !slices.Contains(k.all, h) {
		k.all = append(k.all, h)
	}
}

// keysOf returns the keys of the client.
func (a *Door) keysOf(now window.Instant, c *sample.Client) (heldKeys, *api.Problem) {
	if r := a.gate.RuleOrPolicy(c.Rule); r != nil { // the rules of all tiers have the same keys
		c.Rule = r.Name
	}
	k := heldKeys{rule: c.Rule}
	found, err := c.Keys(a.options.engine())
	switch {
	case c.Rule != "" && a.gate.Rule([]byte(c.Rule)) == nil:
		return k, api.UnknownRule("rule", []byte(c.Rule), a.gate.RuleNames())
	case err != nil:
		return k, &api.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	for i := range found {
		if found[i].Key != nil {
			k.add(found[i].Rule, string(found[i].Key))
		}
	}
	a.addKnown(now, found, c.AsIs(), &k)
	switch {
	case c.Rule == "" || len(k.all) > 0:
	case c.Key == "":
		return k, api.BadParameter("rule", c.Rule+" has no such key")
	default:
		k.add(c.Rule, c.Key)
	}
	return k, nil
}

// addKnown adds the known keys with the parts that were found, and asIs where nothing makes another
// key of it: under rules no policy asks, which programs name, and where such a key is known.
func (a *Door) addKnown(now window.Instant, found []policy.Held, asIs string, k *heldKeys) {
	counts, known := map[string]int{}, map[held]bool{}
	a.eachKnown(now, func(rule string, key []byte) {
		h := held{rule, string(key)}
		if asIs != "" && h.key == asIs {
			k.add(rule, asIs)
		}
		if known[h] || !slices.ContainsFunc(found, func(f policy.Held) bool {
			return f.Key == nil && f.Rule == rule && f.Matches(key)
		}) {
			return
		}
		if counts[rule]++; counts[rule] > mostHeld {
			k.more = true
			return
		}
		known[h] = true
		k.add(rule, h.key)
	})
	for name := range a.gate.RuleNames() {
		if asIs != "" && len(a.asking(name)) == 0 {
			k.add(name, asIs)
		}
	}
}

// eachKnown calls each with every key that is counted exactly or flagged.
func (a *Door) eachKnown(now window.Instant, each func(rule string, key []byte)) {
	a.gate.EachSuspect(now, func(s window.Suspect) bool {
		each(s.Rule, s.Key)
		return true
	})
	a.gate.EachFlag(now, func(f *mitigation.Flag) bool {
		each(f.Rule, f.Key)
		return true
	})
}

// viewWho returns the keys of the client at now, the denied first.
func (a *Door) viewWho(now window.Instant, c *sample.Client) (api.WhoView, *api.Problem) {
	v := api.WhoView{Now: a.gate.Shown(now), Allowed: true, Who: []api.WhoKeyView{}}
	k, p := a.keysOf(now, c)
	if p != nil {
		return v, p
	}
	v.More = k.more
	for _, h := range k.all {
		if is, ok := a.explained(now, explain.About{Rule: h.rule, Key: []byte(h.key)}); ok {
			v.Who = append(v.Who, a.viewHeld(now, &is))
			v.Allowed = v.Allowed && is.Verdict == "allow"
		}
	}
	order := slices.Collect(a.gate.RuleNames())
	place := func(v *api.WhoKeyView) int {
		switch at := slices.Index(order, v.Rule); {
		case v.Verdict != "allow":
			return at
		case v.Shadow:
			return at + len(order)
		default:
			return at + 2*len(order)
		}
	}
	slices.SortStableFunc(v.Who, func(x, y api.WhoKeyView) int {
		return cmp.Compare(place(&x), place(&y))
	})
	return v, nil
}

// viewHeld returns the state of an explained key.
func (a *Door) viewHeld(now window.Instant, is *api.ExplainView) api.WhoKeyView {
	v := api.WhoKeyView{
		Rule: is.Rule, Key: is.Key, Policies: append([]string{}, is.Policies...), Kind: is.Kind,
		Mode: is.Mode, Offered: is.Offered, Admitted: is.Admitted, Limit: is.Limit,
		Window: is.Window, Unit: cmp.Or(is.Unit, sample.Unit(a.options.engine(), is.Rule)),
		Remaining: is.Remaining, Verdict: is.Verdict, Why: is.Why, Retry: is.Retry,
		Shadow: is.Shadow, Mitigation: is.Flag,
	}
	switch {
	case is.Places != nil:
		v.Admitted, v.Offered = is.Limit-is.Remaining, is.Limit-is.Remaining
	case !is.Suspect:
		v.Offered, v.Admitted = is.Estimate, min(is.Estimate, is.Limit)
	}
	if is.Strikes != nil {
		v.Strikes = is.Strikes.Blocks
	}
	if v.Verdict != "allow" && v.Retry > 0 {
		until := a.gate.Shown(now.Add(time.Duration(v.Retry) * time.Second))
		if is.Flag != nil && is.Flag.Action == "block" {
			until = is.Flag.Expires
		}
		v.Until = &until
	}
	return v
}
