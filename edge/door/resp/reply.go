package resp

import "strconv"

// reply appends answers to out. RESP3 has maps; RESP2 has lists of names and values in their place.
// Written at once and sent once for all commands of a read.
type reply struct {
	out []byte
	v3  bool
}

// simple appends a short text without line ends.
func (r *reply) simple(s string) { r.out = append(append(append(r.out, '+'), s...), "\r\n"...) }

// fail appends an error, whose first word is its kind. Bytes of a client must be shown.
func (r *reply) fail(s string) { r.out = append(append(append(r.out, '-'), s...), "\r\n"...) }

// integer appends a number.
func (r *reply) integer(n int64) {
	r.out = append(strconv.AppendInt(append(r.out, ':'), n, 10), "\r\n"...)
}

// bulk appends any bytes.
func bulk[T string | []byte](r *reply, s T) {
	r.head('$', len(s))
	r.out = append(append(r.out, s...), "\r\n"...)
}

// head appends the begin of something with a length.
func (r *reply) head(kind byte, n int) {
	r.out = append(strconv.AppendInt(append(r.out, kind), int64(n), 10), "\r\n"...)
}

// list appends the begin of a list of n elements.
func (r *reply) list(n int) { r.head('*', n) }

// mapHead is the room beginMap leaves: a sign, two digits, a line end.
const mapHead = len("*00\r\n")

// beginMap appends the begin of a map with up to 49 pairs; endMap gives it their number.
func (r *reply) beginMap() (at int) {
	at = len(r.out)
	r.out = append(r.out, "*00\r\n"...)
	return at
}

// endMap ends the map at at, which has n pairs. A number has no leading zero.
func (r *reply) endMap(at, n int) {
	kind := byte('%')
	if !r.v3 {
		kind, n = '*', 2*n
	}
	body := r.out[at+mapHead:]
	r.out = r.out[:at]
	r.head(kind, n)
	r.out = append(r.out, body...) // forwards, by at most a byte
}

// null appends nothing, as a value.
func (r *reply) null() {
	if r.v3 {
		r.out = append(r.out, "_\r\n"...)
	} else {
		r.out = append(r.out, "$-1\r\n"...)
	}
}
