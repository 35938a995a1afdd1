package grpc

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/h2"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// maxDescriptors is the most descriptors of a call. Envoy makes a descriptor a rule of a route.
const maxDescriptors = 256

// limit answers a call of ShouldRateLimit. In a domain of rls.files a descriptor has the meaning of
// the files; in any other domain one of three things:
//
//	an entry "rule"     that rule, the values of the other entries being the key
//	a limit of its own  a rule of that limit, named after the domain and the keys of the entries
//	else                the fields of a request, which the policies decide
//
// All descriptors are decided together: if a descriptor denies, no other counts, as the request
// will not happen.
func (k *caller) limit(dst, message []byte) ([]byte, h2.Status) {
	var r limitRequest
	switch {
	case message == nil:
		return k.limitTooLong(dst)
	case !k.parseLimit(&r, message):
		return k.malformed(dst, notProto)
	case len(r.domain) == 0:
		return k.malformed(dst, "the request has no domain")
	// An empty request would pass without being counted, and an operator would not learn why.
	case len(k.descriptors) == 0:
		return k.malformed(dst, "the request has no descriptors")
	case len(k.descriptors) > maxDescriptors:
		k.door.malformed.Add(1)
		return dst, h2.Status{Code: h2.ResourceExhausted, Message: "a request has at most 256 " +
			"descriptors"}
	}
	k.session.Start()
	k.text, k.parts, k.found = k.text[:0], k.parts[:0], k.found[:0]
	limits := k.door.limits.Load()
	if k.session.Also = nil; limits != nil {
		k.session.Also = limits.Rules
	}
	domain := limits.Domain(r.domain)
	if r.files = domain != nil; r.files {
		k.find(domain)
	}
	for i := range k.descriptors {
		k.parts = append(k.parts, ask.Part{})
		p, d := &k.parts[i], &k.descriptors[i]
		var status h2.Status
		switch {
		case d.limited:
			status = k.askOwn(p, &r, d)
		case domain != nil:
			k.askFound(p, &r, d, k.found[i])
		default:
			status = k.ask(p, &r, d)
		}
		if status.Code != h2.OK {
			return dst, status
		}
	}
	deny, err := k.session.DecideAll(&k.batch, k.parts)
	if err != nil { // a reload took a rule away
		k.door.unknown.Add(1)
		return dst, h2.Status{Code: h2.NotFound, Message: "a rule was removed from the " +
			"configuration a moment ago"}
	}
	dst = k.appendAnswer(dst, &r, deny, k.door.form.Load())
	k.forget()
	return dst, h2.Status{}
}

// limitTooLong answers a call whose message is longer than is read, as a descriptor of an unfit
// request.
func (k *caller) limitTooLong(dst []byte) ([]byte, h2.Status) {
	k.session.Start()
	k.session.Also = k.door.gate.Rules() // which of them it asks, nobody knows
	k.descriptors, k.entries, k.found = append(k.descriptors[:0],
		descriptor{}), k.entries[:0], append(k.found[:0], nil)
	k.parts = append(k.parts[:0], ask.Part{})
	k.readTooLong()
	k.session.AddRequest(&k.parts[0], &k.batch, 1, 0)
	deny, err := k.session.DecideAll(&k.batch, k.parts)
	if err != nil {
		return dst, h2.Status{Code: h2.Internal, Message: "an unfit request asks no rule"}
	}
	return k.appendAnswer(dst, &limitRequest{hits: 1}, deny, new(LimitForm)), h2.Status{}
}

// readTooLong sets the session's request to a request longer than is read.
func (k *caller) readTooLong() {
	f := k.session.Read(k.peer)
	f.TooLong()
	f.End()
}

// forget lets go of the memory of an unusually long request. A connection lives for days; a call
// with a thousand descriptors must not leave memory behind.
func (k *caller) forget() {
	const usual = 64
	if cap(k.descriptors) > usual || cap(k.entries) > 16*usual || cap(k.text) > usual<<10 {
		k.descriptors, k.parts, k.found, k.entries, k.text = nil, nil, nil, nil, nil
	}
}

// hitsOf returns the cost of d, and its use. Negative hits are given back: from the admitted cost,
// or the key's oldest lease of a rule of kind concurrency. A descriptor's own hits_addend goes
// before the request's; 0 asks how much is left without taking any. In a domain of the files, its
// own hits are told: gateways send the cost of a response so, once it has been paid for.
func (r *limitRequest) hitsOf(d *descriptor) (cost uint32, use ask.Use) {
	hits := r.hits
	if d.hasHits {
		hits = d.hits
	}
	switch {
	case hits == 0:
		use = ask.Look
	case d.negative:
		use = ask.Return
	case d.hasHits && r.files:
		use = ask.Tell
	}
	return uint32(min(hits, mitigation.MaxCost)), use // within the bound
}

// ask makes p ask the limit of d. An entry "rule" is looked for at any place: Envoy's configuration
// has no way to say which comes first.
func (k *caller) ask(p *ask.Part, r *limitRequest, d *descriptor) h2.Status {
	cost, use := r.hitsOf(d)
	entries := k.entries[d.from:d.to]
	for i := range entries {
		if string(entries[i].key) == "rule" {
			return k.askRule(p, d, i, gate.Ask{Rule: entries[i].value, Cost: cost}, use)
		}
	}
	if k.door.waiting.Load() {
		return h2.Status{Code: h2.Unavailable, Message: "no configuration from rls.xds yet"}
	}
	if !k.fill(entries) {
		_, status := k.malformed(nil, "an entry has a value that its field cannot have")
		return status
	}
	k.session.AddRequest(p, &k.batch, max(cost, 1), use)
	return h2.Status{}
}

// askRule makes p ask the rule named by entry at. The values of the other entries are the key.
func (k *caller) askRule(p *ask.Part, d *descriptor, at int, a gate.Ask, use ask.Use) h2.Status {
	entries := k.entries[d.from:d.to]
	if len(entries) == 1 {
		_, status := k.malformed(nil, "a descriptor with an entry rule has no other entry, and "+
			"so no key")
		return status
	}
	if k.door.gate.Rule(a.Rule) == nil {
		k.door.unknown.Add(1)
		// Logged once in a while, with the name: most likely a rule was renamed.
		k.door.gate.NoteMisnamed(a.Rule)
		return h2.Status{
			Code: h2.NotFound,
			Message: "no rule is called " + string(bytes.ToValidUTF8(a.Rule[:min(len(a.Rule),
				mitigation.MaxRuleName)], nil)),
		}
	}
	from := len(k.text)
	for i := range entries {
		if i != at {
			k.text = k.door.joiner.Append(k.text, from, entries[i].value, len(entries) > 2)
		}
	}
	k.text = k.door.joiner.End(k.text, from)
	a.Key = k.text[from:]
	k.session.AddQuestion(p, a, use)
	return h2.Status{}
}

// fill sets the session's request from entries. Other entries mean nothing to policies. False: an
// address of the client or the peer is none. remote_address is Envoy's action of the same name; a
// masked address has the bits of the network behind a slash. All else are descriptors the operator
// has named after fields: generic_key and header values.
func (k *caller) fill(entries []entry) bool {
	f := k.session.Read(k.peer)
	for _, e := range entries {
		p := wire.Pair{Field: wire.FieldClient, Value: e.value}
		switch string(e.key) {
		case "remote_address", "masked_remote_address":
			p.Value, _, _ = bytes.Cut(e.value, []byte{'/'})
			if lines.Read(f, &p) != wire.NoError {
				return false
			}
		case "delay":
			k.session.CanWait = string(e.value) == "ok"
		case "deceive":
			k.session.CanDeceive = string(e.value) == "ok"
		default:
			is, ok := wire.FieldOf(e.key, false)
			if is.Value = e.value; ok && lines.Read(f, &is) != wire.NoError {
				return false
			}
		}
	}
	f.End()
	return true
}
