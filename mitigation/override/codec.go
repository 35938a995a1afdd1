package override

import (
	"encoding/binary"
	"fmt"

	"github.com/headgate-dev/headgate/mitigation"
)

// The encoding of an override, on the wire and on disk:
//
//	version 1 · verb · issued · until - issued · keep - until · rule · key · node · who ·
//	  reason · [of a limit: limit · 0 · burst; of a policy: the policy] · …
//
// Numbers are uvarints; a text follows a uvarint of the length. Later versions add fields at the
// end only, and a reader skips them. A version above 1 would be an incompatible format.
//
// A list is a version byte, and each override after a uvarint of the length.

const (
	// recordVersion and listVersion are the first bytes of an override and of a list.
	recordVersion = 1
	listVersion   = 1

	// maxRecord is the longest override, bytes, with a reserve for later versions.
	maxRecord = 4096
	// MaxAllRecord is the longest list of overrides, bytes.
	MaxAllRecord = 1 + MaxHeld*(maxRecord/4)
)

// Append appends the encoding of o to dst. An override within bounds takes at most 950 bytes.
func Append(dst []byte, o *Override) []byte {
	dst = append(dst, recordVersion, byte(o.Verb))
	dst = binary.AppendUvarint(dst, uint64(o.Issued))
	dst = binary.AppendUvarint(dst, uint64(o.Until-o.Issued))
	dst = binary.AppendUvarint(dst, uint64(o.Keep-o.Until))
	dst = appendText(dst, o.Rule)
	dst = appendText(dst, o.Key)
	dst = appendText(dst, o.Node)
	dst = appendText(dst, o.Who)
	if dst = appendText(dst, o.Reason); o.Verb == Limit {
		dst = binary.AppendUvarint(dst, uint64(o.Number.Limit))
		dst = binary.AppendUvarint(dst, 0) // a window of its own, of later versions
		dst = binary.AppendUvarint(dst, uint64(o.Number.Burst))
	} else if o.Verb == Apply {
		dst = appendText(dst, o.Policy)
	}
	return dst
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// Parse decodes record, and does not keep it. The result is within bounds; Merge judges the time.
// The error is an ErrBad.
func Parse(record []byte) (Override, error) {
	if len(record) < 2 || record[0] != recordVersion || len(record) > maxRecord {
		return Override{}, fmt.Errorf("%w: unknown version", ErrBad)
	}
	r := reader{rest: record[2:]}
	o := Override{Verb: Verb(record[1]), Issued: r.number()}
	o.Until = o.Issued + r.number()
	o.Keep = o.Until + r.number()
	o.Rule, o.Key = string(r.text(mitigation.MaxRuleName)),
		append([]byte(nil), r.text(mitigation.MaxKey)...)
	o.Node, o.Who, o.Reason = string(r.text(MaxNode)), string(r.text(MaxWho)),
		string(r.text(MaxReason))
	switch o.Verb {
	case Limit:
		o.Number.Limit = r.number()
		if window := r.number(); window != 0 {
			return Override{}, fmt.Errorf("%w: a window of its own", ErrBad)
		}
		o.Number.Burst = r.number()
	case Apply:
		o.Policy = append([]byte(nil), r.text(MaxPolicy)...)
	}
	if r.failed {
		return Override{}, fmt.Errorf("%w: truncated, or a field exceeds its bound", ErrBad)
	}
	return o, o.check()
}

// reader reads fields. After the first fault failed stays true.
type reader struct {
	rest   []byte
	failed bool
}

// maxNumber bounds every number, so sums of a few stay in range. Far beyond any date.
const maxNumber = 1 << 52

// number reads an uvarint, 0..maxNumber.
func (r *reader) number() int64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 || n > maxNumber {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

// text reads a text of at most limit bytes, which lies in the record.
func (r *reader) text(limit int) []byte {
	n := r.number()
	if r.failed || n > int64(limit) || n > int64(len(r.rest)) {
		r.failed = true
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// AppendAll appends the encoding of the list all to dst.
func AppendAll(dst []byte, all []Override) []byte {
	dst = append(dst, listVersion)
	var record []byte
	for n := range all {
		record = Append(record[:0], &all[n])
		dst = appendText(dst, record)
	}
	return dst
}

// ParseAll decodes a list of at most MaxHeld overrides in MaxAllRecord bytes. On an error, an
// ErrBad, the whole list is invalid. An empty state is an empty list.
func ParseAll(state []byte) ([]Override, error) {
	if len(state) == 0 {
		return nil, nil
	}
	if len(state) > MaxAllRecord || state[0] != listVersion {
		return nil, fmt.Errorf("%w: unknown state version, or too long", ErrBad)
	}
	var all []Override
	for r := (reader{rest: state[1:]}); len(r.rest) > 0; {
		record := r.text(maxRecord)
		if r.failed || len(all) == MaxHeld {
			return nil, fmt.Errorf("%w: state truncated, or too many overrides", ErrBad)
		}
		o, err := Parse(record)
		if err != nil {
			return nil, fmt.Errorf("override %d: %w", len(all), err)
		}
		all = append(all, o)
	}
	return all, nil
}
