package grpc

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/h2"
	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/mitigation"
)

// maxOwn is how many rules descriptors with a limit of their own may make. Each is a rule with
// counts and metrics. Limits come from the proxy's configuration, which has a handful; a proxy that
// computed them would make a rule a request.
const maxOwn = 1000

// ownRules are the rules that descriptors brought their limits for. They stay until the daemon
// ends. Readers take no lock: the map is replaced when a rule is added, which is rare.
type ownRules struct {
	gate *gate.Gate
	all  atomic.Pointer[map[string][]byte] // names, by domain, keys and limit; replaced as a whole
	mu   sync.Mutex
}

// find returns the name of the rule for a text of domain, keys and limit; nil: there is none.
func (o *ownRules) find(spelled []byte) []byte {
	if all := o.all.Load(); all != nil {
		return (*all)[string(spelled)]
	}
	return nil
}

// add makes a rule of that name and limit. It returns nil where there are too many.
func (o *ownRules) add(spelled, name []byte, limit int64, window time.Duration) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	// Another connection may have made the rule between the look and the lock.
	if known := o.find(spelled); known != nil {
		return known
	}
	next := map[string][]byte{}
	if all := o.all.Load(); all != nil {
		maps.Copy(next, *all)
	}
	// Full for good: the rules are not taken away, as their counts hold.
	if len(next) == maxOwn {
		return nil
	}
	r := mitigation.Rule{Name: rls.RuleName(string(name), "/@"), Limit: limit, Window: window}
	for n := 2; o.gate.Rule([]byte(r.Name)) != nil; n++ { // the same keys with another limit
		r.Name = rls.RuleName(string(name)+"@"+strconv.Itoa(n), "/@")
	}
	if o.gate.AddRule(r) != nil {
		return nil
	}
	next[string(spelled)] = []byte(r.Name)
	o.all.Store(&next)
	return next[string(spelled)]
}

// askOwn makes p ask the rule of d's own limit. The values of the entries are the key. The name
// says the domain and the keys, domain/key1/key2, so people know the rule; the spelling has the
// limit too, so two limits for the same keys are two rules.
func (k *caller) askOwn(p *ask.Part, r *limitRequest, d *descriptor) h2.Status {
	cost, use := r.hitsOf(d)
	a := gate.Ask{Cost: cost}
	entries := k.entries[d.from:d.to]
	window, ok := d.limit.window()
	if !ok || len(entries) == 0 {
		_, status := k.malformed(nil, "a descriptor's limit has a unit of second, minute, hour "+
			"or day, at most a day in all, and the descriptor has entries")
		return status
	}
	if d.limit.perUnit == 0 {
		k.deny(p, use, new(rls.Limit))
		return h2.Status{}
	}
	from := len(k.text)
	k.text = append(k.text, r.domain...)
	for i := range entries {
		k.text = append(append(k.text, '/'), entries[i].key...)
	}
	name := k.text[from:]
	// No name has a zero byte: joined texts cannot be taken for others.
	k.text = append(k.text, 0)
	k.text = strconv.AppendUint(k.text, d.limit.perUnit, 10)
	k.text = append(k.text, 0)
	k.text = strconv.AppendInt(k.text, int64(window), 10)
	spelled := k.text[from:]
	if a.Rule = k.door.own.find(spelled); a.Rule == nil {
		// 32 bits
		if a.Rule = k.door.own.add(spelled, name[:len(name):len(name)],
			int64(min(d.limit.perUnit, mitigation.MaxLimit)), window); a.Rule == nil {
			k.door.full.Add(1)
			return h2.Status{Code: h2.Unavailable, Message: "descriptors have brought as many " +
				"limits of their own as there is room for"}
		}
	}
	from = len(k.text)
	for i := range entries {
		k.text = k.door.joiner.Append(k.text, from, entries[i].value, len(entries) > 1)
	}
	k.text = k.door.joiner.End(k.text, from)
	a.Key = k.text[from:]
	k.session.AddQuestion(p, a, use)
	return h2.Status{}
}

// unitWindows are the windows of a unit.
var unitWindows = [...]time.Duration{
	unitSecond: time.Second, unitMinute: time.Minute,
	unitHour: time.Hour, unitDay: 24 * time.Hour,
}

// window returns the window of l, whole seconds up to a day; false: no such window.
func (l *ownLimit) window() (time.Duration, bool) {
	if l.unit == 0 || l.unit >= uint64(len(unitWindows)) || l.multiplier > 86400 {
		return 0, false
	}
	window := unitWindows[l.unit] * time.Duration(l.multiplier) // within the bound
	return window, window <= mitigation.MaxWindow
}
