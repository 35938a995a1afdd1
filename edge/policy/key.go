package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// partKind is the source of a part of a key.
type partKind uint8

const (
	partField partKind = iota
	// IPv6 is cut to 64 bits by default: a household has at least so much, and would have 2^64 keys
	// otherwise
	partPrefix // the client's address, cut to bits
	partPath   // the first segments of the path
	// keeps the counts of several policies asking the same rule apart
	partPolicy // the policy's name
	partAll    // one key for every request
)

// Key says by whom a policy counts. Each part is the first of the present alternatives.
type Key struct {
	Parts [][]Part
}

// Part is an alternative of a part of a key.
type Part struct {
	kind         partKind
	field        condition.Field
	number       int // of the field's header in the engine's names
	bits4, bits6 int // of partPrefix; 0: as Clients says
	segments     int // of partPath
	set          string
	loaded       *sets.Set
	// A key is shown to people and in logs, which a session's cookie must not be.
	raw, digest bool // raw(…): never a digest; hash(…): always one
}

// DefaultKey counts by the client. Of IPv6 by the network: see partPrefix.
func DefaultKey() Key {
	return Key{Parts: [][]Part{{{
		kind:  partPrefix,
		field: condition.Field{Kind: condition.Client},
	}}}}
}

// Sets returns the names of the sets in the key.
func (k *Key) Sets() []string {
	var names []string
	for _, p := range slices.Concat(k.Parts...) {
		if p.set != "" {
			names = append(names, p.set)
		}
	}
	return names
}

// ParseKeyPart reads a part of a key with alternatives: client, client/24,56,
// header.x-api-key@tenants | client. Alternatives are looked at from the left: header.x-api-key |
// client is the header if sent, else the address.
func ParseKeyPart(text string) ([]Part, error) {
	var list []Part
	for one := range strings.SplitSeq(text, "|") {
		p, err := parsePart(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	// Counted after all were read, so a fault in a part is reported first.
	if len(list) > MaxParts {
		return nil, fmt.Errorf("at most %d alternatives are allowed, here are %d",
			MaxParts, len(list))
	}
	return list, nil
}

func parsePart(text string) (Part, error) {
	for _, name := range []string{"raw", "hash"} {
		if inner, ok := strings.CutPrefix(text, name+"("); ok {
			return wrappedPart(name, inner)
		}
	}
	text, set, hasSet := strings.Cut(text, "@")
	p, err := plainPart(text)
	if err == nil && hasSet {
		p.set = set
		err = p.checkSet()
	}
	return p, err
}

// wrappedPart reads the text after "raw(" or "hash(". A set may stand inside the bracket or behind.
// As in hash(header.x-user)@known and hash(header.x-user@known), which are the same.
func wrappedPart(name, text string) (Part, error) {
	inner, behind, ok := strings.Cut(text, ")")
	if !ok || behind != "" && !strings.HasPrefix(behind, "@") {
		return Part{}, fmt.Errorf("%s(…) encloses one part, and only @ and a set may follow it",
			name)
	}
	p, err := parsePart(strings.TrimSpace(inner) + behind)
	switch {
	case err != nil:
		return Part{}, err
	case p.raw || p.digest:
		return Part{}, errors.New("raw and hash do not go together, and each stands once")
	case p.kind != partField:
		return Part{}, fmt.Errorf("%s(…) is for fields with a text, such as header.x-api-key", name)
	}
	p.raw, p.digest = name == "raw", name == "hash"
	return p, nil
}

// A network is not a member of a set of addresses, so client/24@net would be absent always.
func (p *Part) checkSet() error {
	switch {
	case !sets.IsWord(p.set):
		return errors.New("the name of a set must follow @")
	case p.kind == partAll || p.kind == partPolicy || p.kind == partPath:
		return errors.New("@ and a set can follow a field only")
	case p.kind == partPrefix && (p.bits4 > 0 || p.bits6 > 0):
		return errors.New("a set holds whole addresses: write client@" + p.set)
	}
	return nil
}

// Each message names the words to write instead: keys are where configurations are wrong most
// often.
func plainPart(text string) (Part, error) {
	switch text {
	case "client":
		return Part{kind: partPrefix, field: condition.Field{Kind: condition.Client}}, nil
	case "all":
		return Part{kind: partAll}, nil
	case "policy":
		return Part{kind: partPolicy}, nil
	// Fields of conditions, but not of keys.
	case "status", "tls", "scheme":
		return Part{}, fmt.Errorf("%s cannot be part of a key", text)
	}
	if bits, ok := strings.CutPrefix(text, "client/"); ok {
		return prefixPart(bits)
	}
	if count, ok := strings.CutPrefix(text, "path:"); ok {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > 16 {
			return Part{}, fmt.Errorf("path: is followed by how many segments make the key, 1 to "+
				"16, not %.64q", count)
		}
		return Part{kind: partPath, field: condition.Field{Kind: condition.Path}, segments: n}, nil
	}
	field, err := condition.ParseField(text)
	if err != nil {
		return Part{}, fmt.Errorf("%.64q is no part of a key: parts are client, client/24,56, "+
			"peer, method, host, path, path:2, "+
			"query.NAME, header.NAME, cookie.NAME, country, asn, ja3, ja4, tier, policy and all",
			text)
	}
	if field.OfResponse() {
		return Part{}, errors.New("the response cannot be part of a key: the key is needed " +
			"before it")
	}
	return Part{kind: partField, field: field, number: -1}, nil
}

func prefixPart(text string) (Part, error) {
	first, second, _ := strings.Cut(text, ",")
	bits4, err4 := strconv.Atoi(first)
	bits6, err6 := strconv.Atoi(second)
	if err4 != nil || err6 != nil || bits4 < 8 || bits4 > 32 || bits6 < 16 || bits6 > 128 {
		return Part{}, fmt.Errorf("client/ is followed by the bits of IPv4, 8 to 32, and of "+
			"IPv6, 16 to 128, as in client/24,56, not by %.64q; in a list it stands in "+
			"quotes", text)
	}
	return Part{
		kind: partPrefix, field: condition.Field{Kind: condition.Client},
		bits4: bits4, bits6: bits6,
	}, nil
}

// secret reports whether the part's values stay out of keys: a digest stands for secrets. By
// default the headers and cookies of logins; raw(…) shows a value, and hash(…) hides another value.
func (p *Part) secret() bool {
	if p.raw {
		return false
	}
	switch {
	case p.digest, p.field.Kind == condition.Cookie:
		return true
	case p.field.Kind == condition.Header:
		return slices.Contains(secretHeaders, p.field.Name)
	}
	return false
}

var secretHeaders = []string{"authorization", "cookie", "proxy-authorization", "x-api-key"}

// String returns the part as in the configuration.
func (p *Part) String() string {
	var text string
	switch {
	case p.kind == partAll:
		text = "all"
	case p.kind == partPolicy:
		text = "policy"
	case p.kind == partPath:
		text = "path:" + strconv.Itoa(p.segments)
	case p.kind == partPrefix && p.bits4 > 0:
		text = fmt.Sprintf("client/%d,%d", p.bits4, p.bits6)
	case p.kind == partPrefix:
		text = "client"
	default:
		text = p.field.String()
	}
	if p.raw {
		text = "raw(" + text + ")"
	}
	if p.digest {
		text = "hash(" + text + ")"
	}
	if p.set != "" {
		text += "@" + p.set
	}
	return text
}

// String returns the key as in the configuration.
func (k *Key) String() string {
	parts := make([]string, len(k.Parts))
	for i, alternatives := range k.Parts {
		texts := make([]string, len(alternatives))
		for j := range alternatives {
			texts[j] = alternatives[j].String()
		}
		parts[i] = strings.Join(texts, " | ")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
