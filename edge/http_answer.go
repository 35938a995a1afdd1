package edge

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// The response headers, spelled as they are sent.
var (
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
	wordAllow = []byte("allow")
	wordDeny  = []byte("deny")
	whyWords  = [...][]byte{wire.NoWhy: {}, wire.WhyBlock: []byte("block"), wire.WhyShed: []byte("shed"), wire.WhyLimit: []byte("limit")}
	viewWords = [...][]byte{wire.ViewNode: []byte("node"), wire.ViewPoP: []byte("pop"), wire.ViewGlobal: []byte("global")}
)

// quotaExceeded begins the body of a refusal, up to its status.
const quotaExceeded = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
	`"title":"The limit of this rule is used up","status":`

// resultSize is room for one result of a batch, in most cases.
const resultSize = 160

// scratch is the memory one request is answered with, used again by the next.
type scratch struct {
	out    []byte
	body   []byte
	checks []wire.Query
}

// forget lets go of a large body.
func (s *scratch) forget() {
	if cap(s.body) > maxHTTPSmall {
		s.body = nil
	}
	clear(s.checks)
}

// ruleText is what every answer about one rule has in common. Names and numbers in it are the configuration's: nothing a
// client sends reaches a header.
type ruleText struct {
	policy []byte // RateLimit-Policy, whole: "login";q=5;w=60
	limit  []byte // RateLimit up to its numbers: "login"
	json   []byte // from the rule's name to its window
	tail   []byte // end of a refusal's body
}

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

// ruleTexts keeps the text of every rule in use. A rule never changes, so its address names its text.
type ruleTexts struct {
	known atomic.Pointer[map[*mitigation.Rule]*ruleText] // replaced whole, never written to
	mu    sync.Mutex                                     // held by who replaces it
}

// of returns the text of r.
func (t *ruleTexts) of(r *mitigation.Rule) *ruleText {
	if known := t.known.Load(); known != nil {
		if text := (*known)[r]; text != nil {
			return text
		}
	}
	return t.learn(r)
}

// learn adds the text of r. After reloads the rules of old are forgotten all at once.
func (t *ruleTexts) learn(r *mitigation.Rule) *ruleText {
	t.mu.Lock()
	defer t.mu.Unlock()
	grown := make(map[*mitigation.Rule]*ruleText)
	if known := t.known.Load(); known != nil && len(*known) < 2*mitigation.MaxRules {
		for rule, text := range *known {
			grown[rule] = text
		}
	}
	text := newRuleText(r)
	grown[r] = text
	t.known.Store(&grown)
	return text
}

// settle makes the numbers of an answer fit each other, as every client may rely on: a refusal has a wait of at least a
// second, and no more quota is promised after it.
func settle(a wire.Answer) wire.Answer {
	a.Remaining = max(a.Remaining, 0)
	if a.Status == wire.Deny {
		a.Retry = max(a.Retry, a.Reset, 1)
		if a.Reset == 0 {
			a.Reset = a.Retry
		}
	}
	return a
}

// writeDecision answers with a verdict: 200 or denyStatus.
func writeDecision(ctx *fasthttp.RequestCtx, s *scratch, text *ruleText, a wire.Answer, denyStatus int) {
	a = settle(a)
	header := &ctx.Response.Header
	header.SetCanonical(headerPolicy, text.policy)
	s.out = appendRateLimit(s.out[:0], text, a)
	header.SetCanonical(headerLimit, s.out)
	header.SetCanonical(headerView, viewWords[a.View])
	if a.Status == wire.Deny {
		writeDeny(ctx, s, text, a, denyStatus)
		return
	}
	header.SetCanonical(headerVerdict, wordAllow)
	if a.Shadow {
		header.SetCanonical(headerShadow, wordDeny)
	}
	header.SetContentTypeBytes(typeJSON)
	s.out = append(appendFields(append(s.out[:0], '{'), text, a), "}\n"...)
	ctx.Response.SetBody(s.out)
}

// writeDeny adds what a refusal has of its own.
func writeDeny(ctx *fasthttp.RequestCtx, s *scratch, text *ruleText, a wire.Answer, status int) {
	header := &ctx.Response.Header
	header.SetCanonical(headerVerdict, wordDeny)
	header.SetCanonical(headerWhy, whyWords[a.Why])
	s.out = strconv.AppendUint(s.out[:0], uint64(a.Retry), 10)
	header.SetCanonical(headerRetry, s.out)
	header.SetContentTypeBytes(typeProblem)
	ctx.SetStatusCode(status)

	out := append(s.out[:0], quotaExceeded...)
	out = append(strconv.AppendInt(out, int64(status), 10), ',')
	s.out = append(appendFields(out, text, a), text.tail...)
	ctx.Response.SetBody(s.out)
}

// appendRateLimit appends the RateLimit header: "login";r=4;t=60
func appendRateLimit(b []byte, text *ruleText, a wire.Answer) []byte {
	b = append(append(b, text.limit...), ";r="...)
	b = strconv.AppendInt(b, a.Remaining, 10)
	b = append(b, ";t="...)
	return strconv.AppendUint(b, uint64(a.Reset), 10)
}

// appendFields appends the members an answer has in JSON, without braces.
func appendFields(b []byte, text *ruleText, a wire.Answer) []byte {
	verdict := wordAllow
	if a.Status == wire.Deny {
		verdict = wordDeny
	}
	b = appendWord(append(b, `"verdict":`...), verdict)
	b = append(append(b, text.json...), `,"remaining":`...)
	b = strconv.AppendInt(b, a.Remaining, 10)
	b = append(b, `,"reset":`...)
	b = strconv.AppendUint(b, uint64(a.Reset), 10)
	b = appendWord(append(b, `,"view":`...), viewWords[a.View])
	if a.Shadow {
		b = appendWord(append(b, `,"shadow":`...), wordDeny)
	}
	if a.Status != wire.Deny {
		return b
	}
	b = appendWord(append(b, `,"why":`...), whyWords[a.Why])
	b = append(b, `,"retry_after":`...)
	b = strconv.AppendUint(b, uint64(a.Retry), 10)
	if a.Ratio > 0 {
		b = append(b, `,"ratio":`...)
		b = strconv.AppendFloat(b, float64(a.Ratio), 'f', -1, 32)
	}
	return b
}

// appendWord appends a word that needs no escaping, in quotes.
func appendWord(b, word []byte) []byte {
	return append(append(append(b, '"'), word...), '"')
}
