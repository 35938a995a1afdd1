package mitigation

import (
	"encoding/binary"
	"fmt"
)

// A word as it travels, and as it is kept on disk:
//
//	version 1 · says · issued · until - issued · keep - until · rule · key · node · who · reason · what a later version adds
//
// Numbers are uvarints, texts a uvarint of their length before them. Fields are only ever added at the end, and
// what stands behind those that are known is skipped; a version above 1 would be one that cannot be read so.
//
// Many words are a version byte and each word behind a uvarint of its length.

const (
	wordVersion  = 1
	wordsVersion = 1

	// maxWordRecord is the most bytes of one word, with a reserve for what later versions add.
	maxWordRecord = 4096
	// MaxWordsRecord is the most bytes of all words.
	MaxWordsRecord = 1 + MaxWords*(maxWordRecord/4)
)

// AppendWord appends w as it travels to dst. A word whose fields are within their bounds takes at most 950 bytes.
func AppendWord(dst []byte, w *Word) []byte {
	dst = append(dst, wordVersion, byte(w.Says))
	dst = binary.AppendUvarint(dst, uint64(w.Issued))
	dst = binary.AppendUvarint(dst, uint64(w.Until-w.Issued))
	dst = binary.AppendUvarint(dst, uint64(w.Keep-w.Until))
	dst = appendText(dst, w.Rule)
	dst = appendText(dst, w.Key)
	dst = appendText(dst, w.Node)
	dst = appendText(dst, w.Who)
	return appendText(dst, w.Reason)
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// ParseWord reads the word that AppendWord wrote as record, which it does not keep. Its fields are within their
// bounds; whether its time has come is for Merge to say. The error is an ErrWordBad.
func ParseWord(record []byte) (Word, error) {
	if len(record) < 2 || record[0] != wordVersion || len(record) > maxWordRecord {
		return Word{}, fmt.Errorf("%w: no version that is known here", ErrWordBad)
	}
	r := reader{rest: record[2:]}
	w := Word{Says: Says(record[1]), Issued: r.number()}
	w.Until = w.Issued + r.number()
	w.Keep = w.Until + r.number()
	w.Rule, w.Key = string(r.text(MaxRuleName)), append([]byte(nil), r.text(MaxKey)...)
	w.Node, w.Who, w.Reason = string(r.text(MaxNode)), string(r.text(MaxWho)), string(r.text(MaxReason))
	if r.failed {
		return Word{}, fmt.Errorf("%w: cut off, or longer than its bounds", ErrWordBad)
	}
	return w, w.check()
}

// reader reads fields until one is not there.
type reader struct {
	rest   []byte
	failed bool
}

// mostNumber bounds every number of a word, so that sums of a few stay in range: far beyond any date.
const mostNumber = 1 << 52

func (r *reader) number() int64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 || n > mostNumber {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

func (r *reader) text(most int) []byte {
	n := r.number()
	if r.failed || n > int64(most) || n > int64(len(r.rest)) {
		r.failed = true
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// AppendWords appends all as they travel together to dst.
func AppendWords(dst []byte, all []Word) []byte {
	dst = append(dst, wordsVersion)
	var record []byte
	for n := range all {
		record = AppendWord(record[:0], &all[n])
		dst = appendText(dst, record)
	}
	return dst
}

// ParseWords reads what AppendWords wrote as state, at most MaxWords words in MaxWordsRecord bytes. An
// error, which is an ErrWordBad, means that the state as a whole is not to be used; nothing means no words.
func ParseWords(state []byte) ([]Word, error) {
	if len(state) == 0 {
		return nil, nil
	}
	if len(state) > MaxWordsRecord || state[0] != wordsVersion {
		return nil, fmt.Errorf("%w: no state that is known here", ErrWordBad)
	}
	var all []Word
	for r := (reader{rest: state[1:]}); len(r.rest) > 0; {
		record := r.text(maxWordRecord)
		if r.failed || len(all) == MaxWords {
			return nil, fmt.Errorf("%w: a state cut off, or of too many", ErrWordBad)
		}
		w, err := ParseWord(record)
		if err != nil {
			return nil, fmt.Errorf("word %d: %w", len(all), err)
		}
		all = append(all, w)
	}
	return all, nil
}
