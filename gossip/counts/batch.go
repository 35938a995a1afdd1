package counts

import "slices"

// Batch is a batch that is being filled. Its zero value is empty.
type Batch struct {
	rules   []Rule
	records []byte
}

// Add adds r, which is of rule, and reports whether the batch has room for it within so many bytes.
func (b *Batch) Add(rule Rule, r *Record, size int) bool {
	const empty = 3 // version, flags, rules
	size -= empty + len(b.records) + RecordBytes
	at := slices.IndexFunc(b.rules, func(r Rule) bool { return r.Name == rule.Name })
	for n := range b.rules {
		size -= b.rules[n].size()
	}
	if at < 0 {
		size -= rule.size()
	}
	if size < 0 || at < 0 && len(b.rules) == MaxRules {
		return false
	}
	if at < 0 {
		at, b.rules = len(b.rules), append(b.rules, rule)
	}
	added := *r
	added.Rule = at
	b.records = AppendRecord(b.records, &added)
	return true
}

// size returns the bytes of r in the table of a batch.
func (r *Rule) size() int { return 1 + len(r.Name) + 4 }

// Take appends the batch to dst and empties it. It returns how many records it had.
func (b *Batch) Take(dst []byte, alone bool) (body []byte, records int) {
	body = append(AppendHead(dst, &Head{Alone: alone, Rules: b.rules}), b.records...)
	records = len(b.records) / RecordBytes
	b.rules, b.records = b.rules[:0], b.records[:0]
	return body, records
}

// Empty reports whether the batch has no records.
func (b *Batch) Empty() bool { return len(b.records) == 0 }
