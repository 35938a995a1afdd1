package http

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/valyala/fasthttp"
)

// The response headers, spelled as they are sent.
var (
	// The response headers in the spelling that is sent.
	headerPolicy  = []byte("RateLimit-Policy")
	headerLimit   = []byte("RateLimit")
	headerRetry   = []byte("Retry-After")
	headerVerdict = []byte("Headgate-Verdict")
	headerView    = []byte("Headgate-View")
	headerWhy     = []byte("Headgate-Why")
	headerShadow  = []byte("Headgate-Shadow")

	typeJSON    = []byte("application/json")
	typeProblem = []byte("application/problem+json")
)

// The words of answers, each as the header and the JSON have it.
var (
	// Words of the protocol, spelled the same in headers and JSON. whyWords is indexed by
	// mitigation.Why, viewWords by mitigation.Scope.
	wordAllow = []byte("allow")
	wordDeny  = []byte("deny")
	whyWords  = [...][]byte{mitigation.Unrefused: {}, mitigation.ByBlock: []byte("block"), mitigation.ByShed: []byte("shed"), mitigation.ByLimit: []byte("limit")}
	viewWords = [...][]byte{mitigation.Node: []byte("node"), mitigation.PoP: []byte("pop"), mitigation.Global: []byte("global")}
)

// quotaExceeded begins the JSON body of a refusal, up to the value of status.
const quotaExceeded = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
	`"title":"The limit of this rule is used up","status":`

// resultSize is the usual size of one result of a batch, in bytes, rounded up.
const resultSize = 160

// scratch is the memory of one request under way. It is pooled; bodies and lists above a bound are
// dropped before it returns to the pool.
type scratch struct {
	out    []byte
	body   []byte
	checks []gate.Ask
}

// forget clears s of a finished batch: its checks point into the body. A body above maxHTTPSmall
// and room for more than 128 checks are released.
func (s *scratch) forget() {
	const checks = 128
	if cap(s.body) > maxHTTPSmall {
		s.body = nil
	}
	if clear(s.checks); cap(s.checks) > checks {
		s.checks = nil
	}
}

// ruleText holds the parts of answers that depend on the rule alone, formatted once per rule. All
// bytes in it come from the configuration, so no byte of a client reaches a header.
type ruleText struct {
	// policy is the whole RateLimit-Policy header: "login";q=5;w=60
	policy []byte
	limit  []byte // RateLimit up to its numbers: "login"
	json   []byte // from the rule's name to its window
	tail   []byte // end of a refusal's body
}

// newRuleText formats the text of r. Rule names need no escaping: the configuration allows
// letters, digits and three signs.
func newRuleText(r *mitigation.Rule) *ruleText {
	name := `"` + r.Name + `"`
	limit := strconv.FormatInt(r.Limit, 10)
	policy := name + ";q=" + limit
	if r.Window%time.Second == 0 { // w counts whole seconds, and is left out where they cannot say it
		policy += ";w=" + strconv.FormatInt(int64(r.Window/time.Second), 10)
	}
	window := strconv.FormatFloat(r.Window.Seconds(), 'f', -1, 64)
	return &ruleText{
		policy: []byte(policy),
		limit:  []byte(name),
		json:   []byte(`,"rule":` + name + `,"limit":` + limit + `,"window":` + window),
		tail:   []byte(`,"violated-policies":[` + name + "]}\n"),
	}
}

// ruleTexts caches one ruleText per rule. A rule value never changes, so its address is the key.
// Readers take no lock. The zero value is empty.
type ruleTexts struct {
	byRule atomic.Pointer[map[*mitigation.Rule]*ruleText] // replaced as a whole, never changed in place
	mu     sync.Mutex                                     // serialises replacements
}

// of returns the text of r, formatting it on first use.
func (t *ruleTexts) of(r *mitigation.Rule) *ruleText {
	if known := t.byRule.Load(); known != nil {
		if text := (*known)[r]; text != nil {
			return text
		}
	}
	return t.add(r)
}

// add formats and stores the text of r. When reloads have left more than 2*MaxRules entries, all
// older ones are dropped at once.
func (t *ruleTexts) add(r *mitigation.Rule) *ruleText {
	t.mu.Lock()
	defer t.mu.Unlock()
	grown := make(map[*mitigation.Rule]*ruleText)
	if known := t.byRule.Load(); known != nil && len(*known) < 2*mitigation.MaxRules {
		for rule, text := range *known {
			grown[rule] = text
		}
	}
	text := newRuleText(r)
	grown[r] = text
	t.byRule.Store(&grown)
	return text
}

// answer is a decision in the units of the protocol: durations in whole seconds, rounded up.
type answer struct {
	deny, shadow bool
	why          mitigation.Why
	view         mitigation.Scope
	ratio        mitigation.Ratio
	remaining    int64
	reset, retry uint32
}

// answerOf converts d without adjusting its numbers: see settle.
func answerOf(d *gate.Decision) answer {
	return answer{
		deny: d.Deny, shadow: d.Shadow, why: d.Why, view: d.View, ratio: d.Ratio, remaining: d.Remaining,
		reset: api.WholeSeconds(d.Reset), retry: api.WholeSeconds(d.Retry),
	}
}

// settle makes the numbers consistent, as clients may rely on: remaining is never negative; a
// refusal has retry >= 1 and retry >= reset > 0, so that no quota is promised before the retry.
func settle(a answer) answer {
	a.remaining = max(a.remaining, 0)
	if a.deny {
		a.retry = max(a.retry, a.reset, 1)
		if a.reset == 0 {
			a.reset = a.retry
		}
	}
	return a
}

// writeDecision writes the whole response to one check: status 200, or denyStatus for a refusal.
func writeDecision(ctx *fasthttp.RequestCtx, s *scratch, text *ruleText, a answer, denyStatus int) {
	a = settle(a)
	header := &ctx.Response.Header
	header.SetCanonical(headerPolicy, text.policy)
	s.out = appendRateLimit(s.out[:0], text, a)
	header.SetCanonical(headerLimit, s.out)
	header.SetCanonical(headerView, viewWords[a.view])
	if a.deny {
		writeDeny(ctx, s, text, a, denyStatus)
		return
	}
	header.SetCanonical(headerVerdict, wordAllow)
	if a.shadow {
		header.SetCanonical(headerShadow, wordDeny)
	}
	header.SetContentTypeBytes(typeJSON)
	s.out = appendBody(s.out[:0], text, a, fasthttp.StatusOK)
	ctx.Response.SetBody(s.out)
}

// appendBody appends the body of the response to one check. a must be settled; status is that of
// the response.
func appendBody(b []byte, text *ruleText, a answer, status int) []byte {
	if !a.deny {
		return append(appendFields(append(b, '{'), text, a), "}\n"...)
	}
	b = append(b, quotaExceeded...)
	b = append(strconv.AppendInt(b, int64(status), 10), ',')
	return append(appendFields(b, text, a), text.tail...)
}

// writeDeny writes the headers and the body that only a refusal has. a must be settled.
func writeDeny(ctx *fasthttp.RequestCtx, s *scratch, text *ruleText, a answer, status int) {
	header := &ctx.Response.Header
	header.SetCanonical(headerVerdict, wordDeny)
	header.SetCanonical(headerWhy, whyWords[a.why])
	s.out = strconv.AppendUint(s.out[:0], uint64(a.retry), 10)
	header.SetCanonical(headerRetry, s.out)
	header.SetContentTypeBytes(typeProblem)
	ctx.SetStatusCode(status)

	s.out = appendBody(s.out[:0], text, a, status)
	ctx.Response.SetBody(s.out)
}

// appendRateLimit appends the value of the RateLimit header: "login";r=4;t=60
func appendRateLimit(b []byte, text *ruleText, a answer) []byte {
	b = append(append(b, text.limit...), ";r="...)
	b = strconv.AppendInt(b, a.remaining, 10)
	b = append(b, ";t="...)
	return strconv.AppendUint(b, uint64(a.reset), 10)
}

// appendFields appends the JSON members of a, without the braces. a must be settled.
func appendFields(b []byte, text *ruleText, a answer) []byte {
	verdict := wordAllow
	if a.deny {
		verdict = wordDeny
	}
	b = appendWord(append(b, `"verdict":`...), verdict)
	b = append(append(b, text.json...), `,"remaining":`...)
	b = strconv.AppendInt(b, a.remaining, 10)
	b = append(b, `,"reset":`...)
	b = strconv.AppendUint(b, uint64(a.reset), 10)
	b = appendWord(append(b, `,"view":`...), viewWords[a.view])
	if a.shadow {
		b = appendWord(append(b, `,"shadow":`...), wordDeny)
	}
	if !a.deny {
		return b
	}
	b = appendWord(append(b, `,"why":`...), whyWords[a.why])
	b = append(b, `,"retry_after":`...)
	b = strconv.AppendUint(b, uint64(a.retry), 10)
	if ratio := float32(a.ratio.Float()); ratio > 0 {
		b = append(b, `,"ratio":`...)
		b = strconv.AppendFloat(b, float64(ratio), 'f', -1, 32)
	}
	return b
}

// appendWord appends word in quotes. It must need no escaping.
func appendWord(b, word []byte) []byte {
	return append(append(append(b, '"'), word...), '"')
}
