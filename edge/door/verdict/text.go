package verdict

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// Text holds the parts of answers that depend on the rule alone. All bytes in it come from the
// configuration, so no byte of a client reaches a header. It is read only.
type Text struct {
	// the whole RateLimit-Policy header: "login";q=5;w=60, or
	// "exports";q=3;qu="concurrent-requests"
	Policy []byte
	Name   []byte // RateLimit up to its numbers: "login"
	// members of an object from the rule's name to its window, if any, with a comma in front
	JSON     []byte
	Violated []byte // the end of a denial's body
	unit     int64  // of the rule, in parts
	scale    int
}

// newText formats the text of r. Names of rules need no escaping: the configuration allows letters,
// digits and three signs.
func newText(r *mitigation.Rule) *Text {
	name := `"` + r.Name + `"`
	decimal := func(parts int64) string {
		return string(wire.AppendDecimal(nil, uint64(parts), r.Scale))
	}
	policy := name + ";q=" + strconv.FormatInt(r.Quota()/r.Parts(), 10)
	members := `,"rule":` + name + `,"limit":` + decimal(r.Limit)
	if r.Kind == mitigation.Concurrency {
		policy += `;qu="concurrent-requests"`
	} else {
		// w counts whole seconds, and is left out where they cannot say it
		if fill := r.Fill(); fill%time.Second == 0 {
			policy += ";w=" + strconv.FormatInt(int64(fill/time.Second), 10)
		}
		members += `,"window":` + strconv.FormatFloat(r.Window.Seconds(), 'f', -1, 64)
	}
	if r.Kind == mitigation.Bucket {
		members += `,"burst":` + decimal(r.Burst)
	}
	if r.Unit != "" {
		policy += `;qu="` + r.Unit + `"`
		members += `,"unit":"` + r.Unit + `"`
	}
	return &Text{
		Policy: []byte(policy), Name: []byte(name), JSON: []byte(members),
		Violated: []byte(`,"violated-policies":[` + name + "]}\n"),
		unit:     r.Parts(), scale: r.Scale,
	}
}

// Texts caches a Text per rule. A rule value never changes, so its address is the key. Readers of
// known texts take no lock. The zero value is empty; its methods may be called concurrently.
type Texts struct {
	known atomic.Pointer[map[*mitigation.Rule]*Text] // replaced as a whole, never changed in place
	more  atomic.Int64

	mu     sync.Mutex                 // protects what follows
	fresh  map[*mitigation.Rule]*Text // formatted since known was replaced
	misses int                        // looks that found nothing in known, since then
}

// Expect makes room for the texts of more rules than mitigation.MaxRules.
func (t *Texts) Expect(more int) { t.more.Store(int64(more)) }

// Of returns the text of r, formatting it on first use.
func (t *Texts) Of(r *mitigation.Rule) *Text {
	if known := t.known.Load(); known != nil {
		if text := (*known)[r]; text != nil {
			return text
		}
	}
	return t.missed(r)
}

// missed is Of for a rule that is not known. As many misses as there are known texts pay for a copy
// with the fresh: thousands of rules, each asked for the first time, do not cost a copy each.
func (t *Texts) missed(r *mitigation.Rule) *Text {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.fresh[r]
	if text == nil {
		if t.fresh == nil {
			t.fresh = map[*mitigation.Rule]*Text{}
		}
		text = newText(r)
		t.fresh[r] = text
	}
	var known map[*mitigation.Rule]*Text
	if was := t.known.Load(); was != nil {
		known = *was
	}
	if t.misses++; t.misses < len(known) {
		return text
	}
	// When reloads have left twice as many as there can be rules, the known go at once.
	if int64(len(known)+len(t.fresh)) <= 2*(mitigation.MaxRules+t.more.Load()) {
		maps.Copy(t.fresh, known)
	}
	whole := t.fresh
	t.known.Store(&whole)
	t.fresh, t.misses = nil, 0
	return text
}
