package policy

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// MaxNumbers is how many different numbers all tables together may hold.
const MaxNumbers = 65_536

// numberBytes is about how much memory a number takes of each rule with it: a gate keeps the rule
// under each.
const numberBytes = 1 << 10

// ParseNumber reads the number of a key in a table: a limit, and for buckets a burst, such as
// 137 or 137 burst=300, in units of a rule with that scale.
func ParseNumber(text string, scale int) (n mitigation.Number, err error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return n, errors.New("a line holds a value, a comma and a tier or a number")
	}
	if n.Limit, err = NumberIn(fields[0], scale); err != nil {
		return n, err
	}
	for _, option := range fields[1:] {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name != "burst":
			return n, fmt.Errorf("%.64q is not burst=N, which is all that may follow a number",
				option)
		case n.Burst > 0:
			return n, errors.New("burst stands twice")
		}
		if n.Burst, err = NumberIn(value, scale); err != nil {
			return n, fmt.Errorf("burst: %w", err)
		}
	}
	return n, nil
}

// NumberIn reads a limit or a burst in units of a rule with that scale, and returns the parts.
func NumberIn(text string, scale int) (parts int64, err error) {
	n, exact, ok := wire.ParseDecimal([]byte(text), scale)
	if ok && exact && n > 0 && n <= mitigation.MaxLimit &&
		(scale > 0 || !strings.Contains(text, ".")) {
		return int64(n), nil // at most MaxLimit
	}
	form := "a whole number"
	if scale > 0 {
		form = fmt.Sprintf("a number with at most %d digits behind the point,", scale)
	}
	return 0, fmt.Errorf("%.64q is not %s from %s to %s", text, form,
		wire.AppendDecimal(nil, 1, scale), wire.AppendDecimal(nil, mitigation.MaxLimit, scale))
}

// isNumber reports whether word is meant as a number, unless a tier has the name.
func isNumber(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// tableUser is a policy or a rule that looks a word up in a table.
type tableUser struct {
	tiers []string         // with limits; nil: numbers only
	rule  *mitigation.Rule // of keys with numbers
}

// usersOf returns who uses the table called name.
func (s *Spec) usersOf(name string) (all []tableUser) {
	for i := range s.Policies {
		if u, ok := s.Policies[i].user(); ok && s.Policies[i].Tiers.Table == name {
			all = append(all, u)
		}
	}
	for i := range s.Numbered {
		if r := &s.Numbered[i]; r.Numbers.Set == name {
			all = append(all, tableUser{rule: &r.Rule})
		}
	}
	return all
}

// user returns p as a user of a table; false: p uses none.
func (p *Policy) user() (u tableUser, ok bool) {
	if p.Tiers == nil || len(p.Own) == 0 {
		return u, false
	}
	if u.rule = &p.Own[0]; p.Tiers.Plain {
		return u, true
	}
	u.tiers = p.Tiers.Names
	if at := slices.Index(u.tiers, p.Tiers.Default) * (1 + len(p.Ladder)); at >= 0 &&
		at < len(p.Own) {
		u.rule = &p.Own[at]
	}
	return u, true
}

// check reports why word says nothing to u.
func (u *tableUser) check(word string) error {
	switch {
	case slices.Contains(u.tiers, word):
		return nil
	case !isNumber(word) && u.tiers == nil:
		return fmt.Errorf("%.64q is no number, and a rule that uses the table has no tiers", word)
	case !isNumber(word):
		return fmt.Errorf("tier %.64q has no number in a policy that uses the table", word)
	}
	n, err := ParseNumber(word, u.rule.Scale)
	switch {
	case err != nil:
	case n.Burst > 0 && u.rule.Kind != mitigation.Bucket:
		return errors.New("burst is for buckets, and a rule that uses the table is none")
	case !u.rule.Takes(n):
		return fmt.Errorf("a bucket takes more than 24h to refill by %.64q", word)
	}
	return err
}

// entryOf reads a line of a table that all of known use.
func entryOf(line string, known []tableUser) (e sets.Entry, err error) {
	value, word, ok := strings.Cut(line, ",")
	if !ok {
		return e, errors.New("a line holds a value, a comma and a tier or a number")
	}
	word = strings.Join(strings.Fields(word), " ")
	e = sets.Entry{Value: strings.TrimSpace(value), Word: word}
	err = sets.CheckEntry(e, true)
	for i := 0; i < len(known) && err == nil; i++ {
		err = known[i].check(e.Word)
	}
	return e, err //nolint:wrapcheck // the caller names the line
}

// numbers returns the numbers among the words of set, and for each word the place of its number,
// or -1.
func numbers(name string, set *sets.Set, scale int) (n *mitigation.Numbers, places []int) {
	n = &mitigation.Numbers{Set: name}
	of := make([]mitigation.Number, len(set.Words()))
	for i, word := range set.Words() {
		if isNumber(word) {
			of[i], _ = ParseNumber(word, scale) // of a tier's name nothing comes
			n.List = append(n.List, of[i])
		}
	}
	slices.SortFunc(n.List, mitigation.Number.Compare)
	n.List = slices.Compact(n.List)
	for i := range of {
		places = append(places, n.Place(of[i]))
	}
	return n, places
}

// Numbered sets the numbers of rules, which are those of the configuration: of tables as they were
// loaded.
func (e *Engine) Numbered(rules []mitigation.Rule) {
	for i := range rules {
		if n := e.numbers[rules[i].Name]; n != nil {
			rules[i].Numbers = n
		}
	}
}

// NumberOf returns the numbers among which the key of q has the one at place, or with -1 none; nil:
// the policy of q has no numbers.
func (e *Engine) NumberOf(q *Question) (n *mitigation.Numbers, place int) {
	if q.number == 0 {
		return nil, 0
	}
	return e.policies[q.Policy].numbers, int(q.number) - 2
}

// numberRules makes the numbers of the rules that no policy makes.
func (l *loader) numberRules() {
	for i := range l.spec.Numbered {
		r := &l.spec.Numbered[i]
		set := l.sets[r.Numbers.Set]
		n, places := numbers(r.Numbers.Set, set, r.Scale)
		n.Find = func(key []byte) int {
			if word := set.Find(key); word >= 0 {
				return places[word]
			}
			return -1
		}
		l.take(r.At, numberBytes*len(n.List))
		l.engine.numbers[r.Name] = n
	}
}

// ending remembers the last byte read.
type ending struct {
	io.Reader
	last byte
}

// Read reads from the Reader.
func (e *ending) Read(p []byte) (n int, err error) {
	if n, err = e.Reader.Read(p); n > 0 {
		e.last = p[n-1]
	}
	return n, err //nolint:wrapcheck // the Reader's own
}
