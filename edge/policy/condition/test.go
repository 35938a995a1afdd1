package condition

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

// Test holds if any value of the field is wanted.
type Test struct {
	Field  Field
	number int // of the field's header in the engine's names
	Wants  []Want
}

// WantKind is the kind of a comparison. Several in a test are an "or", the meaning of a list in a
// match map.
type WantKind uint8

// The kinds of comparisons.
const (
	WantText   WantKind = iota // equals text
	WantPrefix                 // begins with text
	WantSuffix                 // ends with text
	WantInside                 // contains text
	WantHost                   // ends with text, which begins with a dot
	WantPath                   // segments
	WantRegexp                 // re
	WantNet                    // an address inside net
	WantRange                  // a number from low to high
	// of !2xx; while the status is unknown the test holds, as "not 2xx" does
	WantOutside // a number, or none, not from low to high
	WantSet     // in the set called text
	WantPresent // there is a value
	WantAbsent  // there is none
	// by bytes, as CEL orders strings
	WantBelow // sorts before text
	WantAbove // sorts behind text
	WantField // equals the first value of another field
)

// Want is a comparison. Each kind uses some fields and leaves the others zero. One struct rather
// than an interface for each kind, so a test's comparisons lie side by side in memory.
type Want struct {
	Kind      WantKind
	Text      string
	re        *regexp.Regexp // of WantRegexp
	Net       netip.Prefix   // of WantNet; IPv4 is never mapped into IPv6
	low, high int64          // of WantRange and WantOutside, both included
	Path      PathPattern    // of WantPath
	Loose     bool           // a path of a match map: any spelling of the path is meant
	slash     bool           // of WantText: a last slash makes no difference; from Resolve
	field     Field          // of WantField
	number    int            // of the header of field in the engine's names
	set       *sets.Set      // of WantSet, from Resolve
}

// spelling leaves out numbers of headers and sets, which follow from names.
// %q keeps texts with blanks apart.
func (w *Want) spelling() string {
	return fmt.Sprintf("%d %q %v %d %d %v %v", w.Kind, w.Text, w.Net, w.low,
		w.high, w.field, w.Loose)
}

// Texts returns the texts of a WantText: Text and, where a last slash makes no difference, Text
// with a slash.
func (w *Want) Texts() []string {
	if w.slash {
		return []string{w.Text, w.Text + "/"}
	}
	return []string{w.Text}
}

func (t *Test) spelling() string {
	parts := make([]string, len(t.Wants))
	for i := range t.Wants {
		parts[i] = t.Wants[i].spelling()
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	return fmt.Sprintf("%v[%s]", t.Field, strings.Join(parts, ","))
}

// Other returns the other field of a comparison of fields, if any.
func (t *Test) Other() Field {
	for i := range t.Wants {
		if t.Wants[i].Kind == WantField {
			return t.Wants[i].field
		}
	}
	return Field{}
}

// Holds reports whether any value of the field is wanted: of a header coming three times, a single
// fit is enough. An absent field equals nothing and is in no set. All values are looked at, as a
// client may send a header twice and the application may use either.
func (t *Test) Holds(r *request.Request) bool {
	switch {
	case t.Field.IsAddress():
		return t.holdsAddress(r)
	case t.Field.IsNumber():
		return t.holdsNumber(r)
	}
	value, next := t.Field.Lookup(r, t.number, 0)
	if next < 0 {
		return t.Has(WantAbsent)
	}
	for ; next >= 0; value, next = t.Field.Lookup(r, t.number, next) {
		for i := range t.Wants {
			if t.Wants[i].holds(value, r) {
				return true
			}
		}
	}
	return false
}

// Has reports whether any wanted value is of the kind.
func (t *Test) Has(kind WantKind) bool {
	for i := range t.Wants { // a Want is too large to copy
		if t.Wants[i].Kind == kind {
			return true
		}
	}
	return false
}

func (t *Test) holdsAddress(r *request.Request) bool {
	a := r.Matched()
	if t.Field.Kind == Peer {
		a = r.Peer
	}
	// A request over a unix socket has no address; in no network and in no set.
	if !a.IsValid() {
		return t.Has(WantAbsent)
	}
	for i := range t.Wants {
		w := &t.Wants[i]
		switch {
		case w.Kind == WantNet && w.Net.Contains(a), w.Kind == WantSet &&
			w.set.HasAddress(a), w.Kind == WantPresent:
			return true
		}
	}
	return false
}

func (t *Test) holdsNumber(r *request.Request) bool {
	n, ok := t.Field.Number(r)
	for i := range t.Wants {
		w := &t.Wants[i]
		inside := ok && n >= w.low && n <= w.high
		switch {
		case w.Kind == WantRange && inside, w.Kind == WantOutside &&
			!inside, w.Kind == WantPresent && ok, w.Kind == WantAbsent && !ok:
			return true
		case w.Kind == WantSet && ok && w.set.HasNumber(n):
			return true
		}
	}
	return false
}

// string(value) in a comparison does not allocate.
func (w *Want) holds(value []byte, r *request.Request) bool {
	switch w.Kind {
	case WantText:
		return string(value) == w.Text ||
			w.slash && endsWith(value, "/") && string(value[:len(value)-1]) == w.Text
	case WantPrefix:
		return len(value) >= len(w.Text) && string(value[:len(w.Text)]) == w.Text
	case WantSuffix, WantHost:
		return endsWith(value, w.Text)
	case WantInside:
		return bytes.Contains(value, []byte(w.Text))
	case WantPath:
		return w.Path.matches(value)
	case WantRegexp:
		return w.re.Match(value)
	case WantSet:
		return w.set.Has(value)
	case WantPresent:
		return true
	case WantBelow:
		return string(value) < w.Text
	case WantAbove:
		return string(value) > w.Text
	case WantField:
		other, next := w.field.Lookup(r, w.number, 0)
		return next >= 0 && bytes.Equal(value, other)
	}
	return false
}

// bytes.HasSuffix would want end as bytes: a copy, or a second form of every text.
func endsWith(value []byte, end string) bool {
	return len(value) >= len(end) && string(value[len(value)-len(end):]) == end
}
