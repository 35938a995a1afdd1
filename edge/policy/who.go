package policy

import (
	"bytes"
	"slices"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Held is a key that a client may have under a rule.
type Held struct {
	Policy int // asking the rule
	Rule   string
	Key    []byte   // nil: some parts are not known
	Parts  [][]byte // then of the key's list; nil: not known
}

// Matches reports whether key is h's, or has h's known parts.
func (h *Held) Matches(key []byte) bool {
	if h.Key != nil {
		return bytes.Equal(h.Key, key)
	}
	parts := bytes.Split(key, []byte{separator})
	if len(parts) != len(h.Parts) {
		return false
	}
	for i, part := range h.Parts {
		if part != nil && !bytes.Equal(part, parts[i]) {
			return false
		}
	}
	return true
}

// Keys calls each with the keys by which policies count requests with the fields of r in given, by
// their names in a key: client, header.x-api-key, path. It allocates.
func (e *Engine) Keys(r *request.Request, given map[string]bool, each func(Held)) {
	w := walk{e: e, r: r, out: new(Result)}
	w.out.reset(e)
	e.eachKey(func(policy int, rule string, k *builtKey) {
		list, named := make([][]byte, len(k.Parts)), false
		for i, alternatives := range k.Parts {
			for j := range alternatives {
				p := &alternatives[j]
				fixed := p.kind == partAll || p.kind == partPolicy
				if !fixed && !given[p.name()] {
					continue
				}
				list[i] = w.appendPart(nil, p, k.policy, len(k.Parts) > 1)
				if named = named || !fixed && list[i] != nil; list[i] != nil {
					break
				}
			}
		}
		if named {
			each(e.held(policy, rule, list))
		}
	})
}

// KeysOfText calls each with the keys that have value in a part of text, such as a header or a
// host: with the value itself, or a digest of it. It allocates.
func (e *Engine) KeysOfText(value []byte, each func(Held)) {
	e.eachKey(func(policy int, rule string, k *builtKey) {
		for i, alternatives := range k.Parts {
			for j := range alternatives {
				p := &alternatives[j]
				if p.kind != partField || p.field.IsAddress() || p.field.IsNumber() ||
					p.loaded != nil && !p.loaded.Has(value) {
					continue
				}
				list := make([][]byte, len(k.Parts))
				list[i] = e.appendText(nil, p, value, len(list) > 1)
				each(e.held(policy, rule, list))
			}
		}
	})
}

// KeyFields calls each with the fields in the keys of every rule, and whether a digest is made of
// them. It allocates.
func (e *Engine) KeyFields(each func(rule, field string, digest bool)) {
	e.eachKey(func(_ int, rule string, k *builtKey) {
		for _, p := range slices.Concat(k.Parts...) {
			if p.kind != partAll && p.kind != partPolicy {
				each(rule, p.name(), p.secret())
			}
		}
	})
}

// eachKey calls each with every rule that a policy asks and the key it asks by.
func (e *Engine) eachKey(each func(policy int, rule string, k *builtKey)) {
	for i := range e.policies {
		for _, rule := range e.policies[i].rules {
			each(i, string(rule.name), &e.keys[rule.key])
		}
	}
}

// held returns a key of parts, some of which may be nil.
func (e *Engine) held(policy int, rule string, list [][]byte) Held {
	for _, part := range list {
		if part == nil {
			return Held{Policy: policy, Rule: rule, Parts: list}
		}
	}
	key := bytes.Join(list, []byte{separator})
	if len(key) > mitigation.MaxKey {
		key = e.digest.appendDigest(nil, key)
	}
	return Held{Policy: policy, Rule: rule, Key: key}
}

// name returns the name of the field of the part.
func (p *Part) name() string {
	if p.kind == partPrefix {
		return "client"
	}
	return p.field.String()
}
